//! Directories of git that the session made and somebody else made meanwhile, such as those of its
//! objects in a repository that several worktrees share. They are no conflict: what lies in them is
//! compared name by name. Other directories are one, because nobody knows what both meant by them.
//!
//! Git also touches an object that it would write again. That is no change to commit: objects are
//! read-only files, which are not replaced.

use handfast::FileKind;

use crate::error::Error;
use crate::gate::Locked;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::{Change, DirNode, NodeEntry, Now, Was, base_path};
use crate::overlay::{Overlay, State, record};

/// A directory with more changes than this record holds stays in conflict.
const LONGEST: usize = crate::log::MOST / 4;

impl Overlay {
    /// Lays new directories over those that the base has by now. Whether there were any.
    pub(super) fn join_both_made(
        &self,
        locked: &Locked<'_, State>,
        chosen: &[ChangedName],
    ) -> Result<bool, Error> {
        let mut joined = false;
        // Parents come first: what lies in one is found in the base only then.
        for item in chosen {
            let Some(home) = locked.state().tree.base_of(&item.path) else {
                continue;
            };
            if !self.is_both_made(item, &home)? {
                continue;
            }
            // A copy of a directory is a copy of all that the overlay has below it: only here.
            let entry = locked.state().tree.entry(&item.path).cloned();
            let Some(NodeEntry {
                now: Now::Dir(dir), ..
            }) = entry
            else {
                continue;
            };
            let now = Now::Dir(DirNode {
                origin: Some(home),
                mode: None,
                old_mode: None,
                ..dir
            });
            let (path, was) = (item.path.clone(), Was::Kept);
            let entry = NodeEntry { was, now };
            let changes = vec![Change::Put { path, entry }];
            if record::write(&changes).len() <= LONGEST {
                self.record(locked, changes)?;
                joined = true;
            }
        }
        Ok(joined)
    }

    /// Forgets objects of git that are what the base has, but for their times. Whether there were any.
    pub(super) fn drop_touched_objects(
        &self,
        locked: &Locked<'_, State>,
        chosen: &[ChangedName],
    ) -> Result<bool, Error> {
        let git = self.git_paths();
        let mut dropped = false;
        for item in chosen.iter().filter(|item| git.is_object(&item.path)) {
            let What::File {
                object,
                moved: None,
            } = item.what
            else {
                continue;
            };
            let (Some(home), Was::File(version)) = (&item.home, &item.covered) else {
                continue;
            };
            let home = base_path(home)?;
            if self.is_base_version(&home, version).unwrap_or(false)
                && self.compare(&home, object)? == (true, None)
            {
                let path = item.path.clone();
                self.record(locked, vec![Change::Drop { path }])?;
                dropped = true;
            }
        }
        Ok(dropped)
    }

    /// Whether an item is a new directory of git that the base has too, with the mode that it would get.
    pub(super) fn is_both_made(&self, item: &ChangedName, home: &[u8]) -> Result<bool, Error> {
        let What::NewDir { mode } = item.what else {
            return Ok(false);
        };
        if item.covered != Was::Absent || !self.git_paths().is_inside(&item.path) {
            return Ok(false);
        }
        let status = self.base.symlink_metadata(&base_path(home)?);
        Ok(status.is_ok_and(|status| {
            let same = mode.is_none_or(|mode| mode == status.mode & 0o7777);
            status.kind == FileKind::Dir && same
        }))
    }
}
