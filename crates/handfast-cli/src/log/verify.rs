//! `log verify DIR`: whether everything fits together and is signed.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{LogReader, Report, Verdict, VerifyOptions, verify};

use super::LogExit;
use super::key::given;
use super::trouble::{read_given, trouble, usage};
use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::{Output, list};
use crate::width::counted;

/// Check whether everything in the log fits together and is signed
///
/// Without an earlier checkpoint that was kept elsewhere, a log that was rolled back looks intact.
/// Without a key that was kept elsewhere, anybody may have signed it. What was not checked is
/// always listed.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log verify log --key log.key
  handfast log verify log --key log.key --since-checkpoint yesterday"
))]
pub(super) struct VerifyArgs {
    /// The log
    dir: OsString,

    /// Require that this key signed it, or one that followed from it; the key, or a file with it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Require that it continues this checkpoint, which was kept elsewhere
    #[arg(long, value_name = "FILE")]
    since_checkpoint: Option<OsString>,

    /// Exit 3 if no key or no earlier checkpoint was given
    #[arg(long)]
    require_memory: bool,
}

impl VerifyArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let mut options = VerifyOptions::new();
        let mut logs = LogReader::open_all(&self.dir)
            .map_err(|error| trouble("log verify", &self.dir, &error))?;
        if let Some(key) = &self.key {
            let key = given("log verify", key)?;
            // A key is one log's.
            if logs.len() > 1 {
                logs.retain(|log| log.origin() == key.name());
            }
            options = options.key(key);
        }
        if let Some(path) = &self.since_checkpoint {
            let note = read_given("log verify", path)?;
            if logs.len() > 1 {
                let origin = note.split(|byte| *byte == b'\n').next().unwrap_or_default();
                logs.retain(|log| log.origin().as_bytes() == origin);
            }
            options = options.since(note);
        }
        if logs.is_empty() {
            // Another log in the place of the one that was meant.
            let detail = "no log here has the origin of what was given".to_owned();
            let mut failure = usage("log verify", "these are other logs", detail);
            failure.exit = Exit::No;
            return Err(failure);
        }
        let mut reports = Vec::new();
        for log in &logs {
            let report =
                verify(log, &options).map_err(|error| trouble("log verify", &self.dir, &error))?;
            reports.push(report);
        }
        let tampered = reports
            .iter()
            .any(|report| report.verdict() == Verdict::Tampered);
        let lacking = self.key.is_none() || self.since_checkpoint.is_none();
        let exit = match (tampered, self.require_memory && lacking) {
            (true, _) => Exit::No,
            (false, true) => Exit::CannotTell,
            (false, false) => Exit::Yes,
        };
        if out.is_json() {
            let first = reports.iter().filter_map(Report::first_bad).min();
            let fields = JsonObject::new()
                .with("verdict", word(exit, self.key.is_some()))
                .with("authenticated", exit == Exit::Yes && self.key.is_some())
                .with("first_bad_index", first.map(|index| index.to_string()))
                .with("logs", list(reports.iter().map(object)));
            out.object(exit == Exit::Yes, fields);
        } else {
            for report in &reports {
                words(report, out);
            }
            out.line(&format!("verdict: {}", word(exit, self.key.is_some())));
        }
        Ok(exit)
    }
}

/// Without a key from elsewhere anybody may have signed it, and nothing more is said of it than
/// that it fits together.
const fn word(exit: Exit, has_key: bool) -> &'static str {
    match exit {
        Exit::Yes if has_key => "good",
        Exit::Yes => "consistent, not authenticated",
        Exit::No => "tampered",
        Exit::Usage | Exit::CannotTell | Exit::Child(_) => "cannot tell",
    }
}

fn object(report: &Report) -> JsonObject {
    let problems = report.problems.iter().map(|problem| {
        JsonObject::new()
            .with("index", problem.index.map(|index| index.to_string()))
            .with("what", problem.what.as_str())
    });
    JsonObject::new()
        .with("origin", report.origin.as_str())
        .with("events", report.events.to_string())
        .with("published", report.published.map(|size| size.to_string()))
        .with("root", report.root.map(|root| root.to_base64()))
        .with("checkpoints", report.checkpoints.to_string())
        .with("signed_by", report.signed_by.clone())
        .with("unsigned", report.unsigned.to_string())
        .with("torn_bytes", report.torn.to_string())
        .with("pruned", report.pruned.to_string())
        .with(
            "first_bad_index",
            report.first_bad().map(|index| index.to_string()),
        )
        .with("problems", list(problems))
        .with(
            "not_checked",
            report
                .not_checked
                .iter()
                .map(String::as_str)
                .collect::<Json>(),
        )
}

fn words(report: &Report, out: &mut Output) {
    out.line(&format!(
        "{}: {}, {}",
        handfast::escape(report.origin.as_bytes()),
        counted(report.events, "event"),
        counted(report.checkpoints, "checkpoint")
    ));
    for problem in &report.problems {
        match problem.index {
            Some(index) => out.folded(&format!("  bad at event {index}: {}", problem.what), 4),
            None => out.folded(&format!("  bad: {}", problem.what), 4),
        }
    }
    for what in &report.not_checked {
        out.folded(&format!("  not checked: {what}"), 15);
    }
}
