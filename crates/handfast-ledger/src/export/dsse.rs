//! DSSE envelopes with an in-toto statement: what was read and written under each lease.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::{Verb, escape};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, PhaseField, Record};
use crate::merkle::Hash;
use crate::note::{Signer, hex};
use crate::reader::LogReader;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

#[derive(Default)]
struct DsseResult {
    read: BTreeMap<String, u64>,
    changed: BTreeMap<String, u64>,
    denied: u64,
    leaves: Vec<(u64, Hash)>,
}

/// One signed envelope for every lease; events without a lease are together under `none`.
///
/// The subjects are the events themselves, by the hashes of their leaves: content is named by a
/// digest only where the log has one.
///
/// # Errors
/// If the log cannot be read, or the signer refuses.
pub fn dsse(log: &LogReader, signer: &dyn Signer) -> Result<Vec<Value>, Error> {
    let mut leases: BTreeMap<String, DsseResult> = BTreeMap::new();
    log.for_each(0, |index, leaf| {
        let Ok(record) = Record::parse(leaf) else {
            return Ok(ControlFlow::Continue(()));
        };
        let EventKind::Verb(verb) = record.kind else {
            return Ok(ControlFlow::Continue(()));
        };
        let lease = record.lease.as_ref().map_or("none", |lease| &*lease.id);
        let done = leases.entry(lease.to_owned()).or_default();
        done.leaves.push((index, Hash::leaf(leaf)));
        if record.is_denied() {
            done.denied += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let path = record
            .path_bytes()
            .map(|path| escape(&path))
            .unwrap_or_default();
        let ended = record.phase == PhaseField::Result;
        if verb.changes() && ended {
            *done.changed.entry(path).or_default() += 1;
        } else if matches!(verb, Verb::Open | Verb::Read) {
            *done.read.entry(path).or_default() += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    leases
        .iter()
        .map(|(lease, done)| envelope(&log.origin(), lease, done, signer))
        .collect()
}

fn envelope(
    origin: &str,
    lease: &str,
    done: &DsseResult,
    signer: &dyn Signer,
) -> Result<Value, Error> {
    let subject: Vec<_> = done
        .leaves
        .iter()
        .map(|(index, hash)| {
            json!({"name": format!("{origin}#{index}"), "digest": {"sha256": hex(&hash.0)}})
        })
        .collect();
    let list = |paths: &BTreeMap<String, u64>| -> Vec<Value> {
        let entries = paths.iter();
        entries
            .map(|(path, count)| json!({"path": path, "count": count.to_string()}))
            .collect()
    };
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://github.com/handfast/handfast/file-activity/v1",
        "predicate": {
            "origin": origin,
            "lease": lease,
            "read": list(&done.read),
            "changed": list(&done.changed),
            "denied": done.denied.to_string(),
        },
    });
    let payload = statement.to_string();
    // DSSE's pre-authentication encoding; another domain than notes by its first bytes.
    let mut message = format!(
        "DSSEv1 {} {PAYLOAD_TYPE} {} ",
        PAYLOAD_TYPE.len(),
        payload.len()
    )
    .into_bytes();
    message.extend_from_slice(payload.as_bytes());
    let signature = signer
        .sign(&message)
        .map_err(|error| Error::new(ErrorKind::Key, error.to_string()))?;
    Ok(json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(payload),
        "signatures": [{"keyid": hex(&signer.key_id()), "sig": STANDARD.encode(signature)}],
    }))
}
