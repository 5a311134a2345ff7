//! The directories between the top of a tree and where we are.
//!
//! Only the newest few are held open. On the way up, a directory that was closed is opened again
//! as `..` of the one below, and must then be the one that was left: device, inode, birth time and
//! mount are compared, and anything else is `Raced`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::error::{ErrorKind, Fault};
use crate::identity::Identity;
use crate::root::CAUTIOUS;
use crate::sys;

/// Directories held open at most.
const WINDOW: usize = 12;

struct DirectoryLevel {
    fd: Option<OwnedFd>,
    /// Known once the descriptor was closed.
    identity: Option<Identity>,
    /// Where the path ended before this level's name was added to it.
    path_len: usize,
}

pub(crate) struct DirStack {
    levels: Vec<DirectoryLevel>,
    /// Levels below this index are closed.
    first_open: usize,
    /// The path from the top of the tree, without the top's own name.
    path: Vec<u8>,
}

impl DirStack {
    /// A stack whose top of the tree is `fd`.
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self {
            levels: vec![DirectoryLevel {
                fd: Some(fd),
                identity: None,
                path_len: 0,
            }],
            first_open: 0,
            path: Vec::new(),
        }
    }

    /// How many directories lie above the current one.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    pub(crate) fn is_top(&self) -> bool {
        self.levels.len() == 1
    }

    /// The current directory's path from the top; empty at the top.
    #[inline]
    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The name under which the current directory was entered.
    pub(crate) fn name(&self) -> &[u8] {
        let before = self.levels.last().map_or(0, |level| level.path_len);
        let name = &self.path[before..];
        name.strip_prefix(b"/").unwrap_or(name)
    }

    /// The current directory.
    #[inline]
    pub(crate) fn current(&self) -> BorrowedFd<'_> {
        self.levels
            .last()
            .and_then(|level| level.fd.as_ref())
            .expect("the current level is always open")
            .as_fd()
    }

    /// Where we are; the levels above are let go.
    pub(crate) fn into_current(mut self) -> OwnedFd {
        self.levels
            .pop()
            .and_then(|level| level.fd)
            .expect("the current level is always open")
    }

    /// Goes down into `fd`, which is `name` in the current directory.
    pub(crate) fn push(&mut self, name: &[u8], fd: OwnedFd) -> Result<(), Fault> {
        let path_len = self.path.len();
        if path_len > 0 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        self.levels.push(DirectoryLevel {
            fd: Some(fd),
            identity: None,
            path_len,
        });
        while self.levels.len() - self.first_open > WINDOW {
            let level = &mut self.levels[self.first_open];
            if let Some(fd) = level.fd.take() {
                level.identity = Some(sys::status(&fd)?.identity);
            }
            self.first_open += 1;
        }
        Ok(())
    }

    /// Goes up. The current directory is given back.
    pub(crate) fn pop(&mut self) -> Result<OwnedFd, Fault> {
        let level = self.levels.pop().expect("the top is never popped");
        self.path.truncate(level.path_len);
        let below = level.fd.expect("the current level is always open");
        let above = self.levels.last_mut().expect("the top is never popped");
        if above.fd.is_none() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
            let fd = sys::open_at(&below, c"..", flags, Mode::empty())?;
            let identity = sys::status(&fd)?.identity;
            if above.identity != Some(identity) {
                return Err(Fault::rule(
                    ErrorKind::Raced,
                    "a directory was moved elsewhere while it was walked",
                ));
            }
            above.fd = Some(fd);
            self.first_open = self.levels.len() - 1;
        }
        Ok(below)
    }
}
