//! The connections that are open. Sockets that only wait cannot lock others out.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many are open at a time. For the next one, the one that has waited longest is closed.
const MOST: usize = 256;

/// How long one may wait for its request, whatever happens: a client that has just connected is about
/// to ask, and what it sent may not have been read yet.
const GRACE: Duration = Duration::from_millis(500);

/// How often it is looked for a free place.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<Vec<Entry>>,
}

struct Entry {
    stream: Arc<TcpStream>,
    /// Since when it waits for a request; `None` while one is answered.
    idle: Option<Instant>,
}

impl Connections {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
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
        self.change(|open| {
            if open.len() >= MOST {
                let idle = open.iter().enumerate();
                let idle = idle.filter_map(|(at, entry)| Some((entry.idle?, at)));
                let has_waited = |since: Instant| now.duration_since(since) >= GRACE;
                let Some((_, oldest)) = idle.min().filter(|(since, _)| has_waited(*since)) else {
                    return false;
                };
                // Its thread finds the end of the stream, and ends.
                drop(open.remove(oldest).stream.shutdown(Shutdown::Both));
            }
            open.push(Entry {
                stream: Arc::clone(stream),
                idle: Some(now),
            });
            true
        })
    }

    /// A request of an accepted caller is answered, or the next one is waited for.
    pub(super) fn at_work(&self, stream: &Arc<TcpStream>, is_at_work: bool) {
        let now = Instant::now();
        self.change(|open| {
            let mut entries = open.iter_mut();
            let entry = entries.find(|entry| Arc::ptr_eq(&entry.stream, stream));
            if let Some(entry) = entry {
                entry.idle = (!is_at_work).then_some(now);
            }
        });
    }

    pub(super) fn remove(&self, stream: &Arc<TcpStream>) {
        self.change(|open| open.retain(|entry| !Arc::ptr_eq(&entry.stream, stream)));
    }
}
