//! The entries of a directory that a walk goes through, and where in them it begins.

use std::borrow::Cow;
use std::sync::Arc;

use handfast::files::Entry;

use crate::listings::Listing;

/// Where a walk begins. Paths are relative to its top, in the bytes that are on disk.
pub(super) enum Begin {
    /// At the first entry.
    First,
    /// At an entry.
    At(Vec<u8>),
    /// Behind an entry, which was told already; what is in it was not.
    Behind(Vec<u8>),
}

impl Begin {
    /// What is left of the place to begin at, below a directory: `None` if that directory is not on the way to it.
    pub(super) fn below(&self, relative: &[u8]) -> Option<&[u8]> {
        let begin = match self {
            Self::First => return None,
            Self::At(begin) | Self::Behind(begin) => begin.as_slice(),
        };
        match relative {
            b"" => Some(begin),
            dir => begin
                .strip_prefix(dir)
                .and_then(|rest| rest.strip_prefix(b"/")),
        }
    }

    /// The entry of a directory to begin at, and whether that one comes before the place to begin at and is only entered.
    pub(super) fn position(&self, relative: &[u8], entries: &DirEntries) -> (usize, bool) {
        // Directories beside the way to that place come after it: those before it were not entered.
        let Some(rest) = self.below(relative) else {
            return (0, false);
        };
        let mut names = rest.splitn(2, |byte| *byte == b'/');
        let name = names.next().unwrap_or_default();
        let is_last = names.next().is_none();
        let behind = entries.up_to(name);
        match behind.checked_sub(1) {
            Some(at) if entries.is_named(at, name) => {
                (at, matches!(self, Self::Behind(_)) || !is_last)
            }
            // It is gone: what comes after its name is left.
            _ => (behind, false),
        }
    }
}

/// The entries of one directory, in byte order.
pub(super) enum DirEntries {
    /// Read for this call.
    Read(Vec<Entry>),
    /// Read for a page before, with the number of the list.
    Kept(u64, Arc<Listing>),
}

impl DirEntries {
    pub(super) fn entry(&self, at: usize) -> Option<Cow<'_, Entry>> {
        match self {
            Self::Read(entries) => entries.get(at).map(Cow::Borrowed),
            Self::Kept(_, listing) => listing.entry(at).map(Cow::Owned),
        }
    }

    /// How many names come up to and with this one.
    fn up_to(&self, name: &[u8]) -> usize {
        match self {
            Self::Read(entries) => entries.partition_point(|entry| entry.name.as_bytes() <= name),
            Self::Kept(_, listing) => listing.up_to(name),
        }
    }

    fn is_named(&self, at: usize, name: &[u8]) -> bool {
        self.entry(at)
            .is_some_and(|entry| entry.name.as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use handfast::{FileKind, Name};

    use super::*;

    fn entries(names: &[&[u8]]) -> Vec<Entry> {
        let entry = |name: &&[u8]| Entry {
            name: Name::parse(*name).unwrap(),
            kind: FileKind::File,
            inode: 0,
        };
        names.iter().map(entry).collect()
    }

    #[test]
    fn a_walk_goes_on_where_it_was_left() {
        let names: [&[u8]; 6] = [b"a", b"b", b"b\\xff", b"b\xff", b"b\xffc", b"c"];
        let at = |path: &[u8]| Begin::At(path.to_owned());
        let behind = |path: &[u8]| Begin::Behind(path.to_owned());
        for (begin, dir, left, before) in [
            (Begin::First, "", 6, false),
            (at(b"b"), "", 5, false),
            (behind(b"b"), "", 5, true),
            (at(b"b/x"), "", 5, true),
            // A name that is no text is another one than the text that is shown for it.
            (behind(b"b\xff"), "", 3, true),
            (behind(b"b\\xff"), "", 4, true),
            // It is gone meanwhile.
            (behind(b"bb"), "", 3, false),
            (at(b"d/b"), "d", 5, false),
            (at(b"d/b"), "dd", 6, false),
            (at(b"d/b"), "e", 6, false),
        ] {
            let read = DirEntries::Read(entries(&names));
            let kept = DirEntries::Kept(1, Arc::new(Listing::new(&entries(&names))));
            for found in [read, kept] {
                let (position, is_before) = begin.position(dir.as_bytes(), &found);
                assert_eq!((names.len() - position, is_before), (left, before));
            }
        }
    }
}
