//! Which call is next, and which ones wait for a person.
//!
//! A call that waits for a person counts neither as one that runs nor as a change that is being made: calls that
//! were sent after it go on. When it has its answer, it waits until no other change is being made.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::input::Stop;
use crate::call::Line;
use crate::protocol::{Id, Request};

/// How many threads there are at most, besides those that wait for a person. One of them reads, the others run
/// calls.
const MOST_THREADS: usize = 8;

/// How many calls that wait for a person have a thread besides.
const MOST_PAUSED: usize = 32;

/// How many calls wait; then nothing more is read.
pub(super) const MOST_WAITING: usize = 256;

/// A call that was asked for.
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) changes: bool,
    pub(super) cancelled: Arc<AtomicBool>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<Job>,
    running: Vec<(Id, Arc<AtomicBool>)>,
    /// So many of those that run wait for a person.
    paused: usize,
    /// So many changes have their answer, and wait for their turn.
    resuming: usize,
    /// A change is being made: what was sent after it waits.
    changing: bool,
    /// Roots are not known yet: every call waits.
    pub(super) held: bool,
    /// Somebody reads.
    pub(super) reading: bool,
    /// Nothing will come any more.
    pub(super) ended: bool,
    pub(super) threads: usize,
    pub(super) idle: usize,
}

impl State {
    pub(super) fn next(&mut self) -> Option<Job> {
        let is_free = !self.held && !self.changing && self.resuming == 0;
        let has_room = self.running.len() - self.aside() + 1 < MOST_THREADS;
        // A person takes long: one thread is left that reads.
        let one_reads = self.paused == 0 || self.ended || self.running.len() + 1 < self.threads;
        let may_run = is_free && has_room && one_reads;
        let job = may_run.then(|| self.waiting.pop_front()).flatten()?;
        self.changing = job.changes;
        let id = job.request.id.clone();
        self.running.push((id, Arc::clone(&job.cancelled)));
        Some(job)
    }

    /// How many calls do not count, because they wait for a person.
    fn aside(&self) -> usize {
        self.paused.min(MOST_PAUSED)
    }

    /// While roots are waited for, what is read next may be the roots.
    pub(super) fn may_read(&self) -> bool {
        self.held || self.waiting.len() < MOST_WAITING
    }

    /// Whether nobody reads on while the call that was just read is run. A thread that only sends its answer is about to.
    pub(super) fn is_busy(&self) -> bool {
        self.idle == 0 && self.running.len() + 1 >= self.threads
    }

    pub(super) fn may_grow(&self) -> bool {
        self.threads < MOST_THREADS + self.aside()
    }

    /// Whether threads that wait for a person are missed.
    pub(super) fn lacks_threads(&self) -> bool {
        self.paused > 0 && !self.waiting.is_empty() && self.idle == 0 && self.may_grow()
    }

    /// Whether there are threads that were made for those that waited for a person.
    pub(super) fn has_threads_over(&self) -> bool {
        // One more than run is left, so that one reads.
        self.threads > self.running.len().max(MOST_THREADS - 1) + 1
    }

    /// Cancels a call by its id. One that has not begun is forgotten.
    pub(super) fn cancel(&mut self, id: &Id) {
        self.waiting.retain(|job| job.request.id != *id);
        for (running, cancelled) in &self.running {
            if running == id {
                cancelled.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The state, and who waits for it.
pub(super) struct Turns {
    state: Mutex<State>,
    pub(super) wake: Condvar,
    /// Changes that have their answer wait here for their turn.
    turn: Condvar,
    stop: Arc<Stop>,
    /// The process that started the server.
    client: Option<u32>,
}

impl Turns {
    pub(super) fn new(stop: &Arc<Stop>, client: Option<u32>) -> Self {
        Self {
            state: Mutex::new(State {
                threads: 1,
                ..State::default()
            }),
            wake: Condvar::new(),
            turn: Condvar::new(),
            stop: Arc::clone(stop),
            client,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finish(&self, state: &mut State, job: &Job) {
        state.changing &= !job.changes;
        state
            .running
            .retain(|(_, cancelled)| !Arc::ptr_eq(cancelled, &job.cancelled));
        if !state.waiting.is_empty() || state.ended {
            self.wake.notify_all();
        }
        self.turn.notify_all();
    }
}

/// What a call that waits for a person means to the others.
pub(super) struct JobLine {
    turns: Arc<Turns>,
    changes: bool,
    cancelled: Arc<AtomicBool>,
}

impl JobLine {
    pub(super) fn new(turns: &Arc<Turns>, job: &Job) -> Arc<Self> {
        Arc::new(Self {
            turns: Arc::clone(turns),
            changes: job.changes,
            cancelled: Arc::clone(&job.cancelled),
        })
    }
}

impl Line for JobLine {
    fn is_gone(&self) -> bool {
        // A client that closed its end is gone: nothing is changed on its behalf any more.
        self.cancelled.load(Ordering::Relaxed) || self.turns.state().ended
    }

    fn pause(&self) {
        let mut state = self.turns.state();
        state.paused += 1;
        state.changing &= !self.changes;
        if !state.waiting.is_empty() {
            self.turns.wake.notify_all();
            if state.idle == 0 {
                // The one who reads begins a thread for what waits.
                self.turns.stop.nudge();
            }
        }
        self.turns.turn.notify_all();
    }

    fn resume(&self) {
        let mut state = self.turns.state();
        if self.changes {
            state.resuming += 1;
            while state.changing {
                let waited = self.turns.turn.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
            state.resuming -= 1;
            state.changing = true;
        }
        state.paused -= 1;
    }

    fn client_process(&self) -> Option<u32> {
        self.turns.client
    }
}
