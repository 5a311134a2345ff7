//! The end of a lease, however it comes.

use std::sync::Arc;

use handfast_ledger::event::EventKind;
use handfast_session::policy::OnRevoke;

use crate::broker::{Broker, Tally};
use crate::clock;
use crate::fault::{Code, Fault};
use crate::identity::{Peer, Process};
use crate::lease::{Ended, Lease, LeaseHandle};

impl Broker {
    /// Ends a lease and all below it. When this returns, nothing is done under them any more, and
    /// what was begun is dropped.
    ///
    /// # Errors
    /// `Unavailable` if the end could not be kept or noted. The leases have ended all the same,
    /// for as long as this broker runs.
    pub(crate) fn end(
        &self,
        lease: &Arc<Lease>,
        how: Ended,
        by: Option<&Peer>,
    ) -> Result<Vec<Arc<Lease>>, Fault> {
        let mut ended = Vec::new();
        let mut pending = vec![Arc::clone(lease)];
        while let Some(lease) = pending.pop() {
            // A child that is made meanwhile is refused by the end of its parent.
            if !lease.end(how) {
                continue;
            }
            pending.extend(lease.children());
            self.drafts.drop_lease(&lease.record.handle);
            self.reaper
                .forget(&lease.record.handle, lease.holder.as_ref());
            self.table.remove(&lease.record.handle, how);
            Tally::add(&self.tally.ended);
            ended.push(lease);
        }
        if ended.is_empty() {
            return Ok(ended);
        }
        let handles: Vec<LeaseHandle> = ended
            .iter()
            .map(|lease| lease.record.handle.clone())
            .collect();
        let kept = self.store.end(&handles, how);
        let noted: Result<(), Fault> = ended
            .iter()
            .try_for_each(|lease| self.note_end(lease, how, by));
        if how == Ended::Revoked && self.rulebook.terms.on_revoke == OnRevoke::Kill {
            for lease in &ended {
                kill_holders(lease, by);
            }
        }
        kept.map_err(|error| {
            let why = format!("it ended here, but that could not be kept: {error}");
            Fault::new(Code::Unavailable, why)
        })?;
        noted?;
        Ok(ended)
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
            let due = match self.reaper.wait() {
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
        if let Err(fault) = self.end(&lease, how, None) {
            crate::complain(&format!("lease {handle}: {fault}"));
        }
    }
}

/// Ends the processes that held something under a lease, but not the one that asks for it.
fn kill_holders(lease: &Lease, by: Option<&Peer>) {
    let asking = by.and_then(Peer::process_ref);
    let out = lease.outstanding.lock();
    let out = out.unwrap_or_else(std::sync::PoisonError::into_inner);
    // Found again by number and inode: whoever has the number of one that ended is somebody else.
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
