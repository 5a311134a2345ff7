//! `session diff NAME`: what was changed.

use std::ffi::OsString;

use clap::Args;
use handfast_session::{Changed, DiffKind};

use super::place::StateArgs;
use super::told;
use crate::failure::Failure;
use crate::fs::answer::{Answer, Answered};
use crate::json::Object;
use crate::output::{self, Output};

/// Show what was changed, with text as a unified diff
///
/// In colour on a terminal, unless NO_COLOR is set. With `--json` the changes are listed without
/// their text.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// List the changed paths only
    #[arg(long)]
    names: bool,

    /// The session
    name: String,

    /// Only what is at or below these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

impl DiffArgs {
    pub(super) fn run(&self, state: &StateArgs, out: &Output) -> Answered {
        let session = state.open("diff", &self.name)?;
        let failed = |error| told::failed("diff", "compare the session", &self.name, &error);
        let mut wanted = Vec::new();
        for path in &self.paths {
            wanted.push(told::bytes(&told::path("diff", "compare", path)?));
        }
        let is_wanted = |change: &Changed| {
            let path = told::bytes(&change.path);
            wanted.is_empty()
                || wanted.iter().any(|above| {
                    let rest = path.strip_prefix(above.as_slice());
                    above == b"/" || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
                })
        };
        let mut changes = Vec::new();
        for change in session.diff().map_err(failed)? {
            if !is_wanted(&change) {
                continue;
            }
            let text = match self.names || out.is_json() {
                true => None,
                false => session.text_diff(&change).map_err(failed)?,
            };
            changes.push((change, text));
        }
        Ok(Box::new(Diff { changes }))
    }
}

struct Diff {
    changes: Vec<(Changed, Option<String>)>,
}

/// A change for programs.
pub(super) fn to_json(change: &Changed) -> Object {
    let mut object = Object::new()
        .with_bytes("path", &told::bytes(&change.path))
        .with("kind", change.kind.name());
    if let Some(from) = &change.from {
        object = object.with_bytes("from", &told::bytes(from));
    }
    object
}

/// A change on one line.
pub(crate) fn line(change: &Changed) -> String {
    let slash = if change.is_dir { "/" } else { "" };
    let mut line = format!("{:<8} {}{slash}", change.kind.name(), change.path);
    if let Some(from) = &change.from {
        line.push_str(&format!(" (was {from})"));
    }
    if let Some((old, new)) = change.mode {
        line.push_str(&format!(" (mode {old:04o} to {new:04o})"));
    }
    line
}

impl Answer for Diff {
    fn fields(&self) -> Object {
        let changes = self.changes.iter().map(|(change, _)| to_json(change));
        Object::new().with("changes", output::list(changes))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.changes.is_empty() {
            out.note("nothing was changed");
        }
        let terminal = Output::is_terminal();
        let paint = Output::is_coloured();
        for (change, text) in &self.changes {
            let colour = match change.kind {
                DiffKind::Added => "32",
                DiffKind::Deleted => "31",
                _ => "33",
            };
            out.line(&painted(&line(change), colour, paint));
            for text in text.iter().flat_map(|text| text.lines()) {
                let colour = match text.as_bytes().first() {
                    Some(b'+') => "32",
                    Some(b'-') => "31",
                    Some(b'@') => "36",
                    _ => "0",
                };
                // Bytes can do things to a terminal.
                let text = match terminal {
                    true => text
                        .split('\t')
                        .map(|part| handfast::escape(part.as_bytes()))
                        .collect::<Vec<_>>()
                        .join("\t"),
                    false => text.to_owned(),
                };
                out.line(&painted(&text, colour, paint && colour != "0"));
            }
        }
        Ok(())
    }
}

fn painted(text: &str, colour: &str, paint: bool) -> String {
    match paint {
        true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    }
}
