//! One connection's side of a call: who asks, and where its events go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::Verb;
use handfast_session::VirtualPath;

use crate::broker::Broker;
use crate::clock;
use crate::fault::Fault;
use crate::identity::{Peer, Proved};
use crate::journal::PeerRecorder;
use crate::lease::{Lease, LeaseHandle, LeaseId};
use crate::log::Named;
use crate::spiffe::Nonce;
use crate::token::Token;

/// A connection's identity.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) number: u64,
    pub(crate) peer: Arc<Peer>,
    /// No rule spoke of it when it connected.
    pub(crate) is_stranger: bool,
    /// The recorder of the lease that was used last; most connections use one.
    last: Option<(LeaseHandle, Arc<PeerRecorder>)>,
    /// The id that was presented last, and what it stands for, so that who presents it again need
    /// not have it hashed and looked up. Whether the lease is in force is not kept: it is asked
    /// at every use.
    shown: Option<(String, Claim)>,
    /// For what is refused without a lease.
    plain: Option<Arc<PeerRecorder>>,
    /// The change of the policy that the recorders above name.
    policy: u64,
    /// What an X.509-SVID must be proved over, once.
    challenge: Option<Nonce>,
}

/// A lease that the caller may use, and where its events go.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) lease: Arc<Lease>,
    pub(crate) recorder: Arc<PeerRecorder>,
    pub(crate) peer: Arc<Peer>,
    /// What the lease was presented with, if not by its id.
    token: Option<Arc<Token>>,
}

impl Caller {
    pub(crate) fn new(peer: Arc<Peer>, is_stranger: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            peer,
            is_stranger,
            last: None,
            shown: None,
            plain: None,
            policy: 0,
            challenge: None,
        }
    }

    /// Forgets what was kept under another policy: events name the one that counts.
    fn follow_policy(&mut self, broker: &Broker) {
        let policy = broker.in_force.changes();
        if self.policy != policy {
            self.policy = policy;
            (self.last, self.shown, self.plain) = (None, None, None);
        }
    }

    /// Takes note of who somebody has proved to be. What was kept for who it was before is gone:
    /// the log shall name both.
    pub(crate) fn identify(&mut self, proved: Proved) {
        let mut peer = Peer::clone(&self.peer);
        peer.spiffe = Some(proved);
        self.peer = Arc::new(peer);
        (self.last, self.shown, self.plain) = (None, None, None);
    }

    /// Keeps what the next X.509-SVID on this connection must be proved over.
    pub(crate) fn challenge(&mut self, nonce: Nonce) {
        self.challenge = Some(nonce);
    }

    /// What was kept: it is good for one try.
    pub(crate) fn take_challenge(&mut self) -> Option<Nonce> {
        self.challenge.take()
    }

    /// The lease behind an id, if the caller is whom it was given to.
    ///
    /// # Errors
    /// `NoSuchLease`, or how it ended for who presents the id of one that has.
    pub(crate) fn present(&mut self, broker: &Broker, id: &str) -> Result<Claim, Fault> {
        self.follow_policy(broker);
        // Who can measure this comparison has presented the id on this connection before.
        if let Some((shown, claim)) = &self.shown
            && shown == id
            && claim.lease.ended().is_none()
            && (claim.token.is_some() || claim.lease.admits(&self.peer))
        {
            return Ok(claim.clone());
        }
        self.shown = None;
        let claim = self.look_up(broker, id)?;
        self.shown = Some((id.to_owned(), claim.clone()));
        Ok(claim)
    }

    fn look_up(&mut self, broker: &Broker, id: &str) -> Result<Claim, Fault> {
        let (handle, token) = match LeaseId::parse(id) {
            Some(id) => (id.handle(), None),
            None => match broker.tokens.read(id) {
                Some(token) => (token.handle().clone(), Some(Arc::new(token))),
                None => return Err(Broker::no_such_lease()),
            },
        };
        let Some(lease) = broker.table.get(&handle) else {
            let over = broker.table.how_ended(&handle);
            return Err(over.map_or_else(Broker::no_such_lease, crate::lease::over));
        };
        // A process that has a token may use it, as far as its caveats and the policy go.
        if token.is_none() && !lease.admits(&self.peer) {
            return Err(Broker::no_such_lease());
        }
        // It ends a moment before the table forgets it.
        if let Some(how) = lease.ended() {
            return Err(crate::lease::over(how));
        }
        let recorder = match (&self.last, &token) {
            (_, Some(token)) => {
                let named = Named {
                    fence: Some(lease.fence()),
                    token: Some(token.id()),
                    ..Named::of(&handle)
                };
                broker.scribe.recorder(&self.peer, Some(named))
            }
            (Some((known, recorder)), None) if *known == handle => Arc::clone(recorder),
            _ => {
                let named = Named {
                    fence: Some(lease.fence()),
                    ..Named::of(&handle)
                };
                let recorder = broker.scribe.recorder(&self.peer, Some(named));
                self.last = Some((handle, Arc::clone(&recorder)));
                recorder
            }
        };
        let peer = Arc::clone(&self.peer);
        Ok(Claim {
            lease,
            recorder,
            peer,
            token,
        })
    }

    /// The handle of what somebody presents: an id, a handle or a token.
    pub(crate) fn handle_of(broker: &Broker, text: &str) -> Option<LeaseHandle> {
        let of_token = || Some(broker.tokens.read(text)?.handle().clone());
        LeaseHandle::of_either(text).or_else(of_token)
    }

    /// As [`Caller::present`], for what only the lease's own holder may do.
    ///
    /// # Errors
    /// Also `Denied`, for who has a token.
    pub(crate) fn present_own(&mut self, broker: &Broker, id: &str) -> Result<Claim, Fault> {
        let claim = self.present(broker, id)?;
        match claim.token {
            Some(_) => Err(Fault::denied(
                "a token is for files; this takes the lease's id",
            )),
            None => Ok(claim),
        }
    }

    /// As [`Caller::present`]; a refusal goes to the log.
    pub(crate) fn claim(
        &mut self,
        broker: &Broker,
        id: &str,
        verb: Verb,
        path: &VirtualPath,
    ) -> Result<Claim, Fault> {
        self.present(broker, id).map_err(|fault| {
            let handle = Self::handle_of(broker, id);
            self.note_refusal(broker, handle.as_ref(), verb, path, fault)
        })
    }

    /// Notes a refusal before it is answered. What cannot be noted is answered as such.
    fn note_refusal(
        &mut self,
        broker: &Broker,
        handle: Option<&LeaseHandle>,
        verb: Verb,
        path: &VirtualPath,
        fault: Fault,
    ) -> Fault {
        broker.denied(&self.peer, handle, verb.name(), path, fault.why());
        // Ids that nobody was given are told without a name: they may be made up, one after the
        // other.
        let known = handle.filter(|handle| broker.table.knows(handle));
        let recorder = match (known, &self.last) {
            (Some(handle), Some((last, recorder))) if last == handle => Arc::clone(recorder),
            (Some(handle), _) => {
                let made = broker.scribe.recorder(&self.peer, Some(Named::of(handle)));
                self.last = Some((handle.clone(), Arc::clone(&made)));
                made
            }
            (None, _) => {
                let made = || broker.scribe.recorder(&self.peer, None);
                Arc::clone(self.plain.get_or_insert_with(made))
            }
        };
        match broker
            .scribe
            .refusal(&recorder, verb, path.as_rel(), &fault)
        {
            Ok(()) => fault,
            Err(worse) => worse,
        }
    }

    /// Notes that something about a lease itself was refused: renewing, looking up, ending.
    pub(crate) fn note(&mut self, broker: &Broker, id: &str, fault: Fault) -> Fault {
        let handle = LeaseHandle::of_either(id);
        self.note_refusal(
            broker,
            handle.as_ref(),
            Verb::Resolve,
            &VirtualPath::root(),
            fault,
        )
    }

    /// Notes that a lease was refused.
    pub(crate) fn note_refused_lease(&mut self, broker: &Broker, fault: Fault) -> Fault {
        broker.denied(
            &self.peer,
            None,
            "lease.acquire",
            &VirtualPath::root(),
            fault.why(),
        );
        match broker.scribe.refused_lease(&self.peer, &fault) {
            Ok(()) => fault,
            Err(worse) => worse,
        }
    }
}

