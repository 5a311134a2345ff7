//! Commit: the overlay's changes become the base's, in two steps.
//!
//! *Prepare* verifies that the base still has what the overlay covered, name by name, and that
//! there is space; any conflict ends it there with nothing changed. Then the journal says
//! *committing*, and from there it only rolls forward: each file by compare-and-swap, each removal
//! only of what was seen. What meets a late conflict stays in the overlay and is reported. If a
//! commit is killed on the way, the next process that takes the lock completes it, from the same plan.

mod after;
mod both_made;
mod choice;
mod content;
mod early;
mod finished;
mod git;
mod hold;
mod moving;
mod names;
mod part;
mod plan;
mod prepare;
mod roll;
mod seal;
mod settled;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use handfast::{Effect, ErrorKind, Root};

use super::items::{ChangedName, What, items};
use super::store::fresh_id;
use super::tree::{Change, Tree, Was, base_path};
use super::undo::{Movable, Past, UndoId};
use super::{JOURNAL, Overlay, State, record};
use crate::error::Error;
use crate::gate::Locked;
use crate::log::Log;
use crate::place::Guard;
pub(super) use choice::Choice;
pub use finished::Finished;
pub(crate) use part::Part;
pub(super) use prepare::Reserve;
pub(super) use roll::{Rolled, STAGING};
pub(super) use times::keep_times;

/// What to do about paths that others changed meanwhile.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnConflict {
    /// Commit nothing.
    #[default]
    Refuse,
    /// Commit the rest.
    Skip,
    /// Take what the session has.
    Overwrite,
}

/// How to commit.
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    /// Virtual paths; all changes if there are none.
    pub paths: Vec<crate::VirtualPath>,
    /// What to do about conflicts.
    pub on_conflict: OnConflict,
    /// Commit only if the changes are still those that [`Session::chosen`](crate::Session::chosen)
    /// told of.
    pub shown: Option<Shown>,
    /// Why, for the log.
    pub message: Option<String>,
    /// Changes that stay in the session, each by its own path: see
    /// [`Session::ignored`](crate::Session::ignored).
    pub leave_out: Vec<crate::VirtualPath>,
}

/// What a commit was shown to be about: see [`Session::chosen`](crate::Session::chosen).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Shown {
    /// A digest of what is to be done in each mount.
    pub(crate) seals: Vec<(u32, String)>,
    /// The digests of contents, by path.
    pub(crate) digests: BTreeMap<crate::VirtualPath, String>,
}

impl Shown {
    /// Notes the content that was shown of a change. What is written is compared with it, from a copy
    /// that nobody else can write to: an agent that goes on writing changes nothing unseen.
    pub fn note(&mut self, change: &crate::Change) {
        let digest = change.after.as_ref().and_then(|side| side.digest.clone());
        let path = change.path.clone();
        self.digests.extend(digest.map(|digest| (path, digest)));
    }

    /// Whether both are about the same changes. What was noted of contents is not compared.
    #[must_use]
    pub fn is_same_work(&self, other: &Self) -> bool {
        self.seals == other.seals
    }

    /// Adds what was noted elsewhere.
    pub fn add_noted(&mut self, other: &Self) {
        let noted = other.digests.iter();
        self.digests
            .extend(noted.map(|(path, digest)| (path.clone(), digest.clone())));
    }
}

/// A path that others changed meanwhile, or that could not be written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Conflict {
    /// The path, below the mount.
    pub path: Vec<u8>,
    /// Why, in words.
    pub why: String,
}

/// What a commit did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct CommitReport {
    /// Paths that are in the base now, below the mount.
    pub committed: Vec<Vec<u8>>,
    /// Paths that are not, and stay in the overlay.
    pub conflicts: Vec<Conflict>,
    /// Why it cannot be taken back.
    pub not_undoable: Option<String>,
    /// Paths that stay in the overlay until they are named, with the rule.
    pub held: Vec<Conflict>,
    /// Paths that are names of a file in the overlay, and files of their own in the base.
    pub apart: Vec<Vec<u8>>,
}

