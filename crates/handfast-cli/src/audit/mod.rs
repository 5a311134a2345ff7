//! `handfast audit`: which guards are there, which are missing.

mod change;
mod explain;
mod files;

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use handfast::{Effect, ErrorKind};
use handfast_audit::{Depth, FailOn, Input, Knowledge, Options, Outcome, audit, render};

use self::explain::ExplainArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const HELP: &str = "\
Examples:
  handfast audit src
  handfast audit --diff origin/main --format sarif --output-file audit.sarif
  handfast audit --root UPLOADS --input name upload.py
  handfast audit explain D2 --lang go

Exit codes:
  0  the gate passes
  1  the gate fails: see --fail-on
  2  wrong usage
  3  nothing could be read";

/// Find path traversal, symlink races and zip slip in source code
///
/// Every item of the checklist is answered with an anchor (the line of code that satisfies it), a
/// reason why it does not apply, or a finding. Files are parsed and never run. `-` reads one text
/// from standard input.
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArgs {
    /// Files and directories to look at
    #[arg(required_unless_present = "diff")]
    paths: Vec<PathBuf>,

    /// Only what changed since a revision of git; `-` reads a unified diff from standard input
    ///
    /// Findings in touched functions are shown, and findings that the text did not have before: a
    /// guard that the change removes is one.
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    diff: Option<String>,

    /// Configuration with a table `[audit]`, instead of `handfast.toml` of this directory
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Add your own sources, guards and operations for a language: `python=rows.toml`
    #[arg(long, value_name = "LANG=FILE")]
    knowledge: Vec<String>,

    /// Show only findings that are not in this baseline
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write a baseline of all findings, and exit 0
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,

    /// Write the report to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,

    /// Trusted root as the code has it: a constant, a field, a parameter, a call
    #[arg(long, value_name = "EXPR")]
    root: Vec<String>,

    /// Field, parameter or expression that comes from outside; several with commas
    #[arg(long, value_name = "EXPR", value_delimiter = ',')]
    input: Vec<String>,

    /// Leave out what is found about the names of archive entries
    #[arg(long)]
    no_archive_names: bool,

    /// What the code does to files, if it cannot be seen
    #[arg(long, value_name = "KIND")]
    operation: Option<Operation>,

    /// How much the report shows
    #[arg(long, default_value = "standard")]
    depth: DepthArg,

    /// Form of the report: `text` is the checklist's template
    #[arg(long, default_value = "short")]
    format: Format,

    /// What makes the exit code 1; block for files and diffs, confirmed for directories
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOnArg>,

    /// Name under which standard input is looked at
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<String>,

    /// Date against which acceptances are measured, instead of today
    #[arg(long, value_name = "YYYY-MM-DD")]
    today: Option<String>,

    /// How many threads; 0 for as many as there are processors
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(ExplainArgs),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    Short,
    Text,
    Json,
    Sarif,
    Markdown,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DepthArg {
    Quick,
    Standard,
    Exhaustive,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum FailOnArg {
    Block,
    Confirmed,
    Concerns,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Operation {
    Read,
    Create,
    Mutate,
    Delete,
    Mixed,
}

impl AuditArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        if let Some(Command::Explain(args)) = &self.command {
            return args.run(out);
        }
        match self.answer(out) {
            Ok(exit) => exit,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn answer(&self, out: &mut Output) -> Result<Exit, Box<Failure>> {
        let options = self.options()?;
        let changes = match &self.diff {
            Some(rev) => Some(change::read(rev, &self.paths)?),
            None => None,
        };
        let files::AuditInputs {
            inputs,
            skipped,
            has_directory,
        } = match &changes {
            Some(changes) => change::inputs(changes)?,
            None => self.inputs()?,
        };
        if inputs.len() > MANY {
            out.note(&format!("reading {} files", inputs.len()));
        }
        let knowledge = self.knowledge(&options)?;
        let mut outcome = match &changes {
            Some(changes) => {
                handfast_audit::diff::audit_change(inputs, changes, &knowledge, &options)
            }
            None => audit(inputs, &knowledge, &options),
        };
        outcome.skipped.extend(skipped);
        outcome.skipped.sort_by(|a, b| a.file.cmp(&b.file));
        if outcome.files == 0 && changes.is_none() {
            return Err(self.unreadable(&outcome));
        }
        let fail_on = self.fail_on(has_directory && changes.is_none());
        if let Some(path) = &self.write_baseline {
            let text = handfast_audit::baseline::write(&outcome);
            files::write(path, text.as_bytes()).map_err(|detail| unwritten(path, &detail))?;
            return Ok(Exit::Yes);
        }
        if let Some(path) = &self.baseline {
            let bytes = files::read(path).map_err(|detail| unread(path, &detail))?;
            let text = String::from_utf8_lossy(&bytes);
            let known = handfast_audit::baseline::apply(&mut outcome, &text)
                .map_err(|detail| unread(path, &detail))?;
            let is_new = outcome
                .reports
                .iter()
                .any(|report| !report.findings.is_empty());
            if !is_new && self.format == Format::Short && !out.is_json() {
                let s = if known == 1 { "" } else { "s" };
                out.line(&format!(
                    "nothing new; {known} known finding{s} in the baseline"
                ));
                return Ok(Exit::Yes);
            }
        }
        let exit = if outcome.passes(fail_on) {
            Exit::Yes
        } else {
            Exit::No
        };
        let format = if out.is_json() {
            Format::Json
        } else {
            self.format
        };
        let text = match format {
            Format::Short => {
                let is_coloured = self.output_file.is_none() && Output::is_coloured();
                render::short(&outcome, fail_on, is_coloured)
            }
            Format::Text => render::text(&outcome),
            Format::Json => render::json(&outcome, fail_on),
            Format::Sarif => render::sarif(&outcome),
            Format::Markdown => render::markdown(&outcome),
        };
        match &self.output_file {
            Some(path) => {
                files::write(path, text.as_bytes()).map_err(|detail| unwritten(path, &detail))?;
            }
            None => out.data(text.as_bytes()),
        }
        if matches!(format, Format::Text | Format::Short) {
            for one in &outcome.skipped {
                out.note(&format!("skipped: {}: {}", one.file, one.reason));
            }
            if outcome.reports.is_empty() && outcome.insufficient.is_empty() {
                let s = if outcome.files == 1 { "" } else { "s" };
                out.note(&format!(
                    "no externally influenced path operation in {} file{s}",
                    outcome.files
                ));
            }
            if format == Format::Text
                && let Some(line) = outcome.difference(fail_on)
            {
                out.note(&line);
            }
        }
        Ok(exit)
    }

    fn options(&self) -> Result<Options, Box<Failure>> {
        if let Some(today) = &self.today
            && !handfast_audit::is_date(today)
        {
            let detail = format!("`{today}` is no date; write YYYY-MM-DD");
            return Err(Box::new(failure("--today", &detail, Exit::Usage)));
        }
        let mut options = Options {
            roots: self.root.clone(),
            inputs: self.input.clone(),
            operation: self.operation.map(|operation| {
                operation
                    .to_possible_value()
                    .map_or_else(String::new, |value| value.get_name().to_owned())
            }),
            depth: match self.depth {
                DepthArg::Quick => Depth::Quick,
                DepthArg::Standard => Depth::Standard,
                DepthArg::Exhaustive => Depth::Exhaustive,
            },
            threads: self.threads,
            no_archive_names: self.no_archive_names,
            today: self.today.clone().unwrap_or_else(today),
            ..Options::default()
        };
        let usual = PathBuf::from("handfast.toml");
        let path = self.config.as_ref().unwrap_or(&usual);
        match files::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                handfast_audit::configure(&mut options, &text)
                    .map_err(|error| unread(path, &error.detail))?;
            }
            // Nobody has to have one; a named one has to be there.
            Err(detail) if self.config.is_some() => return Err(unread(path, &detail)),
            Err(_) => {}
        }
        Ok(options)
    }

    /// What is built in, what the configuration names, and what the command line adds.
    fn knowledge(&self, options: &Options) -> Result<Knowledge, Box<Failure>> {
        let mut files = options.knowledge.clone();
        for one in &self.knowledge {
            let Some((lang, path)) = one.split_once('=') else {
                let detail = "name the language: LANG=FILE, as in python=rows.toml";
                return Err(unread(&PathBuf::from(one), detail));
            };
            files.push((lang.to_owned(), path.to_owned()));
        }
        let mut rows = Vec::new();
        for (lang, path) in files {
            let path = PathBuf::from(path);
            let bytes = files::read(&path).map_err(|detail| unread(&path, &detail))?;
            rows.push((lang, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Knowledge::new(&rows)
            .map_err(|error| Box::new(failure("the knowledge", &error.to_string(), Exit::Usage)))
    }

    fn inputs(&self) -> Result<files::AuditInputs, Box<Failure>> {
        let mut found = files::AuditInputs::default();
        for path in &self.paths {
            if path.as_os_str() == "-" {
                let mut bytes = Vec::new();
                let limit = handfast_audit::MAX_FILE as u64 + 1;
                if let Err(error) = std::io::stdin().lock().take(limit).read_to_end(&mut bytes) {
                    return Err(Box::new(failure(
                        "standard input",
                        &error.to_string(),
                        Exit::CannotTell,
                    )));
                }
                let path = self
                    .stdin_filename
                    .clone()
                    .unwrap_or_else(|| "stdin.txt".to_owned());
                found.inputs.push(Input {
                    path,
                    bytes,
                    is_named: true,
                    is_context: false,
                });
                continue;
            }
            files::collect(path, &mut found).map_err(|detail| {
                let mut failure = failure(&shown(path), &detail, Exit::CannotTell);
                let hint =
                    "name files or directories; `handfast audit explain ITEM` explains an item";
                failure.hints.push(hint.to_owned());
                Box::new(failure)
            })?;
        }
        Ok(found)
    }

    /// The checklist's own use for what is named; for whole trees, holes and no wishes.
    fn fail_on(&self, has_directory: bool) -> FailOn {
        match self.fail_on {
            Some(FailOnArg::Block) => FailOn::Block,
            Some(FailOnArg::Confirmed) => FailOn::Confirmed,
            Some(FailOnArg::Concerns) => FailOn::Concerns,
            None if has_directory => FailOn::Confirmed,
            None => FailOn::Block,
        }
    }

    /// Nothing that was given could be read as source text.
    fn unreadable(&self, outcome: &Outcome) -> Box<Failure> {
        let what: Vec<String> = self.paths.iter().map(|path| shown(path)).collect();
        let detail = match outcome.skipped.first() {
            Some(first) if outcome.skipped.len() == 1 => first.reason.clone(),
            Some(first) => format!(
                "{} files are not read; the first is {}: {}",
                outcome.skipped.len(),
                first.file,
                first.reason
            ),
            None => "no file there is in a supported language".to_owned(),
        };
        let mut failure = failure(&what.join(" "), &detail, Exit::CannotTell);
        failure.hints.push(
            "supported: Python, JavaScript, TypeScript, Go, Rust, C, C++ and Java".to_owned(),
        );
        Box::new(failure)
    }
}

/// From so many files on it is said that there is something to do.
const MANY: usize = 2000;

fn shown(path: &std::path::Path) -> String {
    handfast::escape(OsString::from(path).as_encoded_bytes())
}

fn unread(path: &std::path::Path, detail: &str) -> Box<Failure> {
    let mut failure = failure(&shown(path), detail, Exit::Usage);
    failure.sentence = format!("cannot use `{}`", shown(path));
    Box::new(failure)
}

fn unwritten(path: &std::path::Path, detail: &str) -> Box<Failure> {
    let mut failure = failure(&shown(path), detail, Exit::CannotTell);
    failure.sentence = format!("cannot write `{}`", shown(path));
    Box::new(failure)
}

fn failure(what: &str, detail: &str, exit: Exit) -> Failure {
    Failure {
        kind: ErrorKind::Invalid,
        verb: "audit",
        sentence: format!("cannot audit `{what}`"),
        path: what.to_owned(),
        destination: None,
        detail: detail.to_owned(),
        effect: Effect::None,
        exit,
        hints: Vec::new(),
    }
}

/// The one place where the clock is asked: acceptances expire.
fn today() -> String {
    let now = handfast_ledger::event::Moment::now();
    let text = handfast_ledger::time::rfc3339(now.wall_ns);
    text.chars().take(10).collect()
}
