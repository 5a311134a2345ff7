//! An open file, for every implementation of `Files`.

use super::types::Attributes;
use crate::error::{Error, ErrorKind};
use crate::file::File;
use crate::metadata::Metadata;
use crate::verb::Verb;
use crate::version::Version;

/// An open file. It is the object that was judged when it was opened, whatever its name leads to by
/// now.
///
/// Offsets are given with every call, so a handle can be shared between threads. Nothing here gives
/// out a descriptor: a layer that counts or limits writing keeps doing so.
pub trait FileHandle: Send + Sync {
    /// What the file was when it was opened.
    fn opened_metadata(&self) -> &Metadata;

    /// What the file is now.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    fn metadata(&self) -> Result<Metadata, Error>;

    /// Reads from an offset; 0 bytes mean the end of the file.
    ///
    /// # Errors
    /// `Denied` if the file was not opened for reading; `Io`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error>;

    /// Writes at an offset. A file that was opened for appending is written at its end.
    ///
    /// # Errors
    /// `Denied` if the file was not opened for writing; `Quota`; `Io`.
    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Error>;

    /// Changes the length.
    ///
    /// # Errors
    /// As [`FileHandle::write_at`].
    fn set_len(&self, len: u64) -> Result<(), Error>;

    /// Changes mode and times, also of a file that has no name any more.
    ///
    /// # Errors
    /// `Denied` if the file was not opened for writing; `Unsupported` for owners, and where a layer
    /// cannot; `Io`.
    fn set_attributes(&self, attributes: &Attributes) -> Result<(), Error> {
        let _ = attributes;
        Err(Error::refused(
            ErrorKind::Unsupported,
            "these files have no attributes of open files",
        ))
    }

    /// Waits until the content is on the disk, and the metadata with it.
    ///
    /// # Errors
    /// `Io` if the disk says no.
    fn sync(&self) -> Result<(), Error>;

    /// The version of the file behind this handle; with the digest of the content if `digest` is
    /// set.
    ///
    /// # Errors
    /// `Denied` if the file was not opened for reading; `Raced` if it keeps changing; `Limit` if it
    /// is too large to be digested.
    fn version(&self, digest: bool) -> Result<Version, Error>;
}

impl FileHandle for File {
    fn opened_metadata(&self) -> &Metadata {
        File::metadata(self)
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        self.metadata_now()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        File::read_at(self, buffer, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Error> {
        File::write_at(self, data, offset).map(|()| data.len())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        File::set_len(self, len)
    }

    fn sync(&self) -> Result<(), Error> {
        File::sync(self)
    }

    fn version(&self, digest: bool) -> Result<Version, Error> {
        Version::of_file(self, digest, u64::MAX)
            .map_err(|fault| Error::new(Verb::Version, self.path_racy().to_string(), fault))
    }
}
