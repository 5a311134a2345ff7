//! Whether one directory lies inside another, asked of the directories and not of their names.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use handfast::Identity;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};

use crate::error::Error;

/// Whether the directory at a path is another one, or lies below it.
///
/// # Errors
/// `Io` if the way up cannot be looked at.
pub fn lies_inside(path: &Path, other: &Identity) -> Result<bool, Error> {
    let look = |error| Error::os("looking where a directory lies", error);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let facts = |fd: &OwnedFd| {
        rustix::fs::statx(fd.as_fd(), "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
            .map(|facts| {
                let device = rustix::fs::makedev(facts.stx_dev_major, facts.stx_dev_minor);
                (device, facts.stx_ino)
            })
            .map_err(look)
    };
    let mut at = rustix::fs::open(path, flags, Mode::empty()).map_err(look)?;
    loop {
        let here = facts(&at)?;
        if here == (other.device, other.inode) {
            return Ok(true);
        }
        let above = rustix::fs::openat(&at, "..", flags, Mode::empty()).map_err(look)?;
        if facts(&above)? == here {
            return Ok(false);
        }
        at = above;
    }
}
