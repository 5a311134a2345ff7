//! A file that was opened in a session.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

use handfast::files::{Attributes, FileHandle};
use handfast::{ErrorKind, Identity, Metadata, OpenOptions, Timestamp, Version};

use crate::error::Error;
use crate::layer::OpenedFile;
use crate::meter::{FileMeter, HandleTicket};
use crate::vpath::VirtualPath;

/// An opened file. It is the object that was resolved and judged, and is never looked up again:
/// renames, commits and links that appear later change nothing for it.
///
/// A file that was opened for writing gives out no descriptor: what is written through one would get
/// round the session's quota and its end.
pub struct SessionFile {
    // Dropped in this order: a charge is given back while the file is still open, so that its
    // number cannot be another file's by then.
    _ticket: Option<HandleTicket>,
    inner: handfast::File,
    path: VirtualPath,
    append: bool,
    changes: bool,
    /// Charges growth before it happens; nothing where nothing is limited.
    meter: Option<FileMeter>,
}

impl SessionFile {
    pub(crate) fn new(
        mut opened: OpenedFile,
        path: VirtualPath,
        how: OpenOptions,
        mut ticket: Option<HandleTicket>,
    ) -> Self {
        if let Some(ticket) = &mut ticket {
            ticket.hold(opened.hold.take());
        }
        Self {
            inner: opened.file,
            path,
            append: how.appends(),
            changes: how.changes(),
            meter: opened.meter,
            _ticket: ticket,
        }
    }

    /// Which file this is. In an overlay it is the file that holds the content.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.inner.identity()
    }

    /// What it was when it was opened.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    /// The path it was opened by, for messages. It may lead elsewhere by now.
    #[must_use]
    pub fn path_racy(&self) -> &VirtualPath {
        &self.path
    }

    /// Changes the length.
    ///
    /// # Errors
    /// `Quota` if a quota or the disk says no; otherwise what the system says.
    pub fn set_len(&self, len: u64) -> Result<(), Error> {
        self.metered(len, || Ok(self.inner.set_len(len)?))
    }

    /// Waits until content and metadata are on the disk.
    ///
    /// # Errors
    /// What the disk says.
    pub fn sync(&self) -> Result<(), Error> {
        self.inner.sync()
    }

    /// The standard library's file, for reading, without the session's evidence.
    ///
    /// # Errors
    /// Gives the file back if it was opened for writing: a bare descriptor would get round the
    /// session.
    pub fn into_std(self) -> Result<std::fs::File, Box<Self>> {
        if self.changes {
            return Err(Box::new(self));
        }
        Ok(self.inner.into_std())
    }

    /// The standard library's file although it was opened for writing, for a layer whose operator
    /// chose to hand descriptors out. What is written through it is beyond the session.
    ///
    /// # Errors
    /// Gives the file back where a quota counts what is written.
    pub fn into_std_beyond_the_session(self) -> Result<std::fs::File, Box<Self>> {
        if self.meter.is_some() {
            return Err(Box::new(self));
        }
        Ok(self.inner.into_std())
    }

    fn metered<T>(&self, end: u64, act: impl FnOnce() -> io::Result<T>) -> Result<T, Error> {
        match &self.meter {
            Some(meter) => Ok(meter.grow_to(&self.inner, end, act)?),
            None => Ok(act()?),
        }
    }

    fn write_end(&self, data: &[u8]) -> io::Result<usize> {
        let more = data.len() as u64;
        match &self.meter {
            Some(meter) => meter.append(&self.inner, more, || (&self.inner).write(data)),
            None => (&self.inner).write(data),
        }
    }
}

impl FileHandle for SessionFile {
    fn opened_metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        self.inner.metadata_now()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        FileHandle::read_at(&self.inner, buffer, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Error> {
        if self.append {
            return Ok(self.write_end(data)?);
        }
        let end = offset.saturating_add(data.len() as u64);
        self.metered(end, || Ok(FileHandle::write_at(&self.inner, data, offset)?))
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        Self::set_len(self, len)
    }

    fn set_attributes(&self, attributes: &Attributes) -> Result<(), Error> {
        if !self.changes {
            // It may be a file of the base, which an overlay never changes.
            return Err(Error::refused(
                ErrorKind::Denied,
                "the file was opened for reading only",
            ));
        }
        if attributes.uid.is_some() || attributes.gid.is_some() {
            return Err(Error::refused(
                ErrorKind::Unsupported,
                "the owner of an open file is not changed",
            ));
        }
        if attributes.accessed.is_some() || attributes.modified.is_some() {
            let spec = |time: Option<Timestamp>| rustix::fs::Timespec {
                tv_sec: time.map_or(0, |time| time.seconds),
                tv_nsec: time.map_or(rustix::fs::UTIME_OMIT, |time| time.nanoseconds.into()),
            };
            let times = rustix::fs::Timestamps {
                last_access: spec(attributes.accessed),
                last_modification: spec(attributes.modified),
            };
            rustix::fs::futimens(&self.inner, &times)?;
        }
        if let Some(mode) = attributes.mode {
            let mode = rustix::fs::Mode::from_raw_mode(mode & 0o777);
            rustix::fs::fchmod(&self.inner, mode)?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        Self::sync(self)
    }

    fn version(&self, digest: bool) -> Result<Version, Error> {
        FileHandle::version(&self.inner, digest)
    }
}

impl Read for SessionFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl Write for SessionFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.append {
            return self.write_end(buffer);
        }
        let Some(meter) = &self.meter else {
            return (&self.inner).write(buffer);
        };
        let end = self
            .inner
            .stream_position()?
            .saturating_add(buffer.len() as u64);
        meter.grow_to(&self.inner, end, || (&self.inner).write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SessionFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

impl fmt::Debug for SessionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFile")
            .field("path", &self.path)
            .field("identity", &self.inner.identity())
            .finish()
    }
}
