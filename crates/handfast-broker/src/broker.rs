//! The broker's state: everything that connections share.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use handfast::{Identity, Root, Verb};
use handfast_session::VirtualPath;

use crate::drafts::Drafts;
use crate::fault::{Code, Fault};
use crate::identity::{ExeReader, Peer};
use crate::in_force::InForce;
use crate::lease::{Ended, Lease, LeaseHandle, LeaseTable};
use crate::limits::Limits;
use crate::log::Scribe;
use crate::mount::Mounts;
use crate::ops::Copies;
use crate::pace::Pace;
use crate::reaper::Reaper;
use crate::refusals::Refusals;
use crate::rulebook::Rulebook;
use crate::spiffe::{BundleReader, TrustBundle};
use crate::store::LeaseStore;
use crate::token::TokenKey;

/// What connections share.
pub(crate) struct Broker {
    /// The policy, and the session that keeps its roots.
    pub(crate) in_force: Arc<InForce>,
    /// Our own directories: served to nobody.
    pub(crate) private: Vec<Root>,
    pub(crate) table: LeaseTable,
    pub(crate) store: Arc<dyn LeaseStore>,
    pub(crate) scribe: Scribe,
    pub(crate) drafts: Drafts,
    /// Leases that are shown as mounts.
    pub(crate) mounts: Mounts,
    /// The broker itself, for what outlives a call.
    pub(crate) this: Weak<Self>,
    /// Copies of files that readers could write themselves.
    pub(crate) copies: Copies,
    /// Leases that have ended here while the store took nothing. It is told as soon as it does:
    /// a restart would bring them back.
    pub(crate) unkept: Mutex<Vec<(LeaseHandle, Ended)>>,
    pub(crate) reaper: Reaper,
    pub(crate) exe: ExeReader,
    pub(crate) limits: Limits,
    /// How fast those are answered who ask in vain.
    pub(crate) pace: Pace,
    pub(crate) boot_id: String,
    pub(crate) tally: Tally,
    /// When the thread that ends leases last looked around, by the boot clock.
    pub(crate) heartbeat_ns: AtomicU64,
    pub(crate) tokens: TokenKey,
    /// What SPIFFE ids are checked with.
    pub(crate) bundle: Option<TrustBundle>,
    pub(crate) bundle_reader: Option<BundleReader>,
    pub(crate) refusals: Refusals,
    pub(crate) boundary: crate::boundary::Boundary,
    /// The directories above each root, by identity: what may not be granted to who is confined.
    pub(crate) above: Vec<Vec<Identity>>,
    /// Every message must come from the process that connected.
    pub(crate) check_sender: bool,
}

/// Counts since the broker was started.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) calls: AtomicU64,
    pub(crate) denied: AtomicU64,
    pub(crate) opened: AtomicU64,
    pub(crate) committed: AtomicU64,
    pub(crate) acquired: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Connections for which there was no seat.
    pub(crate) turned_away: AtomicU64,
    /// Those that are open now.
    pub(crate) open_connections: AtomicU64,
}

impl Tally {
    pub(crate) fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Broker {
    /// The policy, as it is now.
    pub(crate) fn rulebook(&self) -> Arc<Rulebook> {
        self.in_force.rulebook()
    }

    /// Counts and remembers a refusal.
    pub(crate) fn denied(
        &self,
        peer: &Peer,
        lease: Option<&LeaseHandle>,
        verb: &'static str,
        path: &VirtualPath,
        why: &str,
    ) {
        Tally::add(&self.tally.denied);
        let lease = lease.map(LeaseHandle::as_str);
        self.refusals.note(peer, lease, verb, path, why);
    }

    /// How many leases have ended without the store's knowing.
    pub(crate) fn unkept_ends(&self) -> u64 {
        let unkept = self.unkept.lock();
        unkept.map_or_else(|poisoned| poisoned.get_ref().len(), |unkept| unkept.len()) as u64
    }

    /// What keeps the broker from doing its work now; nothing if it is ready.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.scribe.journal().health().0 {
            let why = "the log has failed: nothing is done until it can be written again";
            found.push(why.to_owned());
        }
        match self.unkept_ends() {
            0 => {}
            ends => found.push(format!("the store does not take the end of leases: {ends}")),
        }
        found
    }

    /// Says no to a verb that no lease may be used for.
    pub(crate) fn not_granted(lease: &Lease, verb: Verb) -> Fault {
        let verbs = handfast::escape(lease.record.verbs.join(",").as_bytes());
        Fault::denied(format!(
            "the lease does not grant {}; it grants {verbs}",
            verb.name()
        ))
    }

    /// A client that presents no lease, or somebody else's. Both look alike.
    pub(crate) fn no_such_lease() -> Fault {
        Fault::new(
            Code::NoSuchLease,
            "there is no such lease for this process; acquire one",
        )
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker")
            .field("rulebook", &self.rulebook())
            .field("leases", &self.table.len())
            .finish_non_exhaustive()
    }
}
