//! Group commit without a timer: while one batch is on its way to the disk the next one fills.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::thread::futex;

use crate::error::Error;
use crate::merkle::Hash;

// 0 is a batch that is filling or on its way.
/// One of those who wait is to commit the batch.
const ORPHAN: u32 = 1;
const LED: u32 = 2;
const DONE: u32 = 3;

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
            if state == DONE {
                return Woken::Done(self.outcome());
            }
            let leads = state == ORPHAN
                && self
                    .state
                    .compare_exchange(ORPHAN, LED, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok();
            if leads {
                return Woken::Lead;
            }
            if state != ORPHAN {
                // Returns at once if the word has changed; signals and strays are harmless.
                let _woken = futex::wait(&self.state, futex::Flags::PRIVATE, state, None);
            }
        }
    }

    /// The outcome, once it is done.
    pub(crate) fn outcome(&self) -> Result<u64, Error> {
        self.outcome.get().cloned().unwrap_or_else(|| {
            Err(Error::new(
                crate::ErrorKind::Poisoned,
                "the batch was given up",
            ))
        })
    }

    pub(crate) fn finish(&self, outcome: Result<u64, Error>) {
        drop(self.outcome.set(outcome));
        self.state.store(DONE, Ordering::Release);
        let _woken = futex::wake(&self.state, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    fn orphan(&self) {
        self.state.store(ORPHAN, Ordering::Release);
        let _woken = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
    }
}

/// The batch that is filling.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) batch: Arc<Batch>,
    pub(crate) frames: Vec<u8>,
    pub(crate) hashes: Vec<Hash>,
    /// Whether somebody commits, or is about to.
    pub(crate) led: bool,
}

impl Queue {
    /// The filled batch; an empty one takes its place. Buffers go round.
    pub(crate) fn take(&mut self, frames: Vec<u8>, hashes: Vec<Hash>) -> Self {
        let fresh = Self {
            batch: Arc::default(),
            frames,
            hashes,
            led: true,
        };
        std::mem::replace(self, fresh)
    }

    /// Whoever committed is done: the next in line takes over, if there is one.
    pub(crate) fn hand_over(&mut self) {
        if self.hashes.is_empty() {
            self.led = false;
        } else {
            self.batch.orphan();
        }
    }
}
