//! What a person reads before and after a run.

use handfast_run::{Plan, Wall};
use handfast_session::{Change, Comment, Committed, Mode};

use crate::exit::Exit;
use crate::output::Output;
use crate::session::line;

/// So many changes are shown; the review shows all.
const MAX_SHOWN: usize = 15;

/// What is about to happen.
pub(super) fn begin(plan: &Plan, session: &str, mode: Mode, out: &mut Output) {
    let project = handfast::escape(plan.project.path.as_os_str().as_encoded_bytes());
    out.note(&match plan.wall {
        Wall::Landlock => format!("project {project}, {mode}, engine landlock, no session"),
        _ if plan.fast => {
            format!("project {project}, session {session}, {mode}, engine overlayfs")
        }
        _ => format!("project {project}, session {session}, {mode}"),
    });
    if let Some(repository) = &plan.project.repository {
        let path = handfast::escape(repository.path.as_os_str().as_encoded_bytes());
        out.note(&format!("repository {path}, in the same session"));
    }
    for weaker in &plan.weaker {
        out.note(&format!("weaker: {weaker}"));
    }
}

/// What a reviewer said that is still open.
pub(super) fn comments(comments: &[Comment], out: &mut Output) {
    for said in comments {
        out.note(&comment(said));
    }
}

/// One of them, on one line.
pub(super) fn comment(said: &Comment) -> String {
    format!("a reviewer rejected {}", said.line())
}

/// What changed, as far as one screen shows it.
#[derive(Default)]
pub(super) struct Changes {
    count: usize,
    lines: Vec<String>,
}

impl Changes {
    /// Counts a change, and keeps its line while there is room.
    pub(super) fn take(&mut self, change: &Change) {
        self.count += 1;
        if self.lines.len() < MAX_SHOWN {
            self.lines.push(line(change));
        }
    }
}

/// What changed, and what to do about it.
pub(super) fn end(changes: &Changes, session: &str, wanted_commit: bool, out: &mut Output) {
    if changes.count == 0 {
        out.note("nothing was changed");
        return;
    }
    let count = match changes.count {
        1 => "1 change waits".to_owned(),
        count => format!("{count} changes wait"),
    };
    let why = match wanted_commit {
        true => ": the program failed, so nothing was committed",
        false => "",
    };
    out.note(&format!("{count} in the session {session}{why}"));
    for line in &changes.lines {
        out.note(&format!("  {line}"));
    }
    if changes.count > changes.lines.len() {
        let more = changes.count - changes.lines.len();
        out.note(&format!("  and {more} more"));
    }
    out.note(&format!("review:  handfast session diff {session}"));
    out.note(&format!("commit:  handfast session commit {session}"));
    out.note(&format!("discard: handfast session discard {session}"));
}

/// What was committed. A conflict is an answer of no.
pub(super) fn committed(report: &Committed, session: &str, out: &mut Output) -> Exit {
    for (path, why) in &report.conflicts {
        out.note(&format!("conflict {path}: {why}"));
    }
    for (path, why) in &report.held_back {
        out.note(&format!("waits {path}: {why}"));
    }
    if !report.held_back.is_empty() {
        out.note(&format!(
            "what waits is committed only by name: handfast session commit {session} PATH"
        ));
    }
    if report.conflicts.is_empty() {
        out.note(&match report.committed.len() {
            1 => "1 change was committed".to_owned(),
            count => format!("{count} changes were committed"),
        });
        return Exit::Yes;
    }
    out.note(&format!(
        "nothing was committed; review: handfast session diff {session}"
    ));
    Exit::No
}
