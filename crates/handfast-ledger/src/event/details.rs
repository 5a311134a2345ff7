//! The parts of an event.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::text::{U64, bytes_of};

/// The directory that held the name.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parent<'a> {
    /// Device.
    pub dev: U64,
    /// Inode.
    pub ino: U64,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub btime: Option<Cow<'a, str>>,
    /// The name in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// The name, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_b64: Option<Cow<'a, str>>,
}

/// The object that was reached.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object<'a> {
    /// Device.
    pub dev: U64,
    /// Inode.
    pub ino: U64,
    /// The mount it was reached through, if it is not the root's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mnt: Option<U64>,
    /// When it was made; tells a reused inode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub btime: Option<Cow<'a, str>>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    /// Permission bits, octal.
    pub mode: Cow<'a, str>,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// How many names it has.
    pub nlink: U64,
    /// Its size in bytes.
    pub size: U64,
}

/// One entry that a tree operation touched.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry<'a> {
    /// The path below the operation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    /// The path, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Cow<'a, str>>,
    /// What it was.
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
}

/// The content of an object.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest<'a> {
    /// `sha256`.
    pub alg: Cow<'a, str>,
    /// In base64.
    pub value: Cow<'a, str>,
    /// How many bytes.
    pub size: U64,
    /// `full`, `brokered`, `fsverity`, `none`.
    pub method: Cow<'a, str>,
    /// Whether nothing changed while it was read.
    pub stable: bool,
}

/// The content before and after.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digests<'a> {
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest<'a>>,
    /// After.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest<'a>>,
}

/// Writes that were seen.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Where.
    pub offset: U64,
    /// How much.
    pub len: U64,
    /// How many calls.
    pub count: U64,
}

/// Who asked, and how that is known.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload<'a> {
    /// The name the root was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Cow<'a, str>>,
    /// One run of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
    /// Its identity in a mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spiffe_id: Option<Cow<'a, str>>,
    /// The process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When that process began, in clock ticks; a pid alone is reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<U64>,
    /// Its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    /// Its control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_id: Option<U64>,
    /// Its program, as the kernel names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<Cow<'a, str>>,
    /// How it was identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Cow<'a, str>>,
}

/// The grant it was done under.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease<'a> {
    /// Which lease.
    pub id: Cow<'a, str>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Cow<'a, str>>,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Cow<'a, str>>,
    /// The store's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<U64>,
}

/// How strong the claim is; what is absent is the weakest.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assurance<'a> {
    /// Who walked the path: `kernel` or `walk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Cow<'a, str>>,
    /// `brokered`, `sealed` or `opaque`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Cow<'a, str>>,
    /// `strict` or `buffered`; not there for what was written as at `ordered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Cow<'a, str>>,
}

/// The caller's own trace.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace<'a> {
    /// The trace.
    pub trace_id: Cow<'a, str>,
    /// The span.
    pub span_id: Cow<'a, str>,
}

/// Repeated refusals that were counted instead of written.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fold<'a> {
    /// How many.
    pub count: U64,
    /// When the first of them came.
    pub since: Cow<'a, str>,
    /// `same`, or `various` where only the actor is the same.
    pub paths: Cow<'a, str>,
}

/// `log.start`: what writes, under which promise.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start<'a> {
    /// The version of events.
    pub schema: u32,
    /// The key that signs.
    pub vkey: Cow<'a, str>,
    /// `strict` or `ordered`.
    pub level: Cow<'a, str>,
    /// Name and version.
    pub software: Cow<'a, str>,
    /// The program's digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_sha256: Option<Cow<'a, str>>,
    /// This start of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<Cow<'a, str>>,
    /// Its kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Cow<'a, str>>,
    /// The policy in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<Cow<'a, str>>,
    /// The last checkpoint of the log before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Cow<'a, str>>,
}

/// `log.stop`: why nothing follows.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop<'a> {
    /// `closed` or `no-space`.
    pub reason: Cow<'a, str>,
}

/// `policy.load`: which policy is in force.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy<'a> {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    /// Its digest.
    pub sha256: Cow<'a, str>,
}

/// `key.rotate`: who signs next.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation<'a> {
    /// The next key.
    pub next_vkey: Cow<'a, str>,
}

/// `gap` and `rollback`: what is missing.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap<'a> {
    /// How many events, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<U64>,
    /// Why.
    pub reason: Cow<'a, str>,
    /// The last checkpoint that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Cow<'a, str>>,
}

/// `recovered`: what was found after a crash.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// Bytes of a torn write that were dropped; nobody was answered for them at `strict`.
    pub dropped_bytes: U64,
    /// Events that were written and not yet signed.
    pub unsigned_events: U64,
}

/// `clock.step`: by how much the wall clock jumped.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock<'a> {
    /// Nanoseconds, signed.
    pub by_ns: Cow<'a, str>,
}

/// `retention.set`: what is dropped, by which rule.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention<'a> {
    /// The first event that is kept.
    pub min_index: U64,
    /// The rule, in words.
    pub policy: Cow<'a, str>,
}

/// The same text without a copy of it.
fn lent<'b>(text: Option<&'b Cow<'_, str>>) -> Option<Cow<'b, str>> {
    text.map(|text| Cow::Borrowed(&**text))
}

impl Workload<'_> {
    /// The same without a copy of its texts: it is in every event.
    pub(crate) fn lend(&self) -> Workload<'_> {
        Workload {
            agent_id: lent(self.agent_id.as_ref()),
            run_id: lent(self.run_id.as_ref()),
            spiffe_id: lent(self.spiffe_id.as_ref()),
            pid: self.pid,
            start_time: self.start_time,
            uid: self.uid,
            gid: self.gid,
            cgroup_id: self.cgroup_id,
            exe: lent(self.exe.as_ref()),
            auth: lent(self.auth.as_ref()),
        }
    }
}

impl Lease<'_> {
    /// The same without a copy of its texts.
    pub(crate) fn lend(&self) -> Lease<'_> {
        Lease {
            id: Cow::Borrowed(&*self.id),
            expires: lent(self.expires.as_ref()),
            purpose: lent(self.purpose.as_ref()),
            fence: self.fence,
        }
    }
}

impl Entry<'_> {
    /// The path as bytes.
    #[must_use]
    pub fn path_bytes(&self) -> Option<Vec<u8>> {
        bytes_of(self.path.as_ref(), self.path_b64.as_ref())
    }
}

impl Parent<'_> {
    /// The name as bytes.
    #[must_use]
    pub fn name_bytes(&self) -> Option<Vec<u8>> {
        bytes_of(self.name.as_ref(), self.name_b64.as_ref())
    }
}

impl Object<'_> {
    /// The object whatever its name: `dev:ino@btime`, the form that queries take.
    #[must_use]
    pub fn handle(&self) -> String {
        let (dev, ino) = (self.dev.0, self.ino.0);
        match &self.btime {
            Some(btime) => format!("{dev:x}:{ino}@{btime}"),
            None => format!("{dev:x}:{ino}"),
        }
    }
}
