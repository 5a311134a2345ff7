//! List a directory, as a stream.

use std::ffi::CStr;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::path::{NameRef, RelPath};
use crate::resolve::{self, Last};
use crate::root::{CAUTIOUS, Root};
use crate::rules;
use crate::sys;
use crate::tree::{Listed, Listing};
use crate::verb::Verb;

impl Root {
    /// Lists a directory. `.` (see [`RelPath::root`]) is the root itself.
    ///
    /// ```
    /// # use handfast::{RelPath, Root};
    /// # let root = Root::open_ambient("/")?;
    /// let mut entries = root.read_dir(&RelPath::root())?;
    /// while let Some(entry) = entries.next_entry()? {
    ///     println!("{} {}", entry.kind(), entry.name());
    /// }
    /// # Ok::<(), handfast::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotADirectory` if it is something else; `Link`, `Escape`, `Mount`, `NotFound`, `Denied`.
    pub fn read_dir(&self, path: &RelPath) -> Result<ReadDir, Error> {
        self.act(Verb::ReadDir, path, |op| {
            let fd = open_listed(self, path)?;
            let is_judged = !self.options.denied.is_empty() || self.expected.is_some();
            let status = match is_judged || op.is_recorded() {
                false => None,
                true => Some(sys::status(&fd)?),
            };
            if let Some(status) = &status {
                rules::check_passage(self, status)?;
            }
            op.allow(status.as_ref())?;
            Ok(ReadDir {
                root: self.clone(),
                path: path.clone(),
                fd,
                listing: Listing::new(),
            })
        })
    }
}

/// Opens a directory for listing.
pub(super) fn open_listed(root: &Root, path: &RelPath) -> Result<OwnedFd, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
    resolve::open(root, path, flags, Mode::empty(), Last::Follow)
}

/// A directory's entries, without `.` and `..`, in the filesystem's own order.
pub struct ReadDir {
    root: Root,
    path: RelPath,
    fd: OwnedFd,
    listing: Listing,
}

impl ReadDir {
    /// The next entry. It borrows from the list, so that an entry costs no allocation.
    ///
    /// # Errors
    /// `Io` if the directory cannot be read on.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<DirEntry<'_>>, Error> {
        let (root, path, fd) = (&self.root, &self.path, &self.fd);
        match self.listing.next(fd) {
            Ok(Some(listed)) => Ok(Some(DirEntry {
                root,
                path,
                dir: fd,
                listed,
            })),
            Ok(None) => Ok(None),
            Err(fault) => Err(Error::new(
                Verb::ReadDir,
                root.full(path).to_string(),
                fault,
            )),
        }
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadDir").field("path", &self.path).finish()
    }
}

/// One entry of a directory.
pub struct DirEntry<'a> {
    root: &'a Root,
    path: &'a RelPath,
    dir: &'a OwnedFd,
    listed: Listed<'a>,
}

impl<'a> DirEntry<'a> {
    /// Its name.
    #[must_use]
    #[inline]
    pub fn name(&self) -> NameRef<'a> {
        NameRef::listed(self.listed.name)
    }

    /// Its kind as the directory lists it: a hint, and `Unknown` on some filesystems.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> FileKind {
        self.listed.kind
    }

    /// Its inode as the directory lists it.
    #[must_use]
    #[inline]
    pub fn inode(&self) -> u64 {
        self.listed.inode
    }

    /// What the name refers to now, read from the held directory; a link is itself.
    ///
    /// # Errors
    /// `NotFound` if it is gone; `Mount` if something is mounted there and the root refuses that.
    #[inline]
    pub fn metadata(&self) -> Result<Metadata, Error> {
        entry_metadata(self.root, self.dir, self.listed.name).map_err(|fault| {
            Error::new(
                Verb::Metadata,
                self.root.full(&self.path.join(self.name())).to_string(),
                fault,
            )
        })
    }
}

impl fmt::Debug for DirEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirEntry")
            .field("name", &self.name())
            .field("kind", &self.kind())
            .finish()
    }
}

#[inline(always)]
pub(super) fn entry_metadata(root: &Root, dir: impl AsFd, name: &CStr) -> Result<Metadata, Fault> {
    let status = sys::status_at(dir, name)?;
    rules::check_passage(root, &status)?;
    if status.kind == FileKind::Unknown {
        return Err(Fault::rule(
            ErrorKind::Kind,
            "the filesystem does not say what it is",
        ));
    }
    Ok(status)
}
