//! All leases in force, and the last that ended.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::LeaseHandle;
use super::live::Lease;
use super::record::Ended;
use crate::fault::{Code, Fault};

/// As many ended leases are remembered, so that who presents one hears why.
const REMEMBERED: usize = 10_000;

/// How many leases there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) total: usize,
    pub(crate) per_user: usize,
}

/// Leases by handle.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    room: Room,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    live: HashMap<LeaseHandle, Arc<Lease>>,
    per_user: HashMap<u32, usize>,
    ended: HashMap<LeaseHandle, Ended>,
    order: VecDeque<LeaseHandle>,
}

impl LeaseTable {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            inner: RwLock::default(),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, handle: &LeaseHandle) -> Option<Arc<Lease>> {
        self.read().live.get(handle).cloned()
    }

    /// How a lease ended, if that is still known.
    pub(crate) fn how_ended(&self, handle: &LeaseHandle) -> Option<Ended> {
        self.read().ended.get(handle).copied()
    }

    /// Whether a lease has this handle, or had it lately.
    pub(crate) fn knows(&self, handle: &LeaseHandle) -> bool {
        let inner = self.read();
        inner.live.contains_key(handle) || inner.ended.contains_key(handle)
    }

    pub(crate) fn len(&self) -> usize {
        self.read().live.len()
    }

    /// The leases below a prefix, in the order of their handles.
    pub(crate) fn below(&self, prefix: &str) -> Vec<Arc<Lease>> {
        let inner = self.read();
        let mut found: Vec<Arc<Lease>> = inner
            .live
            .iter()
            .filter(|(handle, _)| handle.is_below(prefix))
            .map(|(_, lease)| Arc::clone(lease))
            .collect();
        drop(inner);
        found.sort_by(|a, b| a.record.handle.cmp(&b.record.handle));
        found
    }

    /// Whether one more lease of a user would fit.
    ///
    /// # Errors
    /// `Limit` if not.
    pub(crate) fn has_room(&self, uid: u32) -> Result<(), Fault> {
        let inner = self.read();
        let of_user = inner.per_user.get(&uid).copied().unwrap_or(0);
        if inner.live.len() >= self.room.total || of_user >= self.room.per_user {
            let why = "there are too many leases; revoke some, or let them run out";
            return Err(Fault::new(Code::Limit, why));
        }
        Ok(())
    }

    pub(crate) fn insert(&self, lease: &Arc<Lease>) {
        if let Some(parent) = &lease.parent {
            parent.adopt(lease);
        }
        let mut inner = self.write();
        *inner.per_user.entry(lease.record.uid).or_default() += 1;
        inner
            .live
            .insert(lease.record.handle.clone(), Arc::clone(lease));
    }

    /// Takes out a lease that has ended.
    pub(crate) fn remove(&self, handle: &LeaseHandle, how: Ended) {
        let mut inner = self.write();
        if let Some(lease) = inner.live.remove(handle) {
            let uid = lease.record.uid;
            if let Some(count) = inner.per_user.get_mut(&uid) {
                *count -= 1;
                if *count == 0 {
                    inner.per_user.remove(&uid);
                }
            }
        }
        inner.ended.insert(handle.clone(), how);
        inner.order.push_back(handle.clone());
        if inner.order.len() > REMEMBERED
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.ended.remove(&oldest);
        }
    }
}
