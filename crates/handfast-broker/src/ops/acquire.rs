//! `Acquire`: a lease is asked for.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use handfast::Verb;
use handfast_ledger::event::EventKind;
use handfast_session::VirtualPath;
use handfast_session::policy::Bind;
use serde::{Deserialize, Serialize};

use super::answer::CallResult;
use super::view::LeaseView;
use crate::broker::{Broker, Tally};
use crate::caller::Caller;
use crate::clock;
use crate::fault::{Code, Fault};
use crate::identity::{Peer, Process};
use crate::lease::{Bound, Ended, Lease, LeaseId, LeaseRecord};
use crate::path;

const MAX_PATTERNS: usize = 64;
const MAX_PATTERN: usize = 1024;
const MAX_PURPOSE: usize = 256;
const NANO: u64 = 1_000_000_000;

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acquire {
    paths: Vec<String>,
    verbs: Vec<String>,
    /// Seconds.
    ttl: Option<u64>,
    purpose: Option<String>,
    task: Option<String>,
    max_opens: Option<u64>,
    bind: Option<String>,
    parent: Option<String>,
    /// The index of a pidfd beside the message: the process that shall hold the lease.
    holder: Option<usize>,
    /// End with the process that asks (or `holder`), also if others may use it.
    tether: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Acquired<'a> {
    lease_id: &'a str,
    /// Seconds.
    lease_duration: u64,
    renewable: bool,
    lease: LeaseView<'a>,
}

/// A lease that shall be handed on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    lease: String,
    ttl: Option<u64>,
    purpose: Option<String>,
    task: Option<String>,
    max_opens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Exported<'a> {
    token: String,
    lease: LeaseView<'a>,
}

impl Broker {
    pub(crate) fn acquire(
        &self,
        caller: &mut Caller,
        asked: Acquire,
        fds: Vec<OwnedFd>,
    ) -> Result<CallResult, Fault> {
        let made = self.make_lease(caller, asked, fds);
        let (id, lease) = made.map_err(|fault| caller.note_refused_lease(self, fault))?;
        Tally::add(&self.tally.acquired);
        let view = LeaseView::of(&lease);
        let left = lease.expires_ns().saturating_sub(clock::now_ns());
        CallResult::of(&Acquired {
            lease_id: id.secret(),
            lease_duration: left.div_ceil(NANO),
            renewable: lease.record.limit_ns > lease.expires_ns(),
            lease: view,
        })
    }

    /// A lease below another, told as a token and not by its id.
    pub(crate) fn export(&self, caller: &mut Caller, asked: Export) -> Result<CallResult, Fault> {
        let made = self.make_export(caller, asked);
        let (token, lease) = made.map_err(|fault| caller.note_refused_lease(self, fault))?;
        Tally::add(&self.tally.acquired);
        CallResult::of(&Exported {
            token,
            lease: LeaseView::of(&lease),
        })
    }

    fn make_export(
        &self,
        caller: &mut Caller,
        asked: Export,
    ) -> Result<(String, Arc<Lease>), Fault> {
        let parent = caller.present_own(self, &asked.lease)?.lease;
        let wanted = Acquire {
            paths: parent.record.paths.clone(),
            verbs: parent.record.verbs.clone(),
            ttl: asked.ttl,
            purpose: asked.purpose.or_else(|| parent.record.purpose.clone()),
            task: asked.task,
            max_opens: asked.max_opens,
            bind: Some("user".to_owned()),
            parent: Some(asked.lease),
            holder: None,
            tether: None,
        };
        // Asked first: a lease that no token stands for would be of no use.
        drop(self.tokens.mint(&parent.record.handle)?);
        let (_, lease) = self.make_lease(caller, wanted, Vec::new())?;
        let token = self.tokens.mint(&lease.record.handle)?;
        Ok((token, lease))
    }

