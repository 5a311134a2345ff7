//! `Info`: what this broker serves, how strong its boundary is, and how it fares.

use std::sync::atomic::Ordering;

use handfast_ledger::event::rfc3339;
use serde::Serialize;

use super::answer::CallResult;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::fault::Fault;
use crate::wire::{Big, PathField, path_field};

#[derive(Debug, Serialize)]
struct Info<'a> {
    version: &'static str,
    uid: u32,
    pid: u32,
    /// Who the broker thinks is asking.
    peer: PeerView<'a>,
    roots: Vec<RootView<'a>>,
    wall: &'static str,
    boundary: String,
    leases: Big,
    drafts: Big,
    connections: Big,
    calls: Big,
    denied: Big,
    opened: Big,
    committed: Big,
    acquired: Big,
    ended: Big,
    /// What keeps it from its work.
    troubles: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PeerView<'a> {
    uid: u32,
    gid: u32,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exe: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RootView<'a> {
    name: &'a str,
    mount: String,
    mode: &'static str,
    links: &'static str,
    /// The directories above it, as `device:inode`: who confines a program must not grant them.
    above: Vec<String>,
}

/// Something that was refused.
#[derive(Debug, Serialize)]
struct DenialView {
    time: String,
    uid: u32,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
    verb: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    why: String,
    count: Big,
}

#[derive(Debug, Serialize)]
struct Denials {
    denials: Vec<DenialView>,
}

impl Broker {
    /// The last refusals: one's own, or all for who keeps the broker.
    pub(crate) fn denials(&self, caller: &Caller) -> Result<CallResult, Fault> {
        let keeper = self.rulebook().is_keeper(&caller.peer);
        let last = self.refusals.last().into_iter();
        let shown = last.filter(|refusal| keeper || refusal.uid == caller.peer.uid);
        let denials = shown.map(|refusal| {
            let PathField { text, base64 } = path_field(refusal.path.as_rel().as_bytes());
            DenialView {
                time: rfc3339(refusal.wall_ns.into()),
                uid: refusal.uid,
                pid: refusal.pid,
                lease: refusal.lease,
                verb: refusal.verb,
                path: text,
                path_b64: base64,
                why: refusal.why,
                count: Big(refusal.count),
            }
        });
        CallResult::of(&Denials {
            denials: denials.collect(),
        })
    }

    pub(crate) fn info(&self, caller: &Caller) -> Result<CallResult, Fault> {
        let tally = &self.tally;
        let count = |of: &std::sync::atomic::AtomicU64| Big(of.load(Ordering::Relaxed));
        let peer = &caller.peer;
        let rulebook = self.rulebook();
        CallResult::of(&Info {
            version: env!("CARGO_PKG_VERSION"),
            uid: rustix::process::geteuid().as_raw(),
            pid: std::process::id(),
            peer: PeerView {
                uid: peer.uid,
                gid: peer.gid,
                pid: peer.pid,
                process: peer.process_ref().map(|id| Big(id.inode)),
                cgroup: peer.cgroup.map(Big),
                exe: peer.exe.as_ref().map(|program| program.path.as_str()),
            },
            roots: rulebook
                .roots
                .iter()
                .zip(&self.above)
                .map(|(root, above)| RootView {
                    name: &root.name,
                    mount: root.spec.mount_point().to_string(),
                    mode: root.spec.access_mode().name(),
                    links: match root.spec.follows_links() {
                        true => "beneath",
                        false => "refuse",
                    },
                    above: above
                        .iter()
                        .map(|id| format!("{:x}:{}", id.device, id.inode))
                        .collect(),
                })
                .collect(),
            wall: self.boundary.wall.name(),
            boundary: self.boundary.sentence(peer.uid),
            leases: Big(self.table.len() as u64),
            drafts: Big(self.drafts.len() as u64),
            connections: count(&tally.connections),
            calls: count(&tally.calls),
            denied: count(&tally.denied),
            opened: count(&tally.opened),
            committed: count(&tally.committed),
            acquired: count(&tally.acquired),
            ended: count(&tally.ended),
            troubles: self.troubles(),
        })
    }
}
