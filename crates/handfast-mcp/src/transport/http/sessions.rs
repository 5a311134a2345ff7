//! Clients of the era with a handshake: who they are, by the id they were given.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::tokens;
use crate::protocol::Peer;
use crate::server::Server;

/// How many are remembered; the one that came first is forgotten first, and has to begin again.
const MOST: usize = 64;

/// A client, by its id and the caller whose token it showed.
struct Known {
    id: String,
    caller: String,
    peer: Peer,
}

#[derive(Default)]
pub(super) struct Sessions {
    known: Mutex<VecDeque<Known>>,
}

impl Sessions {
    /// A client that said nothing of itself yet. It is not asked for roots: there is no way back
    /// to it.
    pub(super) fn newcomer(&self, server: &Server) -> Peer {
        Peer::new(server)
    }

    pub(super) fn begin(&self, caller: &str, peer: Peer) -> io::Result<String> {
        let id = tokens::random()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back(Known {
            id: id.clone(),
            caller: caller.to_owned(),
            peer,
        });
        Ok(id)
    }

    pub(super) fn find(&self, id: &str, caller: &str) -> Option<Peer> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let found = known.find(|one| one.id == id && one.caller == caller);
        found.map(|one| one.peer.clone())
    }

    /// Forgets a client; whether it was known.
    pub(super) fn end(&self, id: &str, caller: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.retain(|one| one.id != id || one.caller != caller);
        known.len() < before
    }
}
