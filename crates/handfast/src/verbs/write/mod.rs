//! Replace a file atomically, or create it under a name that must be free.
//!
//! The new content is written to a file that has no public name, in the pinned parent; mode and
//! owner are set through its descriptor; it is synced as asked; then one rename publishes it. The
//! old file is never opened for writing, so nothing is lost on any error, and other names of it
//! keep their content.

mod staged;
mod target;
mod written;

pub use staged::Staged;
pub use written::Written;

pub(in crate::verbs) use target::{
    DirSync, Predecessor, Target, dress, publish_new, verify_published,
};

use std::os::fd::AsFd;

use crate::durability::Durability;
use crate::error::Error;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::staging::Draft;
use crate::sys;
use crate::verb::Verb;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    pub(in crate::verbs) durability: Durability,
    pub(in crate::verbs) mode: Option<u32>,
    pub(in crate::verbs) created_mode: Option<u32>,
}

impl WriteOptions {
    /// Content durable before the name points to it; mode of the old file, or `0o666` with the
    /// umask for a new one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has reached the disk when the write is answered.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The exact permission bits, whatever the umask, the old file and access control lists say.
    /// Set-id bits are dropped.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode & 0o777);
        self
    }

    /// The durability that was asked for.
    #[must_use]
    pub fn durability_level(self) -> Durability {
        self.durability
    }

    /// The exact permission bits that were asked for, if any were.
    #[must_use]
    pub fn exact_mode(self) -> Option<u32> {
        self.mode
    }

    /// The permission bits of a file that is created, which the umask narrows. A file that is
    /// replaced keeps its own. [`WriteOptions::mode`] is stronger.
    #[must_use]
    pub fn created_mode(mut self, mode: u32) -> Self {
        self.created_mode = Some(mode & 0o777);
        self
    }

    /// The permission bits that were asked for a file that is created, if any were.
    #[must_use]
    pub fn mode_if_created(self) -> Option<u32> {
        self.created_mode
    }

    /// The mode under which a file is made that has its name at once: nobody may read it before it
    /// has the exact mode.
    pub(in crate::verbs) fn appended_mode(self) -> u32 {
        match self.mode {
            Some(mode) => mode & 0o600,
            None => self.new_draft_mode(),
        }
    }

    /// The mode under which a draft of a new file is made.
    pub(in crate::verbs) fn new_draft_mode(self) -> u32 {
        match self.mode {
            Some(_) => 0o600,
            None => self.created_mode.unwrap_or(0o666),
        }
    }
}

impl Root {
    /// Replaces a file atomically, or creates it.
    ///
    /// # Errors
    /// `Link`, `Escape`, `Mount` if the path leads where it may not, and `Link` for a link that
    /// leads to nothing; `Kind`, `IsADirectory` for what cannot be replaced; `Denied` for a file
    /// the caller may not write; `Quota`; `Raced` with effect `unknown` if an object of another user
    /// has the name right after ours was put there; `Io` with effect `visible` if only the
    /// directory's sync failed. A file that others take or replace as soon as it is there was written.
    ///
    /// # Security
    /// The old file's mode and access control list are kept, its owner and group where the caller may
    /// give files away; set-id bits are dropped, and other extended attributes are not copied. Where a
    /// list cannot be kept, the mode gives no user more than the list did.
    /// A final link is `Link` where links are refused; where they may be followed, the file it
    /// leads to is the one that is replaced, and the link stays.
    pub fn write(&self, path: &RelPath, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_with(path, data, WriteOptions::new())
    }

    /// As [`Root::write`], with options.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn write_with(
        &self,
        path: &RelPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(Verb::Write, path, |op| {
            let target = Target::find(self, path)?;
            op.allow_in(target.place.recorded_parent(self)?, target.old())?;
            let mode = target.draft_mode(options);
            let draft = Draft::create(self, target.place.dir.as_fd(), mode)?;
            sys::write_all(draft.fd(), data.as_ref())?;
            target.publish(self, path, draft, options, None)
        })
    }

    /// Creates a file with its whole content; the name must be free.
    ///
    /// # Errors
    /// `Exists` if the name is taken, by a dangling link too; otherwise as
    /// [`Root::write`].
    pub fn write_new(&self, path: &RelPath, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_new_with(path, data, WriteOptions::new())
    }

    /// As [`Root::write_new`], with options.
    ///
    /// # Errors
    /// As [`Root::write_new`].
    pub fn write_new_with(
        &self,
        path: &RelPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(Verb::WriteNew, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            let place = resolve::place(self, path, Last::Itself)?;
            op.allow_in(place.recorded_parent(self)?, None)?;
            let mode = options.new_draft_mode();
            let mut draft = Draft::create(self, place.dir.as_fd(), mode)?;
            sys::write_all(draft.fd(), data.as_ref())?;
            let identity = publish_new(self, &place, &mut draft, options)?;
            Ok(Written::new(draft.release(), path, identity))
        })
    }
}
