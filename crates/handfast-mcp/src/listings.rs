//! Long lists of directories, kept for a while: a client that pages through one gets every page of the same
//! list, and no page reads and sorts the directory again.
//!
//! A list is given only to the caller for whom it was read, for the same path with the same rights, and
//! only while that path leads to the same directory. How many are kept, for how long and in how much
//! memory is bounded; a cursor whose list is gone goes on by its name in a new list.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use handfast::files::Entry;
use handfast::{FileKind, Identity, Metadata, Name, Timestamp};
use handfast_session::VirtualPath;

use crate::callers;
use crate::view::Allowed;

/// How many lists are kept, and in how many bytes. For the next one, the caller with the most loses one of its own.
const MOST: usize = 16;
const MOST_BYTES: usize = 32 << 20;

/// A list that nobody asked for since is forgotten.
const KEEP: Duration = Duration::from_secs(120);

/// For whom a directory was listed, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reader {
    pub(crate) client: String,
    pub(crate) allowed: Vec<Allowed>,
    pub(crate) path: VirtualPath,
    /// What ignore files name was left out.
    pub(crate) skip_ignored: bool,
    /// It is for the pages of searches, which find it by this.
    pub(crate) searches: bool,
}

/// The directory that was listed, and when it had changed last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    identity: Identity,
    modified: Timestamp,
    changed: Timestamp,
}

impl Listed {
    pub(crate) fn new(status: &Metadata) -> Self {
        Self {
            identity: status.identity,
            modified: status.modified,
            changed: status.changed,
        }
    }

    /// Whether this is the same directory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity.same_object(&other.identity)
    }

    /// Whether it says that it changed.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        (self.modified, self.changed) != (other.modified, other.changed)
    }
}

/// The names of a directory in order, close together.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    kinds: Vec<FileKind>,
}

impl Listing {
    /// Of entries in the order of their names.
    pub(crate) fn new(entries: &[Entry]) -> Self {
        let bytes = entries.iter().map(|entry| entry.name.as_bytes().len());
        let mut listing = Self {
            names: Vec::with_capacity(bytes.sum()),
            ends: Vec::with_capacity(entries.len()),
            kinds: Vec::with_capacity(entries.len()),
        };
        for entry in entries {
            listing.names.extend_from_slice(entry.name.as_bytes());
            listing.ends.push(listing.names.len());
            listing.kinds.push(entry.kind);
        }
        listing
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start..self.ends[at]]
    }

    /// The entry at a place, if there is one.
    pub(crate) fn entry(&self, at: usize) -> Option<Entry> {
        let kind = *self.kinds.get(at)?;
        let name = Name::parse(self.name(at)).ok()?;
        Some(Entry {
            name,
            kind,
            inode: 0,
        })
    }

    /// How many names come up to and with this one.
    pub(crate) fn up_to(&self, name: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle) <= name {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn bytes(&self) -> usize {
        self.names.len() + self.len() * (size_of::<usize>() + size_of::<FileKind>())
    }
}

struct Kept {
    id: u64,
    reader: Reader,
    dir: Listed,
    listing: Arc<Listing>,
    asked: Instant,
}

#[derive(Default)]
struct State {
    next: u64,
    kept: VecDeque<Kept>,
}

impl State {
    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.listing.bytes()).sum()
    }

    fn forget_old(&mut self) {
        self.kept.retain(|kept| kept.asked.elapsed() < KEEP);
    }
}

/// The lists that are kept.
#[derive(Default)]
pub(crate) struct Listings(Mutex<State>);

impl Listings {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a list, and gives the number that finds it again; `None` if it is too large for that.
    pub(crate) fn keep(&self, reader: Reader, dir: Listed, listing: Arc<Listing>) -> Option<u64> {
        let bytes = listing.bytes();
        if bytes > MOST_BYTES {
            return None;
        }
        let mut state = self.state();
        state.forget_old();
        let caller = callers::caller_of(&reader.client);
        loop {
            let has_room = state.bytes() + bytes <= MOST_BYTES;
            if has_room && state.kept.len() < MOST {
                break;
            }
            let weight = |bytes: usize| if has_room { 1 } else { bytes };
            let kept = state.kept.iter().map(|kept| {
                let caller = callers::caller_of(&kept.reader.client);
                (caller, weight(kept.listing.bytes()))
            });
            let first = callers::first_of_the_largest(kept, (caller, weight(bytes)))?;
            state.kept.remove(first)?;
        }
        state.next += 1;
        let id = state.next;
        state.kept.push_back(Kept {
            id,
            reader,
            dir,
            listing,
            asked: Instant::now(),
        });
        Some(id)
    }

    /// Keeps a list in the place of the one that was kept for this reader.
    pub(crate) fn keep_one(&self, reader: Reader, dir: Listed, listing: Arc<Listing>) {
        self.state().kept.retain(|kept| kept.reader != reader);
        self.keep(reader, dir, listing);
    }

    /// The list that was kept last for this reader, with its number.
    pub(crate) fn newest(&self, reader: &Reader) -> Option<(u64, Listed, Arc<Listing>)> {
        let id = {
            let state = self.state();
            let mut kept = state.kept.iter().rev();
            kept.find(|kept| kept.reader == *reader)?.id
        };
        let (dir, listing) = self.find(id, reader)?;
        Some((id, dir, listing))
    }

