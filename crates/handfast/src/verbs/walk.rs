//! List a whole tree, as a stream.
//!
//! Iterative, with a constant number of descriptors: all entries of a directory are returned before
//! any of its sub-directories is entered. Links are returned and never followed.

use std::ffi::CStr;
use std::fmt;

use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::metadata::{FileKind, Metadata};
use crate::path::{Limits, NameRef, RelPath};
use crate::resolve;
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::tree::{Budget, DirStack, Listed, Listing, Pending};
use crate::verb::Verb;

use super::read_dir::{entry_metadata, open_listed};

pub use crate::tree::TreeLimits;

impl Root {
    /// Lists everything below a directory, which is not itself listed.
    ///
    /// # Errors
    /// As [`Root::read_dir`] for the directory itself.
    pub fn walk(&self, path: &RelPath) -> Result<Walk, Error> {
        self.walk_with(path, TreeLimits::new())
    }

    /// As [`Root::walk`], with limits.
    ///
    /// # Errors
    /// As [`Root::walk`].
    pub fn walk_with(&self, path: &RelPath, limits: TreeLimits) -> Result<Walk, Error> {
        self.act(Verb::Walk, path, |op| {
            let fd = open_listed(self, path)?;
            let status = sys::status(&fd)?;
            rules::check_passage(self, &status)?;
            op.allow(Some(&status))?;
            Ok(Walk {
                root: self.clone(),
                path: path.clone(),
                stack: DirStack::new(fd),
                listing: Listing::new(),
                listed_all: false,
                pending: Pending::new(),
                budget: Budget::new(limits),
                failed: false,
                entry_path: Vec::new(),
            })
        })
    }
}

/// Everything below a directory.
pub struct Walk {
    root: Root,
    path: RelPath,
    stack: DirStack,
    listing: Listing,
    /// Whether the current directory was listed to its end.
    listed_all: bool,
    pending: Pending,
    budget: Budget,
    failed: bool,
    entry_path: Vec<u8>,
}

/// One entry of a tree.
pub struct WalkEntry<'a> {
    walk: &'a Walk,
    listed: Listed<'a>,
}

impl Walk {
    /// The next entry.
    ///
    /// An error about one directory (it cannot be read, something is mounted there) is reported once,
    /// and the next call goes on beside it. An error about the walk itself (a limit, or a directory
    /// that was moved away under us) ends it: the next call answers `None`.
    ///
    /// # Errors
    /// `Denied`, `Mount`, `Io` about one directory; `Limit`, `Raced` about the walk.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<WalkEntry<'_>>, Error> {
        if self.failed {
            return Ok(None);
        }
        match self.advance() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(fault) => return Err(self.error(fault)),
        }
        // The entry that `advance` stopped at.
        let listed = self.listing.last().expect("advance stopped at an entry");
        Ok(Some(WalkEntry { walk: self, listed }))
    }

    /// Whether there is another entry; it is then the listing's last.
    #[inline]
    fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            if !self.listed_all {
                match self.listing.advance(self.stack.current()) {
                    Ok(true) => {
                        self.budget
                            .spend_entry()
                            .inspect_err(|_| self.failed = true)?;
                        if matches!(self.listing.kind(), FileKind::Dir | FileKind::Unknown)
                            && let Some(listed) = self.listing.last()
                        {
                            self.pending.push(listed.name);
                        }
                        return Ok(true);
                    }
                    Ok(false) => self.listed_all = true,
                    Err(fault) => {
                        self.listed_all = true;
                        return Err(fault);
                    }
                }
            }
            match self.pending.pop() {
                Some(name) => self.enter(&name)?,
                None if self.stack.is_top() => return Ok(false),
                None => {
                    drop(self.stack.pop().inspect_err(|_| self.failed = true)?);
                    self.pending.leave_level();
                }
            }
        }
    }

    fn enter(&mut self, name: &CStr) -> Result<(), Fault> {
        let depth = self.stack.depth() + 1;
        self.budget
            .check_depth(depth)
            .inspect_err(|_| self.failed = true)?;
        let fd = match resolve::open_child_dir(&self.root, self.stack.current(), name) {
            Ok(fd) => fd,
            // It went away, or something else is there by now, or its kind was not known.
            Err(fault)
                if matches!(
                    fault.kind,
                    ErrorKind::NotFound | ErrorKind::Link | ErrorKind::NotADirectory
                ) =>
            {
                return Ok(());
            }
            Err(fault) => {
                self.entry_path = joined(self.stack.path(), name.to_bytes());
                return Err(fault);
            }
        };
        self.stack.push(name.to_bytes(), fd)?;
        self.pending.enter_level();
        self.listing.restart();
        self.listed_all = false;
        Ok(())
    }

    fn error(&mut self, fault: Fault) -> Error {
        let path = self.root.full(&self.path);
        let mut shown = path.to_string();
        let below = std::mem::take(&mut self.entry_path);
        if !below.is_empty() {
            shown = if path.is_root() {
                escape(&below)
            } else {
                format!("{}/{}", shown.trim_end_matches('/'), escape(&below))
            };
        }
        Error::new(Verb::Walk, shown, fault)
    }
}

fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

impl<'a> WalkEntry<'a> {
    /// Its name.
    #[must_use]
    #[inline]
    pub fn name(&self) -> NameRef<'a> {
        NameRef::listed(self.listed.name)
    }

    /// The directory it is in, as bytes from the walk's own directory; empty for that one.
    #[must_use]
    #[inline]
    pub fn parent(&self) -> &'a [u8] {
        self.walk.stack.path()
    }

    /// Its path as bytes from the walk's own directory. In deep trees it may be longer than any
    /// system call takes.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        joined(self.parent(), self.name().as_bytes())
    }

    /// Its path from the root.
    ///
    /// # Errors
    /// `TooLong` if it is beyond the limits of a path.
    pub fn rel_path(&self, limits: &Limits) -> Result<RelPath, Error> {
        RelPath::parse_with(joined(self.walk.path.as_bytes(), &self.path()), limits)
    }

    /// How many directories lie between it and the walk's own.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.walk.stack.depth()
    }

    /// Its kind as the directory lists it: a hint, and `Unknown` on some filesystems.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> FileKind {
        self.listed.kind
    }

    /// What the name refers to now, read from the held directory; a link is itself.
    ///
    /// # Errors
    /// `NotFound` if it is gone; `Mount` if something is mounted there and the root refuses that.
    #[inline]
    pub fn metadata(&self) -> Result<Metadata, Error> {
        entry_metadata(&self.walk.root, self.walk.stack.current(), self.listed.name)
            .map_err(|fault| Error::new(Verb::Metadata, escape(&self.path()), fault))
    }
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("path", &self.path)
            .field("at", &escape(self.stack.path()))
            .finish()
    }
}

impl fmt::Debug for WalkEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalkEntry")
            .field("path", &escape(&self.path()))
            .field("kind", &self.kind())
            .finish()
    }
}
