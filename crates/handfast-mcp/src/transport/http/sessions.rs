//! Clients of the era with a handshake: who they are, by the id they were given.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::guard;
use crate::protocol::Peer;
use crate::server::Server;

/// How many are remembered; the one that came first is forgotten first, and has to begin again.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Sessions {
    known: Mutex<VecDeque<(String, Peer)>>,
}

impl Sessions {
    /// A client that said nothing of itself yet. It is not asked for roots: there is no way back
    /// to it.
    pub(super) fn newcomer(&self, server: &Server) -> Peer {
        Peer::new(server)
    }

    pub(super) fn begin(&self, peer: Peer) -> io::Result<String> {
        let id = guard::token()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((id.clone(), peer));
        Ok(id)
    }

    pub(super) fn find(&self, id: &str) -> Option<Peer> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(one, _)| one == id);
        found.map(|(_, peer)| peer.clone())
    }

    /// Forgets a client; whether it was known.
    pub(super) fn end(&self, id: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.retain(|(one, _)| one != id);
        known.len() < before
    }
}
