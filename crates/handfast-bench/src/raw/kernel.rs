//! One `openat2` for the whole path.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, Statx, openat2};
use rustix::io::Errno;

use super::{CAUTIOUS, LISTED, Lookup, PIN, Parent, Pin, RawPath, status};
use crate::column::Column;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Beneath, no link, no other mount: the library's first question.
pub const STRICT: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

const PIN_DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The kernel looks the path up.
#[derive(Clone, Copy, Debug)]
pub struct Openat2;

impl Lookup for Openat2 {
    const COLUMN: Column = Column::Raw;

    #[inline]
    fn open(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        openat2(root, path.whole(), flags | CAUTIOUS, mode, STRICT)
    }

    #[inline]
    fn pin(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        kind: Pin,
    ) -> Result<(OwnedFd, Statx), Errno> {
        let flags = match kind {
            Pin::Anything => PIN - OFlags::NOFOLLOW,
            Pin::Dir => PIN_DIR,
        };
        let fd = openat2(root, path.whole(), flags, Mode::empty(), STRICT)?;
        let status = status(&fd)?;
        Ok((fd, status))
    }

    #[inline]
    fn parent<'a>(self, root: BorrowedFd<'a>, path: &RawPath) -> Result<Parent<'a>, Errno> {
        let Some(parent) = path.parent() else {
            return Ok(Parent::Root(root));
        };
        openat2(root, parent, PIN_DIR, Mode::empty(), STRICT).map(Parent::Below)
    }

    #[inline]
    fn list(self, root: BorrowedFd<'_>, path: &RawPath) -> Result<OwnedFd, Errno> {
        openat2(root, path.whole(), LISTED, Mode::empty(), STRICT)
    }

    #[inline]
    fn child(self, dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
        openat2(dir, name, LISTED, Mode::empty(), STRICT)
    }

    #[inline]
    fn open_through_link(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        // Without links first, so that the components walked are known; that meets the link.
        match self.open(root, path, flags, Mode::empty()) {
            Err(Errno::LOOP) => {}
            done => return done,
        }
        let flags = flags | CAUTIOUS;
        openat2(root, path.whole(), flags, Mode::empty(), BENEATH)
    }
}
