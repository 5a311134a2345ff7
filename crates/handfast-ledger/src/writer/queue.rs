//! Group commit without a timer: while one batch is on its way to the disk the next one fills.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::thread::futex;

use crate::error::{Error, ErrorKind};
use crate::event::MAX_EVENT;
use crate::merkle::Hash;
use crate::segment::{BatchBytes, Checked};

// 0 is a batch that is filling or on its way.
/// One of those who wait is to commit the batch.
const ORPHAN: u32 = 1;
const LED: u32 = 2;
const DONE: u32 = 3;
/// Beside the others: somebody sleeps, so that a call to wake them is not in vain.
const SLEEPERS: u32 = 4;

/// What everybody who waits for the same batch shares: one word that the kernel watches, so that
/// one call wakes them all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    state: AtomicU32,
    outcome: OnceLock<Result<u64, Error>>,
}

/// What somebody who waited is to do.
pub(crate) enum Woken {
    Lead,
    Done(Result<u64, Error>),
}

impl Batch {
    /// Waits until the batch is done or needs somebody to commit it.
    pub(crate) fn wait(&self) -> Woken {
        loop {
            let state = self.state.load(Ordering::Acquire);
            let becomes = |next: u32| {
                self.state
                    .compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
            };
            match state & !SLEEPERS {
                DONE => return Woken::Done(self.outcome()),
                ORPHAN => {
                    if becomes(LED | state & SLEEPERS) {
                        return Woken::Lead;
                    }
                }
                _ => {
                    if state & SLEEPERS != 0 || becomes(state | SLEEPERS) {
                        // Returns at once if the word has changed; signals and strays are
                        // harmless.
                        let asleep = state | SLEEPERS;
                        let _woken = futex::wait(&self.state, futex::Flags::PRIVATE, asleep, None);
                    }
                }
            }
        }
    }

    /// The outcome, once it is done.
    pub(crate) fn outcome(&self) -> Result<u64, Error> {
        self.outcome
            .get()
            .cloned()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Poisoned, "the batch was given up")))
    }

    pub(crate) fn finish(&self, outcome: Result<u64, Error>) {
        drop(self.outcome.set(outcome));
        if self.state.swap(DONE, Ordering::AcqRel) & SLEEPERS != 0 {
            let _woken = futex::wake(&self.state, futex::Flags::PRIVATE, i32::MAX as u32);
        }
    }

    /// Who is in it and does not sleep yet sees the mark, and needs no call.
    fn orphan(&self) {
        if self.state.fetch_or(ORPHAN, Ordering::AcqRel) & SLEEPERS != 0 {
            let _woken = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        }
    }
}

/// What is made of an event before it is in line.
#[derive(Clone, Copy)]
pub(crate) struct EncodedEvent {
    hash: Hash,
    checked: Checked,
}

impl EncodedEvent {
    pub(crate) fn of(leaf: &[u8]) -> Result<Self, Error> {
        if leaf.is_empty() {
            return Err(Error::invalid("an empty event"));
        }
        if leaf.len() > MAX_EVENT {
            let detail = format!(
                "the event has {} bytes, {MAX_EVENT} are possible",
                leaf.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        Ok(Self {
            hash: Hash::leaf(leaf),
            checked: Checked::event(leaf),
        })
    }
}

/// Events in a row, and their hashes.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pub(crate) bytes: BatchBytes,
    pub(crate) hashes: Vec<Hash>,
    /// How many of them were answered before they were written.
    pub(crate) deferred: u64,
}

impl Filled {
    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(crate) fn push(&mut self, leaf: &[u8], made: EncodedEvent) {
        self.bytes.push(leaf, made.checked);
        self.hashes.push(made.hash);
    }

    /// Takes over the events of another.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.bytes.append(&other.bytes);
            self.hashes.append(&mut other.hashes);
            self.deferred += other.deferred;
        }
    }
}

/// The batch that is filling.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) batch: Arc<Batch>,
    pub(crate) filled: Filled,
    /// Whether somebody commits, or is about to.
    pub(crate) led: bool,
    /// The memory of the batch before, for the next.
    spare: Option<Filled>,
}

/// A batch that somebody commits.
pub(crate) struct Taken {
    pub(crate) batch: Arc<Batch>,
    pub(crate) filled: Filled,
}

impl Queue {
    /// Empty, with the memory of an earlier batch if there is one.
    pub(crate) fn spare(&mut self) -> Filled {
        self.spare.take().unwrap_or_default()
    }

    /// The filled batch; an empty one takes its place.
    pub(crate) fn take(&mut self) -> Taken {
        self.led = true;
        let empty = self.spare();
        Taken {
            batch: std::mem::take(&mut self.batch),
            filled: std::mem::replace(&mut self.filled, empty),
        }
    }

    /// The committing thread is done: the next in line takes over, if there is one. Memory goes round,
    /// up to so many bytes.
    pub(crate) fn hand_over(&mut self, mut filled: Filled, most: usize) {
        filled.bytes.clear(most);
        filled.hashes.clear();
        filled.deferred = 0;
        self.spare = Some(filled);
        if self.filled.is_empty() {
            self.led = false;
        } else {
            self.batch.orphan();
        }
    }
}
