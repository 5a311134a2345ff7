//! A directory that is read piece by piece.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;

use fuser::{Errno, FileType};
use handfast::files::Entry;

use crate::attr::kind;
use crate::face::Face;

/// What directories tell as the number of an entry that nobody asked for.
const UNKNOWN_NUMBER: u64 = 0xffff_ffff;

/// The entries of an open directory, read once: names that come and go meanwhile do not move the
/// others, so a reader that goes on at an offset misses nothing that stays.
#[derive(Default)]
pub(crate) struct Listing {
    entries: Option<Vec<Entry>>,
}

impl Listing {
    /// The entries from an offset on. At the beginning the directory is read again, as `rewinddir`
    /// asks for.
    pub(crate) fn from<E>(
        &mut self,
        offset: u64,
        read: impl FnOnce() -> Result<Vec<Entry>, E>,
    ) -> Result<&[Entry], E> {
        if offset == 0 || self.entries.is_none() {
            self.entries = Some(read()?);
        }
        let entries = self.entries.as_deref().unwrap_or_default();
        let begin = usize::try_from(offset).map_or(entries.len(), |at| at.min(entries.len()));
        Ok(&entries[begin..])
    }
}

impl Face {
    /// Tells the entries of an open directory from an offset on, until the answer is full.
    pub(crate) fn each_entry(
        &self,
        number: u64,
        id: u64,
        offset: u64,
        mut tell: impl FnMut(u64, &OsStr, FileType, u64) -> bool,
    ) -> Result<(), Errno> {
        let directory = FileType::Directory;
        for (at, dots) in [(0, "."), (1, "..")] {
            if offset <= at && tell(at + 1, OsStr::new(dots), directory, number) {
                return Ok(());
            }
        }
        let listing = self.open.dir(id).ok_or(Errno::EBADF)?;
        let mut listing = listing.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = offset.saturating_sub(2);
        let entries = listing.from(begin, || self.list(number))?;
        for (next, entry) in (begin + 3..).zip(entries) {
            let text = OsStr::from_bytes(entry.name.as_bytes());
            let shown = match entry.inode {
                0 => UNKNOWN_NUMBER,
                inode => inode,
            };
            if tell(next, text, kind(entry.kind), shown) {
                return Ok(());
            }
        }
        Ok(())
    }
}