    /// A list that was kept for this reader, and the directory that it is of. It is the last to go now.
    pub(crate) fn find(&self, id: u64, reader: &Reader) -> Option<(Listed, Arc<Listing>)> {
        let mut state = self.state();
        state.forget_old();
        let is_it = |kept: &Kept| kept.id == id && kept.reader == *reader;
        let at = state.kept.iter().position(is_it)?;
        let mut kept = state.kept.remove(at)?;
        kept.asked = Instant::now();
        let found = (kept.dir, Arc::clone(&kept.listing));
        state.kept.push_back(kept);
        Some(found)
    }

    /// The end was reached, or the list is of no use any more.
    pub(crate) fn drop(&self, id: u64) {
        self.state().kept.retain(|kept| kept.id != id);
    }

    /// Forgets what nobody asked for since.
    pub(crate) fn forget_old(&self) {
        self.state().forget_old();
    }
}

impl std::fmt::Debug for Listings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listings").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(names: &[&str]) -> Arc<Listing> {
        let entry = |name: &&str| Entry {
            name: Name::parse(name.as_bytes()).unwrap(),
            kind: FileKind::File,
            inode: 0,
        };
        let entries: Vec<Entry> = names.iter().map(entry).collect();
        Arc::new(Listing::new(&entries))
    }

    fn dir(inode: u64) -> Listed {
        let identity = Identity {
            device: 1,
            inode,
            mount: None,
            born: None,
        };
        Listed::new(&Metadata::told(identity, FileKind::Dir))
    }

    fn reader(client: &str) -> Reader {
        Reader {
            client: client.to_owned(),
            allowed: Vec::new(),
            path: VirtualPath::parse("/d").unwrap(),
            skip_ignored: false,
            searches: false,
        }
    }

    #[test]
    fn names_are_found_by_their_order() {
        let listing = listing(&["a", "ab", "c"]);
        let found: Vec<usize> = ["", "a", "aa", "ab", "b", "c", "d"]
            .iter()
            .map(|name| listing.up_to(name.as_bytes()))
            .collect();
        assert_eq!(found, [0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(listing.entry(1).unwrap().name.as_bytes(), b"ab");
        assert!(listing.entry(3).is_none());
    }

    #[test]
    fn a_list_is_given_only_to_its_own_reader() {
        let lists = Listings::default();
        let id = lists.keep(reader("one"), dir(7), listing(&["a"])).unwrap();
        assert!(lists.find(id, &reader("one")).is_some());
        assert!(lists.find(id, &reader("other")).is_none());
        let elsewhere = Reader {
            path: VirtualPath::parse("/e").unwrap(),
            ..reader("one")
        };
        assert!(lists.find(id, &elsewhere).is_none());
        let narrowed = Reader {
            allowed: vec![Allowed {
                spelled: VirtualPath::root(),
                place: VirtualPath::root(),
            }],
            ..reader("one")
        };
        assert!(lists.find(id, &narrowed).is_none());
        assert!(lists.find(id + 1, &reader("one")).is_none());
        lists.drop(id);
        assert!(lists.find(id, &reader("one")).is_none());
    }

    #[test]
    fn few_lists_are_kept_in_bounded_memory() {
        let lists = Listings::default();
        let ids: Vec<u64> = (0..2 * MOST)
            .filter_map(|_| lists.keep(reader("one"), dir(7), listing(&["a"])))
            .collect();
        let kept = ids
            .iter()
            .filter(|id| lists.find(**id, &reader("one")).is_some());
        assert_eq!(kept.count(), MOST);
        // Two of these do not fit beside each other, and one that is too large is not kept.
        let large = |bytes: usize| {
            Arc::new(Listing {
                names: vec![b'x'; bytes],
                ends: vec![bytes],
                kinds: vec![FileKind::File],
            })
        };
        let one = lists.keep(reader("one"), dir(7), large(20 << 20)).unwrap();
        let two = lists.keep(reader("one"), dir(7), large(20 << 20)).unwrap();
        assert!(lists.find(one, &reader("one")).is_none());
        assert!(lists.find(two, &reader("one")).is_some());
        assert!(lists.state().bytes() <= MOST_BYTES);
        assert!(lists.keep(reader("one"), dir(7), large(40 << 20)).is_none());
        assert!(lists.find(two, &reader("one")).is_some());
        // Another caller's list goes for neither many nor large ones.
        let ana = lists.keep(reader("ana: web"), dir(7), large(1 << 20));
        for number in 0..2 * MOST {
            let ben = reader(&format!("ben: {number}"));
            lists.keep(ben.clone(), dir(7), listing(&["a"])).unwrap();
            lists.keep(ben, dir(7), large(30 << 20)).unwrap();
        }
        assert!(lists.find(ana.unwrap(), &reader("ana: web")).is_some());
        assert!(lists.state().bytes() <= MOST_BYTES);
    }

    #[test]
    fn a_list_that_nobody_asks_for_is_forgotten() {
        let lists = Listings::default();
        let id = lists.keep(reader("one"), dir(7), listing(&["a"])).unwrap();
        if let Some(kept) = lists.state().kept.front_mut() {
            kept.asked = Instant::now().checked_sub(KEEP).unwrap();
        }
        assert!(lists.find(id, &reader("one")).is_none());
        assert_eq!(lists.state().kept.len(), 0);
    }
}
