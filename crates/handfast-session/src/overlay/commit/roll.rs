//! Rolling forward: every step is done, was done already, or leaves its item in the overlay.

use std::collections::{BTreeMap, BTreeSet};

use handfast::{Effect, ErrorKind, RelPath, RenameMode};

use super::Conflict;
use super::choice::{Choice, JudgedDirs, covers, source};
use super::names::has_names_to_join;
use super::plan::{Early, Late, Plan};
use super::prepare::Reserve;
use crate::error::Error;
use crate::gate::Locked;
use crate::overlay::items::ChangedName;
use crate::overlay::tree::{Change, base_path, join, split};
use crate::overlay::undo::UndoRecord;
use crate::overlay::{Overlay, State};

/// A commit that is to roll forward.
pub(super) struct Job<'a> {
    pub(super) choice: Choice,
    pub(super) items: &'a [ChangedName],
    pub(super) plan: &'a Plan,
    pub(super) reserve: Option<Reserve>,
    /// Somebody else began it, and may have done any part of it.
    pub(super) resumed: bool,
}

/// What its steps have to know.
#[derive(Clone, Copy)]
pub(super) struct CommitRun<'a> {
    pub(super) plan: &'a Plan,
    pub(super) staging: &'a RelPath,
    pub(super) overwrite: bool,
    pub(super) resumed: bool,
    /// Whether versions are told.
    pub(super) tells: bool,
    /// What was shown.
    pub(super) digests: &'a BTreeMap<Vec<u8>, String>,
    /// What is kept, and which files are moved.
    pub(super) kept: &'a UndoRecord,
    /// Which directories are moved and get modes.
    pub(super) dirs: &'a JudgedDirs,
}

/// Items that are not done, and why.
type Reasons = BTreeMap<Vec<u8>, String>;

/// How far a commit came.
#[derive(Default)]
pub(in crate::overlay) struct Rolled {
    /// Items that are in the base now.
    pub(in crate::overlay) done: BTreeSet<Vec<u8>>,
    pub(super) conflicts: Vec<Conflict>,
    /// What was moved in the base: from, to.
    pub(super) moves: Vec<(Vec<u8>, Vec<u8>)>,
    /// Places of the base that are empty now although their item is not done.
    pub(super) emptied: BTreeSet<Vec<u8>>,
    /// Versions of files that could neither be placed nor put back, by where they came from: they
    /// stay in the staging directory, and the overlay shows them from there.
    pub(super) stranded: BTreeMap<Vec<u8>, String>,
    /// Files that somebody still writes to: they stay, over the version that was committed.
    pub(super) live: BTreeMap<Vec<u8>, String>,
    /// The versions of the files that were written, where the commit is to be taken back.
    pub(in crate::overlay) versions: BTreeMap<Vec<u8>, String>,
    /// Names of one file that became files of their own.
    pub(super) apart: BTreeSet<Vec<u8>>,
}

/// A file that was written.
#[derive(Default)]
pub(super) struct Placed {
    /// Which version it is now, where that is of interest.
    pub(super) version: Option<String>,
    /// Whether somebody still writes to what was committed.
    pub(super) live: bool,
}

impl Rolled {
    /// Notes what was moved for the items that are done.
    fn note_moves(&mut self, plan: &Plan, why: &Reasons) {
        for (item, step) in &plan.early {
            if why.contains_key(item) {
                continue;
            }
            if let Early::Move { from, to, .. } = step {
                self.moves.push((from.clone(), to.clone()));
            }
            if let Early::Lift { from, .. } = step {
                self.moves.push((from.clone(), item.clone()));
            }
        }
    }

    /// Where a path of the base is now.
    pub(super) fn moved(&self, path: &[u8]) -> Vec<u8> {
        // Deepest first: a move inside a directory that moved too was made before it.
        let mut moves: Vec<_> = self.moves.iter().collect();
        moves.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        for (from, to) in moves {
            if let Some(rest) = path.strip_prefix(from.as_slice()) {
                if rest.is_empty() {
                    return to.clone();
                }
                if let Some(rest) = rest.strip_prefix(b"/") {
                    return join(to, rest);
                }
            }
        }
        path.to_vec()
    }
}

/// Why a step was not done.
pub(super) struct Failed(pub(super) String);

impl From<handfast::Error> for Failed {
    fn from(error: handfast::Error) -> Self {
        Self(match error.kind() {
            ErrorKind::Stale => "it was changed in the base meanwhile".to_owned(),
            ErrorKind::Exists => "something appeared there in the base meanwhile".to_owned(),
            ErrorKind::NotEmpty => "something appeared in it in the base meanwhile".to_owned(),
            _ => error.detail(),
        })
    }
}

