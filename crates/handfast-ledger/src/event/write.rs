//! Writes an event as JSON, straight into its bytes.
//!
//! Every allowed open waits for this, so it is written by hand: names are known with their quotes,
//! numbers need no detour, and most strings need no escape. What comes out is byte for byte what
//! `serde_json` makes of the same event (there is a test), and a field that is missing here does
//! not compile.

use std::borrow::Cow;

use super::details::{
    Assurance, Clock, Digest, Digests, Entry, Fold, Gap, Io, Lease, Object, Parent, Policy,
    Recovery, Retention, Rotation, Start, Stop, Trace, Workload,
};
use super::kind::EventKind;
use super::record::{
    DecisionField, Destination, PhaseField, Record, Request, ResultField, RootField, SchemaVersion,
};
use super::text::{U64, decimal};

/// Something that is in an event.
pub(super) trait Put {
    /// Writes it.
    fn put(&self, json: &mut Vec<u8>);

    /// Writes it behind its name, which has quotes and a colon, and a comma behind it. What is not
    /// there has no name either.
    fn put_named(&self, name: &str, json: &mut Vec<u8>) {
        json.extend_from_slice(name.as_bytes());
        self.put(json);
        json.push(b',');
    }
}

impl<T: Put> Put for Option<T> {
    fn put(&self, json: &mut Vec<u8>) {
        if let Some(value) = self {
            value.put(json);
        }
    }

    fn put_named(&self, name: &str, json: &mut Vec<u8>) {
        if let Some(value) = self {
            value.put_named(name, json);
        }
    }
}

impl<T: Put> Put for Vec<T> {
    fn put(&self, json: &mut Vec<u8>) {
        json.push(b'[');
        for value in self {
            value.put(json);
            json.push(b',');
        }
        close(json, b']');
    }

    fn put_named(&self, name: &str, json: &mut Vec<u8>) {
        if !self.is_empty() {
            json.extend_from_slice(name.as_bytes());
            self.put(json);
            json.push(b',');
        }
    }
}

/// Ends a row whose members have a comma behind them.
fn close(json: &mut Vec<u8>, end: u8) {
    match json.last_mut() {
        Some(last) if *last == b',' => *last = end,
        _ => json.push(end),
    }
}

impl Put for Cow<'_, str> {
    fn put(&self, json: &mut Vec<u8>) {
        put_text(self, json);
    }
}

fn put_text(text: &str, json: &mut Vec<u8>) {
    // Without an early end, so that many bytes are looked at in one step.
    let plain = text.bytes().fold(true, |plain, byte| {
        plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\')
    });
    if plain {
        json.reserve(text.len() + 2);
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    } else {
        let escaped = serde_json::Value::from(text).to_string();
        json.extend_from_slice(escaped.as_bytes());
    }
}

/// A name of our own: letters and dots.
fn put_name(name: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    json.extend_from_slice(name.as_bytes());
    json.push(b'"');
}

impl Put for U64 {
    fn put(&self, json: &mut Vec<u8>) {
        json.push(b'"');
        json.extend_from_slice(decimal(self.0, &mut [0; 20]));
        json.push(b'"');
    }
}

impl Put for u32 {
    fn put(&self, json: &mut Vec<u8>) {
        json.extend_from_slice(decimal(u64::from(*self), &mut [0; 20]));
    }
}

impl Put for i32 {
    fn put(&self, json: &mut Vec<u8>) {
        if *self < 0 {
            json.push(b'-');
        }
        json.extend_from_slice(decimal(u64::from(self.unsigned_abs()), &mut [0; 20]));
    }
}

