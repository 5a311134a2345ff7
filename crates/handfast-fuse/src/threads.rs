//! Which threads wait for requests.
//!
//! The kernel gives a request to the thread that has waited longest. Where one program asks one question
//! after the other, every thread is woken in turn, each with a cold cache. So while requests come
//! quickly, only as many threads wait for them as there are processors, and the others rest for a moment
//! after their answer. None rests for long: requests that wait for a disk, for a commit or for a person
//! never keep others from being answered for longer than that.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A thread rests this long.
const REST: Duration = Duration::from_millis(200);

/// A mount that was hardly used has no threads that rest.
const HARDLY_USED: u64 = 1000;

/// The threads of a mount.
#[derive(Debug, Default)]
pub(crate) struct ServerThreads {
    /// How many threads wait for a request, or are about to.
    ready: AtomicUsize,
    /// If so many wait, others rest.
    enough: usize,
    /// How many requests there were.
    requests: AtomicU64,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

impl ServerThreads {
    /// For a mount with so many threads.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        let processors = std::thread::available_parallelism();
        Self::with(threads, processors.map_or(threads, usize::from))
    }

    fn with(threads: usize, enough: usize) -> Arc<Self> {
        Arc::new(Self {
            ready: AtomicUsize::new(threads),
            enough,
            ..Self::default()
        })
    }

    /// A thread works on a request until this is dropped.
    pub(crate) fn begin(&self) -> BusyThread<'_> {
        self.ready.fetch_sub(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        BusyThread { turns: self }
    }

    /// The mount is about to go: nobody rests any more.
    pub(crate) fn end(&self) {
        let mut has_ended = self
            .has_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *has_ended = true;
        drop(has_ended);
        self.ended.notify_all();
    }

    fn rest(&self) {
        let has_ended = self
            .has_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        drop(
            self.ended
                .wait_timeout_while(has_ended, REST, |has_ended| !*has_ended),
        );
    }
}

/// A thread that works on a request.
#[must_use = "the turn lasts as long as this lives"]
pub(crate) struct BusyThread<'a> {
    turns: &'a ServerThreads,
}

impl Drop for BusyThread<'_> {
    fn drop(&mut self) {
        let turns = self.turns;
        let is_used = turns.requests.load(Ordering::Relaxed) > HARDLY_USED;
        if is_used && turns.ready.load(Ordering::Relaxed) >= turns.enough {
            turns.rest();
        }
        turns.ready.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_rests_only_if_others_wait_for_requests() {
        let turns = ServerThreads::with(3, 2);
        turns.requests.store(HARDLY_USED + 1, Ordering::Relaxed);
        let begun = Instant::now();
        drop(turns.begin());
        assert!(begun.elapsed() >= REST);
        // Another is at work: so few wait that none may rest.
        let _other = turns.begin();
        let ready = || turns.ready.load(Ordering::Relaxed);
        let turn = turns.begin();
        assert_eq!(ready(), 1);
        drop(turn);
        assert_eq!(ready(), 2);
    }

    #[test]
    fn nobody_rests_at_the_end() {
        let turns = ServerThreads::with(3, 2);
        turns.requests.store(HARDLY_USED + 1, Ordering::Relaxed);
        let resting = Arc::clone(&turns);
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            while begun.elapsed() < REST * 4 {
                drop(resting.begin());
            }
        });
        turns.end();
        // A hundred more that do not rest take no time.
        let before = turns.requests.load(Ordering::Relaxed);
        while turns.requests.load(Ordering::Relaxed) < before + 100 {
            assert!(!thread.is_finished(), "it rested again and again");
            std::thread::yield_now();
        }
        thread.join().unwrap();
    }
}
