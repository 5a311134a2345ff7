//! A directory that is read piece by piece.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;

use fuser::{Errno, FileType};
use handfast::files::Entry;

use crate::attr::kind;
use crate::face::Asked;
use crate::names::LookedUp;

/// What directories tell as the number of an entry that nobody asked for.
const UNKNOWN_NUMBER: u64 = 0xffff_ffff;

/// So many names are looked up together.
const TOGETHER: usize = 24;

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

impl Asked<'_> {
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
            if tell(next, text, kind(entry.kind), shown_number(entry)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// As [`Face::each_entry`], with what each name leads to. `.` and `..` are not looked up, nor is
    /// what may not be looked at: the kernel asks again when somebody uses such a name.
    pub(crate) fn each_object(
        &self,
        number: u64,
        id: u64,
        offset: u64,
        mut tell: impl FnMut(u64, &OsStr, FileType, u64, Option<&LookedUp>) -> bool,
    ) -> Result<(), Errno> {
        for (at, dots) in [(0, "."), (1, "..")] {
            let (next, name) = (at + 1, OsStr::new(dots));
            if offset <= at && tell(next, name, FileType::Directory, number, None) {
                return Ok(());
            }
        }
        let listing = self.open.dir(id).ok_or(Errno::EBADF)?;
        let mut listing = listing.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = offset.saturating_sub(2);
        let entries = listing.from(begin, || self.list(number))?;
        let mut next = begin + 3;
        for entries in entries.chunks(TOGETHER) {
            let names: Vec<_> = entries.iter().map(|entry| &entry.name).collect();
            let found = self.lookup_all(number, &names);
            for (at, (entry, object)) in entries.iter().zip(&found).enumerate() {
                let text = OsStr::from_bytes(entry.name.as_bytes());
                let shown = shown_number(entry);
                if tell(next, text, kind(entry.kind), shown, object.as_ref()) {
                    // What the answer has no room for, the kernel was not told.
                    for object in found[at..].iter().flatten() {
                        self.forget(object.attr.ino.0, 1);
                    }
                    return Ok(());
                }
                next += 1;
            }
        }
        Ok(())
    }
}

fn shown_number(entry: &Entry) -> u64 {
    match entry.inode {
        0 => UNKNOWN_NUMBER,
        inode => inode,
    }
}