impl Put for bool {
    fn put(&self, json: &mut Vec<u8>) {
        json.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Put for SchemaVersion {
    fn put(&self, json: &mut Vec<u8>) {
        json.push(b'1');
    }
}

impl Put for EventKind {
    fn put(&self, json: &mut Vec<u8>) {
        put_name(self.name(), json);
    }
}

impl Put for PhaseField {
    fn put(&self, json: &mut Vec<u8>) {
        let name = match self {
            Self::Single => "single",
            Self::Intent => "intent",
            Self::Entries => "entries",
            Self::Result => "result",
        };
        put_name(name, json);
    }
}

/// The members of an object in their order; under another name where one is given.
macro_rules! objects {
    ($($type:ty { $($field:ident $(as $name:literal)?),* $(,)? })*) => {$(
        impl Put for $type {
            fn put(&self, json: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                json.push(b'{');
                $($field.put_named(objects!(@name $field $($name)?), json);)*
                close(json, b'}');
            }
        }
    )*};
    (@name $field:ident) => { concat!("\"", stringify!($field), "\":") };
    (@name $field:ident $name:literal) => { concat!("\"", $name, "\":") };
}

objects! {
    Record<'_> {
        v, kind as "type", phase, op_id, t_wall, t_mono_ns, req, vpath, root, parent, obj, dst, digest,
        io, wl, lease, decision, result, assure, trace, fold, start, stop, policy, rotate, gap, recovery,
        clock, retention, entries,
    }
    Request<'_> { path, path_b64, flags }
    RootField<'_> { dev, ino, mnt, id }
    Destination<'_> { path, path_b64 }
    DecisionField<'_> { allow, kind, why, rule, policy_sha256 }
    ResultField<'_> { ok, kind, why, errno, bytes }
    Parent<'_> { dev, ino, btime, name, name_b64 }
    Object<'_> { dev, ino, mnt, btime, kind as "type", mode, uid, gid, nlink, size }
    Entry<'_> { path, path_b64, kind as "type" }
    Digest<'_> { alg, value, size, method, stable }
    Digests<'_> { before, after }
    Io { offset, len, count }
    Workload<'_> { agent_id, run_id, spiffe_id, pid, start_time, uid, gid, cgroup_id, exe, auth }
    Lease<'_> { id, expires, purpose, fence }
    Assurance<'_> { resolve, visibility, level }
    Trace<'_> { trace_id, span_id }
    Fold<'_> { count, since, paths }
    Start<'_> { schema, vkey, level, software, software_sha256, boot_id, kernel, policy_sha256, previous }
    Stop<'_> { reason }
    Policy<'_> { name, sha256 }
    Rotation<'_> { next_vkey }
    Gap<'_> { events, reason, previous }
    Recovery { dropped_bytes, unsigned_events }
    Clock<'_> { by_ns }
    Retention<'_> { min_index, policy }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Map, Value, json};

    use super::*;

    const SCHEMA: &str = include_str!("../../../../docs/formats/event.schema.json");

    /// A value for a part of the schema, with everything in it that may be there.
    fn whole(schema: &Value, part: &Value, text: &str) -> Value {
        if let Some(name) = part["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            return match name {
                "u64" => json!(u64::MAX.to_string()),
                _ => whole(schema, &schema["$defs"][name], text),
            };
        }
        if let Some(properties) = part["properties"].as_object() {
            let members = properties.iter().map(|(name, part)| match &**name {
                // The only number that may be below zero, and has 31 bits.
                "errno" => (name.clone(), json!(-7)),
                _ => (name.clone(), whole(schema, part, text)),
            });
            return Value::Object(members.collect::<Map<_, _>>());
        }
        if let Some(first) = part["enum"].as_array().and_then(|all| all.first()) {
            return first.clone();
        }
        if !part["const"].is_null() {
            return part["const"].clone();
        }
        match part["type"].as_str() {
            Some("integer") => json!(4_000_000_000_u32),
            Some("boolean") => json!(true),
            Some("array") => {
                let item = whole(schema, &part["items"], text);
                json!([item, item])
            }
            _ => json!(text),
        }
    }

    #[test]
    fn the_bytes_are_those_that_serde_makes() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let texts = [
            "plain",
            "",
            "a\"b\\c\n\u{1b}\u{7f}\u{202e}é\u{0}",
            "\u{1f980}/",
        ];
        for text in texts {
            let full = whole(&schema, &schema, text);
            let members = full.as_object().unwrap();
            assert!(members.len() > 25, "{members:?}");
            let least = ["v", "type", "phase", "t_wall", "t_mono_ns"];
            // Everything, the least, and the least with each of the others.
            let mut all = vec![full.clone()];
            for extra in members.keys() {
                let mut some = members.clone();
                some.retain(|name, _| name == extra || least.contains(&&**name));
                all.push(Value::Object(some));
            }
            for value in all {
                let record = Record::deserialize(&value).unwrap_or_else(|e| panic!("{e}: {value}"));
                let ours = record.to_leaf().unwrap();
                let theirs = serde_json::to_vec(&record).unwrap();
                assert_eq!(
                    String::from_utf8(ours).unwrap(),
                    String::from_utf8(theirs).unwrap()
                );
            }
        }
    }
}
