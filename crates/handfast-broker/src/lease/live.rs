//! A lease that is in force.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, Weak};

use handfast::Verb;
use handfast_session::{Patterns, VirtualPath};

use super::outstanding::Outstanding;
use super::record::{Bound, Ended, LeaseRecord};
use super::verbs::VerbSet;
use crate::fault::{Code, Fault};
use crate::identity::{Peer, Process};
use crate::store::LeaseStore;

/// How many leases may hang below each other.
const MAX_DEPTH: usize = 8;

/// One lease, and what changes about it.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) record: LeaseRecord,
    pub(crate) verbs: VerbSet,
    patterns: Patterns,
    pub(crate) parent: Option<Arc<Self>>,
    children: Mutex<Vec<Weak<Self>>>,
    /// The process it ends with.
    pub(crate) holder: Option<Arc<Process>>,
    expires_ns: AtomicU64,
    renewed_wall_ns: AtomicI64,
    fence: AtomicU64,
    /// Held while a count is written, so that counts reach the store in their order.
    opens: Mutex<u64>,
    ended: OnceLock<Ended>,
    /// Read by the thread that acts under the lease, from the check to the effect; written by the one that ended
    /// it, to wait for them. So nothing happens under a lease after its end was answered.
    gate: RwLock<()>,
    pub(crate) outstanding: Mutex<Outstanding>,
}

/// A lease, and those above it, that cannot end while this is held.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub(crate) lease: &'a Lease,
    _gates: Vec<RwLockReadGuard<'a, ()>>,
}

impl Lease {
    /// A lease of a record whose words are known to be good.
    pub(crate) fn new(
        record: LeaseRecord,
        parent: Option<Arc<Self>>,
        holder: Option<Arc<Process>>,
        fence: u64,
    ) -> Result<Self, Fault> {
        let verbs = VerbSet::parse(&record.verbs).map_err(|why| Fault::parameter("verbs", why))?;
        let patterns = Patterns::compile(&record.paths)
            .map_err(|error| Fault::parameter("paths", error.detail()))?;
        if parent
            .as_ref()
            .is_some_and(|parent| parent.depth() + 1 >= MAX_DEPTH)
        {
            return Err(Fault::new(Code::Limit, "too many leases below each other"));
        }
        Ok(Self {
            verbs,
            patterns,
            parent,
            children: Mutex::default(),
            holder,
            expires_ns: AtomicU64::new(record.expires_ns),
            renewed_wall_ns: AtomicI64::new(record.renewed_wall_ns.unwrap_or(0)),
            fence: AtomicU64::new(fence),
            opens: Mutex::new(record.opens),
            ended: OnceLock::new(),
            gate: RwLock::new(()),
            outstanding: Mutex::default(),
            record,
        })
    }

    fn depth(&self) -> usize {
        self.chain().count() - 1
    }

    /// The lease and those above it.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |lease| lease.parent.as_deref())
    }

    pub(crate) fn adopt(&self, child: &Arc<Self>) {
        let mut children = hold(&self.children);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(child));
    }

    pub(crate) fn children(&self) -> Vec<Arc<Self>> {
        hold(&self.children)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// When it ends, those above it considered.
    pub(crate) fn expires_ns(&self) -> u64 {
        self.chain()
            .map(|lease| lease.expires_ns.load(Ordering::Acquire))
            .min()
            .unwrap_or(0)
    }

    pub(crate) fn own_expiry_ns(&self) -> u64 {
        self.expires_ns.load(Ordering::Acquire)
    }

    pub(crate) fn renewed_wall_ns(&self) -> Option<i64> {
        let time = self.renewed_wall_ns.load(Ordering::Relaxed);
        (time != 0).then_some(time)
    }

    pub(crate) fn extend(&self, expires_ns: u64, renewed_wall_ns: i64, fence: u64) {
        self.renewed_wall_ns
            .store(renewed_wall_ns, Ordering::Relaxed);
        self.fence.store(fence, Ordering::Relaxed);
        self.expires_ns.store(expires_ns, Ordering::Release);
    }

    pub(crate) fn fence(&self) -> u64 {
        self.fence.load(Ordering::Relaxed)
    }

    pub(crate) fn opens(&self) -> u64 {
        *hold(&self.opens)
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.get().copied()
    }

    /// Ends it and waits for who acts under it right now. Whether it was this call that did.
    pub(crate) fn end(&self, how: Ended) -> bool {
        let first = self.ended.set(how).is_ok();
        drop(self.gate.write().unwrap_or_else(PoisonError::into_inner));
        first
    }

    /// Whether neither it nor one above it was ended.
    ///
    /// # Errors
    /// How it ended.
    pub(crate) fn in_force(&self) -> Result<(), Fault> {
        match self.chain().find_map(Self::ended) {
            Some(how) => Err(over(how)),
            None => Ok(()),
        }
    }

    /// Keeps the lease from ending until the answer is dropped, if it is in force now.
    ///
    /// # Errors
    /// `LeaseExpired` or `LeaseRevoked`, of the lease or of one above it.
    pub(crate) fn hold(&self, now_ns: u64) -> Result<Held<'_>, Fault> {
        let mut gates = Vec::with_capacity(1);
        for lease in self.chain() {
            gates.push(lease.gate.read().unwrap_or_else(PoisonError::into_inner));
            // Looked at behind the gate: who ends the lease sets this before it waits there.
            if let Some(how) = lease.ended() {
                return Err(over(how));
            }
            if now_ns >= lease.own_expiry_ns() {
                return Err(over(Ended::Expired));
            }
        }
        Ok(Held {
            lease: self,
            _gates: gates,
        })
    }

    /// Whether a peer is whom the lease was given to.
    pub(crate) fn admits(&self, peer: &Peer) -> bool {
        if peer.uid != self.record.uid {
            return false;
        }
        match self.record.bound {
            Bound::User => true,
            Bound::Process(process) => peer.process_ref() == Some(process),
            Bound::Cgroup(id) => peer.current_cgroup() == Some(id),
        }
    }

    /// Whether a path lies in what it and all above it cover.
    pub(crate) fn covers(&self, path: &VirtualPath) -> bool {
        let path = path.as_rel();
        self.chain().all(|lease| lease.patterns.covers(path))
    }

    /// Whether a path is covered, or is a directory on the way to something covered.
    pub(crate) fn leads_to_covered(&self, path: &VirtualPath) -> bool {
        let path = path.as_rel();
        self.chain()
            .all(|lease| lease.patterns.leads_to_covered(path))
    }

    /// Whether it and all above it grant a verb.
    pub(crate) fn grants(&self, verb: Verb) -> bool {
        self.chain().all(|lease| lease.verbs.has(verb))
    }
}

