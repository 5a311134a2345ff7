//! `session diff NAME`: what was changed.

use std::ffi::OsString;

use clap::Args;
use handfast_session::{Change, DiffKind, ReviewOptions, Session};

use super::place::StateArgs;
use super::{commit, failures, review};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::JsonObject;
use crate::output::{self, Output};
use crate::width::size;

/// Show the changes: everything that a commit would write
///
/// Kind, mode, size and target follow the path; text is below it as a unified diff. Control
/// and bidirectional characters are spelled out. In colour on a terminal, unless NO_COLOR is set.
/// With `--json` every change is listed with all that is known of it.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session diff review
  handfast session diff --names review /src"
))]
pub(super) struct DiffArgs {
    /// One line for each change
    #[arg(long, group = "form")]
    names: bool,

    /// The changed paths and nothing else
    #[arg(long, group = "form")]
    name_only: bool,

    /// Count lines instead of showing them
    #[arg(long, group = "form")]
    stat: bool,

    /// A raw patch that `git apply` takes, with paths below the mount; exit 1 if it cannot hold
    /// everything
    #[arg(long, group = "form")]
    patch: bool,

    /// Also show changes that the base's ignore files match; without this they are counted
    #[arg(long)]
    ignored: bool,

    /// Show text of any length, up to 64 MiB a file
    #[arg(long)]
    full: bool,

    /// The session
    name: String,

    /// Only changes at or below these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

impl DiffArgs {
    pub(super) fn run(&self, state: &StateArgs, out: &mut Output) -> PrintResult {
        if out.is_json() && (self.patch || self.stat || self.names || self.name_only) {
            let why = "`--json` has one form: all that is known of every change";
            return Err(failures::misused(
                "diff",
                "show the changes in two forms",
                why,
            ));
        }
        let session = state.open("diff", &self.name)?;
        let options = ReviewOptions {
            paths: commit::paths("diff", &self.paths)?,
            text_limit: match self.full || self.patch {
                true => ReviewOptions::FULL,
                false => ReviewOptions::USUAL,
            },
            keep_content: self.patch,
            ..ReviewOptions::default()
        };
        let mut diff = Diff::default();
        self.print(&session, &options, &mut diff, out)
            .map_err(|error| failures::failed("diff", "compare the session", &self.name, &error))?;
        Ok(Box::new(diff))
    }

    /// One change after the other, so that any number of them can be shown.
    fn print(
        &self,
        session: &Session,
        options: &ReviewOptions,
        diff: &mut Diff,
        out: &mut Output,
    ) -> Result<(), handfast_session::Error> {
        session.review(options, &mut |change| {
            if change.ignored && !self.ignored && !out.is_json() {
                diff.fold(&change);
                return Ok(());
            }
            diff.count += 1;
            diff.unreadable += usize::from(review::is_unreadable(&change));
            if self.patch {
                diff.patch(&change, out);
            } else if out.is_json() {
                diff.objects.push(review::to_json(&change));
            } else if self.name_only {
                out.line(&change.path.to_string());
            } else if self.names {
                out.line(&review::line(&change));
            } else if self.stat {
                let (line, added, removed) = review::stat(&change);
                diff.lines = (diff.lines.0 + added, diff.lines.1 + removed);
                out.line(&line);
            } else {
                review::show(&change, out);
            }
            Ok(())
        })?;
        if self.stat && !out.is_json() {
            let (added, removed) = diff.lines;
            let changes = crate::width::counted(diff.count as u64, "change");
            out.line(&format!("{changes}, +{added} -{removed} lines"));
        }
        if diff.folded.0 > 0 {
            let (count, bytes) = diff.folded;
            let words = format!(
                "ignored: {}, {}; `--ignored` shows them",
                review::counted(count),
                size(bytes)
            );
            match self.patch || self.name_only {
                true => out.note(&words),
                false => out.line(&words),
            }
        }
        diff.name_empty_directories();
        Ok(())
    }
}

/// What was printed, and what could not be.
#[derive(Default)]
struct Diff {
    objects: Vec<JsonObject>,
    count: usize,
    lines: (usize, usize),
    /// What the base's ignore files name: how many, and how long.
    folded: (usize, u64),
    /// Paths of a patch.
    patched: Vec<Vec<u8>>,
    new_dirs: Vec<(Vec<u8>, String)>,
    unpatchable: Vec<String>,
    /// Files that their modes keep from us.
    unreadable: usize,
}

impl Diff {
    fn fold(&mut self, change: &Change) {
        let len = change.after.as_ref().map_or(0, |side| side.len);
        self.folded = (self.folded.0 + 1, self.folded.1 + len);
    }

    fn patch(&mut self, change: &Change, out: &mut Output) {
        let (patch, missing) = change.patch();
        out.data(&patch);
        if change.is_dir() && change.kind == DiffKind::Added {
            let below = failures::bytes(&change.path);
            self.new_dirs.push((below, change.path.to_string()));
        } else {
            self.patched.push(failures::bytes(&change.path));
        }
        let told = missing.into_iter();
        self.unpatchable
            .extend(told.map(|why| format!("{}: {}", change.path, why.0)));
    }

    /// Git knows a directory by the files in it.
    fn name_empty_directories(&mut self) {
        for (dir, shown) in &self.new_dirs {
            let is_in = |path: &Vec<u8>| {
                let rest = path.strip_prefix(dir.as_slice());
                rest.is_some_and(|rest| rest.first() == Some(&b'/'))
            };
            if !self.patched.iter().any(is_in) {
                self.unpatchable
                    .push(format!("{shown}: an empty directory"));
            }
        }
    }
}

impl Printable for Diff {
    fn fields(&self) -> JsonObject {
        JsonObject::new().with("changes", output::list(self.objects.iter().cloned()))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.count + self.folded.0 == 0 {
            out.note("nothing was changed");
        }
        for line in &self.unpatchable {
            out.note(&format!("not in the patch: {line}"));
        }
        if self.unreadable > 0 {
            let count = review::counted(self.unreadable);
            out.note(&format!(
                "{count} of content that cannot be read, because of the mode"
            ));
        }
        Ok(())
    }

    fn verdict(&self) -> Exit {
        match self.unpatchable.is_empty() && self.unreadable == 0 {
            true => Exit::Yes,
            false => Exit::No,
        }
    }
}
