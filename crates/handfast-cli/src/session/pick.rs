//! `session commit -p`: one question a hunk, and one for what has no hunks.

use std::io::{BufRead, Write};

use handfast::Effect;
use handfast_session::change::{Content, Hunk};
use handfast_session::{
    Change, CommitOptions, Committed, DiffKind, Error, ReviewOptions, Session, Shown, VirtualPath,
};

use super::{commit, failures, review};
use crate::failure::Failure;
use crate::output::Output;

/// What was chosen.
#[derive(Default)]
pub(super) struct Picked {
    /// The IDs of hunks.
    hunks: Vec<String>,
    /// Paths as a whole, each with what goes with it and what was shown of them.
    paths: Vec<(Vec<VirtualPath>, Shown)>,
    /// What stays in the session, unasked.
    left_out: Vec<VirtualPath>,
}

/// The person's answer.
#[derive(Clone, Copy, Eq, PartialEq)]
enum PromptReply {
    Yes,
    No,
    Quit,
    /// This and the rest of the file.
    All,
    /// Neither this nor the rest of the file.
    Done,
}

const HELP: &str = "y - commit this
n - do not commit this
q - quit: commit neither this nor what comes after it
a - commit this and the rest of the file
d - commit neither this nor the rest of the file
? - show this help";

/// Asks about everything at and below some paths, but for what is left out. What was chosen is committed by [`Picked::commit`].
pub(super) fn ask(
    session: &Session,
    (paths, left_out): (&[VirtualPath], &[VirtualPath]),
    input: &mut dyn BufRead,
    out: &mut Output,
) -> Result<Picked, Error> {
    // A yes names a path, also one that a rule protects.
    let held = session.held_back(paths, left_out)?;
    let mut asked = paths.to_vec();
    if paths.is_empty() {
        asked.push(VirtualPath::root());
    }
    asked.extend(held.into_iter().map(|(path, _)| path));
    let (items, _) = session.chosen(&asked, left_out)?;
    let options = ReviewOptions {
        text_limit: ReviewOptions::FULL,
        ..ReviewOptions::default()
    };
    let mut changes = Vec::new();
    // All changes are read before the first question, so that no prompt holds up the reading.
    session.review(&options, &mut |change| {
        changes.push(change);
        Ok(())
    })?;
    let mut picked = Picked {
        left_out: left_out.to_vec(),
        ..Picked::default()
    };
    for item in &items {
        let about: Vec<&Change> = changes
            .iter()
            .filter(|change| commit::is_about(change, item))
            .collect();
        let goes_on = match about.as_slice() {
            [] => true,
            [change] if is_by_hunk(change) => ask_hunks(change, input, out, &mut picked),
            _ => {
                let named = named(item, &about);
                let (needed, mut shown) = session.chosen(&named, left_out)?;
                about.iter().for_each(|change| shown.note(change));
                let subject = Subject {
                    item,
                    named,
                    about: &about,
                    needed: &needed,
                };
                ask_path(&subject, shown, input, out, &mut picked)
            }
        };
        if !goes_on {
            break;
        }
    }
    Ok(picked)
}

/// What a yes names: a path, and what goes with a directory that is removed.
fn named(item: &VirtualPath, about: &[&Change]) -> Vec<VirtualPath> {
    let with_it = about.iter().map(|change| &change.path);
    let with_it = with_it.filter(|path| *path != item).cloned();
    std::iter::once(item.clone()).chain(with_it).collect()
}

/// Whether lines can be committed one by one: the base has the file in the same place.
fn is_by_hunk(change: &Change) -> bool {
    change.kind == DiffKind::Changed && matches!(change.content, Content::Hunks(_))
}

/// Asks about every hunk of a file. `false` if nothing more is to be asked.
fn ask_hunks(
    change: &Change,
    input: &mut dyn BufRead,
    out: &mut Output,
    picked: &mut Picked,
) -> bool {
    out.note(&review::line(change));
    let hunks = change.hunks();
    let mut rest = None;
    for (number, hunk) in hunks.iter().enumerate() {
        let reply = rest.unwrap_or_else(|| {
            show_hunk(change, hunk, out);
            let part = format!("({}/{})", number + 1, hunks.len());
            let question = format!("{part} commit this hunk of `{}`", change.path);
            reply(&question, input, out)
        });
        match reply {
            PromptReply::Yes | PromptReply::All => picked.hunks.push(hunk.id.clone()),
            PromptReply::Quit => return false,
            PromptReply::No | PromptReply::Done => {}
        }
        if matches!(reply, PromptReply::All | PromptReply::Done) {
            rest = Some(reply);
        }
    }
    if let Some((old, new)) = change.modes() {
        out.note(&format!(
            "the mode of `{}` ({old:04o} to {new:04o}) is no line: it stays in the session until the path is committed",
            change.path
        ));
    }
    true
}

