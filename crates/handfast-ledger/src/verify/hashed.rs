//! Bundles with the hashes of their entries, read and hashed by several threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::merkle::Hash;
use crate::reader::LogReader;
use crate::tiles::{Bundle, WIDTH};

/// So many bundles are in memory at once for every thread.
const EACH: u64 = 8;

/// What was found of one bundle.
pub(super) type HashedBundle = Result<Option<(Bundle, Vec<Hash>)>, Error>;

/// Reads bundles ahead, in order, as long as there is more than one. Every entry is hashed once.
pub(super) struct Hashed<'a> {
    log: &'a LogReader,
    /// The size of the tree whose bundles they are.
    size: u64,
    threads: u64,
    ready: std::collections::VecDeque<(u64, HashedBundle)>,
}

impl<'a> Hashed<'a> {
    pub(super) fn new(log: &'a LogReader, size: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            log,
            size,
            threads: cores.min(16) as u64,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// One bundle; `last` is the index of the last that will be asked for.
    pub(super) fn get(&mut self, index: u64, last: u64) -> HashedBundle {
        while self.ready.front().is_some_and(|(at, _)| *at < index) {
            self.ready.pop_front();
        }
        if self.ready.is_empty() {
            self.read(index, last.max(index));
        }
        match self.ready.pop_front() {
            Some((at, found)) if at == index => found,
            _ => one(self.log, index, self.size),
        }
    }

    fn read(&mut self, from: u64, last: u64) {
        let until = (from + self.threads * EACH).min(last + 1);
        let taken = AtomicU64::new(from);
        let work = || {
            let mut found = Vec::new();
            loop {
                let index = taken.fetch_add(1, Ordering::Relaxed);
                if index >= until {
                    return found;
                }
                found.push((index, one(self.log, index, self.size)));
            }
        };
        let mut all: Vec<_> = std::thread::scope(|scope| {
            let helpers = self.threads.min(until - from).saturating_sub(1);
            let others: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            // A helper that died leaves its bundles to be read again.
            all.extend(
                others
                    .into_iter()
                    .flat_map(|one| one.join().unwrap_or_default()),
            );
            all
        });
        all.sort_by_key(|(index, _)| *index);
        self.ready = all.into();
    }
}

fn one(log: &LogReader, index: u64, size: u64) -> HashedBundle {
    if index.checked_mul(WIDTH).is_none_or(|first| first >= size) {
        return Ok(None);
    }
    Ok(log.bundle(index, size)?.map(|bundle| {
        let hashes = bundle.iter().map(Hash::leaf).collect();
        (bundle, hashes)
    }))
}
