//! Copy a file.

use std::os::fd::AsFd;

use super::open::{OpenOptions, open_ruled};
use super::write::{Target, WriteOptions, Written};
use crate::error::Error;
use crate::path::RelPath;
use crate::root::Root;
use crate::staging::{Draft, copy_content};
use crate::verb::Verb;

impl Root {
    /// Copies a file's content to another name, replacing it atomically.
    ///
    /// A new file gets the source's permission bits (subject to the umask), a replaced one keeps
    /// its own, with its access control list. Times, extended attributes and the source's list are not
    /// copied. Blocks are shared where the filesystem can, and holes stay holes.
    ///
    /// A file is copied whole, however long it is. `Limit` is for files of procfs and the like, which
    /// say that they are empty and have more than 64 MiB.
    ///
    /// # Errors
    /// As [`Root::open`] for the source and [`Root::write`] for the destination; `Limit`.
    pub fn copy(&self, from: &RelPath, to: &RelPath) -> Result<Written, Error> {
        self.copy_with(from, to, WriteOptions::new())
    }

    /// As [`Root::copy`], with options.
    ///
    /// # Errors
    /// As [`Root::copy`].
    pub fn copy_with(
        &self,
        from: &RelPath,
        to: &RelPath,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act_on_two(Verb::Copy, from, to, |op| {
            let (source, status) = open_ruled(self, from, OpenOptions::new())?;
            let target = Target::find(self, to)?;
            op.allow_in(target.place.recorded_parent(self)?, Some(&status))?;
            // No other user may read a file that will get a stricter mode before it has that mode.
            let mode = match target.has_own_mode(options) {
                true => 0o600,
                false => status.mode & 0o777,
            };
            let draft = Draft::create(self, target.place.dir.as_fd(), mode)?;
            copy_content(&source, draft.fd())?;
            // It may have taken long.
            let now = target.look_again(self)?;
            target.publish(self, to, draft, options, now)
        })
    }
}
