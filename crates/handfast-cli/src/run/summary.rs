//! What a person reads before and after a run.

use handfast_run::Plan;
use handfast_session::{Changed, Committed, Mode};

use crate::exit::Exit;
use crate::output::Output;
use crate::session::line;

/// So many changes are shown; the review shows all.
const MAX_SHOWN: usize = 15;

/// What is about to happen.
pub(super) fn begin(plan: &Plan, session: &str, mode: Mode, out: &mut Output) {
    let project = handfast::escape(plan.project.path.as_os_str().as_encoded_bytes());
    out.note(&format!("project {project}, session {session}, {mode}"));
    for weaker in &plan.weaker {
        out.note(&format!("weaker: {weaker}"));
    }
}

/// What changed, and what to do about it.
pub(super) fn end(changes: &[Changed], session: &str, wanted_commit: bool, out: &mut Output) {
    if changes.is_empty() {
        out.note("nothing was changed");
        return;
    }
    let count = match changes.len() {
        1 => "1 change waits".to_owned(),
        count => format!("{count} changes wait"),
    };
    let why = match wanted_commit {
        true => ": the program failed, so nothing was committed",
        false => "",
    };
    out.note(&format!("{count} in the session {session}{why}"));
    for change in changes.iter().take(MAX_SHOWN) {
        out.note(&format!("  {}", line(change)));
    }
    if changes.len() > MAX_SHOWN {
        out.note(&format!("  and {} more", changes.len() - MAX_SHOWN));
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
