//! The threads that share the work, and which call is next.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use super::super::questions::Questions;
use super::Output;
use super::reader::{Came, Reader};
use super::watch::Watch;
use crate::protocol::{self, Fault, Id, Peer, Request, code};
use crate::schema::Tool;
use crate::server::Server;

/// How many threads there are at most. One of them reads, the others run calls.
const MOST_THREADS: usize = 8;

/// How many calls wait; then nothing more is read.
const MOST_WAITING: usize = 256;

/// A call that was asked for.
struct Job {
    request: Request,
    changes: bool,
    cancelled: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    running: Vec<(Id, Arc<AtomicBool>)>,
    /// A change is being made: what was sent after it waits.
    changing: bool,
    /// Roots are not known yet: every call waits.
    held: bool,
    /// Somebody reads.
    reading: bool,
    /// Nothing will come any more.
    ended: bool,
    threads: usize,
    idle: usize,
}

impl State {
    fn next(&mut self) -> Option<Job> {
        let may_run = !self.held && !self.changing && self.running.len() + 1 < MOST_THREADS;
        let job = may_run.then(|| self.waiting.pop_front()).flatten()?;
        self.changing = job.changes;
        let id = job.request.id.clone();
        self.running.push((id, Arc::clone(&job.cancelled)));
        Some(job)
    }

    /// While roots are waited for, what is read next may be the roots.
    fn may_read(&self) -> bool {
        self.held || self.waiting.len() < MOST_WAITING
    }

    fn finish(&mut self, job: &Job) {
        self.changing &= !job.changes;
        self.running
            .retain(|(_, cancelled)| !Arc::ptr_eq(cancelled, &job.cancelled));
    }

    /// Cancels a call by its id. One that waits is forgotten.
    fn cancel(&mut self, id: &Id) {
        self.waiting.retain(|job| job.request.id != *id);
        for (running, cancelled) in &self.running {
            if running == id {
                cancelled.store(true, Ordering::Relaxed);
            }
        }
    }
}

pub(super) struct Pool<'a, F, W> {
    server: &'a Server,
    output: &'a Output<'a, W>,
    reader: Mutex<Reader<'a, F, W>>,
    peer: Mutex<Arc<Peer>>,
    state: Mutex<State>,
    wake: Condvar,
    questions: Questions,
}

impl<'a, F: AsFd + Send, W: Write + Send> Pool<'a, F, W> {
    pub(super) fn new(
        server: &'a Server,
        output: &'a Output<'a, W>,
        reader: Reader<'a, F, W>,
        peer: Peer,
    ) -> Self {
        Self {
            server,
            output,
            reader: Mutex::new(reader),
            peer: Mutex::new(Arc::new(peer)),
            state: Mutex::new(State {
                threads: 1,
                ..State::default()
            }),
            wake: Condvar::new(),
            questions: Questions::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every thread does until there is nothing left to do.
    pub(super) fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = self.state();
        loop {
            if self.output.stop.is_set() {
                state.ended = true;
                state.waiting.clear();
                self.questions.close();
            }
            if let Some(job) = state.next() {
                drop(state);
                self.run(&job);
                state = self.state();
                state.finish(&job);
                if !state.waiting.is_empty() || state.ended {
                    self.wake.notify_all();
                }
            } else if state.ended && state.waiting.is_empty() {
                self.wake.notify_all();
                return;
            } else if !state.reading && !state.ended && state.may_read() {
                state.reading = true;
                drop(state);
                let came = self.read();
                state = self.state();
                state.reading = false;
                self.take(&mut state, came, scope);
                self.wake.notify_one();
            } else {
                state.idle += 1;
                state = self
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn read(&self) -> Came {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shared = self.peer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut peer = (**shared).clone();
        drop(shared);
        let came = reader.next(&mut peer);
        shared = self.peer.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = Arc::new(peer);
        came
    }

    fn take<'scope>(&'scope self, state: &mut State, came: Came, scope: &'scope Scope<'scope, '_>) {
        match came {
            Came::Nothing => {}
            Came::Hold(held) => {
                state.held = held;
                self.wake.notify_all();
            }
            Came::End => {
                state.ended = true;
                state.held = false;
                self.questions.close();
                self.wake.notify_all();
            }
            Came::Cancel(id) => state.cancel(&id),
            Came::Reply(id, answer) => self.questions.answer(&id, answer),
            Came::Call(request) if state.waiting.len() >= MOST_WAITING => {
                let text = format!("{MOST_WAITING} calls wait already for the client's roots");
                let fault = Fault::new(request.id, code::INTERNAL, text);
                self.output.send(protocol::error_reply(&fault));
            }
            Came::Call(request) => {
                let name = request.params.get("name").and_then(|name| name.as_str());
                let tool = name.filter(|_| request.method == "tools/call");
                let tool = tool.and_then(|name| self.server.tool(name));
                state.waiting.push_back(Job {
                    request,
                    changes: tool.is_some_and(Tool::changes),
                    cancelled: Arc::default(),
                });
                if state.idle == 0 && state.threads < MOST_THREADS {
                    // Without another thread this one does everything, one after the other.
                    let spawned = std::thread::Builder::new()
                        .name("call".to_owned())
                        .stack_size(1 << 20)
                        .spawn_scoped(scope, move || self.work(scope));
                    state.threads += usize::from(spawned.is_ok());
                }
            }
        }
    }

    fn run(&self, job: &Job) {
        let peer = Arc::clone(&self.peer.lock().unwrap_or_else(PoisonError::into_inner));
        let mut peer = (*peer).clone();
        // A thread that is alone would wait for an answer that nobody reads.
        let questions = (self.state().threads > 1).then_some(&self.questions);
        let watch = Watch::new(self.output, &job.request, &job.cancelled, questions);
        let reply = protocol::answer(self.server, &mut peer, &job.request, &watch);
        let reply = reply.unwrap_or_else(|fault| protocol::error_reply(&fault));
        // Nobody waits for the answer to what was cancelled.
        if !job.cancelled.load(Ordering::Relaxed) {
            self.output.send(reply);
        }
    }
}
