//! One directory, listed in batches.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::error::Fault;
use crate::metadata::FileKind;
use crate::sys;

/// What one `getdents64` call may answer.
const BUFFER: usize = 32 * 1024;

/// The layout of an entry: inode (8 bytes), position (8), length of the entry (2), kind
/// (1), and the name with its NUL.
const LENGTH: usize = 16;
const KIND: usize = 18;
const NAME: usize = 19;

/// One entry as the directory lists it. The kind is a hint; on some filesystems it is unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) kind: FileKind,
    pub(crate) inode: u64,
}

/// A directory's entries, read from the buffer that the kernel fills. The buffer is reused from
/// batch to batch and from directory to directory: an entry costs no copy and no allocation.
pub(crate) struct Listing {
    buffer: Vec<u8>,
    filled: usize,
    /// Where the last entry begins, and where it ends.
    last: (usize, usize),
    finished: bool,
}

impl Listing {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER],
            filled: 0,
            last: (0, 0),
            finished: false,
        }
    }

    /// Forgets the last directory.
    pub(crate) fn restart(&mut self) {
        self.filled = 0;
        self.last = (0, 0);
        self.finished = false;
    }

    /// The next entry of `dir`, which must be the same descriptor until this answers `None`.
    #[inline(always)]
    pub(crate) fn next(&mut self, dir: impl AsFd) -> Result<Option<Listed<'_>>, Fault> {
        if !self.advance(dir)? {
            return Ok(None);
        }
        self.last().map(Some).ok_or_else(garbled)
    }

    /// Goes on to the next entry of `dir`, which is then the last.
    #[inline(always)]
    pub(crate) fn advance(&mut self, dir: impl AsFd) -> Result<bool, Fault> {
        loop {
            let start = self.last.1;
            if start >= self.filled {
                if !self.refill(&dir)? {
                    return Ok(false);
                }
                continue;
            }
            let length = self.length_at(start).ok_or_else(garbled)?;
            self.last = (start, start + length);
            let name = self
                .buffer
                .get(start + NAME..start + length)
                .ok_or_else(garbled)?;
            if !matches!(name, [b'.', 0, ..] | [b'.', b'.', 0, ..]) {
                return Ok(true);
            }
        }
    }

    /// The kind of the last entry.
    #[inline(always)]
    pub(crate) fn kind(&self) -> FileKind {
        let kind = self.buffer.get(self.last.0 + KIND);
        kind.map_or(FileKind::Unknown, |kind| sys::kind_of_entry(*kind))
    }

    #[inline(always)]
    fn length_at(&self, start: usize) -> Option<usize> {
        let bytes = self.buffer.get(start + LENGTH..start + LENGTH + 2)?;
        let length = usize::from(u16::from_ne_bytes(bytes.try_into().ok()?));
        (length > NAME && start + length <= self.filled).then_some(length)
    }

    /// The entry that [`Listing::next`] answered last.
    #[inline(always)]
    pub(crate) fn last(&self) -> Option<Listed<'_>> {
        let entry = self.buffer.get(self.last.0..self.last.1)?;
        let inode = entry.get(..8)?.try_into().ok()?;
        Some(Listed {
            // The kernel lets no empty name through, and none that holds `/`.
            name: CStr::from_bytes_until_nul(entry.get(NAME..)?).ok()?,
            kind: sys::kind_of_entry(*entry.get(KIND)?),
            inode: u64::from_ne_bytes(inode),
        })
    }

    /// Whether there is more.
    #[cold]
    fn refill(&mut self, dir: impl AsFd) -> Result<bool, Fault> {
        self.last = (0, 0);
        self.filled = 0;
        if self.finished {
            return Ok(false);
        }
        match sys::list_entries(dir, &mut self.buffer) {
            Ok(filled) => self.filled = filled,
            // The directory itself was removed: nothing is in it.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(Fault::sys("getdents64", errno)),
        }
        self.finished = self.filled == 0;
        Ok(!self.finished)
    }
}

/// Only a broken kernel writes entries like this.
fn garbled() -> Fault {
    Fault::sys("getdents64", Errno::IO)
}