impl CommitReport {
    /// Nothing was done.
    pub(super) fn refused(conflicts: Vec<Conflict>) -> Self {
        Self {
            conflicts,
            ..Self::default()
        }
    }
}

/// How an overlay commits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    pub(crate) on_conflict: OnConflict,
    /// What was shown: nothing else is committed.
    pub(crate) shown: Option<&'a str>,
    /// The digests of contents that were shown, by path below the mount.
    pub(crate) digests: &'a BTreeMap<Vec<u8>, String>,
    /// Changes that stay in the session.
    pub(crate) left_out: &'a BTreeSet<Vec<u8>>,
    pub(crate) past: Past<'a>,
}

impl Overlay {
    /// Commits the chosen changes; all of them if `paths` is empty. `progress` is told how many of
    /// how many are done; every item is judged again, by its own name and by the file of the base
    /// whose content gets a new name.
    pub(crate) fn commit(
        &self,
        paths: &[Vec<u8>],
        how: How<'_>,
        guard: &Guard<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<CommitReport, Error> {
        let How {
            on_conflict,
            shown,
            digests,
            left_out,
            mut past,
        } = how;
        let locked = self.begin()?;
        let tree = locked.state().tree.clone();
        let mut chosen = seal::selected(&tree, paths);
        chosen.retain(|item| !left_out.contains(&item.path));
        let dirs = self.judged_dirs(&chosen)?;
        let (chosen, held) = hold::hold_back(chosen, paths, guard)?;
        if let Some(shown) = shown
            && self.seal(&chosen)? != shown
        {
            return Err(Error::refused(
                ErrorKind::Stale,
                "the session was changed since its changes were shown; nothing was committed",
            ));
        }
        if chosen.is_empty() {
            return Ok(CommitReport {
                held,
                ..CommitReport::default()
            });
        }
        let joined = self.join_both_made(&locked, &chosen)?;
        let chosen = match self.drop_touched_objects(&locked, &chosen)? || joined {
            true => still(&locked.state().tree, &chosen),
            false => chosen,
        };
        let (mut conflicts, settled) = match on_conflict {
            OnConflict::Overwrite => {
                let (stays, why_not) = self.overwriting(&chosen)?;
                past.why_not = past.why_not.or(why_not);
                (stays, Vec::new())
            }
            _ => self.verify_unsettled(&chosen)?,
        };
        for item in &chosen {
            if let Err(error) = self.judge_item(item, guard)
                && !conflicts.iter().any(|known| known.path == item.path)
            {
                conflicts.push(Conflict {
                    path: item.path.clone(),
                    why: error.detail(),
                });
            }
        }
        if !conflicts.is_empty() && on_conflict == OnConflict::Refuse {
            return Ok(CommitReport {
                held,
                ..CommitReport::refused(conflicts)
            });
        }
        let refused: BTreeSet<Vec<u8>> = conflicts
            .iter()
            .map(|conflict| conflict.path.clone())
            .collect();
        let chosen = choice::without(chosen, &refused, &mut conflicts);
        let settled = self.settle(&locked, settled, &refused)?;
        let chosen = still(&locked.state().tree, &chosen);
        if chosen.is_empty() {
            return Ok(CommitReport {
                committed: settled,
                held,
                ..CommitReport::refused(conflicts)
            });
        }
        self.copy_up_replacing(&locked, &chosen)?;
        let chosen = still(&locked.state().tree, &chosen);
        let movable = match on_conflict {
            // What is there may be another file, which has to be looked at before it is kept.
            OnConflict::Overwrite => Movable::default(),
            _ => Movable::of(&locked.state().tree),
        };
        let (UndoId { id: undo, moving }, not_undoable) = self.keep(&past, &chosen, &movable)?;
        let copied = chosen.iter().filter(|item| !moving.contains(&item.path));
        let reserve = match self.reserve(copied) {
            Ok(reserve) => reserve,
            Err(error) => {
                self.drop_kept(&[undo], &BTreeSet::new())?;
                return Err(error);
            }
        };
        let choice = Choice {
            staging: fresh_id()?,
            overwrite: on_conflict == OnConflict::Overwrite,
            paths: chosen.iter().map(|item| item.path.clone()).collect(),
            early_done: false,
            failed: BTreeSet::new(),
            undo: Some(undo),
            taking: Vec::new(),
            digests: digests.clone(),
            dirs,
        };
        if let Err(error) = self.announce(&locked, &choice) {
            self.drop_kept(&[undo], &BTreeSet::new())?;
            return Err(error);
        }
        // Files that are moved must be on the disk before their new names are.
        let synced = match moving.is_empty() {
            true => locked.state().log.sync(),
            false => sync_all_of(&self.home),
        };
        synced.map_err(unfinished)?;
        let mut report = self.roll_forward(&locked, choice, reserve, false, progress)?;
        report.conflicts.extend(conflicts);
        report.committed.extend(settled);
        report.held = held;
        report.not_undoable = report.not_undoable.or(not_undoable);
        Ok(report)
    }

    /// Says in the journal that a commit is under way.
    fn announce(&self, locked: &Locked<'_, State>, choice: &Choice) -> Result<(), Error> {
        let choice = choice.write();
        // On the way it may come to name each path once more, as one that failed; it could not be
        // ended then.
        if choice.len() > crate::log::MOST / 2 {
            return Err(Error::refused(
                ErrorKind::Limit,
                "these are too many paths for one commit; name some of them",
            ));
        }
        self.record(locked, vec![Change::Committing { choice }])
    }

    /// Judges an item again, at the moment it is committed: rules may have changed since it was
    /// made, and a rule that was got round must not reach the base.
    pub(super) fn judge_item(&self, item: &ChangedName, guard: &Guard<'_>) -> Result<(), Error> {
        let path = base_path(&item.path)?;
        guard.check(&path)?;
        guard.check_new(&path, item.what.kind())?;
        self.require_readable(item)?;
        let Some(source) = choice::source(item) else {
            return Ok(());
        };
        if source.starts_with(STAGING.as_bytes()) {
            // Where an earlier commit had to leave it; it was judged when it came there.
            return Ok(());
        }
        let source = base_path(source)?;
        guard.check_scope(&source)?;
        guard.check_held(&source)?;
        // What lies in a directory that moves is no item of its own.
        guard.check_move(&source, &path, item.what.kind())?;
        if is_copied_up(item)
            && let Ok(status) = self.base.symlink_metadata(&source)
        {
            guard.check_file(&status)?;
        }
        Ok(())
    }

    /// What would stand in the way of a commit now.
    pub(crate) fn conflicts(&self, paths: &[Vec<u8>]) -> Result<Vec<Conflict>, Error> {
        let chosen = self.with_tree(|tree| seal::selected(tree, paths))?;
        Ok(self.verify_unsettled(&chosen)?.0)
    }

    /// Ends a commit that somebody began and did not live to end.
    pub(super) fn finish_commit(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let Some(record) = locked.state().tree.committing.clone() else {
            return Ok(());
        };
        let choice = Choice::read(&record)?;
        // A writer that was killed while it exchanged two names left both; the library knows
        // which is which.
        self.base
            .recover(&handfast::RelPath::root())
            .map_err(unfinished)?;
        let what = match choice.taking.is_empty() {
            true => Finished::Commit,
            false => Finished::Undo,
        };
        self.roll_forward(locked, choice, None, true, &mut |_, _| {})?;
        self.note_finished(what);
        self.collect(locked)
    }

    /// Does what the journal says is under way.
    ///
    /// # Errors
    /// Before the journal says that it is done: the next that takes its turn finishes it. Afterwards: the changes
    /// are the base's, and what is left to clear away goes with the next that cleans up.
    pub(super) fn roll_forward(
        &self,
        locked: &Locked<'_, State>,
        choice: Choice,
        reserve: Option<Reserve>,
        resumed: bool,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<CommitReport, Error> {
        let tree = locked.state().tree.clone();
        let (report, dropped) = self
            .roll_to_the_end(locked, &tree, choice, reserve, resumed, progress)
            .map_err(unfinished)?;
        self.clear_after(locked, &tree, &dropped)
            .map_err(|error| error.with_effect(Effect::Visible))?;
        Ok(report)
    }

    /// The base's part, and the journal's last word. With it the records that are not needed any more.
    fn roll_to_the_end(
        &self,
        locked: &Locked<'_, State>,
        tree: &Tree,
        choice: Choice,
        reserve: Option<Reserve>,
        resumed: bool,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(CommitReport, Vec<u64>), Error> {
        let mut chosen = items(tree);
        chosen.retain(|item| choice.paths.contains(&item.path));
        let plan = plan::Plan::new(&chosen, self.git_paths());
        let job = roll::Job {
            choice: choice.clone(),
            items: &chosen,
            plan: &plan,
            reserve,
            resumed,
        };
        let rolled = self.roll(locked, job, progress)?;
        for item in &chosen {
            // Where an earlier commit had to leave something.
            if let Some(from) = choice::source(item)
                && from.starts_with(STAGING.as_bytes())
                && let Ok(dir) = base_path(super::tree::split(from).0)
            {
                self.drop_staging(&dir);
            }
        }
        sync_all_of(&self.base)?;
        let mut next = after::after(tree, &chosen, &rolled);
        let (dropped, not_undoable) = self.settle_undo(&choice, &chosen, &rolled, &mut next)?;
        Log::replace(&self.home, JOURNAL, &record::of_tree(&next))?;
        let committed = chosen
            .iter()
            .map(|item| item.path.clone())
            .filter(|path| rolled.done.contains(path))
            .collect();
        let report = CommitReport {
            committed,
            conflicts: rolled.conflicts,
            not_undoable,
            held: Vec::new(),
            apart: rolled.apart.into_iter().collect(),
        };
        Ok((report, dropped))
    }

    /// Removes what the journal does not name any more.
    fn clear_after(
        &self,
        locked: &Locked<'_, State>,
        before: &Tree,
        dropped: &[u64],
    ) -> Result<(), Error> {
        *locked.state() = State::open(&self.home)?;
        let mut named: BTreeSet<u64> = locked.state().tree.objects().into_iter().collect();
        for (_, tree) in self.snapshot_trees()? {
            named.extend(tree.objects());
        }
        let gone = before.objects().into_iter();
        self.drop_objects(gone.filter(|id| !named.contains(id)).collect::<Vec<_>>())?;
        self.drop_kept(dropped, &named)?;
        for id in super::change::nodes_without_content(before) {
            self.account.refund(self.key(id))?;
        }
        self.recount(locked)
    }

    /// A file that was moved over another is written over it: readers see the old or the new one.
    /// Only once nothing stands in the way: what is refused leaves no copy behind.
    fn copy_up_replacing(
        &self,
        locked: &Locked<'_, State>,
        chosen: &[ChangedName],
    ) -> Result<(), Error> {
        for item in chosen.iter().filter(|item| is_copied_up(item)) {
            self.own_object(locked, &base_path(&item.path)?, None)?;
        }
        Ok(())
    }
}

/// One sync for all.
fn sync_all_of(root: &Root) -> Result<(), Error> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(root, c".", flags, Mode::empty())?;
    Ok(rustix::fs::syncfs(&dir)?)
}

/// A commit that stopped on its way: the base may be changed in part, and the journal knows the rest.
fn unfinished(error: Error) -> Error {
    let why = format!(
        "the commit is not finished ({}); the next command that changes the session finishes it",
        error.detail()
    );
    Error::refused(error.kind(), why).with_effect(Effect::Unknown)
}

fn is_copied_up(item: &ChangedName) -> bool {
    matches!(
        (&item.what, &item.was),
        (What::MoveFile { .. }, Was::File(_))
    )
}

/// The items as they are after some of them were copied up.
fn still(tree: &Tree, chosen: &[ChangedName]) -> Vec<ChangedName> {
    let paths: BTreeSet<&[u8]> = chosen.iter().map(|item| item.path.as_slice()).collect();
    let mut now = items(tree);
    now.retain(|item| paths.contains(item.path.as_slice()));
    now
}