    fn make_lease(
        &self,
        caller: &mut Caller,
        asked: Acquire,
        fds: Vec<OwnedFd>,
    ) -> Result<(LeaseId, Arc<Lease>), Fault> {
        let peer = Arc::clone(&caller.peer);
        check_words(&asked)?;
        self.table.has_room(peer.uid)?;
        let process = self.named_process(&peer, asked.holder, fds)?;
        let bound = self.bound_to(&asked, process.as_ref())?;
        let holder = match bound {
            Bound::Process(_) => Some(known(process.as_ref())?),
            _ if asked.tether == Some(true) => Some(known(process.as_ref())?),
            _ => None,
        };
        let terms = self.rulebook().terms;
        let now = clock::now_ns();
        let seconds = |time: std::time::Duration| time.as_secs().saturating_mul(NANO);
        let mut limit_ns = now.saturating_add(seconds(terms.max_ttl));
        let wanted = asked
            .ttl
            .map_or(seconds(terms.ttl), |ttl| ttl.saturating_mul(NANO));
        let parent = match &asked.parent {
            Some(id) => Some(caller.present_own(self, id)?.lease),
            None => None,
        };
        // Kept from ending until the child is in the table, so that none is forgotten.
        let _held = match &parent {
            Some(parent) => Some(parent.hold(now)?),
            None => None,
        };
        if let Some(parent) = &parent {
            limit_ns = limit_ns.min(parent.record.limit_ns);
        }
        let id = LeaseId::new(peer.uid, asked.task.as_deref().unwrap_or("task"))
            .map_err(|why| Fault::parameter("task", why))?;
        let record = LeaseRecord {
            handle: id.handle(),
            parent: parent.as_ref().map(|parent| parent.record.handle.clone()),
            uid: peer.uid,
            bound,
            tether: match bound {
                Bound::Process(_) => None,
                _ => holder.as_ref().map(|process| process.id()),
            },
            paths: self.rulebook().narrowed(&peer, asked.paths),
            verbs: asked.verbs,
            purpose: asked.purpose,
            max_opens: asked.max_opens,
            opens: 0,
            issued_wall_ns: clock::wall_ns(),
            renewed_wall_ns: None,
            expires_ns: now.saturating_add(wanted).min(limit_ns),
            limit_ns,
            boot_id: self.boot_id.clone(),
        };
        // The whole lease is put together, and may be refused, before anything is kept.
        let draft = Lease::new(record.clone(), parent.clone(), holder.clone(), 0)?;
        self.may_have(&peer, &draft)?;
        let lease = self.put_in_force(&peer, record, parent.clone(), holder)?;
        Ok((id, lease))
    }

    /// The process that a lease is asked for: the one whose pidfd was sent, or the one that asks.
    fn named_process(
        &self,
        peer: &Peer,
        holder: Option<usize>,
        mut fds: Vec<OwnedFd>,
    ) -> Result<Option<Arc<Process>>, Fault> {
        let process = match holder {
            None => peer.process.clone(),
            Some(index) if index < fds.len() => {
                let process = Process::of(fds.swap_remove(index))
                    .map_err(|_| Fault::parameter("holder", "not a pidfd of a running process"))?;
                let user = process.info().map(|info| info.uid).ok();
                if user != Some(peer.uid) || !process.is_alive() {
                    return Err(Fault::denied(
                        "the holder is not a running process of this user",
                    ));
                }
                Some(Arc::new(process))
            }
            Some(_) => return Err(Fault::parameter("holder", "no such descriptor")),
        };
        Ok(process.map(|process| self.reaper.known(process)))
    }

    /// Who may use the lease that is asked for.
    fn bound_to(&self, asked: &Acquire, process: Option<&Arc<Process>>) -> Result<Bound, Fault> {
        let bind = match asked.bind.as_deref() {
            None if asked.holder.is_some() => Bind::Process,
            None => self.rulebook().terms.bind,
            Some("process") => Bind::Process,
            Some("cgroup") => Bind::Cgroup,
            Some("user") => Bind::User,
            Some(_) => return Err(Fault::parameter("bind", "process, cgroup or user")),
        };
        Ok(match bind {
            Bind::User => Bound::User,
            Bind::Process => Bound::Process(known(process)?.id()),
            Bind::Cgroup => {
                let group = known(process)?.info().ok().and_then(|info| info.cgroup);
                Bound::Cgroup(group.ok_or_else(|| Fault::denied("its control group is not known"))?)
            }
        })
    }