impl Claim {
    /// Whether it may come to an end that is not the lease's: a caveat of the token, or the proof of an
    /// id. What was judged once must then be judged at every use.
    pub(crate) fn may_lapse(&self) -> bool {
        self.token.is_some() || self.peer.spiffe.is_some()
    }

    /// Whether the caveats hold of the token that the lease was presented with, if it was.
    pub(crate) fn token_allows(&self, verb: Verb, path: &VirtualPath) -> Result<(), Fault> {
        match &self.token {
            Some(token) => token.allows(&self.peer, verb, path.as_rel()),
            None => Ok(()),
        }
    }

    /// Notes a refusal before it is answered.
    pub(crate) fn refuse(
        &self,
        broker: &Broker,
        verb: Verb,
        path: &VirtualPath,
        fault: Fault,
    ) -> Fault {
        self.remember(broker, verb, path, fault.why());
        let scribe = &broker.scribe;
        match scribe.refusal(&self.recorder, verb, path.as_rel(), &fault) {
            Ok(()) => fault,
            Err(worse) => worse,
        }
    }

    /// Counts a refusal that is noted already.
    pub(crate) fn remember(&self, broker: &Broker, verb: Verb, path: &VirtualPath, why: &str) {
        let handle = &self.lease.record.handle;
        broker.denied(&self.peer, Some(handle), verb.name(), path, why);
    }

    /// Keeps the lease from ending while something is done, and notes a refusal.
    pub(crate) fn hold(
        &self,
        broker: &Broker,
        verb: Verb,
        path: &VirtualPath,
    ) -> Result<crate::lease::Held<'_>, Fault> {
        self.lease
            .hold(clock::now_ns())
            .map_err(|fault| self.refuse(broker, verb, path, fault))
    }
}
