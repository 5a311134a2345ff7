//! Changes that the base has already: after a rollback to what was committed since, or because
//! somebody else made the same change. They are no difference and no conflict.

use std::collections::BTreeSet;

use handfast::{ErrorKind, FileKind};

use super::Conflict;
use crate::error::Error;
use crate::gate::Locked;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::{Change, NodeEntry, Now, Was, base_path};
use crate::overlay::{Overlay, State};

/// An item that the base has already.
pub(super) struct Settled {
    path: Vec<u8>,
    /// What the base has: the file's version for a file, the same as the overlay otherwise.
    was: Was,
}

impl Overlay {
    /// What stands in the way of a commit, and what only seems to: the base has it already.
    pub(super) fn verify_unsettled(
        &self,
        chosen: &[ChangedName],
    ) -> Result<(Vec<Conflict>, Vec<Settled>), Error> {
        let mut settled = Vec::new();
        let mut conflicts = self.verify(chosen)?;
        if conflicts.is_empty() {
            return Ok((conflicts, settled));
        }
        let doubtful: BTreeSet<Vec<u8>> =
            conflicts.iter().map(|found| found.path.clone()).collect();
        for item in chosen.iter().filter(|item| doubtful.contains(&item.path)) {
            if let Some(home) = &item.home
                && self.is_both_made(item, home)?
            {
                conflicts.retain(|found| found.path != item.path);
                continue;
            }
            if let Some(was) = self.what_the_base_has(item)? {
                conflicts.retain(|found| found.path != item.path);
                let path = item.path.clone();
                settled.push(Settled { path, was });
            }
        }
        Ok((conflicts, settled))
    }

    /// Whether an item is no difference: the base has it already, whatever it had before.
    pub(in crate::overlay) fn is_in_base(&self, item: &ChangedName) -> Result<bool, Error> {
        Ok(match item.what {
            // A file that covers a file is compared where it is described.
            What::File { .. } if item.was != Was::Absent => false,
            _ => self.what_the_base_has(item)?.is_some(),
        })
    }

    /// What the base has under an item's name, if that is what the item would put there.
    fn what_the_base_has(&self, item: &ChangedName) -> Result<Option<Was>, Error> {
        let Some(home) = &item.home else {
            return Ok(None);
        };
        let home = base_path(home)?;
        let status = match self.base.symlink_metadata(&home) {
            Ok(status) => Some(status),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // Others say what is wrong with it.
            Err(_) => return Ok(None),
        };
        match (&item.what, status.map(|status| status.kind)) {
            (What::Delete, None) if !shows_elsewhere(&item.covered) => Ok(Some(Was::Absent)),
            (What::Link { target }, Some(FileKind::Symlink)) => {
                let same = self.base.read_link(&home);
                let same = same.is_ok_and(|now| now.as_bytes() == target.as_slice());
                Ok(same.then(|| Was::Link(target.clone())))
            }
            (
                What::File {
                    object,
                    moved: None,
                },
                Some(FileKind::File),
            ) if !shows_elsewhere(&item.covered) => {
                // The version of the content that is compared: what comes later is a conflict.
                let Ok(version) = self.base_version(&home) else {
                    return Ok(None);
                };
                if self.git_paths().is_index(&item.path) && item.was != Was::Absent {
                    // Git writes it whenever it looks, and repairs it from the files.
                    return Ok(Some(Was::File(version)));
                }
                let same = self.compare(&home, *object)? == (true, None);
                let same = same && self.is_base_version(&home, &version).unwrap_or(false);
                Ok(same.then_some(Was::File(version)))
            }
            _ => Ok(None),
        }
    }

    /// Takes what the base has for what the overlay covers. The paths that are done with that.
    pub(super) fn settle(
        &self,
        locked: &Locked<'_, State>,
        settled: Vec<Settled>,
        refused: &BTreeSet<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut done = Vec::new();
        for Settled { path, was } in settled {
            let entry = locked.state().tree.entry(&path).cloned();
            let Some(NodeEntry { now, .. }) = entry.filter(|_| !refused.contains(&path)) else {
                continue;
            };
            // A file is written once more, over the version that it has: somebody may be at it. But
            // nobody changes an object of git, which is called after its content.
            let is_object = self.git_paths().is_object(&path);
            if let (Now::File(_), false) = (&now, is_object) {
                let entry = NodeEntry { was, now };
                self.record(locked, vec![Change::Put { path, entry }])?;
                continue;
            }
            self.record(locked, vec![Change::Drop { path: path.clone() }])?;
            if let Now::Link { id, .. } = now {
                self.drop_objects([id])?;
            }
            done.push(path);
        }
        Ok(done)
    }
}

/// Whether the overlay shows something elsewhere that it covers here.
fn shows_elsewhere(was: &Was) -> bool {
    match was {
        Was::Moved(_) => true,
        Was::Dir(entries) => entries.values().any(shows_elsewhere),
        _ => false,
    }
}