impl Held<'_> {
    /// Whether one more open is allowed, without counting it.
    ///
    /// # Errors
    /// `Limit` if there were enough.
    pub(crate) fn has_opens(&self) -> Result<(), Fault> {
        for lease in self.lease.chain() {
            if let Some(most) = lease.record.max_opens
                && lease.opens() >= most
            {
                return Err(enough(most));
            }
        }
        Ok(())
    }

    /// Counts one open, of the lease and of those above it that count.
    ///
    /// # Errors
    /// `Limit` if there were enough; `Unavailable` if the count cannot be kept.
    pub(crate) fn count_open(&self, store: &dyn LeaseStore) -> Result<(), Fault> {
        for lease in self.lease.chain() {
            let mut opens = hold(&lease.opens);
            if let Some(most) = lease.record.max_opens {
                if *opens >= most {
                    return Err(enough(most));
                }
                store
                    .count_opens(&lease.record.handle, *opens + 1)
                    .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))?;
            }
            *opens += 1;
        }
        Ok(())
    }
}

fn enough(most: u64) -> Fault {
    let why = format!("the lease allows {most} opens, and they were made");
    Fault::new(Code::Limit, why)
}

/// What somebody hears who presents a lease that is over.
pub(crate) fn over(how: Ended) -> Fault {
    match how {
        Ended::Expired => Fault::new(Code::LeaseExpired, "the lease has run out; acquire another"),
        Ended::HolderGone => Fault::new(
            Code::LeaseRevoked,
            "the lease ended with the process it was bound to",
        ),
        Ended::Rebooted => Fault::new(Code::LeaseRevoked, "the machine was started again since"),
        Ended::Revoked => Fault::new(Code::LeaseRevoked, "the lease was revoked"),
        Ended::Released => Fault::new(Code::LeaseRevoked, "the lease was given back"),
    }
}

pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts and lists: whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::LeaseId;

    fn lease(expires_ns: u64, parent: Option<Arc<Lease>>) -> Arc<Lease> {
        let record = LeaseRecord {
            handle: LeaseId::new(1, "test").unwrap().handle(),
            parent: None,
            uid: 1,
            bound: Bound::User,
            tether: None,
            paths: vec!["a/**".to_owned()],
            verbs: vec!["read".to_owned()],
            purpose: None,
            max_opens: Some(1),
            opens: 0,
            issued_wall_ns: 0,
            renewed_wall_ns: None,
            expires_ns,
            limit_ns: 100,
            boot_id: String::new(),
        };
        Arc::new(Lease::new(record, parent, None, 0).unwrap())
    }

    #[test]
    fn the_clock_alone_ends_a_lease_and_those_below_it() {
        let parent = lease(10, None);
        let child = lease(20, Some(Arc::clone(&parent)));
        assert!(parent.hold(9).is_ok() && child.hold(9).is_ok());
        assert_eq!(child.expires_ns(), 10);
        for over in [parent.hold(10), child.hold(10)] {
            assert_eq!(over.unwrap_err().code(), Code::LeaseExpired);
        }
    }

    #[test]
    fn an_end_waits_for_who_acts_and_is_final() {
        let lease = lease(50, None);
        let held = lease.hold(1).unwrap();
        let ending = Arc::clone(&lease);
        let thread = std::thread::spawn(move || ending.end(Ended::Revoked));
        while lease.ended().is_none() {
            std::thread::yield_now();
        }
        // Ended for everybody new, and not answered while somebody acts.
        assert!(!thread.is_finished());
        drop(held);
        assert!(thread.join().unwrap());
        assert_eq!(lease.hold(1).unwrap_err().code(), Code::LeaseRevoked);
        assert!(!lease.end(Ended::Expired), "only the first end counts");
        assert_eq!(lease.ended(), Some(Ended::Revoked));
    }

    #[test]
    fn the_count_of_opens_is_kept_before_it_is_used() {
        let store = crate::store::MemoryStore::new();
        let lease = lease(50, None);
        let held = lease.hold(1).unwrap();
        held.count_open(&store).unwrap();
        assert_eq!(held.has_opens().unwrap_err().code(), Code::Limit);
        assert_eq!(held.count_open(&store).unwrap_err().code(), Code::Limit);
        assert_eq!(lease.opens(), 1);
    }
}
