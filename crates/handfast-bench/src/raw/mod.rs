//! The floor: the system calls that the library makes, by hand.
//!
//! What is not here is what the library adds: parsing, rules, errors that say what went wrong,
//! handles that clean up after themselves. What is here is every call that its promises need: the
//! flags of the lookup, the look at the opened object, the way back to a blocking descriptor.
//! A call that the library makes and that its promises do not need is not here either, so that it
//! shows.

mod calls;
mod components;
mod kernel;
mod listing;
mod path;

pub use calls::{status, status_at, to_blocking};
pub use components::Components;
pub use kernel::{Openat2, STRICT};
pub use listing::{BUFFER, list};
pub use path::RawPath;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, Statx};
use rustix::io::Errno;

use crate::column::Column;

/// Pins an object without opening it.
pub const PIN: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens an object before it is known what it is.
pub const CAUTIOUS: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a directory for listing.
pub const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(CAUTIOUS);

/// What may be pinned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pin {
    /// Whatever is there.
    Anything,
    /// A directory.
    Dir,
}

/// A pinned parent: the root itself, or a directory below it.
#[derive(Debug)]
pub enum Parent<'a> {
    /// The root itself.
    Root(BorrowedFd<'a>),
    /// A directory below it.
    Below(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(fd) => *fd,
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

/// How a path is looked up by hand, following no link.
pub trait Lookup: Copy + Send + 'static {
    /// The column in which this is the floor.
    const COLUMN: Column;

    /// Opens, or creates, a file.
    ///
    /// # Errors
    /// The system's number.
    fn open(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno>;

    /// Pins an object, or a directory only, and looks at it.
    ///
    /// # Errors
    /// The system's number.
    fn pin(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        kind: Pin,
    ) -> Result<(OwnedFd, Statx), Errno>;

    /// Pins the parent.
    ///
    /// # Errors
    /// The system's number.
    fn parent<'a>(self, root: BorrowedFd<'a>, path: &RawPath) -> Result<Parent<'a>, Errno>;

    /// Opens a directory for listing.
    ///
    /// # Errors
    /// The system's number.
    fn list(self, root: BorrowedFd<'_>, path: &RawPath) -> Result<OwnedFd, Errno>;

    /// Opens a sub-directory for listing.
    ///
    /// # Errors
    /// The system's number.
    fn child(self, dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno>;

    /// Opens a file through a link that stays beneath.
    ///
    /// # Errors
    /// The system's number.
    fn open_through_link(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno>;
}
