//! `session commit NAME`: the changes become the base's.

use std::ffi::OsString;

use clap::Args;
use handfast_session::change::Content;
use handfast_session::{
    Change, CommitOptions, Committed, DiffKind, OnConflict, ReviewOptions, Session, VirtualPath,
};

use super::place::StateArgs;
use super::{failures, pick, review};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult, Printable};
use crate::json::JsonObject;
use crate::log::Opening;
use crate::output::{self, Output};
use crate::progress::Progress;

/// Apply the session's changes to the base directory: all, or those at and below some paths
///
/// Every path is compared with what the session saw first. If others changed one of them, nothing
/// is committed and the exit code is 1. A name that a rule protects is committed only if its own
/// path
/// is given.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session commit review
  handfast session commit --yes review /src/main.rs"
))]
pub(super) struct CommitArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Commit the rest where others changed something
    #[arg(long, conflicts_with = "overwrite")]
    skip_conflicts: bool,

    /// Take the session's side where others changed something
    #[arg(long)]
    overwrite: bool,

    /// Ask about every hunk, and about every path that has none, as `git add -p` does
    #[arg(long, short, conflicts_with_all = ["yes", "hunks", "skip_conflicts", "overwrite"])]
    patch: bool,

    /// Commit these hunks and nothing else; `diff --json` prints their IDs
    #[arg(long, value_name = "ID", conflicts_with_all = ["paths", "skip_conflicts", "overwrite"])]
    hunks: Vec<String>,

    /// Also commit changes that the base's ignore files match; without this only if their path is
    /// named
    #[arg(long, conflicts_with = "hunks")]
    ignored: bool,

    /// Record in the log why this is committed
    #[arg(long, short)]
    message: Option<String>,

    /// The session
    name: String,

    /// Only changes at or below these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

impl CommitArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening, out: &mut Output) -> PrintResult {
        let session = state.open_with("commit", &self.name, opening)?;
        let failed = |error| failures::failed("commit", "commit the session", &self.name, &error);
        failures::tell_finished(&session, out).map_err(failed)?;
        if !self.hunks.is_empty() {
            return self.run_hunks(&session, out);
        }
        let paths = paths("commit", &self.paths)?;
        let leave_out = self.left_out(&session, &paths, out)?;
        if self.patch {
            return self.run_patch(&session, (&paths, &leave_out), out);
        }
        let mut wanted = CommitOptions {
            paths,
            leave_out,
            on_conflict: match (self.skip_conflicts, self.overwrite) {
                (true, _) => OnConflict::Skip,
                (_, true) => OnConflict::Overwrite,
                _ => OnConflict::Refuse,
            },
            shown: None,
            message: self.message.clone(),
        };
        if !self.yes {
            let (chosen, mut shown) = session
                .chosen(&wanted.paths, &wanted.leave_out)
                .map_err(failed)?;
            session
                .review(&ReviewOptions::default(), &mut |change| {
                    // A directory that goes takes what is in it with it.
                    if chosen.iter().any(|path| is_about(&change, path)) {
                        out.note(&review::line(&change));
                        shown.note(&change);
                    }
                    Ok(())
                })
                .map_err(failed)?;
            wanted.shown = Some(shown);
            let held = session.held_back(&wanted.paths, &wanted.leave_out);
            tell_held(&held.map_err(failed)?, out);
            // There is nothing to ask about.
            if chosen.is_empty() {
                return nothing();
            }
        }
        let question = format!("commit these changes of `{}`?", self.name);
        if !failures::confirm("commit", &question, self.yes, out)? {
            return nothing();
        }
        let mut progress = Progress::new(out.is_json() || out.is_quiet());
        let report = session
            .commit(&wanted, &mut |done, all| {
                progress.tell(|| format!("committing {done} of {all}"));
            })
            .map_err(failed)?;
        progress.end();
        if self.yes {
            tell_held(&report.held_back, out);
        }
        Ok(Box::new(Report(report)))
    }

    /// What the base's ignore files name stays in the session, and is counted.
    fn left_out(
        &self,
        session: &Session,
        paths: &[VirtualPath],
        out: &mut Output,
    ) -> Result<Vec<VirtualPath>, Box<Failure>> {
        if self.ignored {
            return Ok(Vec::new());
        }
        let left = session.ignored(paths).map_err(|error| {
            failures::failed("commit", "commit the session", &self.name, &error)
        })?;
        if !left.is_empty() {
            let count = review::counted(left.len());
            out.note(&format!(
                "{count} in ignored paths stay in the session; `--ignored` commits them"
            ));
        }
        Ok(left)
    }

    fn run_patch(
        &self,
        session: &Session,
        subject: (&[VirtualPath], &[VirtualPath]),
        out: &mut Output,
    ) -> PrintResult {
        failures::require_person("commit", out)?;
        let mut stdin = std::io::stdin().lock();
        let picked = pick::ask(session, subject, &mut stdin, out).map_err(|error| {
            failures::failed("commit", "commit the session", &self.name, &error)
        })?;
        let report = picked.commit(&self.name, session, self.message.as_deref())?;
        Ok(Box::new(Report(report)))
    }

    fn run_hunks(&self, session: &Session, out: &mut Output) -> PrintResult {
        let failed = |error| failures::failed("commit", "commit the session", &self.name, &error);
        if !self.yes && !out.is_json() {
            let options = ReviewOptions {
                text_limit: ReviewOptions::FULL,
                ..ReviewOptions::default()
            };
            let mut shown = |mut change: Change| {
                if let Content::Hunks(hunks) = &mut change.content {
                    hunks.retain(|hunk| self.hunks.contains(&hunk.id));
                    if !hunks.is_empty() {
                        review::show(&change, out);
                    }
                }
                Ok(())
            };
            session.review(&options, &mut shown).map_err(failed)?;
        }
        let question = format!("commit these lines of `{}`?", self.name);
        if !failures::confirm("commit", &question, self.yes, out)? {
            return nothing();
        }
        let message = self.message.as_deref();
        let report = session.commit_hunks(&self.hunks, message).map_err(failed)?;
        Ok(Box::new(Report(report)))
    }
}

