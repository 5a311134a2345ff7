//! What changes something: a commit, taking one back, a comment.

use handfast::ErrorKind;
use handfast_session::{Comment, CommitOptions, Committed, Error};

use super::seal::Seal;
use super::{Keeper, change, path_of, plan, seal, stale};
use crate::protocol::{DoneView, KeeperReply, Pick};

/// The longest reason of a commit, in bytes.
const MAX_MESSAGE: usize = 4096;

impl Keeper {
    /// Commits exactly what a plan showed. The session is looked at once more, and compares for itself
    /// while it commits.
    pub(super) fn commit(&mut self, named: &str, message: &str) -> Result<KeeperReply, Error> {
        let named = Seal::claimed(named);
        let known = self.plans.iter().find(|plan| plan.seal == named).cloned();
        let known = known.ok_or_else(|| {
            Error::refused(
                ErrorKind::Denied,
                "this was never sent to be shown, or it is long ago; look at the changes again",
            )
        })?;
        if message.len() > MAX_MESSAGE {
            return Err(Error::refused(
                ErrorKind::Limit,
                "the reason is too long for the log",
            ));
        }
        let message = Some(message.trim()).filter(|message| !message.is_empty());
        let name = known.session.as_str();
        let (_log, session) = self.open_to_change(name)?;
        let now = plan::look(name, &session, known.paths.clone(), &known.hunks)?.plan;
        if !now.is_same(&known) {
            return Err(stale("the session"));
        }
        let mut all = Committed::default();
        if !known.paths.is_empty() {
            let options = CommitOptions {
                paths: known.paths.clone(),
                leave_out: known.leave_out.clone(),
                shown: Some(known.shown.clone()),
                message: message.map(str::to_owned),
                ..CommitOptions::default()
            };
            all = session.commit(&options, &mut |_, _| {})?;
        }
        // Hunks have IDs of their own content, so it does not matter what else was committed.
        if !known.hunks.is_empty() && all.conflicts.is_empty() {
            match session.commit_hunks(&known.hunks, message) {
                Ok(lines) => {
                    all.committed.extend(lines.committed);
                    all.conflicts.extend(lines.conflicts);
                    all.not_undoable = all.not_undoable.or(lines.not_undoable);
                }
                Err(error) if all.committed.is_empty() => return Err(error),
                Err(error) => {
                    let hunks = "the marked hunks".to_owned();
                    return Ok(done(name, "committed", &all, vec![(hunks, error.detail())]));
                }
            }
        }
        self.plans.retain(|plan| plan.seal != named);
        Ok(done(name, "committed", &all, Vec::new()))
    }

    /// Takes the last commit back, if it is still the one that was shown.
    pub(super) fn undo(&mut self, name: &str, claimed: &str) -> Result<KeeperReply, Error> {
        let claimed = Seal::claimed(claimed);
        self.require_sent(&claimed)?;
        let (_log, session) = self.open_to_change(name)?;
        let past = session.past_commits()?;
        let last = past.first().ok_or_else(|| stale("the session"))?;
        if seal::of_past(name, last) != claimed {
            return Err(stale("the session"));
        }
        let all = session.undo(last.id)?;
        Ok(done(name, "taken back", &all, Vec::new()))
    }

    /// Keeps a comment about a change as it was shown.
    pub(super) fn reject(
        &mut self,
        name: &str,
        pick: &Pick,
        hunk: Option<&str>,
        text: &str,
    ) -> Result<KeeperReply, Error> {
        let claimed = Seal::claimed(&pick.seal);
        self.require_sent(&claimed)?;
        if let Some(hunk) = hunk {
            self.require_sent(&seal::of_hunk(name, hunk))?;
        }
        let path = path_of(&pick.path)?;
        let (_log, session) = self.open_to_change(name)?;
        let change =
            change::find(&session, &path, true, false).map_err(change::missing_is_stale)?;
        let is_hunk_there = |id: &str| change.hunks().iter().any(|known| known.id == id);
        if seal::of_change(name, &change) != Some(claimed) || !hunk.is_none_or(is_hunk_there) {
            return Err(stale(format!("`{path}`")));
        }
        let mut comment = Comment::new(self.looking.caller.actor(), path, text.trim());
        comment.hunk = hunk.map(str::to_owned);
        comment.digest = change.after.as_ref().and_then(|side| side.digest.clone());
        session.add_comment(&comment)?;
        Ok(KeeperReply::Done(DoneView {
            session: name.to_owned(),
            sentence: "The comment is kept. The change stays in the session.".to_owned(),
            paths: vec![comment.line()],
            conflicts: Vec::new(),
            notes: Vec::new(),
        }))
    }
}

/// What was done, in words.
fn done(
    session: &str,
    deed: &str,
    all: &Committed,
    mut conflicts: Vec<(String, String)>,
) -> KeeperReply {
    let found = all.conflicts.iter();
    conflicts.extend(found.map(|(path, why)| (path.to_string(), why.clone())));
    let sentence = match all.committed.len() {
        0 => format!("Nothing was {deed}."),
        1 => format!("1 path was {deed}."),
        count => format!("{count} paths were {deed}."),
    };
    let not_undoable = all.not_undoable.as_ref();
    let not_undoable = not_undoable.map(|why| format!("This commit cannot be taken back: {why}"));
    let waits = all.held_back.iter();
    let waits = waits.map(|(path, why)| format!("`{path}` waits to be marked itself: {why}"));
    let mut paths: Vec<String> = all.committed.iter().map(ToString::to_string).collect();
    paths.sort();
    KeeperReply::Done(DoneView {
        session: session.to_owned(),
        sentence,
        paths,
        conflicts,
        notes: not_undoable.into_iter().chain(waits).collect(),
    })
}
