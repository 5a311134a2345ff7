//! Calls that every lookup shares.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

/// All that the rules, identities and versions need: the mask is part of what a look costs.
fn mask() -> StatxFlags {
    StatxFlags::BASIC_STATS
        | StatxFlags::BTIME
        | StatxFlags::MNT_ID
        | StatxFlags::from_bits_retain(libc::STATX_MNT_ID_UNIQUE)
}

/// Looks at what a descriptor refers to.
///
/// # Errors
/// The system's number.
#[inline]
pub fn status(fd: impl AsFd) -> Result<Statx, Errno> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, mask())
}

/// Looks at what a name refers to; a link is itself.
///
/// # Errors
/// The system's number.
#[inline]
pub fn status_at(dir: impl AsFd, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(dir, name, flags, mask())
}

/// Makes an opened file an ordinary one.
///
/// # Errors
/// The system's number.
#[inline]
pub fn to_blocking(fd: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fcntl_setfl(fd, OFlags::empty())
}
