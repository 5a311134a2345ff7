//! The command line as a whole: which command, and how answers are printed.

use clap::error::ErrorKind as UsageKind;
use clap::{Parser, Subcommand};
use handfast::{Effect, ErrorKind};

#[cfg(not(feature = "audit"))]
use crate::absent::AuditArgs;
#[cfg(not(feature = "review"))]
use crate::absent::ReviewArgs;
#[cfg(not(feature = "siege"))]
use crate::absent::SiegeArgs;
#[cfg(not(feature = "tour"))]
use crate::absent::TourArgs;
#[cfg(not(feature = "broker"))]
use crate::absent::{LeaseArgs, ServeArgs, TopArgs};
#[cfg(not(feature = "run"))]
use crate::absent::{MountArgs, RunArgs};
use crate::approve::ApproveArgs;
#[cfg(feature = "audit")]
use crate::audit::AuditArgs;
use crate::completions::CompletionsArgs;
use crate::doctor::DoctorArgs;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::fs::FsArgs;
#[cfg(feature = "broker")]
use crate::lease::LeaseArgs;
use crate::log::LogArgs;
use crate::manual::ManualArgs;
use crate::mcp::McpArgs;
#[cfg(feature = "run")]
use crate::mount::MountArgs;
use crate::other_names;
use crate::output::{Form, Output};
#[cfg(feature = "review")]
use crate::review::ReviewArgs;
#[cfg(feature = "run")]
use crate::run::RunArgs;
#[cfg(feature = "broker")]
use crate::serve::ServeArgs;
use crate::session::SessionArgs;
#[cfg(feature = "siege")]
use crate::siege::SiegeArgs;
#[cfg(feature = "broker")]
use crate::top::TopArgs;
#[cfg(feature = "tour")]
use crate::tour::TourArgs;

const HELP: &str = exit::help!(
    "  handfast tour                             a race, in one minute
  handfast fs --root uploads ls             files beneath one directory
  handfast run -- cargo test                run a program, review later
  handfast session new try --base project   an overlay to review
  handfast review                           a page to review and commit
  handfast mcp --overlay project            the same for an MCP client
  handfast serve project                    files under leases
  handfast audit src                        code that builds paths"
);

/// Give untrusted paths access to files beneath one directory, and to nothing else
#[derive(Debug, Parser)]
#[command(name = "handfast", version, arg_required_else_help = true)]
#[command(propagate_version = false, after_help = HELP, max_term_width = 80)]
pub(crate) struct Cli {
    /// Print one JSON object on standard output, in success and in failure
    #[arg(long, global = true, display_order = 900)]
    json: bool,

    /// Print data and errors only: no notes and no hints
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Tour(TourArgs),
    Doctor(DoctorArgs),
    Fs(FsArgs),
    Run(RunArgs),
    Session(SessionArgs),
    Review(ReviewArgs),
    Approve(ApproveArgs),
    Mount(MountArgs),
    Mcp(McpArgs),
    Serve(ServeArgs),
    Lease(LeaseArgs),
    Top(TopArgs),
    Log(LogArgs),
    Audit(AuditArgs),
    Siege(SiegeArgs),
    Completions(CompletionsArgs),
    Manual(ManualArgs),
}

/// Parses the command line, runs the command, prints, and says how it went.
pub(crate) fn run() -> Exit {
    // A client starts a server and waits: that one does not wait for all other commands' options.
    if std::env::args_os().nth(1).is_some_and(|arg| arg == "mcp") {
        return crate::mcp::run_alone().unwrap_or_else(|error| explain_usage(&error));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&other_names::with_tip(error)),
    };
    let form = if cli.json { Form::Json } else { Form::Words };
    let mut out = Output::new(form, cli.quiet);
    let verdict = match &cli.command {
        Command::Audit(args) => args.run(&mut out),
        Command::Doctor(args) => args.run(&mut out),
        Command::Fs(args) => args.run(&mut out),
        Command::Lease(args) => args.run(&mut out),
        Command::Serve(args) => args.run(&mut out),
        Command::Run(args) => args.run(&mut out),
        Command::Session(args) => args.run(&mut out),
        Command::Review(args) => args.run(&mut out),
        Command::Approve(args) => args.run(&mut out),
        Command::Siege(args) => args.run(&mut out),
        Command::Log(args) => args.run(&mut out),
        Command::Top(args) => args.run(&mut out),
        Command::Tour(args) => args.run(&mut out),
        Command::Completions(args) => args.run(&mut out),
        Command::Manual(args) => args.run(&mut out),
        Command::Mount(args) => args.run(&mut out),
        Command::Mcp(args) => args.run(&mut out),
    };
    out.finish(verdict)
}

/// Prints help, the version, or what is wrong with the arguments.
fn explain_usage(error: &clap::Error) -> Exit {
    // A closed pipe silences this and changes nothing.
    drop(error.print());
    if matches!(
        error.kind(),
        UsageKind::DisplayHelp | UsageKind::DisplayVersion
    ) {
        return Exit::Yes;
    }
    let wants_json = std::env::args_os()
        .take_while(|arg| arg != "--")
        .any(|arg| arg == "--json");
    if wants_json {
        let mut out = Output::new(Form::Json, false);
        out.failure(&Failure {
            kind: ErrorKind::Invalid,
            verb: "usage",
            sentence: "cannot understand the arguments".to_owned(),
            path: String::new(),
            destination: None,
            detail: message(error),
            effect: Effect::None,
            exit: Exit::Usage,
            hints: Vec::new(),
        });
        return out.finish(Exit::Usage);
    }
    Exit::Usage
}

/// What is wrong and what to do, on one line, without the usage.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<_> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let line = lines.join(" ");
    handfast::escape(line.trim_start_matches("error: ").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_texts_are_sentences_without_a_full_stop() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_else(|| panic!("{} has no help", command.get_name()));
            assert!(!about.ends_with('.'), "{about}");
            for arg in command.get_arguments() {
                let help = arg.get_help().map(ToString::to_string);
                let help = help.unwrap_or_else(|| panic!("{arg} has no help"));
                assert!(!help.ends_with('.'), "{help}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn every_help_has_an_example_and_fits_80_columns() {
        fn check(command: &mut clap::Command, wrong: &mut Vec<String>) {
            let name = command.get_name().to_owned();
            let help = command.render_long_help().to_string();
            // clap's own command, which repeats the names of all others.
            if name == "help" {
                return;
            }
            if !help.contains("Examples:\n  ") {
                wrong.push(format!("{name}: no example"));
            }
            // clap never folds a usage.
            let folded = help.lines().filter(|line| !line.starts_with("Usage:"));
            let wide = folded.filter(|line| line.chars().count() > 80);
            wrong.extend(wide.map(|line| format!("{name}: {line}")));
            for below in command.get_subcommands_mut() {
                if !below.is_hide_set() {
                    check(below, wrong);
                }
            }
        }
        let mut wrong = Vec::new();
        let mut command = Cli::command();
        command.build();
        check(&mut command, &mut wrong);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
