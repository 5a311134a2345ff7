//! The thread beside the writer: writes what `buffered` has only put in line, syncs what `ordered` has only
//! written, and publishes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ledger::{Shared, hold};
use super::publish::Occasion;
use crate::level::Level;

/// After the first event that is not synced; the promise is 50 milliseconds, and the sync itself
/// takes some.
const GATHER: Duration = Duration::from_millis(20);
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// Wakes the keeper. Ringing twice is as good as once, and the second ring is nearly free.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    stop: AtomicBool,
    gate: Mutex<()>,
    sleeper: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            drop(hold(&self.gate));
            self.sleeper.notify_all();
        }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        drop(hold(&self.gate));
        self.sleeper.notify_all();
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits for a ring, or until the time is over. Whether it rang.
    fn wait(&self, patience: Option<Duration>) -> bool {
        let deadline = patience.map(|patience| Instant::now() + patience);
        let mut guard = hold(&self.gate);
        loop {
            if self.rung.swap(false, Ordering::AcqRel) {
                return true;
            }
            if self.stopped() {
                return false;
            }
            guard = match deadline {
                None => self
                    .sleeper
                    .wait(guard)
                    .unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(deadline) => {
                    let now = Instant::now();
                    if now >= deadline {
                        return false;
                    }
                    self.sleeper
                        .wait_timeout(guard, deadline - now)
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    /// Sleeps, unless the end has come.
    fn sleep(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut guard = hold(&self.gate);
        while !self.stopped() {
            let now = Instant::now();
            if now >= deadline {
                return;
            }
            guard = self
                .sleeper
                .wait_timeout(guard, deadline - now)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }
}

/// The running thread; stopped and joined when dropped.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(shared: &Arc<Shared>, every: Option<Duration>) -> std::io::Result<Self> {
        let every = every.unwrap_or(PUBLISH_EVERY);
        let inner = Arc::clone(shared);
        let thread = std::thread::Builder::new()
            .name("handfast-ledger".to_owned())
            .spawn(move || run(&inner, every))?;
        Ok(Self {
            shared: Arc::clone(shared),
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.bell.stop();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn run(shared: &Shared, every: Duration) {
    let mut published = Instant::now();
    let mut behind = false;
    while !shared.bell.stopped() {
        let patience = behind.then(|| every.saturating_sub(published.elapsed()));
        if shared.bell.wait(patience) {
            behind = true;
            if shared.level != Level::Strict {
                shared.bell.sleep(GATHER);
                if shared.sync_behind().is_err() {
                    return;
                }
            }
        }
        if behind && published.elapsed() >= every {
            // A publication that fails is tried again; the events themselves are safe.
            let told = shared.publish_synced(Occasion::Running);
            behind = told
                .and_then(|()| shared.keep_to_rule(super::prune::BUNDLES_A_LOOK))
                .is_err();
            published = Instant::now();
        }
    }
}
