//! Clients of the era with a handshake: who they are, by the id they were given, and their roots.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::super::ROOTS_TIMEOUT;
use super::super::questions::Questions;
use super::stream::Stream;
use super::tokens;
use crate::callers;
use crate::protocol::{Id, Peer};
use crate::roots;
use crate::server::Server;
use crate::view::ClientView;

/// How many are remembered. Then the caller with the most has the first of its own forgotten, which has to begin
/// again: a caller that begins again and again is in the way of nobody else.
const MOST: usize = 64;

/// A client, by its id and the caller whose token it showed.
struct KnownClient {
    id: String,
    caller: String,
    client: Arc<Client>,
}

/// A client that said who it is.
pub(super) struct Client {
    peer: Peer,
    questions: Questions,
    /// What its roots come to, once they are known.
    view: Mutex<Option<ClientView>>,
    /// The requests that are under way, by their ids.
    running: Mutex<Vec<(Id, Arc<AtomicBool>)>>,
}

impl Client {
    /// The client as a call sees it. One that has roots is asked for them first, in the stream that
    /// answers the call; without an answer it reaches nothing.
    pub(super) fn peer(&self, server: &Server, is_call: bool, stream: &Stream<'_>) -> Peer {
        let mut peer = self.peer.clone();
        if !peer.has_roots || !is_call {
            return peer;
        }
        // Calls that come meanwhile wait here for the same answer.
        let mut known = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        peer.view = match &*known {
            Some(view) => view.clone(),
            None if !stream.is_possible() => roots::none(
                "the client has roots and takes no event stream, so it cannot be asked for them",
            )
            .0,
            None => known.insert(self.ask(server, stream)).clone(),
        };
        peer
    }

    fn ask(&self, server: &Server, stream: &Stream<'_>) -> ClientView {
        let send = |message: Vec<u8>| stream.send(&message);
        let never = AtomicBool::new(false);
        let question = ("roots/list", &json!({}));
        match self.questions.ask(question, ROOTS_TIMEOUT, &never, &send) {
            Some(answer) => roots::narrow(server, &answer).0,
            None => roots::none("the client did not tell its roots in time").0,
        }
    }

    /// Takes the client's answer to a question.
    pub(super) fn answer(&self, id: &Id, answer: Value) {
        self.questions.answer(id, answer);
    }

    /// A request begins; it is cancelled once this is true.
    pub(super) fn begin(&self, id: &Id) -> Arc<AtomicBool> {
        let cancelled = Arc::<AtomicBool>::default();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.push((id.clone(), Arc::clone(&cancelled)));
        cancelled
    }

    /// A request is done.
    pub(super) fn finish(&self, cancelled: &Arc<AtomicBool>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(_, one)| !Arc::ptr_eq(one, cancelled));
    }

    /// Cancels a request of this client by its id.
    pub(super) fn cancel(&self, id: &Id) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, cancelled) in running.iter().filter(|(one, _)| one == id) {
            cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// The client has other roots now: the next call asks for them.
    pub(super) fn forget_roots(&self) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[derive(Default)]
pub(super) struct Sessions {
    known: Mutex<VecDeque<KnownClient>>,
}

impl Sessions {
    pub(super) fn begin(&self, caller: &str, peer: Peer) -> io::Result<String> {
        let id = tokens::random()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            let kept = known.iter().map(|one| (one.caller.as_str(), 1));
            let first = callers::first_of_the_largest(kept, (caller, 1));
            first.and_then(|first| known.remove(first));
        }
        known.push_back(KnownClient {
            id: id.clone(),
            caller: caller.to_owned(),
            client: Arc::new(Client {
                peer,
                questions: Questions::default(),
                view: Mutex::new(None),
                running: Mutex::default(),
            }),
        });
        Ok(id)
    }

    pub(super) fn find(&self, id: &str, caller: &str) -> Option<Arc<Client>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let found = known.find(|one| one.id == id && one.caller == caller);
        found.map(|one| Arc::clone(&one.client))
    }

    /// Forgets a client; whether it was known.
    pub(super) fn end(&self, id: &str, caller: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.retain(|one| one.id != id || one.caller != caller);
        known.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_begins_again_and_again_ends_only_its_own_sessions() {
        let sessions = Sessions::default();
        let peer = Peer {
            client: "web".to_owned(),
            has_roots: false,
            elicits: false,
            subscribes: false,
            view: ClientView::default(),
            caller: None,
        };
        let ana = sessions.begin("ana", peer.clone()).unwrap();
        let first = sessions.begin("ben", peer.clone()).unwrap();
        let mut last = String::new();
        for _ in 0..3 * MOST {
            last = sessions.begin("ben", peer.clone()).unwrap();
        }
        assert!(sessions.find(&ana, "ana").is_some());
        assert!(sessions.find(&ana, "ben").is_none());
        assert!(sessions.find(&first, "ben").is_none());
        assert!(sessions.find(&last, "ben").is_some());
        assert_eq!(sessions.known.lock().unwrap().len(), MOST);
    }
}
