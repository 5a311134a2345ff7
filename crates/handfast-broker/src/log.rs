//! Every decision goes to the ledger, with the lease and who asked.
//!
//! Which lease a verb is done under, and for whom, differs from call to call: every call asks the
//! session on behalf of a caller of its own, whose recorder names both.

use std::sync::{Arc, PoisonError, RwLock};

use handfast::{Backend, Decision, Event, Identity, Phase, RelPath, Verb};
use handfast_ledger::Context;
use handfast_ledger::event::{
    DecisionField, Entry, EventKind, Lease as LeaseField, MAX_EVENT, Record, Request, U64,
    Workload, rfc3339,
};
use handfast_session::NotRecorded;

use crate::clock;
use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::journal::{Journal, PeerRecorder};
use crate::lease::{Given, Lease, LeaseHandle};

/// Why an act that was recorded failed: by itself, or because the log took nothing.
pub(crate) fn fault_of(error: handfast_session::Error) -> Fault {
    let deaf = error
        .cause::<NotRecorded>()
        .is_some_and(|refused| refused.failed);
    let fault = Fault::from(error);
    match deaf {
        true => fault.with_code(Code::Unavailable),
        false => fault,
    }
}

/// How the log names a lease that is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) handle: &'a LeaseHandle,
    pub(crate) fence: Option<u64>,
    /// The token it was presented with.
    pub(crate) token: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(handle: &'a LeaseHandle) -> Self {
        Self {
            handle,
            fence: None,
            token: None,
        }
    }
}

/// Writes the broker's own events.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Arc<Journal>,
    /// Of the policy that counts now.
    policy_sha256: RwLock<Arc<str>>,
    /// For events about a path that belongs to no root.
    root: Identity,
    backend: Backend,
}

impl Scribe {
    pub(crate) fn new(
        journal: Arc<Journal>,
        policy_sha256: String,
        root: Identity,
        backend: Backend,
    ) -> Self {
        Self {
            journal,
            policy_sha256: RwLock::new(policy_sha256.into()),
            root,
            backend,
        }
    }

