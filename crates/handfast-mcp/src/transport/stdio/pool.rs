//! The threads that share the work, and which call is next.

use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use handfast_session::VirtualPath;

use super::super::questions::Questions;
use super::Output;
use super::input::Stop;
use super::reader::{Came, Reader};
use super::turns::{Job, JobLine, MOST_WAITING, State, Turns};
use super::watch::Watch;
use crate::call::{Asking, Nobody};
use crate::protocol::{self, BadMessage, Peer, code};
use crate::resources;
use crate::server::Server;
use crate::subscriptions::Subscriptions;

pub(super) struct Pool<'a, F, W> {
    server: &'a Server,
    output: &'a Output<'a, W>,
    reader: Mutex<Reader<'a, F, W>>,
    peer: Mutex<Arc<Peer>>,
    turns: Arc<Turns>,
    questions: Questions,
    subscriptions: Subscriptions,
}

impl<'a, F: AsFd + Send, W: Write + Send> Pool<'a, F, W> {
    pub(super) fn new(
        server: &'a Server,
        output: &'a Output<'a, W>,
        reader: Reader<'a, F, W>,
        peer: Peer,
        stop: &Arc<Stop>,
    ) -> Self {
        Self {
            server,
            output,
            reader: Mutex::new(reader),
            peer: Mutex::new(Arc::new(peer)),
            turns: Arc::new(Turns::new(stop, server.parent())),
            questions: Questions::default(),
            subscriptions: Subscriptions::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.turns.state()
    }

    /// What every thread does until there is nothing left to do.
    pub(super) fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = self.state();
        loop {
            if self.output.stop.is_set() {
                state.ended = true;
                state.waiting.clear();
                self.close();
            }
            if state.lacks_threads() {
                self.spawn(&mut state, scope);
            }
            if let Some(job) = state.next() {
                drop(state);
                let finish = || self.turns.finish(&mut self.state(), &job);
                match self.run(&job) {
                    Some(reply) => self.output.send_after(reply, finish),
                    None => finish(),
                }
                self.begin_to_watch(scope);
                state = self.state();
            } else if state.ended && state.waiting.is_empty() {
                self.turns.wake.notify_all();
                return;
            } else if !state.reading && !state.ended && state.may_read() {
                state.reading = true;
                drop(state);
                let came = self.read();
                state = self.state();
                state.reading = false;
                let refused = self.take(&mut state, came, scope);
                self.turns.wake.notify_one();
                if let Some(refused) = refused {
                    // Who sends may wait for the state.
                    drop(state);
                    self.output.send(refused);
                    state = self.state();
                }
            } else if state.has_threads_over() {
                state.threads -= 1;
                return;
            } else {
                state.idle += 1;
                state = self
                    .turns
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    /// Nothing will come any more.
    fn close(&self) {
        self.questions.close();
        self.subscriptions.close();
    }

    /// With the first subscription somebody begins to look for changes.
    fn begin_to_watch<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        if self.subscriptions.wants_watching() {
            // Without another thread nothing is told; there is hardly a thread for calls then, either.
            let _spawned = std::thread::Builder::new()
                .name("watch".to_owned())
                .stack_size(1 << 20)
                .spawn_scoped(scope, move || self.watch());
        }
    }

    /// Tells the client of what changed, until it goes.
    fn watch(&self) {
        while self.subscriptions.wait() {
            let peer = Arc::clone(&self.peer.lock().unwrap_or_else(PoisonError::into_inner));
            let asking = Asking {
                view: &peer.view,
                client: &peer.client,
                watcher: &Nobody,
                elicits: false,
            };
            let mut look = |path: &VirtualPath| resources::mark(self.server, asking, path);
            for uri in self.subscriptions.changed(&mut look) {
                self.output.send(protocol::updated(&uri));
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

    /// Takes what came; an answer, if it is refused at once.
    fn take<'scope>(
        &'scope self,
        state: &mut State,
        came: Came,
        scope: &'scope Scope<'scope, '_>,
    ) -> Option<Vec<u8>> {
        match came {
            Came::Nothing => {}
            Came::Hold(held) => {
                state.held = held;
                self.turns.wake.notify_all();
            }
            Came::End => {
                state.ended = true;
                state.held = false;
                self.close();
                self.turns.wake.notify_all();
            }
            Came::Cancel(id) => state.cancel(&id),
            Came::Reply(id, answer) => self.questions.answer(&id, answer),
            Came::Call(request) if state.waiting.len() >= MOST_WAITING => {
                let text = format!("{MOST_WAITING} calls wait already for the client's roots");
                let fault = BadMessage::new(request.id, code::INTERNAL, text);
                return Some(protocol::error_reply(&fault));
            }
            Came::Call(request) => {
                let changes = protocol::may_change(self.server, &request);
                state.waiting.push_back(Job {
                    request,
                    changes,
                    cancelled: Arc::default(),
                });
                if state.is_busy() && state.may_grow() {
                    self.spawn(state, scope);
                }
            }
        }
        None
    }

    /// One thread more. Without it the others do everything.
    fn spawn<'scope>(&'scope self, state: &mut State, scope: &'scope Scope<'scope, '_>) {
        let spawned = std::thread::Builder::new()
            .name("call".to_owned())
            .stack_size(1 << 20)
            .spawn_scoped(scope, move || self.work(scope));
        state.threads += usize::from(spawned.is_ok());
    }

    /// Runs a call; its answer, if somebody waits for it.
    fn run(&self, job: &Job) -> Option<Vec<u8>> {
        let peer = Arc::clone(&self.peer.lock().unwrap_or_else(PoisonError::into_inner));
        let mut peer = (*peer).clone();
        // A thread that is alone would wait for an answer that nobody reads.
        let questions = (self.state().threads > 1).then_some(&self.questions);
        let watch = Watch::new(
            self.output,
            &job.request,
            (&job.cancelled, JobLine::new(&self.turns, job)),
            questions,
            &self.subscriptions,
        );
        let reply = protocol::answer(self.server, &mut peer, &job.request, &watch);
        let reply = reply.unwrap_or_else(|fault| protocol::error_reply(&fault));
        // Nobody waits for the answer to what was cancelled.
        (!job.cancelled.load(Ordering::Relaxed)).then_some(reply)
    }
}
