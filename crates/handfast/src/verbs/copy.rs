//! Copy a file.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::open::{OpenOptions, open_ruled};
use super::write::{Target, WriteOptions, Written};
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::root::Root;
use crate::staging::Draft;
use crate::sys;
use crate::verb::Verb;

/// What one call copies at most: short enough that a signal is answered soon.
const CHUNK: usize = 1 << 30;

impl Root {
    /// Copies a file's content to another name, replacing it atomically.
    ///
    /// A new file gets the source's permission bits (subject to the umask), a replaced one keeps
    /// its own. Times, extended attributes and access control lists are not copied. Blocks are
    /// shared where the filesystem can.
    ///
    /// # Errors
    /// As [`Root::open`] for the source and [`Root::write`] for the destination.
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
        self.act_on_two(Verb::Copy, from, Some(to), |op| {
            let (source, status) = open_ruled(self, from, OpenOptions::new())?;
            let target = Target::find(self, to)?;
            op.allow_in(target.place.recorded_parent(self)?, Some(&status))?;
            let draft = Draft::create(self, target.place.dir.as_fd(), status.mode & 0o777)?;
            copy_content(&source, draft.fd())?;
            target.publish(self, to, draft, options)
        })
    }
}

/// Copies everything from one descriptor to another, by the cheapest way both sides know.
pub(super) fn copy_content(from: &OwnedFd, to: &OwnedFd) -> Result<(), Fault> {
    if sys::clone_file(from, to).is_ok() {
        return Ok(());
    }
    let mut copied_any = false;
    loop {
        match sys::copy_range(from, to, CHUNK) {
            Ok(0) if copied_any => return Ok(()),
            // Some filesystems answer 0 for files they cannot copy this way (procfs).
            Ok(0) => return copy_by_hand(from, to),
            Ok(_) => copied_any = true,
            Err(fault) if !copied_any && cannot_copy_range(&fault) => {
                return copy_by_hand(from, to);
            }
            Err(fault) => return Err(fault),
        }
    }
}

fn cannot_copy_range(fault: &Fault) -> bool {
    fault.kind == ErrorKind::Unsupported
        || fault.is(Errno::INVAL)
        || fault.is(Errno::XDEV)
        || fault.is(Errno::PERM)
}

fn copy_by_hand(from: &OwnedFd, to: &OwnedFd) -> Result<(), Fault> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let got = sys::read(from, &mut buffer)?;
        if got == 0 {
            return Ok(());
        }
        sys::write_all(to, &buffer[..got])?;
    }
}
