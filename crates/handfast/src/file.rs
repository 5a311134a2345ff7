//! An opened file that passed the rules.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::Error;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::sys;
use crate::verb::Verb;

/// A file that was opened below a root and passed its rules.
///
/// There is no way to swap the descriptor under the evidence: the fields are private and nothing
/// gives them out mutably.
///
/// ```compile_fail
/// fn swap(file: &mut handfast::File, other: std::fs::File) {
///     **file = other; // no DerefMut
/// }
/// ```
pub struct File {
    inner: std::fs::File,
    metadata: Metadata,
    path: RelPath,
}

impl File {
    pub(crate) fn new(fd: OwnedFd, metadata: Metadata, path: RelPath) -> Self {
        Self {
            inner: std::fs::File::from(fd),
            metadata,
            path,
        }
    }

    /// Which file this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.metadata.identity
    }

    /// What it was when it was opened: the facts the rules decided on.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What it is now.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    pub fn metadata_now(&self) -> Result<Metadata, Error> {
        sys::status(&self.inner)
            .map_err(|fault| Error::new(Verb::Metadata, self.path.to_string(), fault))
    }

    /// The path it was opened by, for messages. It may lead elsewhere by now.
    #[must_use]
    pub fn path_racy(&self) -> &RelPath {
        &self.path
    }

    /// Changes the length.
    ///
    /// # Errors
    /// `Denied` if it was not opened for writing; `Quota` if there is no space.
    pub fn set_len(&self, len: u64) -> Result<(), Error> {
        sys::truncate(&self.inner, len)
            .map_err(|fault| Error::new(Verb::OpenWrite, self.path.to_string(), fault))
    }

    /// Waits until content and metadata are on the disk.
    ///
    /// # Errors
    /// `Io` if the disk says no. Do not try again on the same file: what could not be written may
    /// have been dropped.
    pub fn sync(&self) -> Result<(), Error> {
        sys::sync_all(&self.inner)
            .map_err(|fault| Error::new(Verb::OpenWrite, self.path.to_string(), fault))
    }

    /// The standard library's file, without the evidence.
    #[must_use]
    pub fn into_std(self) -> std::fs::File {
        self.inner
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.inner).read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.inner.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Write for &File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&self.inner).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.inner).flush()
    }
}

impl Seek for File {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        file.inner.into()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("path", &self.path)
            .field("identity", &self.metadata.identity)
            .finish()
    }
}
