//! What a cache has to follow to keep answers of an overlay.

use std::sync::atomic::Ordering;

use handfast::FilesystemKind;
use handfast::files::Watchable;
use rustix::fs::{Mode, OFlags};

use super::Overlay;
use super::tree::{Now, TreeLookup, base_path};
use crate::error::Error;
use crate::place::Spot;

impl Overlay {
    /// The directory of the base that shows through a directory.
    pub(crate) fn watchable(&self, spot: Spot<'_>) -> Result<Watchable, Error> {
        if !tells_changes(self.base.enforcement().filesystem) {
            return Ok(Watchable::Unknown);
        }
        let origin = self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            Ok::<_, Error>(match tree.find(&path)? {
                TreeLookup::Top => Some(path),
                TreeLookup::Base(at) => Some(at),
                TreeLookup::Here(Now::Dir(dir)) => {
                    dir.origin.as_deref().map(base_path).transpose()?
                }
                TreeLookup::Here(_) => return Ok(None),
            })
        })??;
        let Some(origin) = origin else {
            return Ok(Watchable::Nothing);
        };
        let dir = self.base.open_dir(&origin)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&dir, c".", flags, Mode::empty())?;
        Ok(Watchable::Dir(fd))
    }

    /// How often another process was seen to change the journal.
    pub(crate) fn changes_by_others(&self) -> Result<u64, Error> {
        self.with_tree(|_| ())?;
        Ok(self.others.load(Ordering::Acquire))
    }

    /// Another process wrote to the journal.
    pub(super) fn count_others(&self) {
        self.others.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether the kernel hears of every change: others may be made by another machine.
fn tells_changes(kind: FilesystemKind) -> bool {
    matches!(
        kind,
        FilesystemKind::Ext
            | FilesystemKind::Xfs
            | FilesystemKind::Btrfs
            | FilesystemKind::Tmpfs
            | FilesystemKind::F2fs
            | FilesystemKind::Zfs
            | FilesystemKind::Bcachefs
            | FilesystemKind::Overlay
    )
}