    /// Keeps a lease, notes it, waits for its end, and lets it be used; in that order, so that
    /// what fails has given nothing.
    fn put_in_force(
        &self,
        peer: &Peer,
        record: LeaseRecord,
        parent: Option<Arc<Lease>>,
        holder: Option<Arc<Process>>,
    ) -> Result<Arc<Lease>, Fault> {
        let fence = self
            .store
            .insert(&record)
            .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))?;
        let lease = Arc::new(Lease::new(record, parent, holder.clone(), fence)?);
        let handle = &lease.record.handle;
        let noted = self
            .scribe
            .lease(EventKind::LeaseAcquire, &lease, Some(peer), None);
        let watched = noted.and_then(|()| {
            self.reaper
                .watch(handle, lease.own_expiry_ns(), holder.as_ref())
                .map_err(|error| Fault::new(Code::Unavailable, error.to_string()))
        });
        if let Err(fault) = watched {
            // Not given out: its id was told to nobody.
            drop(self.store.end(std::slice::from_ref(handle), Ended::Revoked));
            return Err(fault);
        }
        self.table.insert(&lease);
        // A holder that ended before the lease stood in the table was reaped in vain, and nobody
        // will tell of its end again.
        if holder.is_some_and(|process| !process.is_alive()) {
            self.end(&lease, Ended::HolderGone, None).complain();
            return Err(Fault::denied(
                "the process that it would end with has ended",
            ));
        }
        Ok(lease)
    }

    /// Whether the policy lets a peer have such a lease. Paths are judged again at every use; here
    /// only what could never be used is refused.
    fn may_have(&self, peer: &Peer, lease: &Lease) -> Result<(), Fault> {
        let allowed = self.rulebook().verbs_of(peer);
        if allowed.is_empty() {
            return Err(Fault::denied("the policy gives this user nothing"));
        }
        if !lease.verbs.is_within(allowed) {
            return Err(Fault::denied(
                "the policy does not let this user ask for these verbs",
            ));
        }
        if let Some(parent) = &lease.parent {
            if !lease
                .chain()
                .skip(1)
                .all(|above| lease.verbs.is_within(above.verbs))
            {
                return Err(Fault::denied(
                    "a lease grants no verb that the one above it does not",
                ));
            }
            for path in plain_paths(&lease.record.paths) {
                if !parent.covers(&path) {
                    return Err(Fault::denied(
                        "a lease covers no path that the one above it does not",
                    ));
                }
            }
        }
        let verbs: Vec<Verb> = Verb::ALL
            .iter()
            .copied()
            .filter(|verb| lease.verbs.has(*verb))
            .collect();
        for path in plain_paths(&lease.record.paths) {
            if !verbs
                .iter()
                .any(|verb| self.rulebook().permits(peer, *verb, &path))
            {
                return Err(Fault::denied(
                    "the policy gives this user nothing at a path that was asked for",
                ));
            }
        }
        Ok(())
    }
}

/// A process, where the kernel tells processes apart.
fn known(process: Option<&Arc<Process>>) -> Result<Arc<Process>, Fault> {
    let why = "this kernel does not identify processes; ask for `bind` = `user`";
    process
        .cloned()
        .ok_or_else(|| Fault::new(Code::Failed, why).of_kind(handfast::ErrorKind::Unsupported))
}

fn check_words(asked: &Acquire) -> Result<(), Fault> {
    if asked.paths.is_empty() || asked.paths.len() > MAX_PATTERNS {
        return Err(Fault::parameter("paths", "1 to 64 patterns"));
    }
    if asked.paths.iter().any(|text| text.len() > MAX_PATTERN) {
        return Err(Fault::parameter(
            "paths",
            "a pattern has at most 1024 bytes",
        ));
    }
    if asked.verbs.is_empty() || asked.verbs.len() > 64 {
        return Err(Fault::parameter("verbs", "at least one verb"));
    }
    if asked.ttl == Some(0) {
        return Err(Fault::parameter("ttl", "at least a second"));
    }
    if asked.max_opens == Some(0) {
        return Err(Fault::parameter("max_opens", "at least one"));
    }
    let purpose = asked.purpose.as_deref().unwrap_or_default();
    if purpose.len() > MAX_PURPOSE || purpose.chars().any(char::is_control) {
        return Err(Fault::parameter("purpose", "one line of at most 256 bytes"));
    }
    Ok(())
}

/// The patterns that name one path exactly.
fn plain_paths(patterns: &[String]) -> impl Iterator<Item = VirtualPath> {
    patterns
        .iter()
        .filter(|text| {
            text.trim_end_matches('/').contains('/') && !text.contains(['*', '?', '[', '\\'])
        })
        .filter_map(|text| path::parse("paths", text.as_bytes()).ok())
}
