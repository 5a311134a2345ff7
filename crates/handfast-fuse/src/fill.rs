//! How the kernel uses its cache for a file that is opened, and what it gets with the answer, so that it
//! need not ask.
//!
//! The kernel reads a file up to the length that it believes. A notification makes it ask again; an
//! answer that is on its way then counts for nothing, and the kernel goes on with the length that it had.
//! So a file that changed a moment ago is read past the cache: its end is where the server finds it.
//!
//! Notifications are sent from the thread of the request here, before its answer. That is sound for
//! these two only: facts that do not hold any more take no lock in the kernel that a request could hold;
//! content takes the locks of pages, which somebody who reads the same file may hold while he waits for
//! another thread's answer, and so only one thread at a time gives content.

use std::cell::RefCell;
use std::sync::TryLockError;
use std::time::{Duration, SystemTime};

use fuser::{FopenFlags, INodeNo};
use handfast::Metadata;
use handfast::files::FileHandle;

use crate::face::{Asked, is_told_by_name};
use crate::open_files::Cached;
use crate::table::ContentFacts;

/// Files up to this size are given to the kernel whole when they are opened first. The kernel would
/// ask for as much with its first read.
const MAX_FILLED: usize = 64 * 1024;

/// Notifications of a change may be under way this long.
const UNSETTLED: Duration = Duration::from_secs(2);

/// How the kernel uses its cache for an open file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Caching {
    /// What is cached still holds.
    Kept,
    /// What is cached is dropped first.
    Dropped,
    /// It is read past the cache.
    None,
}

impl Caching {
    pub(crate) fn flags(self) -> FopenFlags {
        match self {
            Self::Kept => FopenFlags::FOPEN_KEEP_CACHE,
            Self::Dropped => FopenFlags::empty(),
            Self::None => FopenFlags::FOPEN_DIRECT_IO,
        }
    }
}

impl From<Cached> for Caching {
    fn from(cached: Cached) -> Self {
        match cached {
            Cached::Nothing | Cached::Same => Self::Kept,
            Cached::Other => Self::Dropped,
        }
    }
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Asked<'_> {
    /// Takes care that the kernel believes no facts that are older than an open file: it would cut
    /// what is read to the length that it knows. Whether it knew them.
    pub(crate) fn refresh_facts(&self, number: u64, opened: &Metadata) -> bool {
        let facts = ContentFacts::from(&self.attr_of(number, opened));
        let believed = self.table().believed(number);
        if believed == Some(facts) {
            return true;
        }
        // It knows already that it has to ask: one more notification would only disturb an answer.
        if let (Some(notifier), Some(_)) = (self.notifier.get(), believed) {
            // Without pages: those are dropped when the file is opened.
            const FACTS_ONLY: i64 = -1;
            self.table().disbelieves(number);
            drop(notifier.inval_inode(INodeNo(number), FACTS_ONLY, 0));
        }
        false
    }

    /// Whether a file has changed so lately that what the kernel believes of it may be older.
    pub(crate) fn is_unsettled(&self, number: u64, opened: &Metadata, is_believed: bool) -> bool {
        let (parent, node) = {
            let table = self.table();
            (table.parent(number), table.fresh(number))
        };
        // What is not watched is cached for a second only, and says so. What a session holds is changed
        // through the kernel, which knows.
        let is_of_base = node.is_some_and(|node| node.is_watched_with_its_directory());
        if !self.can_read_past_the_cache
            || !is_of_base
            || !parent.is_some_and(|dir| self.is_watched(dir))
        {
            return false;
        }
        let age = SystemTime::now().duration_since(opened.changed.to_system_time());
        // A clock that was set back makes a file that changed in the future.
        !is_believed || age.map_or(true, |age| age < UNSETTLED)
    }

    /// Whether a file is read past the cache because another one is open under its number. The kernel
    /// looks the name up first, so that it knows both apart; only where another file has come
    /// since then, it does not.
    pub(crate) fn reads_past_the_cache(&self, number: u64) -> bool {
        self.can_read_past_the_cache && self.table().was_just_looked_up(number)
    }

    /// Gives the kernel the content of a file that it has nothing of. What changes later is told by the
    /// watch, or found out by the next open; so only files whose changes are watched are given.
    pub(crate) fn fill(&self, number: u64, cached: Cached, file: &dyn FileHandle) {
        let opened = file.opened_metadata();
        let Some(len) = usize::try_from(opened.len)
            .ok()
            .filter(|len| (1..=MAX_FILLED).contains(len))
        else {
            return;
        };
        let Some(notifier) = self.notifier.get().filter(|_| cached == Cached::Nothing) else {
            return;
        };
        let (parent, node) = {
            let table = self.table();
            (table.parent(number), table.fresh(number))
        };
        let is_told = node.is_some_and(|node| is_told_by_name(&node, opened));
        if !is_told || !parent.is_some_and(|dir| self.is_watched(dir)) {
            return;
        }
        let _alone = match self.filling.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        BUFFER.with_borrow_mut(|buffer| {
            // One byte more than it is long shows that it grew.
            buffer.resize(MAX_FILLED + 1, 0);
            let read = file.read_at(&mut buffer[..=len], 0);
            if read.is_ok_and(|read| read == len) {
                // What the kernel does not take, it asks for.
                drop(notifier.store(INodeNo(number), 0, &buffer[..len]));
            }
        });
    }
}
