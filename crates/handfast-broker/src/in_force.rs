//! The policy that counts now, and the session that keeps its roots. Both change together, at once,
//! while others use them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use handfast_session::Session;

use crate::rulebook::Rulebook;

/// What counts now.
#[derive(Debug)]
pub(crate) struct InForce {
    now: RwLock<(Arc<Rulebook>, Session)>,
    /// How often it has changed.
    changes: AtomicU64,
    /// How often the rules of the roots have changed, and with them the session.
    rules: AtomicU64,
}

impl InForce {
    pub(crate) fn new(rulebook: Rulebook, looking: Session) -> Self {
        Self {
            now: RwLock::new((Arc::new(rulebook), looking)),
            changes: AtomicU64::new(0),
            rules: AtomicU64::new(0),
        }
    }

    /// The policy, as it is now.
    pub(crate) fn rulebook(&self) -> Arc<Rulebook> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now.0)
    }

    /// The roots and their rules, for looking only. What is done under a lease is asked of the same
    /// session on behalf of the lease: see [`Broker::act`](crate::broker::Broker::act).
    pub(crate) fn looking(&self) -> Session {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.1.clone()
    }

    /// A number that is another one after every change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// A number that is another one after every change of the roots' modes and patterns.
    pub(crate) fn rules(&self) -> u64 {
        self.rules.load(Ordering::Acquire)
    }

    /// From here on, this counts. Without another session the roots keep their rules.
    pub(crate) fn replace(&self, rulebook: Rulebook, looking: Option<Session>) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        now.0 = Arc::new(rulebook);
        if let Some(looking) = looking {
            now.1 = looking;
            self.rules.fetch_add(1, Ordering::Release);
        }
        self.changes.fetch_add(1, Ordering::Release);
    }
}
