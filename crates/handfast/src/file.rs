//! An opened file that passed the rules.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{Effect, Error, ErrorKind, Fault};
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

/// Proof that nobody else has a file open: see [`File::lease`]. Dropping it gives it back.
#[derive(Debug)]
#[must_use = "a lease that is dropped is given back"]
pub struct FileLease<'a> {
    file: &'a File,
}

impl Drop for FileLease<'_> {
    fn drop(&mut self) {
        sys::give_lease_back(&self.file.inner);
    }
}

impl File {
    pub(crate) fn new(fd: OwnedFd, metadata: Metadata, path: RelPath) -> Self {
        Self {
            inner: std::fs::File::from(fd),
            metadata,
            path,
        }
    }

    /// A file that another process opened and handed over. What it is, is read from the descriptor;
    /// the path is for messages.
    ///
    /// # Errors
    /// `Io` if the system does not say what it is.
    pub fn received(fd: OwnedFd, path: RelPath) -> Result<Self, Error> {
        let metadata = sys::status(&fd)
            .map_err(|fault| Error::new(Verb::Metadata, path.to_string(), fault))?;
        Ok(Self::new(fd, metadata, path))
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

    /// Reads at a place, without moving the handle's own; 0 at the end.
    ///
    /// # Errors
    /// `Denied` if it was not opened for reading; `Busy` if a pseudo file has nothing to say now.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        sys::pread(&self.inner, buffer, offset)
            .map_err(|fault| self.error(Verb::Open, name_unopened(fault)))
    }

    /// Writes all of it at a place, without moving the handle's own.
    ///
    /// # Errors
    /// `Denied` if it was not opened for writing; `Quota`. A part may have been written, and the
    /// error's effect says so.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error> {
        sys::pwrite_all(&self.inner, data, offset).map_err(|fault| {
            let fault = match fault.errno {
                Some(libc::EBADF) => name_unopened(fault),
                _ => fault.with_effect(Effect::Unknown),
            };
            self.error(Verb::OpenWrite, fault)
        })
    }

    /// Another handle of the same open file: both share one place in it.
    ///
    /// # Errors
    /// `Io` if there is no descriptor left.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let fd = sys::duplicate(&self.inner).map_err(|fault| self.error(Verb::Open, fault))?;
        Ok(Self::new(fd, self.metadata, self.path.clone()))
    }

    /// A lease on the file, if nobody else has it open or mapped. While it is held, an open by others
    /// waits, or is refused if it does not want to wait. The holder is sent `SIGURG` then.
    ///
    /// # Errors
    /// `Denied` for a file of somebody else; `Unsupported`, `Invalid` where the filesystem has no leases.
    pub fn lease(&self) -> Result<Option<FileLease<'_>>, Error> {
        match sys::lease(&self.inner) {
            Ok(true) => Ok(Some(FileLease { file: self })),
            Ok(false) => Ok(None),
            Err(fault) => Err(self.error(Verb::Lock, fault)),
        }
    }

    fn error(&self, verb: Verb, fault: Fault) -> Error {
        Error::new(verb, self.path.to_string(), fault)
    }

    /// The standard library's file, without the evidence.
    #[must_use]
    pub fn into_std(self) -> std::fs::File {
        self.inner
    }
}

/// The kernel says "bad descriptor" for a handle that was not opened for that.
fn name_unopened(fault: Fault) -> Fault {
    match fault.errno {
        Some(libc::EBADF) => fault.with_kind(ErrorKind::Denied, "it was not opened for that"),
        _ => fault,
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
