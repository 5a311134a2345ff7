//! One component a call: pinned, then looked at.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Statx, openat};
use rustix::io::Errno;

use super::{CAUTIOUS, LISTED, Lookup, PIN, Parent, Pin, RawPath, status};
use crate::column::Column;

/// We look the path up.
#[derive(Clone, Copy, Debug)]
pub struct Components;

#[inline]
fn pin_at(dir: BorrowedFd<'_>, name: &CStr) -> Result<(OwnedFd, Statx), Errno> {
    let fd = openat(dir, name, PIN, Mode::empty())?;
    let status = status(&fd)?;
    Ok((fd, status))
}

#[inline]
fn is(status: &Statx, kind: FileType) -> bool {
    FileType::from_raw_mode(u32::from(status.stx_mode)) == kind
}

#[inline]
fn dir_at(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let (fd, status) = pin_at(dir, name)?;
    if is(&status, FileType::Directory) {
        Ok(fd)
    } else {
        Err(Errno::NOTDIR)
    }
}

impl Lookup for Components {
    const COLUMN: Column = Column::RawWalk;

    #[inline]
    fn open(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        let parent = self.parent(root, path)?;
        let flags = flags | CAUTIOUS | OFlags::NOFOLLOW;
        openat(&parent, path.name(), flags, mode)
    }

    #[inline]
    fn pin(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        kind: Pin,
    ) -> Result<(OwnedFd, Statx), Errno> {
        let parent = self.parent(root, path)?;
        let (fd, status) = pin_at(parent.as_fd(), path.name())?;
        if kind == Pin::Dir && !is(&status, FileType::Directory) {
            return Err(Errno::NOTDIR);
        }
        Ok((fd, status))
    }

    #[inline]
    fn parent<'a>(self, root: BorrowedFd<'a>, path: &RawPath) -> Result<Parent<'a>, Errno> {
        let mut parent = Parent::Root(root);
        for name in path.above() {
            // The directory above is closed when the next one is held.
            parent = Parent::Below(dir_at(parent.as_fd(), name)?);
        }
        Ok(parent)
    }

    #[inline]
    fn list(self, root: BorrowedFd<'_>, path: &RawPath) -> Result<OwnedFd, Errno> {
        let parent = self.parent(root, path)?;
        self.child(parent.as_fd(), path.name())
    }

    #[inline]
    fn child(self, dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
        let pinned = dir_at(dir, name)?;
        openat(&pinned, c".", LISTED, Mode::empty())
    }

    /// The link is the first component, and leads to directories below the root.
    #[inline]
    fn open_through_link(
        self,
        root: BorrowedFd<'_>,
        path: &RawPath,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let mut parts = path.above();
        let link = parts.next().ok_or(Errno::INVAL)?;
        let (fd, status) = pin_at(root, link)?;
        if !is(&status, FileType::Symlink) {
            return Err(Errno::INVAL);
        }
        // Links of procfs may be magic: the filesystem is asked.
        rustix::fs::fstatfs(&fd)?;
        let target = rustix::fs::readlinkat(&fd, c"", Vec::new())?;
        drop(fd);
        // Where links are followed every directory is held, since a later link may go up.
        let mut held: Vec<OwnedFd> = Vec::with_capacity(8);
        let steps = target.as_bytes().split(|byte| *byte == b'/');
        let steps = steps.map(|step| CString::new(step).map_err(|_| Errno::INVAL));
        let rest = parts.map(|part| Ok(part.to_owned()));
        for step in steps.chain(rest) {
            let dir = held.last().map_or(root, AsFd::as_fd);
            let next = dir_at(dir, step?.as_c_str())?;
            held.push(next);
        }
        let dir = held.last().map_or(root, AsFd::as_fd);
        let flags = flags | CAUTIOUS | OFlags::NOFOLLOW;
        openat(dir, path.name(), flags, Mode::empty())
    }
}
