//! A file that was opened in a session.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};

use handfast::{Identity, Metadata};

use crate::meter::{FileMeter, HandleTicket};
use crate::vpath::VirtualPath;

/// An opened file. It is the object that was resolved and judged, and is never looked up again:
/// renames, commits and links that appear later change nothing for it.
pub struct SessionFile {
    // Dropped in this order: a charge is given back while the file is still open, so that its
    // number cannot be another file's by then.
    _ticket: Option<HandleTicket>,
    inner: std::fs::File,
    metadata: Metadata,
    path: VirtualPath,
    append: bool,
    /// Charges growth before it happens; nothing where nothing is limited.
    meter: Option<FileMeter>,
}

impl SessionFile {
    pub(crate) fn new(
        inner: std::fs::File,
        metadata: Metadata,
        path: VirtualPath,
        append: bool,
        meter: Option<FileMeter>,
        ticket: Option<HandleTicket>,
    ) -> Self {
        Self {
            inner,
            metadata,
            path,
            append,
            meter,
            _ticket: ticket,
        }
    }

    /// Which file this is. In an overlay it is the file that holds the content.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.metadata.identity
    }

    /// What it was when it was opened.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The path it was opened by, for messages. It may lead elsewhere by now.
    #[must_use]
    pub fn path_racy(&self) -> &VirtualPath {
        &self.path
    }

    /// Changes the length.
    ///
    /// # Errors
    /// `StorageFull` if a quota or the disk says no; otherwise what the system says.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        match &self.meter {
            Some(meter) => meter.grow_to(&self.inner, len, || self.inner.set_len(len)),
            None => self.inner.set_len(len),
        }
    }

    /// Waits until content and metadata are on the disk.
    ///
    /// # Errors
    /// What the disk says.
    pub fn sync(&self) -> io::Result<()> {
        self.inner.sync_all()
    }

    /// The standard library's file for reading, without quota and evidence.
    ///
    /// # Errors
    /// Gives the file back if it is limited by a quota: a bare descriptor would get round it.
    pub fn into_std(self) -> Result<std::fs::File, Box<Self>> {
        if self.meter.is_some() {
            return Err(Box::new(self));
        }
        Ok(self.inner)
    }
}

impl Read for SessionFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl Write for SessionFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let Some(meter) = &self.meter else {
            return self.inner.write(buffer);
        };
        let more = buffer.len() as u64;
        if self.append {
            return meter.append(&self.inner, more, || (&self.inner).write(buffer));
        }
        let end = (&self.inner).stream_position()?.saturating_add(more);
        meter.grow_to(&self.inner, end, || (&self.inner).write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Seek for SessionFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

impl AsFd for SessionFile {
    /// The descriptor, for reading. Writing through it gets round a quota.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl fmt::Debug for SessionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFile")
            .field("path", &self.path)
            .field("identity", &self.metadata.identity)
            .finish()
    }
}
