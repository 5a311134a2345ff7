//! `handfast manual`: the manual pages, and the reference of the command line, from its definition.

mod markdown;

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use handfast::{Effect, ErrorKind, RelPath, Root};

use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const HELP: &str = "\
Examples:
  handfast manual ~/.local/share/man/man1
  handfast manual --markdown > cli.md";

/// Write the manual pages to a directory, or print the reference of the command line
///
/// One page a command, named as `man` expects: `man handfast-session-commit`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManualArgs {
    /// The directory, which must be there
    #[arg(value_name = "DIR", required_unless_present = "markdown")]
    dir: Option<PathBuf>,

    /// Print everything as one Markdown page instead
    #[arg(long, conflicts_with_all = ["dir", "json"])]
    markdown: bool,
}

impl ManualArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let Some(dir) = &self.dir else {
            out.data(markdown::reference(Cli::command()).as_bytes());
            return Exit::Yes;
        };
        match write(dir) {
            Ok(pages) => {
                if out.is_json() {
                    let fields = crate::json::JsonObject::new().with("pages", pages);
                    out.object(true, fields);
                } else {
                    out.note(&format!("wrote {pages} pages"));
                }
                Exit::Yes
            }
            Err(error) => {
                out.failure(&error);
                Exit::No
            }
        }
    }
}

/// Writes a page for each command; how many there are.
fn write(dir: &PathBuf) -> Result<u64, Box<Failure>> {
    let root = Root::open_ambient(dir).map_err(|error| Box::new(unopened(dir, &error)))?;
    let mut command = Cli::command();
    command.build();
    let mut pages = 0;
    pages_of(&command, "handfast", &mut |name, page| {
        pages += 1;
        root.write(&RelPath::parse(format!("{name}.1"))?, page)?;
        Ok(())
    })
    .map_err(|error| Box::new(failure(&error)))?;
    Ok(pages)
}

/// Renders a command and everything below it.
fn pages_of(
    command: &clap::Command,
    name: &str,
    take: &mut impl FnMut(&str, Vec<u8>) -> Result<(), handfast::Error>,
) -> Result<(), handfast::Error> {
    let mut page = Vec::new();
    // Into memory: it cannot fail.
    drop(clap_mangen::Man::new(command.clone()).render(&mut page));
    take(name, page)?;
    for below in shown(command) {
        pages_of(below, &format!("{name}-{}", below.get_name()), take)?;
    }
    Ok(())
}

/// The visible commands below one.
fn shown(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn failure(error: &handfast::Error) -> Failure {
    Failure {
        kind: error.kind(),
        verb: "manual",
        sentence: "cannot write the manual pages".to_owned(),
        path: String::new(),
        destination: None,
        detail: error.to_string(),
        effect: Effect::Unknown,
        exit: Exit::No,
        hints: Vec::new(),
    }
}

/// The directory for the pages cannot be used.
fn unopened(dir: &Path, error: &handfast::Error) -> Failure {
    let shown = handfast::escape(dir.as_os_str().as_encoded_bytes());
    Failure {
        sentence: format!("cannot open the directory `{shown}`"),
        path: shown,
        detail: error.detail(),
        effect: Effect::None,
        hints: match error.kind() {
            ErrorKind::NotFound => vec!["make the directory first".to_owned()],
            _ => Vec::new(),
        },
        ..failure(error)
    }
}
