//! A lease as it is shown.

use handfast_ledger::event::rfc3339;
use serde::Serialize;

use crate::clock;
use crate::lease::{Bound, Lease};
use crate::wire::{Big, PathField, path_field};

/// A lease, without its id.
#[derive(Debug, Serialize)]
pub(crate) struct LeaseView<'a> {
    handle: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    uid: u32,
    bind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    paths: &'a [String],
    verbs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'a str>,
    issue_time: String,
    expire_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_renewal: Option<String>,
    /// Seconds that are left.
    ttl: u64,
    renewable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_opens: Option<Big>,
    opens: Big,
    outstanding: Big,
}

impl<'a> LeaseView<'a> {
    pub(crate) fn of(lease: &'a Lease) -> Self {
        let record = &lease.record;
        let expires = lease.expires_ns();
        let left = expires.saturating_sub(clock::now_ns());
        let out = lease.outstanding.lock();
        let out = out.unwrap_or_else(std::sync::PoisonError::into_inner);
        Self {
            handle: record.handle.as_str(),
            parent: record.parent.as_ref().map(|parent| parent.as_str()),
            uid: record.uid,
            bind: record.bound.name(),
            pid: match (record.bound, record.tether) {
                (Bound::Process(process), _) | (_, Some(process)) => Some(process.pid),
                _ => None,
            },
            paths: &record.paths,
            verbs: &record.verbs,
            purpose: record.purpose.as_deref(),
            issue_time: rfc3339(record.issued_wall_ns.into()),
            expire_time: rfc3339(clock::wall_of(expires)),
            last_renewal: lease.renewed_wall_ns().map(|time| rfc3339(time.into())),
            ttl: left.div_ceil(1_000_000_000),
            renewable: record.limit_ns > expires,
            max_opens: record.max_opens.map(Big),
            opens: Big(lease.opens()),
            outstanding: Big(out.count()),
        }
    }
}

/// A descriptor that cannot be taken back.
#[derive(Debug, Serialize)]
pub(crate) struct OutstandingView {
    handle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    mode: &'static str,
    object: String,
    count: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

/// What may still be open under a lease.
pub(crate) fn outstanding_of(lease: &Lease) -> Vec<OutstandingView> {
    let out = lease.outstanding.lock();
    let out = out.unwrap_or_else(std::sync::PoisonError::into_inner);
    out.iter()
        .filter(|given| given.may_be_open())
        .map(|given| {
            let PathField { text, base64 } = path_field(given.path.as_rel().as_bytes());
            OutstandingView {
                handle: lease.record.handle.as_str().to_owned(),
                path: text,
                path_b64: base64,
                mode: given.mode.name(),
                object: given.object.clone(),
                count: Big(given.count),
                pid: given.to.map(|process| process.pid),
            }
        })
        .collect()
}
