//! A lease as the judge of a session: every path that a verb reaches is judged, after links.

use std::sync::Arc;

use handfast::{ErrorKind, FileKind, Verb};
use handfast_session::{
    Access, Caller as SessionCaller, Error, Reason, Scope, Session, SessionError, VirtualPath,
};

use crate::broker::Broker;
use crate::caller::Claim;
use crate::fault::{Code, Fault};
use crate::in_force::InForce;
use crate::journal::RecorderAdapter;

/// What one call may reach: one verb, under one lease, as the policy is at each look.
#[derive(Debug)]
pub(crate) struct LeaseScope {
    pub(crate) claim: Claim,
    pub(crate) in_force: Arc<InForce>,
    pub(crate) verb: Verb,
}

impl LeaseScope {
    /// Whether the lease, those above it, the policy and the token let the verb be done to a path.
    pub(crate) fn judge(&self, path: &VirtualPath) -> Result<(), Fault> {
        let lease = &self.claim.lease;
        if !lease.grants(self.verb) {
            return Err(Broker::not_granted(lease, self.verb));
        }
        // Directories on the way to something covered may be looked at, and no more.
        let covers = match self.verb {
            Verb::ReadDir | Verb::Walk | Verb::Metadata => lease.leads_to_covered(path),
            _ => lease.covers(path),
        };
        if !covers {
            return Err(Fault::denied("the lease does not cover this path"));
        }
        if !self
            .in_force
            .rulebook()
            .permits(&self.claim.peer, self.verb, path)
        {
            let why = "the policy does not let this user do this here";
            return Err(Fault::denied(why));
        }
        self.claim.token_allows(self.verb, path)
    }
}

impl Scope for LeaseScope {
    fn check(&self, path: &VirtualPath, _access: Access) -> Result<(), Error> {
        // Asked for every entry of a tree, so that a revocation stops it at the next one.
        self.claim
            .lease
            .in_force()
            .map_err(|fault| refused(&fault))?;
        self.judge(path).map_err(|fault| refused(&fault))
    }

    fn check_step(&self, path: &VirtualPath, _access: Access) -> Result<(), Error> {
        if self.claim.lease.leads_to_covered(path) {
            return Ok(());
        }
        Err(refused(&Fault::denied(
            "the lease does not cover this path",
        )))
    }

    fn shows(&self, path: &VirtualPath, kind: FileKind) -> bool {
        let lease = &self.claim.lease;
        let leads = matches!(kind, FileKind::Dir | FileKind::Unknown);
        (lease.covers(path) || (leads && lease.leads_to_covered(path)))
            && self
                .in_force
                .rulebook()
                .shows(&self.claim.peer, self.verb, path, leads)
            && self.claim.token_allows(self.verb, path).is_ok()
    }
}

fn refused(fault: &Fault) -> Error {
    Error::refused(ErrorKind::Denied, fault.why().to_owned()).because(Reason::OutOfScope)
}

impl Broker {
    /// The judge of one call.
    pub(crate) fn scope(&self, claim: &Claim, verb: Verb) -> LeaseScope {
        LeaseScope {
            claim: claim.clone(),
            in_force: Arc::clone(&self.in_force),
            verb,
        }
    }

    /// The broker's session on behalf of a lease: it judges by the lease, and what is done with it
    /// goes to the log with the lease's name.
    pub(crate) fn caller_for(&self, claim: &Claim, verb: Verb) -> SessionCaller {
        let recorder = RecorderAdapter(Arc::clone(&claim.recorder));
        SessionCaller::new("")
            .recorder(Arc::new(recorder))
            .scope(Arc::new(self.scope(claim, verb)))
    }

    /// Does something with the session on behalf of a lease. The session judges every path that
    /// is reached, and tells the log of a refusal.
    pub(crate) fn act<T>(
        &self,
        claim: &Claim,
        verb: Verb,
        path: &VirtualPath,
        act: impl FnOnce(&Session) -> Result<T, Error>,
    ) -> Result<T, Fault> {
        let session = self
            .in_force
            .looking()
            .for_caller(self.caller_for(claim, verb));
        act(&session).map_err(|error| {
            let own_words = (error.reason() == Some(Reason::OutOfScope)).then(|| error.detail());
            let mut fault = crate::log::fault_of(error);
            if let Some(why) = own_words {
                fault = fault.with_why(why);
            }
            if fault.code() == Code::Denied {
                claim.remember(self, verb, path, fault.why());
                if let Err(over) = claim.lease.in_force() {
                    fault = fault.with_code(over.code());
                }
            }
            fault
        })
    }

    /// Judges a path that nothing is done to yet, and notes a refusal.
    pub(crate) fn judge(&self, claim: &Claim, verb: Verb, path: &VirtualPath) -> Result<(), Fault> {
        let judged = self.scope(claim, verb).judge(path);
        judged.map_err(|fault| claim.refuse(self, verb, path, fault))
    }
}
