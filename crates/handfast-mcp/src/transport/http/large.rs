//! Large messages: only so many are in memory at a time.
//!
//! A message may have ten megabytes, an answer with a picture as many, and there are hundreds of connections. So who sends
//! or may get a large one waits until there is room for it. A caller that keeps its large messages half sent, or does
//! not take its answers, is in the way of no other caller.

use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::shares::Shares;
use super::stream;

/// Messages up to this length are not counted.
pub(super) const LARGE: usize = 128 * 1024;

/// So many large ones are for the callers that come first.
const FIRST_COME: usize = 12;

/// So many more are divided among all callers.
const DIVIDED: usize = 8;

/// How often one that waits looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(200);

pub(super) struct LargeMessages {
    /// Whose they are.
    held: Mutex<Vec<String>>,
    free: Condvar,
    shares: Shares,
}

/// There is room for a large message, until this is dropped.
pub(super) struct LargePermit<'a> {
    messages: &'a LargeMessages,
    caller: String,
}

impl LargeMessages {
    /// For so many callers.
    pub(super) fn new(callers: usize) -> Self {
        Self {
            held: Mutex::default(),
            free: Condvar::new(),
            shares: Shares::new(FIRST_COME, DIVIDED, callers),
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for one more; `None` if there is none for a long time, or the client went away.
    pub(super) fn wait(
        &self,
        stream: &TcpStream,
        caller: &str,
        patience: Duration,
    ) -> Option<LargePermit<'_>> {
        let until = Instant::now() + patience;
        let mut held = self.held();
        while !self.shares.allow(held.iter().map(String::as_str), caller) {
            // Whether it was woken or not, it looks again.
            drop(self.free.wait_timeout(held, LOOK));
            if Instant::now() >= until || stream::is_closed(stream) {
                return None;
            }
            held = self.held();
        }
        held.push(caller.to_owned());
        Some(LargePermit {
            messages: self,
            caller: caller.to_owned(),
        })
    }
}

impl Drop for LargePermit<'_> {
    fn drop(&mut self) {
        let mut held = self.messages.held();
        if let Some(at) = held.iter().position(|holder| *holder == self.caller) {
            held.swap_remove(at);
        }
        drop(held);
        self.messages.free.notify_all();
    }
}