impl Overlay {
    pub(super) fn roll(
        &self,
        locked: &Locked<'_, State>,
        job: Job<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Rolled, Error> {
        let Job {
            mut choice,
            items,
            plan,
            mut reserve,
            resumed,
        } = job;
        let digests = std::mem::take(&mut choice.digests);
        let dirs = choice.dirs.clone();
        let staging = staging_path(choice.staging)?;
        let needs_staging = plan.needs_staging() || has_names_to_join(items);
        if needs_staging {
            match self.base.create_dir_with(&staging, 0o700) {
                Ok(_) => {}
                Err(error) if resumed && error.kind() == ErrorKind::Exists => {}
                Err(error) => return Err(error),
            }
        }
        let kept = match choice.undo {
            Some(undo) => self.read_kept(undo)?.0,
            None => UndoRecord::default(),
        };
        let run = CommitRun {
            plan,
            staging: &staging,
            overwrite: choice.overwrite,
            resumed,
            tells: choice.undo.is_some(),
            digests: &digests,
            kept: &kept,
            dirs: &dirs,
        };
        let total = plan.early.len() + plan.late.len() + plan.last.len();
        let mut count = 0;
        let mut tick = || {
            count += 1;
            progress(count.min(total), total);
        };
        let mut why = if choice.early_done {
            failed_before(&choice)
        } else {
            let why = self.roll_early(run, &plan.early, Reasons::new(), &mut tick);
            choice.early_done = true;
            choice.failed = why.keys().cloned().collect();
            choice.digests.clone_from(&digests);
            let choice = choice.write();
            self.record(locked, vec![Change::Committing { choice }])?;
            why
        };
        let mut rolled = Rolled::default();
        self.roll_late(run, &mut reserve, &mut why, &mut rolled, &mut tick)?;
        why = self.roll_early(run, &plan.last, why, &mut tick);
        let is_done = |path: &[u8]| !why.contains_key(path);
        self.join_names(items, run, is_done, &mut rolled, &mut tick)?;
        for (item, mode) in &plan.modes {
            if why.contains_key(item) {
                continue;
            }
            let dir = dirs.get(item).filter(|_| !choice.overwrite);
            if let Err(Failed(reason)) = self.set_dir_mode(&base_path(item)?, *mode, dir) {
                why.insert(item.clone(), reason);
            }
        }
        rolled.note_moves(plan, &why);
        for item in items.iter().filter(|item| why.contains_key(&item.path)) {
            for place in item.home.as_deref().into_iter().chain(source(item)) {
                let now = base_path(&rolled.moved(place))?;
                if self.is_missing(&now).unwrap_or(false) {
                    rolled.emptied.insert(place.to_vec());
                }
            }
        }
        rolled.done = choice.paths.clone();
        rolled.done.retain(|path| !why.contains_key(path));
        rolled.conflicts = why
            .into_iter()
            .map(|(path, why)| Conflict { path, why })
            .collect();
        if needs_staging {
            self.drop_staging(&staging);
        }
        Ok(rolled)
    }

    /// Removes and lifts what has to go first.
    fn roll_early(
        &self,
        run: CommitRun<'_>,
        steps: &[(Vec<u8>, Early)],
        mut why: Reasons,
        tick: &mut dyn FnMut(),
    ) -> Reasons {
        for (item, step) in steps {
            tick();
            if why.contains_key(item) {
                continue;
            }
            let done = self.early(item, step, run);
            if let Err(Failed(reason)) = done {
                why.insert(item.clone(), reason);
            }
        }
        why
    }

    /// Makes and places what comes new; what was lifted for an item that fails goes back.
    fn roll_late(
        &self,
        run: CommitRun<'_>,
        reserve: &mut Option<Reserve>,
        why: &mut Reasons,
        rolled: &mut Rolled,
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        // What was lifted in vain goes back before anything else takes its place.
        let in_vain: BTreeSet<Vec<u8>> = why.keys().cloned().collect();
        for (item, step) in &run.plan.late {
            if let Late::Place { slot, back } = step
                && in_vain.contains(item)
            {
                self.put_back(run.staging, *slot, back, rolled)?;
            }
        }
        for (item, step) in &run.plan.late {
            tick();
            if !why.contains_key(item) && why.keys().any(|above| covers(above, item)) {
                why.insert(item.clone(), "its directory is in conflict".to_owned());
            }
            if why.contains_key(item) {
                if let Late::Place { slot, back } = step
                    && !in_vain.contains(item)
                {
                    self.put_back(run.staging, *slot, back, rolled)?;
                }
                continue;
            }
            match self.late(step, &base_path(item)?, run, reserve) {
                Ok(Placed { version, live }) => {
                    if let (Some(version), true) = (&version, live) {
                        rolled.live.insert(item.clone(), version.clone());
                    }
                    rolled
                        .versions
                        .extend(version.map(|version| (item.clone(), version)));
                }
                Err(Failed(reason)) => {
                    why.insert(item.clone(), reason);
                    if let Late::Place { slot, back } = step {
                        self.put_back(run.staging, *slot, back, rolled)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Does a step in a new place.
    fn late(
        &self,
        step: &Late,
        target: &RelPath,
        run: CommitRun<'_>,
        reserve: &mut Option<Reserve>,
    ) -> Result<Placed, Failed> {
        let CommitRun {
            overwrite, resumed, ..
        } = run;
        match step {
            Late::Dir { mode } => {
                let made = match mode {
                    Some(mode) => self.base.create_dir_with(target, *mode),
                    None => self.base.create_dir(target),
                };
                match made {
                    Ok(_) => {}
                    Err(error)
                        if (resumed || overwrite)
                            && error.kind() == ErrorKind::Exists
                            && self.is_dir(target)? => {}
                    Err(error) => return Err(error.into()),
                }
                Ok(Placed::default())
            }
            Late::Place { slot, .. } => {
                let from = slot_path(run.staging, *slot)?;
                match self.base.rename(&from, target, RenameMode::NoReplace) {
                    Ok(()) => Ok(Placed::default()),
                    Err(error)
                        if resumed
                            && error.kind() == ErrorKind::NotFound
                            && !self.is_missing(target)? =>
                    {
                        Ok(Placed::default())
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Late::File { object, expected } => {
                self.late_file(*object, expected.as_deref(), target, run, reserve)
            }
            Late::Link { target: text } => match self.make_link(text, target) {
                Ok(()) => Ok(Placed::default()),
                Err(error) if error.kind() == ErrorKind::Exists => {
                    match self.base.read_link(target) {
                        Ok(now) if now.as_bytes() == text.as_slice() && (resumed || overwrite) => {
                            Ok(Placed::default())
                        }
                        _ => Err(error.into()),
                    }
                }
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Makes a link in the base. A target that leads outside was named by a person: see
    /// [`hold_back`](super::hold::hold_back).
    fn make_link(&self, text: &[u8], target: &RelPath) -> Result<(), Error> {
        let Err(error) = self.base.symlink(text, target) else {
            return Ok(());
        };
        let (ErrorKind::Escape, Some(name)) = (error.kind(), target.name()) else {
            return Err(error);
        };
        let parent = self
            .base
            .open_dir(&base_path(split(target.as_bytes()).0)?)?;
        Ok(rustix::fs::symlinkat(text, &parent, name.as_bytes())?)
    }

    /// Removes what an operation left beside its target when it failed after its effect.
    pub(super) fn tidy(&self, target: &RelPath, error: &handfast::Error) {
        if error.effect() == Effect::None {
            return;
        }
        if let Ok(parent) = base_path(split(target.as_bytes()).0) {
            // What cannot be removed now is found by the next `recover`.
            drop(self.base.recover(&parent));
        }
    }

    /// Puts what was lifted back where it came from. If something else stands there by now it
    /// stays where it is, and the overlay is told where that is.
    fn put_back(
        &self,
        staging: &RelPath,
        slot: usize,
        back: &[u8],
        rolled: &mut Rolled,
    ) -> Result<(), Error> {
        let from = slot_path(staging, slot)?;
        let status = match self.base.symlink_metadata(&from) {
            // It was never lifted.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            status => status?,
        };
        let home = base_path(back)?;
        if self
            .base
            .rename(&from, &home, RenameMode::NoReplace)
            .is_ok()
        {
            return Ok(());
        }
        rolled.moves.push((back.to_vec(), from.as_bytes().to_vec()));
        if status.is_file() {
            rolled
                .stranded
                .insert(back.to_vec(), self.base_version(&from)?);
        }
        Ok(())
    }

    /// Removes the staging directory, unless something could not be put back: then it stays where
    /// it can be found.
    pub(super) fn drop_staging(&self, staging: &RelPath) {
        for _ in 0..3 {
            match self.base.remove_dir(staging) {
                Err(error)
                    if !matches!(error.kind(), ErrorKind::NotEmpty | ErrorKind::NotFound) => {}
                _ => return,
            }
        }
    }

    pub(super) fn is_missing(&self, at: &RelPath) -> Result<bool, Failed> {
        match self.base.symlink_metadata(at) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn is_dir(&self, at: &RelPath) -> Result<bool, Failed> {
        Ok(self.base.symlink_metadata(at)?.is_dir())
    }
}

/// What failed in the first part of a commit whose maker died after it.
fn failed_before(choice: &Choice) -> Reasons {
    let reason = "it could not be moved or removed in the base";
    let failed = choice.failed.iter();
    failed
        .map(|path| (path.clone(), reason.to_owned()))
        .collect()
}

/// How the directory for what is between two places begins.
pub(crate) const STAGING: &str = ".handfast-commit-";

fn staging_path(id: u64) -> Result<RelPath, Error> {
    RelPath::parse(format!("{STAGING}{id:016x}"))
}

pub(super) fn slot_path(staging: &RelPath, slot: usize) -> Result<RelPath, Error> {
    let name = format!("{slot}");
    Ok(staging.join(handfast::NameRef::parse(name.as_bytes())?))
}
