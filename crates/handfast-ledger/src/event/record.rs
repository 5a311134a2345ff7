//! One event.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::clock::Moment;
use super::details::{
    Assurance, Clock, Digests, Entry, Fold, Gap, Io, Lease, Object, Parent, Policy, Recovery,
    Retention, Rotation, Start, Stop, Trace, Workload,
};
use super::kind::EventKind;
use super::text::{Bytes, U64, bytes_of};
use super::write::Put;
use crate::error::{Error, ErrorKind};
use crate::time::rfc3339;

/// The longest event: lengths in a tile have 16 bits.
pub const MAX_EVENT: usize = 65_535;

/// The version of the schema; the number that every event begins with.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SchemaVersion;

impl Serialize for SchemaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for SchemaVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(D::Error::custom(format!("events of version {other}"))),
        }
    }
}

/// Where in an operation an event stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseField {
    /// The only event.
    Single,
    /// Before a change.
    Intent,
    /// What a tree operation touched.
    Entries,
    /// After a change.
    Result,
}

/// Exactly what was asked.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request<'a> {
    /// The path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    /// The path, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Cow<'a, str>>,
    /// How it was to be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<Cow<'a, str>>,
}

/// The root it was asked of.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootField<'a> {
    /// Device.
    pub dev: U64,
    /// Inode.
    pub ino: U64,
    /// Mount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mnt: Option<U64>,
    /// Its name in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// The second path of a rename, link or copy.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination<'a> {
    /// The path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    /// The path, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Cow<'a, str>>,
}

/// What was decided.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionField<'a> {
    /// Whether it was allowed.
    pub allow: bool,
    /// The kind of the error the caller gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'a, str>>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// Which rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Cow<'a, str>>,
    /// Under which policy, if not the one that the last `policy.load` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<Cow<'a, str>>,
}

/// How it ended.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultField<'a> {
    /// Whether it was done.
    pub ok: bool,
    /// The kind of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'a, str>>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// The system's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// How many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<U64>,
}

/// One event, as it is written and read. What is not said is not there.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record<'a> {
    /// Always 1.
    pub v: SchemaVersion,
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// Where in the operation it stands.
    pub phase: PhaseField,
    /// Joins the events of one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<Cow<'a, str>>,
    /// By the wall clock, RFC 3339 with nanoseconds.
    pub t_wall: Cow<'a, str>,
    /// Nanoseconds since the machine was started.
    pub t_mono_ns: U64,
    /// What was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req: Option<Request<'a>>,
    /// The path in the session's own namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpath: Option<Cow<'a, str>>,
    /// Of which root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootField<'a>>,
    /// Where the name was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent<'a>>,
    /// What was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Object<'a>>,
    /// The second path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Destination<'a>>,
    /// The content before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digests<'a>>,
    /// Writes that were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<Io>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wl: Option<Workload<'a>>,
    /// Under which grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease<'a>>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionField<'a>>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultField<'a>>,
    /// How strong the claim is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assure: Option<Assurance<'a>>,
    /// The caller's own trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace<'a>>,
    /// Repeated refusals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Fold<'a>>,
    /// Of `log.start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start<'a>>,
    /// Of `log.stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop<'a>>,
    /// Of `policy.load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy<'a>>,
    /// Of `key.rotate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotate: Option<Rotation<'a>>,
    /// Of `gap` and `rollback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap<'a>>,
    /// Of `recovered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Of `clock.step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock<'a>>,
    /// Of `retention.set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention<'a>>,
    /// What a tree operation touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Record<'a> {
    /// An event of which only kind, phase and time are known.
    #[must_use]
    pub fn new(kind: EventKind, phase: PhaseField, now: Moment) -> Self {
        Self {
            v: SchemaVersion,
            kind,
            phase,
            op_id: None,
            t_wall: Cow::Owned(rfc3339(now.wall_ns)),
            t_mono_ns: U64(now.boot_ns),
            req: None,
            vpath: None,
            root: None,
            parent: None,
            obj: None,
            dst: None,
            digest: None,
            io: None,
            wl: None,
            lease: None,
            decision: None,
            result: None,
            assure: None,
            trace: None,
            fold: None,
            start: None,
            stop: None,
            policy: None,
            rotate: None,
            gap: None,
            recovery: None,
            clock: None,
            retention: None,
            entries: Vec::new(),
        }
    }

    /// An event about the log itself, now.
    #[must_use]
    pub fn about_log(kind: EventKind) -> Self {
        Self::new(kind, PhaseField::Single, Moment::now())
    }

    /// The bytes of the leaf.
    ///
    /// # Errors
    /// `TooLarge` if they are more than 65,535.
    pub fn to_leaf(&self) -> Result<Vec<u8>, Error> {
        let mut leaf = Vec::with_capacity(768);
        self.put(&mut leaf);
        if leaf.len() > MAX_EVENT {
            let detail = format!(
                "the event has {} bytes, {MAX_EVENT} are possible",
                leaf.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        Ok(leaf)
    }

    /// Reads a leaf. Unknown fields, types and versions are refused.
    ///
    /// # Errors
    /// `Invalid` if it is not an event of this version.
    pub fn parse(leaf: &'a [u8]) -> Result<Self, Error> {
        serde_json::from_slice(leaf)
            .map_err(|error| Error::invalid(format!("not an event of version 1: {error}")))
    }

    /// Whether it is a refusal, or something that failed.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.decision
            .as_ref()
            .is_some_and(|decision| !decision.allow)
            || self.result.as_ref().is_some_and(|result| !result.ok)
    }

    /// The path that was asked for.
    #[must_use]
    pub fn path_bytes(&self) -> Option<Vec<u8>> {
        let request = self.req.as_ref()?;
        bytes_of(request.path.as_ref(), request.path_b64.as_ref())
    }

    /// The second path.
    #[must_use]
    pub fn destination_bytes(&self) -> Option<Vec<u8>> {
        let destination = self.dst.as_ref()?;
        bytes_of(destination.path.as_ref(), destination.path_b64.as_ref())
    }
}

impl<'a> Request<'a> {
    /// Of a path.
    #[must_use]
    pub fn of(path: &'a [u8]) -> Self {
        let Bytes { text, base64 } = Bytes::new(path);
        Self {
            path: text,
            path_b64: base64,
            flags: None,
        }
    }
}

impl<'a> Destination<'a> {
    /// Of a path.
    #[must_use]
    pub fn of(path: &'a [u8]) -> Self {
        let Bytes { text, base64 } = Bytes::new(path);
        Self {
            path: text,
            path_b64: base64,
        }
    }
}
