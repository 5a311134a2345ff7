//! Some lines of a file become the base's; the rest stays in the overlay.
//!
//! The journal says which content is about to come, one compare-and-swap puts it there, and the
//! journal then says what the overlay covers from now on. A process that is killed in between has changed
//! nothing or everything: the next that takes the lock looks which.

use std::collections::BTreeSet;
use std::io::Write;

use handfast::{Durability, Effect, ErrorKind, RelPath, Version, WriteOptions, Written};
use sha2::{Digest, Sha256};

use super::content::digest_of;
use crate::change::hex;
use crate::error::Error;
use crate::gate::Locked;
use crate::overlay::attributes::{read_xattrs, write_xattrs};
use crate::overlay::items::{ChangedName, What, items};
use crate::overlay::store::object_path;
use crate::overlay::tree::{Change, NodeEntry, PartUnderWay, Was, base_path, split};
use crate::overlay::undo::{Movable, Past};
use crate::overlay::{Overlay, State};
use crate::place::Guard;

/// Content that was shown, made of the base's and of some hunks.
pub(crate) struct Part {
    /// Which file, below the mount.
    pub(crate) path: Vec<u8>,
    /// The digest of the content of the base that was shown.
    pub(crate) before: String,
    /// The digest of the overlay's content that was shown.
    pub(crate) after: String,
    /// What the base gets.
    pub(crate) content: Vec<u8>,
}

impl Overlay {
    /// Commits a part of a file's change. Why it cannot be taken back, if it cannot.
    ///
    /// # Errors
    /// `Stale` if either side is not what was shown; `Denied`; what the library says. Nothing is
    /// changed then.
    pub(crate) fn commit_part(
        &self,
        part: &Part,
        past: &Past<'_>,
        guard: &Guard<'_>,
    ) -> Result<Option<String>, Error> {
        let locked = self.begin()?;
        let all = items(&locked.state().tree);
        let item = all.iter().find(|item| item.path == part.path);
        let (item, object, home, version) = match item.map(|item| (item, &item.what, &item.home)) {
            Some((
                item,
                What::File {
                    object,
                    moved: None,
                },
                Some(home),
            )) => match &item.was {
                Was::File(version) => (item, *object, base_path(home)?, version.clone()),
                _ => return Err(whole_only()),
            },
            Some(_) => return Err(whole_only()),
            None => return Err(stale("the change is gone from the session")),
        };
        self.judge_item(item, guard)?;
        if let Some(why) = self.conflict_of(item)? {
            return Err(Error::refused(ErrorKind::Stale, why));
        }
        let old = self.base.open(&home)?;
        if digest_of(&old)? != part.before {
            return Err(stale("it was changed in the base since it was shown"));
        }
        if digest_of(self.store.open(&object_path(object))?)? != part.after {
            return Err(stale("it was changed in the session since it was shown"));
        }
        let digest = hex(&Sha256::digest(&part.content));
        let path = part.path.clone();
        let movable = Movable::default();
        let (undo, why_not) = self.keep(past, std::slice::from_ref(item), &movable)?;
        let undo = undo.id;
        let begun = Change::Part {
            path,
            digest,
            undo: Some(undo),
        };
        self.record(&locked, vec![begun])?;
        locked.state().log.sync()?;
        match self.write_part(&home, &version.parse()?, &old, &part.content) {
            Ok(_) => self.settle_part(&locked).map(|()| why_not),
            Err(error) if error.effect() == Effect::None => {
                self.record(&locked, vec![Change::Settled])?;
                self.drop_kept(&[undo], &BTreeSet::new())?;
                Err(error)
            }
            Err(error) => {
                self.settle_part(&locked)?;
                Err(error)
            }
        }
    }

    /// Replaces a file of the base, which keeps its attributes: nobody chose another.
    fn write_part(
        &self,
        home: &RelPath,
        seen: &Version,
        old: &handfast::File,
        content: &[u8],
    ) -> Result<Written, Error> {
        let options = WriteOptions::new().durability(Durability::Full);
        let mut staged = self.base.stage(home, options)?;
        staged.write_all(content)?;
        write_xattrs(&staged, &read_xattrs(old)?)?;
        staged.commit_if(seen)
    }

    /// Ends a part that somebody began and did not live to end.
    pub(in crate::overlay) fn finish_part(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let Some(part) = locked.state().tree.part.clone() else {
            return Ok(());
        };
        if let Some(home) = locked.state().tree.base_of(&part.path) {
            // Who was killed while two names changed places left both; the library knows which is
            // which.
            self.base.recover(&base_path(split(&home).0)?)?;
        }
        self.settle_part(locked)
    }

    /// Ends a part: what the base has is what the overlay covers, if it is what was to come.
    pub(in crate::overlay) fn settle_part(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let Some(PartUnderWay { path, digest, undo }) = locked.state().tree.part.clone() else {
            return Ok(());
        };
        let (entry, home) = {
            let state = locked.state();
            (state.tree.entry(&path).cloned(), state.tree.base_of(&path))
        };
        let mut changes = Vec::new();
        let mut freed = Vec::new();
        let mut dropped: Vec<u64> = undo.into_iter().collect();
        if let (Some(entry), Some(home)) = (entry, home) {
            let home = base_path(&home)?;
            if let Some(version) = self.version_with(&home, &digest)? {
                let all = items(&locked.state().tree);
                let item = all.iter().find(|item| item.path == path);
                if let (Some(undo), Some(item)) = (undo, item) {
                    let known = locked.state().tree.undo.clone();
                    let (change, old) = self.settle_part_record(undo, item, &version, known)?;
                    changes.push(change);
                    dropped = old;
                }
                match item.and_then(|item| self.is_done(item, &home).transpose()) {
                    Some(object) => {
                        freed.push(object?);
                        changes.push(Change::Drop { path });
                    }
                    None => changes.push(Change::Put {
                        path,
                        entry: NodeEntry {
                            was: Was::File(version),
                            now: entry.now,
                        },
                    }),
                }
            }
        }
        changes.push(Change::Settled);
        self.record(locked, changes)?;
        let snapshots = self.snapshot_trees()?;
        freed.retain(|id| {
            !snapshots
                .iter()
                .any(|(_, tree)| tree.objects().contains(id))
        });
        self.drop_objects(freed)?;
        self.drop_kept(&dropped, &BTreeSet::new())
    }

    /// The version of a file of the base that has some content.
    fn version_with(&self, home: &RelPath, wanted: &str) -> Result<Option<String>, Error> {
        let Ok(version) = self.base_version(home) else {
            return Ok(None);
        };
        let same = digest_of(self.base.open(home)?)? == wanted;
        let same = same && self.is_base_version(home, &version)?;
        Ok(same.then_some(version))
    }

    /// The object of an item of which nothing is left to commit.
    fn is_done(&self, item: &ChangedName, home: &RelPath) -> Result<Option<u64>, Error> {
        let What::File { object, .. } = item.what else {
            return Ok(None);
        };
        let live = self.is_being_written(object)?;
        let done = !live && self.compare(home, object)? == (true, None);
        Ok(done.then_some(object))
    }
}

fn stale(why: &'static str) -> Error {
    Error::refused(ErrorKind::Stale, why)
}

fn whole_only() -> Error {
    Error::refused(
        ErrorKind::Invalid,
        "lines are committed one by one of files that the base has in the same place; commit the path",
    )
}
