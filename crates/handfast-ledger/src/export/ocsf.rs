//! OCSF, class 1001 (File System Activity), at a released version.
//!
//! What OCSF has no field for is in `unmapped`, the whole event among it. No claim is made
//! about OCSF's own signature semantics.

use handfast::{Verb, escape};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::event::{EventKind, Record};
use crate::note::hex;
use crate::time::milliseconds;

/// The version of OCSF that is written.
pub const OCSF_VERSION: &str = "1.5.0";

const CLASS: u32 = 1001;

/// One event; `None` for those about the log itself, which are no file activity.
#[must_use]
pub fn ocsf(origin: &str, index: u64, leaf: &[u8]) -> Option<Value> {
    let record = Record::parse(leaf).ok()?;
    let EventKind::Verb(verb) = record.kind else {
        return None;
    };
    let (activity, activity_name) = activity(verb);
    let denied = record.is_denied();
    let path = record.path_bytes().unwrap_or_default();
    let mut file = Map::new();
    let display = escape(&path);
    let name = escape(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
    file.insert("name".into(), json!(name));
    file.insert("path".into(), json!(display));
    let kind = record.obj.as_ref().map_or("", |object| &*object.kind);
    file.insert("type_id".into(), json!(type_id(kind)));
    if let Some(object) = &record.obj {
        file.insert("uid".into(), json!(object.handle()));
        if let Ok(size) = i64::try_from(object.size.0) {
            file.insert("size".into(), json!(size));
        }
    }
    let mut actor = Map::new();
    let mut process = Map::new();
    let workload = record.wl.clone().unwrap_or_default();
    process.insert("pid".into(), json!(workload.pid.unwrap_or(0)));
    process.insert(
        "name".into(),
        json!(
            workload
                .agent_id
                .as_deref()
                .map(|name| escape(name.as_bytes()))
                .unwrap_or_default()
        ),
    );
    actor.insert("process".into(), Value::Object(process));
    if let Some(uid) = workload.uid {
        actor.insert("user".into(), json!({"uid": uid.to_string()}));
    }
    let why = record
        .decision
        .as_ref()
        .and_then(|decision| decision.why.as_deref())
        .or(record
            .result
            .as_ref()
            .and_then(|result| result.why.as_deref()));
    let digest: [u8; 32] = Sha256::digest(leaf).into();
    let event: Value = serde_json::from_slice(leaf).ok()?;
    let mut found = json!({
        "class_uid": CLASS,
        "class_name": "File System Activity",
        "category_uid": 1,
        "category_name": "System Activity",
        "activity_id": activity,
        "activity_name": activity_name,
        "type_uid": u64::from(CLASS) * 100 + activity,
        "time": milliseconds(&record.t_wall),
        "severity_id": if denied { 2 } else { 1 },
        "status_id": if denied { 2 } else { 1 },
        "action_id": if denied { 2 } else { 1 },
        "disposition_id": if denied { 2 } else { 1 },
        "metadata": {
            "version": OCSF_VERSION,
            "product": {"name": "Handfast", "vendor_name": "Handfast"},
            "profiles": ["host", "security_control"],
            "uid": format!("{origin}#{index}"),
            "sequence": index,
        },
        "device": {"type_id": 0, "hostname": origin.split('/').nth(1).unwrap_or_default()},
        "actor": actor,
        "file": file,
        "unmapped": {
            "handfast": event,
            "leaf_sha256": hex(&digest),
            "origin": origin,
        },
    });
    if let Some(why) = why {
        found["status_detail"] = json!(escape(why.as_bytes()));
    }
    if let Some(op_id) = &record.op_id {
        found["metadata"]["correlation_uid"] = json!(op_id);
    }
    if let Some(path) = record.destination_bytes() {
        let name = escape(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
        found["file_result"] =
            json!({"name": name, "path": escape(&path), "type_id": type_id(kind)});
    }
    Some(found)
}

fn activity(verb: Verb) -> (u64, &'static str) {
    match verb {
        Verb::Open | Verb::OpenWrite | Verb::OpenDir => (14, "Open"),
        Verb::Read
        | Verb::ReadDir
        | Verb::Walk
        | Verb::ReadLink
        | Verb::Metadata
        | Verb::Version
        | Verb::GetXattr
        | Verb::ListXattr
        | Verb::Resolve => (2, "Read"),
        Verb::WriteNew
        | Verb::CreateDir
        | Verb::CreateDirAll
        | Verb::Copy
        | Verb::CopyTree
        | Verb::Symlink
        | Verb::HardLink
        | Verb::TempFile
        | Verb::TempDir
        | Verb::Extract => (1, "Create"),
        Verb::Write | Verb::WriteIf | Verb::Append => (3, "Update"),
        Verb::RemoveFile | Verb::RemoveDir | Verb::RemoveTree | Verb::RemoveIf => (4, "Delete"),
        Verb::Rename => (5, "Rename"),
        Verb::SetTimes | Verb::SetXattr | Verb::RemoveXattr => (6, "Set Attributes"),
        Verb::Chmod | Verb::Chown => (7, "Set Security"),
        _ => (99, "Other"),
    }
}

fn type_id(kind: &str) -> u32 {
    match kind {
        "file" => 1,
        "dir" => 2,
        "char" => 3,
        "block" => 4,
        "fifo" => 5,
        "socket" => 6,
        "symlink" => 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_type() {
        for verb in Verb::ALL {
            let leaf = Record::about_log(EventKind::Verb(*verb)).to_leaf().unwrap();
            let value = ocsf("a/b/c", 1, &leaf).unwrap();
            assert_eq!(value["type_uid"], json!(100_100 + activity(*verb).0));
        }
        let leaf = Record::about_log(EventKind::LogStart).to_leaf().unwrap();
        assert!(ocsf("a", 0, &leaf).is_none());
    }
}
