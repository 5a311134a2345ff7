//! The end of a lease, however it comes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use handfast_ledger::event::EventKind;
use handfast_session::policy::OnRevoke;

use crate::broker::{Broker, Tally};
use crate::clock;
use crate::fault::Fault;
use crate::identity::{Peer, Process};
use crate::lease::{Ended, Lease, LeaseHandle};
use crate::store::StoreError;

/// How soon a store that took nothing is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// How often counted refusals are told, a failed log is tried again and idle drafts are dropped.
const SETTLE: Duration = Duration::from_secs(2);

/// Leases that have ended.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Ending {
    pub(crate) leases: Vec<Arc<Lease>>,
    /// Why that is not kept or noted, in words. They have ended all the same.
    pub(crate) unkept: Option<String>,
}

impl Ending {
    /// Says on standard error what was not kept, where nobody waits for the answer; gives how many
    /// have ended.
    pub(crate) fn complain(self) -> usize {
        if let (Some(why), Some(lease)) = (&self.unkept, self.leases.first()) {
            crate::complain(&format!("lease {} ended: {why}", lease.record.handle));
        }
        self.leases.len()
    }
}

impl Broker {
    /// Ends a lease and all below it. When this returns, nothing is done under them any more, and
    /// what was begun is dropped, whether or not the store and the log have taken it.
    pub(crate) fn end(&self, lease: &Arc<Lease>, how: Ended, by: Option<&Peer>) -> Ending {
        let mut ended = Vec::new();
        let mut pending = vec![Arc::clone(lease)];
        while let Some(lease) = pending.pop() {
            // A child that is made meanwhile is refused by the end of its parent.
            if !lease.end(how) {
                continue;
            }
            pending.extend(lease.children());
            self.drafts.drop_lease(&lease.record.handle);
            self.mounts.ended(&lease.record.handle);
            self.reaper
                .forget(&lease.record.handle, lease.holder.as_ref());
            self.table.remove(&lease.record.handle, how);
            Tally::add(&self.tally.ended);
            ended.push(lease);
        }
        if ended.is_empty() {
            return Ending::default();
        }
        let handles = ended.iter().map(|lease| lease.record.handle.clone());
        let kept = self.keep_ends(handles.map(|handle| (handle, how)));
        let noted: Result<(), Fault> = ended
            .iter()
            .try_for_each(|lease| self.note_end(lease, how, by));
        if how == Ended::Revoked && self.rulebook().terms.on_revoke == OnRevoke::Kill {
            for lease in &ended {
                kill_holders(lease, by);
            }
        }
        let unkept = match (kept, noted) {
            (Ok(()), Ok(())) => None,
            (Err(error), _) => {
                // Who waits for ends shall try again.
                self.reaper.ring();
                Some(format!(
                    "the store did not take it and is told again; until then a restart brings it back: {error}"
                ))
            }
            (Ok(()), Err(fault)) => Some(format!("the log did not take it: {}", fault.why())),
        };
        Ending {
            leases: ended,
            unkept,
        }
    }

    /// Tells the store of ends, and of those that it did not take before.
    ///
    /// # Errors
    /// What the store says; it is told again later.
    fn keep_ends(
        &self,
        ends: impl IntoIterator<Item = (LeaseHandle, Ended)>,
    ) -> Result<(), StoreError> {
        // Held while the store is written to, so that nothing is told twice or forgotten.
        let unkept = self.unkept.lock();
        let mut unkept = unkept.unwrap_or_else(std::sync::PoisonError::into_inner);
        unkept.extend(ends);
        while let Some((_, how)) = unkept.last().cloned() {
            let of_kind = |end: &&(LeaseHandle, Ended)| end.1 == how;
            let handles: Vec<LeaseHandle> = unkept
                .iter()
                .filter(of_kind)
                .map(|(handle, _)| handle.clone())
                .collect();
            let _revision = self.store.end(&handles, how)?;
            unkept.retain(|end| end.1 != how);
        }
        Ok(())
    }

    pub(crate) fn note_end(
        &self,
        lease: &Lease,
        how: Ended,
        by: Option<&Peer>,
    ) -> Result<(), Fault> {
        let (kind, why) = match how {
            Ended::Expired => (EventKind::LeaseExpire, None),
            Ended::Released => (EventKind::LeaseRelease, None),
            Ended::Revoked => (EventKind::LeaseRevoke, None),
            Ended::HolderGone => (EventKind::LeaseRevoke, Some("its holder has ended")),
            Ended::Rebooted => (
                EventKind::LeaseExpire,
                Some("the machine was started again"),
            ),
        };
        self.scribe.lease(kind, lease, by, why)?;
        self.scribe.outstanding(lease)
    }

    /// Ends what is due, until told to stop.
    pub(crate) fn reap(&self) {
        loop {
            let now = clock::now_ns();
            self.heartbeat_ns.store(now, Ordering::Relaxed);
            // What the store did not take is tried again from time to time.
            let patience = self.keep_ends([]).map_or(RETRY, |()| SETTLE);
            self.scribe.journal().settle();
            self.drafts.drop_idle(self.limits.draft_idle);
            let due = match self.reaper.wait(Some(patience)) {
                Ok(due) => due,
                Err(error) => {
                    crate::complain(&format!("waiting for holders failed: {error}"));
                    return;
                }
            };
            if due.stop {
                return;
            }
            for handle in due.orphaned {
                self.reap_one(&handle, Ended::HolderGone);
            }
            for handle in due.expired {
                self.reap_one(&handle, Ended::Expired);
            }
        }
    }

    fn reap_one(&self, handle: &LeaseHandle, how: Ended) {
        let Some(lease) = self.table.get(handle) else {
            return;
        };
        if how == Ended::Expired && clock::now_ns() < lease.own_expiry_ns() {
            // Renewed meanwhile.
            self.reaper.expect(handle, lease.own_expiry_ns());
            return;
        }
        self.end(&lease, how, None).complain();
    }
}

/// Ends the processes that held something under a lease, but not the one that asks for it.
fn kill_holders(lease: &Lease, by: Option<&Peer>) {
    let asking = by.and_then(Peer::process_ref);
    let out = lease.outstanding.lock();
    let out = out.unwrap_or_else(std::sync::PoisonError::into_inner);
    // Found again by number and inode: the number of a process that ended may be another's now.
    let given = out
        .holders()
        .filter_map(|process| Process::find(process).ok());
    let holder = lease.holder.iter().map(Arc::clone);
    for process in holder.chain(given.map(Arc::new)) {
        if Some(process.id()) != asking
            && let Err(error) = process.kill()
            && error.raw_os_error() != Some(libc::ESRCH)
        {
            crate::complain(&format!("process {}: {error}", process.id().pid));
        }
    }
}
