//! The connections that are open. Sockets that only wait cannot lock others out.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many are open at a time. For the next one, the one that has waited longest is closed.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<Vec<Entry>>,
    clock: AtomicU64,
}

struct Entry {
    stream: Arc<TcpStream>,
    /// Since when it waits for a request; `None` while one is answered.
    idle: Option<u64>,
}

impl Connections {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a connection in; `false` if every other one is at work.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>) -> bool {
        let now = self.tick();
        self.change(|open| {
            if open.len() >= MOST {
                let idle = open.iter().enumerate();
                let idle = idle.filter_map(|(at, entry)| Some((entry.idle?, at)));
                let Some((_, oldest)) = idle.min() else {
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
        let now = self.tick();
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
