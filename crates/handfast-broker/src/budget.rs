//! How much of the log the refusals of one user may take.
//!
//! A stranger can be refused as often as it likes. Each user has some bytes of the log for
//! refusals that are told one by one, which come back with time; beyond that refusals are counted
//! by reason. A count stays until an event in the log tells it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast::ErrorKind;

use crate::clock;

/// What an event takes beside its path and its reason.
const EVENT: u64 = 600;
/// How many reasons of one user are told apart, and how much of each.
const MAX_REASONS: usize = 8;
const MAX_WHY: usize = 96;
/// With more users than this, those who owe nothing are forgotten.
const MAX_USERS: usize = 4096;
const SECOND: u64 = 1_000_000_000;

/// Refusals of one user for one reason that were counted and not told.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) uid: u32,
    pub(crate) kind: ErrorKind,
    pub(crate) why: String,
    pub(crate) count: u64,
    pub(crate) since_wall_ns: i64,
}

#[derive(Debug)]
struct Account {
    left: u64,
    filled_ns: u64,
    counted: Vec<Counted>,
}

/// The accounts of all users.
#[derive(Debug)]
pub(crate) struct RefusalBudget {
    burst: u64,
    per_second: u64,
    accounts: Mutex<HashMap<u32, Account>>,
    folded: AtomicU64,
}

impl RefusalBudget {
    pub(crate) fn new(burst: u64, per_second: u64) -> Self {
        Self {
            burst,
            per_second,
            accounts: Mutex::default(),
            folded: AtomicU64::new(0),
        }
    }

    fn hold(&self) -> MutexGuard<'_, HashMap<u32, Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a refusal gets an event of its own; otherwise it is only counted.
    pub(crate) fn tells(&self, uid: u32, kind: ErrorKind, why: &str, path_bytes: usize) -> bool {
        self.tells_at(clock::now_ns(), uid, kind, why, path_bytes)
    }

    fn tells_at(
        &self,
        now_ns: u64,
        uid: u32,
        kind: ErrorKind,
        why: &str,
        path_bytes: usize,
    ) -> bool {
        let mut accounts = self.hold();
        if accounts.len() > MAX_USERS {
            let full_after = SECOND.saturating_mul(self.burst / self.per_second.max(1) + 1);
            accounts.retain(|_, account| {
                !account.counted.is_empty() || now_ns < account.filled_ns + full_after
            });
        }
        let account = accounts.entry(uid).or_insert(Account {
            left: self.burst,
            filled_ns: now_ns,
            counted: Vec::new(),
        });
        let since = now_ns.saturating_sub(account.filled_ns);
        let earned = u128::from(since) * u128::from(self.per_second) / u128::from(SECOND);
        if earned > 0 {
            let earned = u64::try_from(earned).unwrap_or(u64::MAX);
            account.left = account.left.saturating_add(earned).min(self.burst);
            account.filled_ns = now_ns;
        }
        let cost = EVENT + why.len() as u64 + path_bytes as u64;
        if account.left >= cost {
            account.left -= cost;
            return true;
        }
        self.folded.fetch_add(1, Ordering::Relaxed);
        account.count(uid, kind, why);
        false
    }

    /// Whether the next refusal of a user would only be counted.
    pub(crate) fn is_spent(&self, uid: u32) -> bool {
        let accounts = self.hold();
        accounts
            .get(&uid)
            .is_some_and(|account| account.left < EVENT)
    }

    /// How many refusals were counted instead of told, since the start.
    pub(crate) fn folded(&self) -> u64 {
        self.folded.load(Ordering::Relaxed)
    }

    /// How many are counted and not yet in the log.
    pub(crate) fn owed(&self) -> u64 {
        let accounts = self.hold();
        let counted = accounts.values().flat_map(|account| &account.counted);
        counted.map(|counted| counted.count).sum()
    }

    /// Tells what was counted. What cannot be told now stays counted.
    pub(crate) fn settle(&self, mut tell: impl FnMut(&Counted) -> bool) {
        let due: Vec<Counted> = {
            let accounts = self.hold();
            let counted = accounts.values().flat_map(|account| &account.counted);
            counted.cloned().collect()
        };
        for told in due {
            // Not under the lock: the log may be slow.
            if !tell(&told) {
                return;
            }
            let mut accounts = self.hold();
            let Some(account) = accounts.get_mut(&told.uid) else {
                continue;
            };
            let same = |counted: &&mut Counted| counted.is_like(told.kind, &told.why);
            if let Some(counted) = account.counted.iter_mut().find(same) {
                // Refusals that came meanwhile go into the next event.
                counted.count -= told.count;
                counted.since_wall_ns = clock::wall_ns();
            }
            account.counted.retain(|counted| counted.count > 0);
        }
    }
}

impl Account {
    fn count(&mut self, uid: u32, kind: ErrorKind, why: &str) {
        let why = &why[..why.floor_char_boundary(MAX_WHY)];
        let known = self.counted.iter_mut().find(|one| one.is_like(kind, why));
        if let Some(counted) = known {
            counted.count += 1;
            return;
        }
        // One place is for all reasons that have none of their own.
        if self.counted.len() + 1 >= MAX_REASONS && why != OTHER {
            return self.count(uid, ErrorKind::Denied, OTHER);
        }
        self.counted.push(Counted {
            uid,
            kind,
            why: why.to_owned(),
            count: 1,
            since_wall_ns: clock::wall_ns(),
        });
    }
}

const OTHER: &str = "various reasons";

impl Counted {
    fn is_like(&self, kind: ErrorKind, why: &str) -> bool {
        self.kind == kind && self.why == why
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_beyond_its_budget_is_counted_and_others_are_not() {
        let budget = RefusalBudget::new(10_000, 1_000);
        let mut told = 0;
        for number in 0..100_000_u64 {
            let why = format!("no such lease {}", number % 50);
            told += u64::from(budget.tells_at(SECOND, 7, ErrorKind::Denied, &why, 10));
        }
        assert!((10..20).contains(&told), "{told}");
        assert_eq!(budget.folded() + told, 100_000);
        assert_eq!(budget.owed(), budget.folded());
        assert!(budget.tells_at(SECOND, 8, ErrorKind::Denied, "no", 10));
        // Time gives it back, up to the burst.
        assert!(budget.tells_at(5 * SECOND, 7, ErrorKind::Denied, "no", 10));
        // While the log takes no event, the counts are kept; the next event has all of them.
        budget.settle(|_| false);
        assert_eq!(budget.owed(), budget.folded());
        let (mut sum, mut events) = (0, 0);
        budget.settle(|counted| {
            sum += counted.count;
            events += 1;
            true
        });
        assert_eq!((sum, budget.owed()), (budget.folded(), 0));
        assert!(events <= MAX_REASONS, "{events}");
    }
}
