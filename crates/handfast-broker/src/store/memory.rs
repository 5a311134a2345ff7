//! A store that is gone with the broker, for tests and for who wants no trace on disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{LeaseStore, Revision, StoreError};
use crate::lease::{Ended, LeaseHandle, LeaseRecord};

/// Leases in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    revision: Revision,
    /// By number of arrival, so that parents come first.
    leases: BTreeMap<u64, LeaseRecord>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) -> Revision {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.revision += 1;
        change(&mut inner);
        inner.revision
    }

    fn with(&self, handle: &LeaseHandle, change: impl FnOnce(&mut LeaseRecord)) -> Revision {
        self.change(|inner| {
            let found = inner
                .leases
                .values_mut()
                .find(|lease| lease.handle == *handle);
            if let Some(lease) = found {
                change(lease);
            }
        })
    }
}

impl LeaseStore for MemoryStore {
    fn live(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inner.leases.values().cloned().collect())
    }

    fn insert(&self, record: &LeaseRecord) -> Result<Revision, StoreError> {
        Ok(self.change(|inner| {
            inner.leases.insert(inner.revision, record.clone());
        }))
    }

    fn extend(
        &self,
        handle: &LeaseHandle,
        expires_ns: u64,
        renewed_wall_ns: i64,
    ) -> Result<Revision, StoreError> {
        Ok(self.with(handle, |lease| {
            lease.expires_ns = expires_ns;
            lease.renewed_wall_ns = Some(renewed_wall_ns);
        }))
    }

    fn count_opens(&self, handle: &LeaseHandle, opens: u64) -> Result<Revision, StoreError> {
        Ok(self.with(handle, |lease| lease.opens = opens))
    }

    fn end(&self, handles: &[LeaseHandle], _how: Ended) -> Result<Revision, StoreError> {
        Ok(self.change(|inner| {
            inner
                .leases
                .retain(|_, lease| !handles.contains(&lease.handle))
        }))
    }
}
