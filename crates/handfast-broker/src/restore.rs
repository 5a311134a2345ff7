//! Leases of a broker that ran before: those that are still good, and the end of the others.

use std::collections::HashMap;
use std::sync::Arc;

use crate::broker::Broker;
use crate::clock;
use crate::identity::Process;
use crate::lease::{Bound, Ended, Lease, LeaseHandle, LeaseRecord};
use crate::start::StartError;

impl Broker {
    /// Takes up the leases of the store. What ended while no broker ran is ended now.
    pub(crate) fn restore(&self) -> Result<(), StartError> {
        let mut known: HashMap<LeaseHandle, Arc<Lease>> = HashMap::new();
        let now = clock::now_ns();
        for record in self.store.live()? {
            let handle = record.handle.clone();
            let parent = match &record.parent {
                Some(parent) => match known.get(parent) {
                    Some(parent) => Some(Arc::clone(parent)),
                    // Its parent ended, and it with it.
                    None => {
                        self.bury(record, None, Ended::Revoked)?;
                        continue;
                    }
                },
                None => None,
            };
            let (holder, over) = self.look_at(&record, now);
            if let Some(how) = over {
                self.bury(record, parent, how)?;
                continue;
            }
            let lease = Lease::new(record, parent, holder.clone(), 0).map_err(|fault| {
                StartError::Store(crate::store::StoreError::Corrupt(fault.to_string()))
            })?;
            let lease = Arc::new(lease);
            self.reaper
                .watch(&handle, lease.own_expiry_ns(), holder.as_ref())
                .map_err(|error| StartError::failed("waiting for a holder", error))?;
            self.table.insert(&lease);
            known.insert(handle, lease);
        }
        Ok(())
    }

    /// The process a lease ends with, and how it ended, if it did.
    fn look_at(&self, record: &LeaseRecord, now: u64) -> (Option<Arc<Process>>, Option<Ended>) {
        if record.boot_id != self.boot_id {
            return (None, Some(Ended::Rebooted));
        }
        if now >= record.expires_ns {
            return (None, Some(Ended::Expired));
        }
        let process = match (record.bound, record.tether) {
            (Bound::Process(process), _) | (_, Some(process)) => process,
            _ => return (None, None),
        };
        match Process::find(process) {
            Ok(found) => (Some(self.reaper.known(Arc::new(found))), None),
            Err(_) => (None, Some(Ended::HolderGone)),
        }
    }

    fn bury(
        &self,
        record: LeaseRecord,
        parent: Option<Arc<Lease>>,
        how: Ended,
    ) -> Result<(), StartError> {
        self.store.end(std::slice::from_ref(&record.handle), how)?;
        self.table.remove(&record.handle, how);
        let lease = Lease::new(record, parent, None, 0).map_err(|fault| {
            StartError::Store(crate::store::StoreError::Corrupt(fault.to_string()))
        })?;
        self.note_end(&lease, how, None)
            .map_err(|fault| StartError::Log(fault.to_string()))
    }
}
