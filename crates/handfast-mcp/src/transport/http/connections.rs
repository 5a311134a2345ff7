//! The connections that are open. Neither sockets that only wait nor the calls of one caller lock others out.
//!
//! ```text
//!            a request is there           a place to work
//!  waits ──────────────────────▶ queued ──────────────────▶ works
//!    ▲                              │ no room                 │
//!    └──────────────────────────────┴─────── answered ────────┘
//! ```
//!
//! A connection that waits is closed for the next one. One that works is not, so there is a limit on how many work, and
//! within it a share for every caller that no other caller can take. Who is over it waits in a queue, which is limited, too.
//! What is left is always for connections that have just come.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::shares::Shares;
use super::stream;

/// How many are open at a time. For the next one, the one that has waited longest is closed.
const MOST: usize = 640;

/// So many are at work for the callers that come first.
const FIRST_COME: usize = 192;

/// So many more are divided among all callers.
const DIVIDED: usize = 64;

/// So many requests wait for their caller's turn.
const MOST_QUEUED: usize = 256;

/// How long one may wait for its request, whatever happens: a client that has just connected is about
/// to ask, and what it sent may not have been read yet.
const GRACE: Duration = Duration::from_millis(500);

/// How often it is looked for a free place.
const PAUSE: Duration = Duration::from_millis(5);

/// How often one that is queued looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(200);

pub(super) struct Connections {
    open: Mutex<Vec<OpenConnection>>,
    /// A place to work has become free.
    free: Condvar,
    shares: Shares,
}

struct OpenConnection {
    stream: Arc<TcpStream>,
    state: State,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum State {
    /// For a request, since then.
    Waits(Instant),
    /// For its caller's turn.
    Queued,
    /// On behalf of this caller.
    Works(String),
}

/// What comes of a request that wants to be worked on.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum WorkTurn {
    Now,
    /// Too many calls of this caller are under way.
    TooMany,
    /// The client went away.
    Gone,
}

type OpenGuard<'a> = MutexGuard<'a, Vec<OpenConnection>>;

impl Connections {
    /// For so many callers.
    pub(super) fn new(callers: usize) -> Self {
        Self {
            open: Mutex::default(),
            free: Condvar::new(),
            shares: Shares::new(FIRST_COME, DIVIDED, callers),
        }
    }

    fn open(&self) -> OpenGuard<'_> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in as soon as there is a place; `false` if there is none for a long time.
    /// Who comes next waits meanwhile, in the system's own queue.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while !self.try_admit(stream) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    fn try_admit(&self, stream: &Arc<TcpStream>) -> bool {
        let now = Instant::now();
        let mut open = self.open();
        if open.len() >= MOST {
            let waiting = open.iter().enumerate();
            let waiting = waiting.filter_map(|(at, entry)| match entry.state {
                State::Waits(since) => Some((since, at)),
                _ => None,
            });
            let has_waited = |since: Instant| now.duration_since(since) >= GRACE;
            let Some((_, oldest)) = waiting.min().filter(|(since, _)| has_waited(*since)) else {
                return false;
            };
            // Its thread finds the end of the stream, and ends.
            drop(open.remove(oldest).stream.shutdown(Shutdown::Both));
        }
        open.push(OpenConnection {
            stream: Arc::clone(stream),
            state: State::Waits(now),
        });
        true
    }

    /// A whole request of a caller is there: waits until it may be worked on.
    pub(super) fn begin(
        &self,
        stream: &Arc<TcpStream>,
        caller: &str,
        patience: Duration,
    ) -> WorkTurn {
        let until = Instant::now() + patience;
        let mut open = self.open();
        loop {
            let Some(at) = place_of(&open, stream) else {
                // It was closed for another one in the last moment.
                return WorkTurn::Gone;
            };
            let at_work = open.iter().filter_map(|entry| match &entry.state {
                State::Works(by) => Some(by.as_str()),
                _ => None,
            });
            if self.shares.allow(at_work, caller) {
                open[at].state = State::Works(caller.to_owned());
                return WorkTurn::Now;
            }
            if open[at].state != State::Queued {
                let queued = open.iter().filter(|entry| entry.state == State::Queued);
                if queued.count() >= MOST_QUEUED {
                    return WorkTurn::TooMany;
                }
                open[at].state = State::Queued;
            }
            // Whether it was woken or not, it looks again.
            drop(self.free.wait_timeout(open, LOOK));
            if stream::is_closed(stream) {
                return WorkTurn::Gone;
            }
            if Instant::now() >= until {
                return WorkTurn::TooMany;
            }
            open = self.open();
        }
    }

    /// It waits from now on: for the next request, or for what its request comes to.
    pub(super) fn wait(&self, stream: &Arc<TcpStream>) {
        let mut open = self.open();
        if let Some(at) = place_of(&open, stream) {
            open[at].state = State::Waits(Instant::now());
        }
        drop(open);
        self.free.notify_all();
    }

    pub(super) fn remove(&self, stream: &Arc<TcpStream>) {
        self.open()
            .retain(|entry| !Arc::ptr_eq(&entry.stream, stream));
        self.free.notify_all();
    }
}

fn place_of(open: &OpenGuard<'_>, stream: &Arc<TcpStream>) -> Option<usize> {
    open.iter()
        .position(|entry| Arc::ptr_eq(&entry.stream, stream))
}
