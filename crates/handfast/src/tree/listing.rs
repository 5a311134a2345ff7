//! One directory, listed in batches.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::RawDir;
use rustix::io::Errno;

use crate::error::Fault;
use crate::metadata::FileKind;
use crate::sys;

/// What one `getdents` call may answer.
const BUFFER: usize = 32 * 1024;

/// One entry as the directory tells it. The kind is a hint; on some filesystems it is unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) kind: FileKind,
    pub(crate) inode: u64,
}

struct Slice {
    start: usize,
    end: usize,
    kind: FileKind,
    inode: u64,
}

/// A directory's entries. Memory is reused from batch to batch and from directory to directory, so
/// that an entry costs a copy of its name and no allocation.
pub(crate) struct Listing {
    buffer: Vec<MaybeUninit<u8>>,
    names: Vec<u8>,
    entries: Vec<Slice>,
    next: usize,
    finished: bool,
}

impl Listing {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![MaybeUninit::uninit(); BUFFER],
            names: Vec::with_capacity(BUFFER),
            entries: Vec::with_capacity(BUFFER / 32),
            next: 0,
            finished: false,
        }
    }

    /// Forgets the last directory.
    pub(crate) fn restart(&mut self) {
        self.names.clear();
        self.entries.clear();
        self.next = 0;
        self.finished = false;
    }

    /// The next entry of `dir`, which must be the same descriptor until this answers `None`.
    pub(crate) fn next(&mut self, dir: impl AsFd) -> Result<Option<Listed<'_>>, Fault> {
        if self.next >= self.entries.len() {
            self.refill(dir)?;
        }
        if self.next < self.entries.len() {
            self.next += 1;
        } else {
            return Ok(None);
        }
        Ok(self.last())
    }

    /// The entry that [`Listing::next`] answered last.
    pub(crate) fn last(&self) -> Option<Listed<'_>> {
        let entry = self.entries.get(self.next.checked_sub(1)?)?;
        Some(Listed {
            // Copied with its NUL from a CStr, so this cannot fail.
            name: CStr::from_bytes_with_nul(self.names.get(entry.start..entry.end)?).ok()?,
            kind: entry.kind,
            inode: entry.inode,
        })
    }

    fn refill(&mut self, dir: impl AsFd) -> Result<(), Fault> {
        self.names.clear();
        self.entries.clear();
        self.next = 0;
        let mut interruptions = 0_u32;
        // A batch may hold nothing but `.` and `..`.
        while self.entries.is_empty() && !self.finished {
            let mut raw = RawDir::new(dir.as_fd(), &mut self.buffer);
            loop {
                let entry = match raw.next() {
                    None => {
                        self.finished = true;
                        break;
                    }
                    Some(Ok(entry)) => entry,
                    Some(Err(Errno::INTR)) if interruptions < 10_000 => {
                        interruptions += 1;
                        break;
                    }
                    // The directory itself was removed: nothing is in it.
                    Some(Err(Errno::NOENT)) => {
                        self.finished = true;
                        break;
                    }
                    Some(Err(errno)) => return Err(Fault::sys("getdents64", errno)),
                };
                let name = entry.file_name().to_bytes_with_nul();
                let kind = sys::kind(entry.file_type());
                let inode = entry.ino();
                match name {
                    b".\0" | b"..\0" => {}
                    // Only a lying filesystem says so, and the kernel lets none through.
                    name if name == b"\0" || name.contains(&b'/') => {
                        return Err(Fault::sys("getdents64", Errno::IO));
                    }
                    name => {
                        let start = self.names.len();
                        self.names.extend_from_slice(name);
                        self.entries.push(Slice {
                            start,
                            end: self.names.len(),
                            kind,
                            inode,
                        });
                    }
                }
                if raw.is_buffer_empty() {
                    break;
                }
            }
        }
        Ok(())
    }
}
