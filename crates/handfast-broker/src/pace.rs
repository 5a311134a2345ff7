//! How fast users are answered who ask for what they do not get.
//!
//! Refusing costs the broker time that others wait for. A user whose budget for refusals is spent, and
//! one that no rule names, are answered so many times a second and no more, over all of their
//! connections together. The wait is in the connection's own thread, after everything that
//! is held was let go.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock;

/// Who waits longer than this already gets no later place: as long a wait as a client bears.
const MAX_WAIT: u64 = 2_000_000_000;
/// With more users than this, those whose last answer is over are forgotten.
const MAX_USERS: usize = 4096;

/// When each user's next answer is due, by the boot clock.
#[derive(Debug)]
pub(crate) struct Pace {
    gap_ns: u64,
    next: Mutex<HashMap<u32, u64>>,
}

impl Pace {
    pub(crate) fn new(answers_per_second: u32) -> Self {
        Self {
            gap_ns: 1_000_000_000 / u64::from(answers_per_second.max(1)),
            next: Mutex::default(),
        }
    }

    /// Waits until a user's next answer is due.
    pub(crate) fn wait(&self, uid: u32) {
        let wait = self.wait_at(clock::now_ns(), uid);
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
    }

    fn wait_at(&self, now_ns: u64, uid: u32) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() > MAX_USERS {
            next.retain(|_, due| *due > now_ns);
        }
        let due = next.entry(uid).or_insert(now_ns);
        let own = (*due).clamp(now_ns, now_ns + MAX_WAIT);
        *due = own + self.gap_ns;
        Duration::from_nanos(own - now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_answered_so_often_and_others_do_not_wait_for_it() {
        let pace = Pace::new(1000);
        let waits: Vec<Duration> = (0..5).map(|_| pace.wait_at(7, 1)).collect();
        assert_eq!(waits, [0, 1, 2, 3, 4].map(Duration::from_millis));
        assert_eq!(pace.wait_at(7, 2), Duration::ZERO);
        // What was not used is not saved up.
        let later = 7 + 60_000_000_000;
        assert_eq!(pace.wait_at(later, 1), Duration::ZERO);
        assert_eq!(pace.wait_at(later, 1), Duration::from_millis(1));
        for _ in 0..10_000 {
            assert!(pace.wait_at(later, 3) <= Duration::from_nanos(MAX_WAIT));
        }
    }
}