fn show_hunk(change: &Change, hunk: &Hunk, out: &mut Output) {
    let mut alone = change.clone();
    alone.content = Content::Hunks(vec![hunk.clone()]);
    for line in review::painted_lines(&alone) {
        out.note(&line);
    }
}

/// A path that is committed as a whole.
struct Subject<'a> {
    item: &'a VirtualPath,
    /// It, and what is shown with it.
    named: Vec<VirtualPath>,
    /// What becomes of it.
    about: &'a [&'a Change],
    /// What goes with it.
    needed: &'a [VirtualPath],
}

/// Asks about a path as a whole. `false` if nothing more is to be asked.
fn ask_path(
    subject: &Subject<'_>,
    shown: Shown,
    input: &mut dyn BufRead,
    out: &mut Output,
    picked: &mut Picked,
) -> bool {
    for change in subject.about {
        out.note(&review::line(change));
        for line in review::painted_lines(change) {
            out.note(&line);
        }
    }
    let is_picked = |path: &VirtualPath| {
        path == subject.item || picked.paths.iter().any(|(known, _)| known.contains(path))
    };
    for path in subject.needed.iter().filter(|path| !is_picked(path)) {
        out.note(&format!("with it goes `{path}`"));
    }
    match reply(&format!("commit `{}`", subject.item), input, out) {
        PromptReply::Yes | PromptReply::All => picked.paths.push((subject.named.clone(), shown)),
        PromptReply::Quit => return false,
        PromptReply::No | PromptReply::Done => {}
    }
    true
}

/// An answer. The end of the input is the end of the questions.
fn reply(question: &str, input: &mut dyn BufRead, out: &mut Output) -> PromptReply {
    loop {
        let mut stderr = std::io::stderr().lock();
        let asked = write!(stderr, "{question} [y,n,q,a,d,?]? ").and_then(|()| stderr.flush());
        drop(stderr);
        let mut answer = String::new();
        if asked.is_err() || !matches!(input.read_line(&mut answer), Ok(1..)) {
            return PromptReply::Quit;
        }
        match answer.trim() {
            "y" => return PromptReply::Yes,
            "n" => return PromptReply::No,
            "q" => return PromptReply::Quit,
            "a" => return PromptReply::All,
            "d" => return PromptReply::Done,
            _ => HELP.lines().for_each(|line| out.note(line)),
        }
    }
}

/// A failure after some paths were committed: it says which, since they are in the base.
fn partly(mut failure: Box<Failure>, committed: &[VirtualPath]) -> Box<Failure> {
    if committed.is_empty() {
        return failure;
    }
    let mut paths: Vec<String> = committed.iter().map(|path| format!("`{path}`")).collect();
    paths.sort();
    let paths = paths.join(", ");
    failure.detail = format!("{}; committed before that: {paths}", failure.detail);
    if failure.effect == Effect::None {
        failure.effect = Effect::Visible;
    }
    failure
}

impl Picked {
    /// Commits what was chosen, if it is still what was shown.
    pub(super) fn commit(
        self,
        name: &str,
        session: &Session,
        message: Option<&str>,
    ) -> Result<Committed, Box<Failure>> {
        let failed = |error| failures::failed("commit", "commit the session", name, &error);
        let mut all = Committed::default();
        if !self.paths.is_empty() {
            all = self.commit_paths(session, message).map_err(failed)?;
        }
        // Hunks have IDs of their own content, so it does not matter what else was committed.
        if !self.hunks.is_empty() && all.conflicts.is_empty() {
            let lines = session
                .commit_hunks(&self.hunks, message)
                .map_err(|error| partly(failed(error), &all.committed))?;
            all.committed.extend(lines.committed);
            all.conflicts.extend(lines.conflicts);
            all.not_undoable = all.not_undoable.or(lines.not_undoable);
        }
        all.committed.sort();
        Ok(all)
    }

    fn commit_paths(&self, session: &Session, message: Option<&str>) -> Result<Committed, Error> {
        let named = self.paths.iter().flat_map(|(named, _)| named);
        let paths: Vec<VirtualPath> = named.cloned().collect();
        let left_out = &self.left_out;
        let (_, mut together) = session.chosen(&paths, left_out)?;
        // Each is looked at again after that: what is committed lies between two equal looks.
        for (named, shown) in &self.paths {
            let (_, now) = session.chosen(named, left_out)?;
            if !now.is_same_work(shown) {
                let path = &named[0];
                let why = format!("`{path}` was changed since it was shown; nothing was committed");
                return Err(Error::refused(handfast::ErrorKind::Stale, why));
            }
            together.add_noted(shown);
        }
        let options = CommitOptions {
            paths,
            shown: Some(together),
            message: message.map(str::to_owned),
            leave_out: left_out.clone(),
            ..CommitOptions::default()
        };
        session.commit(&options, &mut |_, _| {})
    }
}