    fn policy_sha256(&self) -> Arc<str> {
        let digest = self.policy_sha256.read();
        Arc::clone(&digest.unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on, events name this policy.
    pub(crate) fn set_policy(&self, sha256: &str) {
        let digest = self.policy_sha256.write();
        *digest.unwrap_or_else(PoisonError::into_inner) = sha256.into();
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// A recorder for what a peer does under a lease.
    pub(crate) fn recorder(&self, peer: &Peer, lease: Option<Named<'_>>) -> Arc<PeerRecorder> {
        let mut context = Context::new()
            .workload(peer.workload())
            .policy_sha256(&*self.policy_sha256());
        if let Some(named) = lease {
            context = context.lease(LeaseField {
                id: named.handle.as_str().to_owned().into(),
                fence: named.fence.map(U64),
                purpose: named.token.map(|token| format!("token {token}").into()),
                ..LeaseField::default()
            });
        }
        self.journal.recorder(peer.uid, context)
    }

    /// Notes that the broker itself said no.
    pub(crate) fn refusal(
        &self,
        recorder: &Arc<PeerRecorder>,
        verb: Verb,
        path: &RelPath,
        fault: &Fault,
    ) -> Result<(), Fault> {
        let mut event = Event::begin(verb, path, self.root, self.backend);
        event.decision = Decision::Refused {
            kind: fault.log_kind(),
            why: fault.why().to_owned(),
        };
        recorder
            .tell(&event)
            .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))
    }

    /// Notes that a private file was handed out, for a path that it may later be committed to.
    pub(crate) fn begun(&self, recorder: &Arc<PeerRecorder>, path: &RelPath) -> Result<(), Fault> {
        let mut event = Event::begin(Verb::TempFile, path, self.root, self.backend);
        // Nothing of the tree changes by it, so no result follows.
        event.phase = Phase::Single;
        recorder
            .tell(&event)
            .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))
    }

    /// Notes something about a lease.
    pub(crate) fn lease(
        &self,
        kind: EventKind,
        lease: &Lease,
        by: Option<&Peer>,
        why: Option<&str>,
    ) -> Result<(), Fault> {
        let mut record = Record::about_log(kind);
        record.wl = Some(by.map_or_else(
            || Workload {
                uid: Some(lease.record.uid),
                ..Workload::default()
            },
            Peer::workload,
        ));
        record.lease = Some(LeaseField {
            id: lease.record.handle.as_str().into(),
            expires: Some(rfc3339(clock::wall_of(lease.expires_ns())).into()),
            purpose: lease.record.purpose.as_deref().map(Into::into),
            fence: Some(U64(lease.fence())),
        });
        record.decision = Some(DecisionField {
            allow: true,
            why: why.map(Into::into),
            policy_sha256: Some(self.policy_sha256().to_string().into()),
            ..DecisionField::default()
        });
        if kind == EventKind::LeaseAcquire {
            record.req = Some(Request {
                flags: Some(lease.record.verbs.join(",").into()),
                ..Request::default()
            });
            record.entries = lease
                .record
                .paths
                .iter()
                .map(|pattern| Entry {
                    path: Some(pattern.as_str().into()),
                    kind: "pattern".into(),
                    ..Entry::default()
                })
                .collect();
        }
        self.append(&record)
    }

    /// Notes what is still out when a lease ends; in several events, where the paths are too long
    /// for one.
    pub(crate) fn outstanding(&self, lease: &Lease) -> Result<(), Fault> {
        let out = lease.outstanding.lock();
        let out = out.unwrap_or_else(std::sync::PoisonError::into_inner);
        let living: Vec<&Given> = out.iter().filter(|given| given.may_be_open()).collect();
        let count = out.others() + living.iter().map(|given| given.count).sum::<u64>();
        if count == 0 {
            return Ok(());
        }
        let (mut part, mut length) = (Vec::new(), 0);
        for given in living {
            // A byte takes six in JSON at most; what stands around it is short.
            let longest = 6 * given.path.as_rel().as_bytes().len() + 64;
            if length + longest > MAX_EVENT * 3 / 4 {
                self.outstanding_part(lease, count, &std::mem::take(&mut part))?;
                length = 0;
            }
            length += longest;
            part.push(given);
        }
        self.outstanding_part(lease, count, &part)
    }

    fn outstanding_part(&self, lease: &Lease, count: u64, part: &[&Given]) -> Result<(), Fault> {
        let mut record = Record::about_log(EventKind::FdOutstanding);
        record.lease = Some(LeaseField {
            id: lease.record.handle.as_str().into(),
            ..LeaseField::default()
        });
        record.wl = Some(Workload {
            uid: Some(lease.record.uid),
            ..Workload::default()
        });
        record.decision = Some(DecisionField {
            allow: true,
            why: Some(format!("{count} descriptors may still be open").into()),
            ..DecisionField::default()
        });
        record.entries = part
            .iter()
            .map(|given| {
                let request = Request::of(given.path.as_rel().as_bytes());
                Entry {
                    path: request.path,
                    path_b64: request.path_b64,
                    kind: given.mode.name().into(),
                }
            })
            .collect();
        self.append(&record)
    }

    /// Notes that somebody was refused a lease.
    pub(crate) fn refused_lease(&self, peer: &Peer, fault: &Fault) -> Result<(), Fault> {
        let budget = &self.journal.budget;
        if !budget.tells(peer.uid, fault.log_kind(), fault.why(), 0) {
            return Ok(());
        }
        let mut record = Record::about_log(EventKind::LeaseAcquire);
        record.wl = Some(peer.workload());
        record.decision = Some(DecisionField {
            allow: false,
            kind: Some(fault.log_kind().name().into()),
            why: Some(fault.why().into()),
            policy_sha256: Some(self.policy_sha256().to_string().into()),
            ..DecisionField::default()
        });
        self.append(&record)
    }

    fn append(&self, record: &Record<'_>) -> Result<(), Fault> {
        self.journal.append(record)
    }
}
