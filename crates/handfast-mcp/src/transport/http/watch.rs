//! A call that came by HTTP: its progress goes into the stream that answers it, and it can be cancelled.

use std::cell::Cell;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stream::{self, Stream};
use crate::call::{Line, Watcher};
use crate::protocol::{self, Request};

/// Progress is told, and the connection looked at, no more often than this.
const EVERY: Duration = Duration::from_millis(200);

pub(super) struct HttpWatch<'a> {
    stream: &'a Arc<TcpStream>,
    events: &'a Stream<'a>,
    /// What the client calls the progress, if it wants to know and takes streams.
    token: Option<&'a Value>,
    cancelled: &'a Arc<AtomicBool>,
    /// A client that closes the connection cancels the call: the era without a handshake has no other way.
    ends_with_connection: bool,
    looked: Cell<Instant>,
}

impl<'a> HttpWatch<'a> {
    pub(super) fn new(
        (stream, events): (&'a Arc<TcpStream>, &'a Stream<'a>),
        request: &'a Request,
        cancelled: &'a Arc<AtomicBool>,
        ends_with_connection: bool,
    ) -> Self {
        Self {
            stream,
            events,
            token: protocol::progress_token(request).filter(|_| events.is_possible()),
            cancelled,
            ends_with_connection,
            looked: Cell::new(Instant::now()),
        }
    }
}

impl Watcher for HttpWatch<'_> {
    fn is_cancelled(&self, done: usize) -> bool {
        if self.cancelled.load(Ordering::Relaxed) {
            // The client does not expect to hear of it any more.
            return true;
        }
        if self.looked.get().elapsed() >= EVERY {
            self.looked.set(Instant::now());
            if let Some(token) = self.token {
                self.events.send(&protocol::progress(token, done));
            }
            if self.ends_with_connection && self.events.is_gone() {
                self.cancelled.store(true, Ordering::Relaxed);
            }
        }
        self.cancelled.load(Ordering::Relaxed)
    }

    fn line(&self) -> Option<Arc<dyn Line>> {
        let stream = self.ends_with_connection.then(|| Arc::clone(self.stream));
        let cancelled = Arc::clone(self.cancelled);
        Some(Arc::new(HttpLine { stream, cancelled }))
    }
}

/// A call that waits for a person. It holds up no call of another connection.
struct HttpLine {
    /// The connection, if the call ends with it.
    stream: Option<Arc<TcpStream>>,
    cancelled: Arc<AtomicBool>,
}

impl Line for HttpLine {
    fn is_gone(&self) -> bool {
        if self.stream.as_deref().is_some_and(stream::is_closed) {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        self.cancelled.load(Ordering::Relaxed)
    }
}
