//! Set-id bits, which a file loses when it is written to.
//!
//! The kernel leaves that to the mount, because it would have to ask before every write. They mean
//! nothing under the mount itself, and a session keeps none; but a file of the host, which programs
//! write in place, may have them.

use std::sync::atomic::{AtomicBool, Ordering};

use fuser::INodeNo;
use handfast::files::{Attributes, FileHandle};

use crate::face::Face;

const SET_IDS: u32 = 0o6000;

/// Whether files may have got set-id bits since they were opened.
#[derive(Debug, Default)]
pub(crate) struct SetIds {
    were_set: AtomicBool,
}

impl SetIds {
    /// A program sets a mode.
    pub(crate) fn sets(&self, mode: Option<u32>) {
        if mode.is_some_and(|mode| mode & SET_IDS != 0) {
            self.were_set.store(true, Ordering::Relaxed);
        }
    }

    /// Takes set-id bits off a file that is written to. Whether it had any.
    pub(crate) fn drop_from(&self, file: &dyn FileHandle) -> bool {
        let mode = match self.were_set.load(Ordering::Relaxed) {
            true => file.metadata().map_or(SET_IDS, |now| now.mode),
            false => file.opened_metadata().mode,
        };
        if mode & SET_IDS == 0 {
            return false;
        }
        let mut attributes = Attributes::new();
        attributes.mode = Some(mode & 0o7777 & !SET_IDS);
        // Only files that are written in place have any, and those can be changed.
        drop(file.set_attributes(&attributes));
        true
    }
}

impl Face {
    /// As [`SetIds::drop_from`], for an open file.
    pub(crate) fn drop_set_ids(&self, number: u64, id: u64) {
        let Some(file) = self.open.file(id) else {
            return;
        };
        if self.set_ids.drop_from(&*file.handle())
            && let Some(notifier) = self.notifier.get()
        {
            // The kernel believes the old mode. Facts only: see `fill`.
            drop(notifier.inval_inode(INodeNo(number), -1, 0));
        }
    }
}