/// Lists the changes that stay in the session: a rule protects their paths, and no path was named.
fn tell_held(held: &[(VirtualPath, String)], out: &mut Output) {
    for (path, why) in held {
        out.note(&format!("waits     {path}: {why}"));
    }
    if !held.is_empty() {
        let count = review::counted(held.len());
        out.note(&format!(
            "{count} of protected names: still in the session; name each path to commit it"
        ));
    }
}

/// Whether a change is the one that was chosen, or what goes with it.
pub(super) fn is_about(change: &Change, chosen: &VirtualPath) -> bool {
    match change.kind {
        DiffKind::Deleted => change.path.starts_with(chosen),
        _ => change.path == *chosen,
    }
}

fn nothing() -> PrintResult {
    let fields = JsonObject::new()
        .with("committed", output::list([]))
        .with("conflicts", output::list([]))
        .with("held_back", output::list([]));
    Done::answer(fields, "nothing was committed".to_owned())
}

/// Virtual paths from the command line.
pub(super) fn paths(
    verb: &'static str,
    texts: &[OsString],
) -> Result<Vec<VirtualPath>, Box<Failure>> {
    let parse = |text: &OsString| failures::path(verb, verb, text);
    texts.iter().map(parse).collect()
}

struct Report(Committed);

impl Printable for Report {
    fn fields(&self) -> JsonObject {
        let path =
            |path: &VirtualPath| JsonObject::new().with_bytes("path", &failures::bytes(path));
        let committed = self.0.committed.iter().map(path);
        let conflicts = self
            .0
            .conflicts
            .iter()
            .map(|(at, why)| path(at).with("why", why.as_str()));
        let held = self.0.held_back.iter();
        let held = held.map(|(at, why)| path(at).with("why", why.as_str()));
        JsonObject::new()
            .with("committed", output::list(committed))
            .with("conflicts", output::list(conflicts))
            .with("held_back", output::list(held))
            .with("apart", output::list(self.0.apart.iter().map(path)))
            .with("not_undoable", self.0.not_undoable.clone())
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for path in &self.0.committed {
            out.line(&format!("committed {path}"));
        }
        for (path, why) in &self.0.conflicts {
            out.line(&format!("conflict  {path}: {why}"));
        }
        match (self.0.committed.len(), self.0.conflicts.len()) {
            (0, 0) if !self.0.held_back.is_empty() => out.note("nothing was committed"),
            (0, 0) => out.note("there was nothing to commit"),
            (0, _) => out.note(
                "nothing was committed; `--skip-conflicts` commits the rest, `--overwrite` takes the session's side",
            ),
            (_, 0) => {}
            _ => out.note("what is in conflict stays in the session"),
        }
        for path in &self.0.apart {
            out.note(&format!(
                "note: {path} is a file of its own, not another name of one file as in the session"
            ));
        }
        if let Some(why) = &self.0.not_undoable {
            out.note(&format!("note: this commit cannot be taken back: {why}"));
        }
        Ok(())
    }

    fn verdict(&self) -> Exit {
        match self.0.conflicts.is_empty() {
            true => Exit::Yes,
            false => Exit::No,
        }
    }
}
