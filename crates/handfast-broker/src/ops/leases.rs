//! `Renew`, `Lookup`, `List`, `Revoke`, `RevokePrefix`.

use std::sync::Arc;

use handfast_ledger::event::EventKind;
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use super::page::Page;
use super::view::{LeaseView, OutstandingView, outstanding_of};
use crate::broker::Broker;
use crate::caller::Caller;
use crate::clock;
use crate::ending::Ending;
use crate::fault::{Code, Fault};
use crate::lease::{Ended, Lease, LeaseHandle, LeaseId, over};

/// As many leases stand in one answer, if a message holds them.
const PAGE: usize = 200;
/// As many outstanding descriptors stand in one answer, if a message holds them. The log has all.
const MOST_OUT: usize = 500;

/// A lease, by id or by handle.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    lease: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renew {
    lease: String,
    /// Seconds from now.
    increment: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListLeases {
    prefix: Option<String>,
    /// The last handle of the page before.
    after: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prefix {
    prefix: String,
}

#[derive(Debug, Serialize)]
struct One<'a> {
    lease: LeaseView<'a>,
}

#[derive(Debug, Serialize)]
struct Leases<'a> {
    leases: Vec<LeaseView<'a>>,
    end: bool,
}

#[derive(Debug, Serialize)]
struct Revoked {
    ended: usize,
    outstanding: Vec<OutstandingView>,
    /// Why the end is not kept or noted, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    unkept: Option<String>,
}

impl Broker {
    pub(crate) fn renew(&self, caller: &mut Caller, asked: Renew) -> Result<CallResult, Fault> {
        let claim = caller.present_own(self, &asked.lease);
        let claim = claim.map_err(|fault| caller.note(self, &asked.lease, fault))?;
        let lease = &claim.lease;
        let now = clock::now_ns();
        // Behind the gate, so that a lease that ends right now is not made longer.
        let held = lease.hold(now);
        let _held = held.map_err(|fault| caller.note(self, &asked.lease, fault))?;
        let seconds = asked
            .increment
            .unwrap_or(self.rulebook().terms.ttl.as_secs());
        if seconds == 0 {
            return Err(Fault::parameter("increment", "at least a second"));
        }
        let wanted = now.saturating_add(seconds.saturating_mul(1_000_000_000));
        let expires = wanted.min(lease.record.limit_ns);
        let wall = clock::wall_ns();
        let fence = self
            .store
            .extend(&lease.record.handle, expires, wall)
            .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))?;
        let before = (
            lease.own_expiry_ns(),
            lease.renewed_wall_ns(),
            lease.fence(),
        );
        lease.extend(expires, wall, fence);
        let why = (expires < wanted).then_some("capped by max_ttl");
        let noted = self
            .scribe
            .lease(EventKind::LeaseRenew, lease, Some(&caller.peer), why);
        if let Err(fault) = noted {
            // What is not noted is not done. Nobody has acted on it: the answer says no.
            let (expires, renewed, fence) = before;
            let renewed = renewed.unwrap_or(0);
            lease.extend(expires, renewed, fence);
            drop(self.store.extend(&lease.record.handle, expires, renewed));
            return Err(fault);
        }
        if expires < before.0 {
            self.reaper.expect(&lease.record.handle, expires);
        }
        CallResult::of(&One {
            lease: LeaseView::of(lease),
        })
    }

    pub(crate) fn lookup(&self, caller: &mut Caller, asked: &Which) -> Result<CallResult, Fault> {
        let lease = self.own_lease(caller, &asked.lease);
        let lease = lease.map_err(|fault| caller.note(self, &asked.lease, fault))?;
        CallResult::of(&One {
            lease: LeaseView::of(&lease),
        })
    }

    pub(crate) fn list(&self, caller: &Caller, asked: &ListLeases) -> Result<CallResult, Fault> {
        let prefix = asked.prefix.as_deref().unwrap_or_default();
        let mut found = self.table.below(prefix);
        if !self.rulebook().is_keeper(&caller.peer) {
            found.retain(|lease| lease.record.uid == caller.peer.uid);
        }
        if let Some(after) = &asked.after {
            found.retain(|lease| lease.record.handle.as_str() > after.as_str());
        }
        let mut rest = found.iter().map(|lease| LeaseView::of(lease)).peekable();
        let mut page = Page::of_at_most(PAGE);
        page.fill(&mut rest)?;
        CallResult::of(&Leases {
            leases: page.take(),
            end: rest.peek().is_none(),
        })
    }

    pub(crate) fn revoke(&self, caller: &mut Caller, asked: &Which) -> Result<CallResult, Fault> {
        let lease = self.own_lease(caller, &asked.lease);
        let lease = lease.map_err(|fault| caller.note(self, &asked.lease, fault))?;
        // Who presents the id gives the lease back; who knows its handle takes it away.
        let how = match LeaseId::parse(&asked.lease) {
            Some(_) if lease.admits(&caller.peer) => Ended::Released,
            _ => Ended::Revoked,
        };
        Self::answer_end(self.end(&lease, how, Some(&caller.peer)))
    }

    pub(crate) fn revoke_prefix(
        &self,
        caller: &mut Caller,
        asked: &Prefix,
    ) -> Result<CallResult, Fault> {
        let own = format!("u{}", caller.peer.uid);
        let prefix = asked.prefix.trim_end_matches('/');
        let is_own = prefix == own || prefix.starts_with(&format!("{own}/"));
        if !is_own && !self.rulebook().is_keeper(&caller.peer) {
            let why = format!("only leases below `{own}/` are this user's to revoke");
            return Err(caller.note(self, "", Fault::denied(why)));
        }
        let mut all = Ending::default();
        for lease in self.table.below(prefix) {
            let ending = self.end(&lease, Ended::Revoked, Some(&caller.peer));
            all.leases.extend(ending.leases);
            all.unkept = ending.unkept.or(all.unkept);
        }
        Self::answer_end(all)
    }

    fn answer_end(ending: Ending) -> Result<CallResult, Fault> {
        let mut page = Page::of_at_most(MOST_OUT);
        let leases = ending.leases.iter();
        page.fill(&mut leases.flat_map(|lease| outstanding_of(lease)))?;
        CallResult::of(&Revoked {
            ended: ending.leases.len(),
            outstanding: page.take(),
            unkept: ending.unkept,
        })
    }

    /// A lease of the caller's user, by id or handle; any lease for who keeps the broker.
    fn own_lease(&self, caller: &Caller, text: &str) -> Result<Arc<Lease>, Fault> {
        let handle = LeaseHandle::of_either(text).ok_or_else(Self::no_such_lease)?;
        let keeper = self.rulebook().is_keeper(&caller.peer);
        let lease = match self.table.get(&handle) {
            Some(lease) => lease,
            None if keeper || LeaseId::parse(text).is_some() => {
                let how = self.table.how_ended(&handle);
                return Err(how.map_or_else(Self::no_such_lease, over));
            }
            None => return Err(Self::no_such_lease()),
        };
        if !keeper && lease.record.uid != caller.peer.uid {
            return Err(Self::no_such_lease());
        }
        // Its time may be over though nobody has cleared it away yet.
        if clock::now_ns() >= lease.expires_ns() {
            return Err(over(Ended::Expired));
        }
        Ok(lease)
    }
}
