//! `session undo NAME`: a commit is taken back.

use clap::Args;
use handfast_session::{Committed, PastCommit, Session, VirtualPath};

use super::failures;
use super::place::StateArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult, Printable};
use crate::json::JsonObject;
use crate::log::Opening;
use crate::output::{self, Output};

/// Take the last commit back: the base is as it was, and the changes are the session's again
///
/// Every path is compared with what the commit left there. If others changed one of them since, nothing
/// is changed and the exit code is 1. `session show` lists the commits that can be taken back.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session undo review
  handfast session undo --commits 2 review"
))]
pub(super) struct UndoArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Take this many commits back, the newest first; stop at the first conflict
    #[arg(long, value_name = "N", default_value_t = 1)]
    commits: usize,

    /// The session
    name: String,
}

impl UndoArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening, out: &mut Output) -> PrintResult {
        let session = state.open_with("undo", &self.name, opening)?;
        let failed = |error| failures::failed("undo", "undo", &self.name, &error);
        failures::tell_finished(&session, out).map_err(failed)?;
        let past = session.past_commits().map_err(failed)?;
        if self.commits == 0 || self.commits > past.len() {
            let why = match past.len() {
                0 => "no commit can be taken back".to_owned(),
                1 => "one commit can be taken back".to_owned(),
                count => format!("{count} commits can be taken back"),
            };
            let error = handfast::Error::refused(handfast::ErrorKind::NotFound, why);
            return Err(failed(error));
        }
        let wanted = &past[..self.commits];
        if let Some(why) = wanted.iter().find_map(|commit| commit.why_not.as_ref()) {
            let why = format!("a commit cannot be taken back: {why}");
            let error = handfast::Error::refused(handfast::ErrorKind::Unsupported, why);
            return Err(failed(error));
        }
        if !self.yes {
            for commit in wanted {
                show(commit, out);
            }
        }
        let question = match wanted.len() {
            1 => format!("take this commit of `{}` back?", self.name),
            count => format!("take these {count} commits of `{}` back?", self.name),
        };
        if !failures::confirm("undo", &question, self.yes, out)? {
            let fields = JsonObject::new()
                .with("undone", output::list([]))
                .with("conflicts", output::list([]));
            return Done::answer(fields, "nothing was taken back".to_owned());
        }
        let report = take_back(&session, wanted).map_err(failed)?;
        Ok(Box::new(Report(report)))
    }
}

/// What taking a commit back does to the base.
fn show(commit: &PastCommit, out: &mut Output) {
    out.note(&described(commit));
    for (path, kind) in &commit.changes {
        out.note(&format!("  {:<8} {path}", kind.name()));
    }
}

/// A commit, for programs.
pub(super) fn fields(commit: &PastCommit) -> JsonObject {
    let changes = commit.changes.iter().map(|(path, kind)| {
        JsonObject::new()
            .with_bytes("path", &failures::bytes(path))
            .with("kind", kind.name())
    });
    JsonObject::new()
        .with("made", made(commit))
        .with("message", commit.message.clone())
        .with("why_not", commit.why_not.clone())
        .with("bytes", commit.bytes.to_string())
        .with("undo", output::list(changes))
}

fn made(commit: &PastCommit) -> String {
    time(commit.id)
}

/// Nanoseconds since the epoch, for people and programs.
pub(super) fn time(nanoseconds: u64) -> String {
    handfast_ledger::time::rfc3339(i128::from(nanoseconds))
}

/// A commit on one line.
pub(super) fn described(commit: &PastCommit) -> String {
    let when = made(commit);
    let paths = match commit.changes.len() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    };
    let kept = crate::width::size(commit.bytes);
    let message = match &commit.message {
        Some(message) => format!(": {}", handfast::escape(message.as_bytes())),
        None => String::new(),
    };
    match &commit.why_not {
        Some(why) => format!("{when}, cannot be taken back ({why}){message}"),
        None => format!("{when}, {paths}, {kept} kept{message}"),
    }
}

/// Exactly the commits that were shown, one after the other.
fn take_back(
    session: &Session,
    wanted: &[PastCommit],
) -> Result<Committed, handfast_session::Error> {
    let mut all = Committed::default();
    for commit in wanted {
        let done = session.undo(commit.id)?;
        all.committed.extend(done.committed);
        all.conflicts.extend(done.conflicts);
        if !all.conflicts.is_empty() {
            break;
        }
    }
    all.committed.sort();
    all.committed.dedup();
    Ok(all)
}

struct Report(Committed);

impl Printable for Report {
    fn fields(&self) -> JsonObject {
        let path =
            |path: &VirtualPath| JsonObject::new().with_bytes("path", &failures::bytes(path));
        let undone = self.0.committed.iter().map(path);
        let conflicts = self.0.conflicts.iter();
        let conflicts = conflicts.map(|(at, why)| path(at).with("why", why.as_str()));
        JsonObject::new()
            .with("undone", output::list(undone))
            .with("conflicts", output::list(conflicts))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for path in &self.0.committed {
            out.line(&format!("undone    {path}"));
        }
        for (path, why) in &self.0.conflicts {
            out.line(&format!("conflict  {path}: {why}"));
        }
        match (self.0.committed.is_empty(), self.0.conflicts.is_empty()) {
            (true, false) => out.note("nothing was changed"),
            (false, false) => out.note("a commit that is in conflict was not taken back"),
            (false, true) => out.note("what was committed is in the session again"),
            (true, true) => {}
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
