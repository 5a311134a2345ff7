//! What a client asks for and gets, in its own types.

use std::fs::File;

use serde::{Deserialize, Serialize};

use crate::wire::{Big, PathField};

/// A lease to ask for.
#[derive(Clone, Debug, Default, Serialize)]
#[must_use]
pub struct Acquire {
    paths: Vec<String>,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_opens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tether: bool,
}

impl Acquire {
    /// Patterns of paths and verbs (`read`, `write`, or single ones). Bound to this process,
    /// unless the policy says otherwise.
    pub fn new<P: Into<String>, V: Into<String>>(
        paths: impl IntoIterator<Item = P>,
        verbs: impl IntoIterator<Item = V>,
    ) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// For so many seconds.
    pub fn ttl(mut self, seconds: u64) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// What the lease is for; the log has it.
    pub fn purpose(mut self, text: impl Into<String>) -> Self {
        self.purpose = Some(text.into());
        self
    }

    /// A name for the task; a part of the lease's id.
    pub fn task(mut self, name: impl Into<String>) -> Self {
        self.task = Some(name.into());
        self
    }

    /// For so many opens and begins in all.
    pub fn max_opens(mut self, count: u64) -> Self {
        self.max_opens = Some(count);
        self
    }

    /// Bound to `process`, `cgroup` or `user`.
    pub fn bind(mut self, word: impl Into<String>) -> Self {
        self.bind = Some(word.into());
        self
    }

    /// Below another lease: narrower, and gone with it.
    pub fn parent(mut self, lease_id: impl Into<String>) -> Self {
        self.parent = Some(lease_id.into());
        self
    }

    /// Ends with this process too, also if others may use it.
    pub fn tethered(mut self) -> Self {
        self.tether = true;
        self
    }
}

/// A lease that was given.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Acquired {
    /// The id. It is given once. Any process of the user that has it may use a lease that is bound to the user.
    pub lease_id: String,
    /// Seconds.
    pub lease_duration: u64,
    /// Whether it can be made longer.
    pub renewable: bool,
    /// The rest.
    pub lease: LeaseInfo,
}

/// A lease that was made to be handed on.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Exported {
    /// Any process that has it may use the lease.
    pub token: String,
    /// The lease; its handle ends it.
    pub lease: LeaseInfo,
}

/// Something that was refused.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Denial {
    /// When last.
    pub time: String,
    /// To whom.
    pub uid: u32,
    /// By its number, which may be another's by now.
    pub pid: u32,
    /// The handle of the lease that was presented.
    pub lease: Option<String>,
    /// What was asked for.
    pub verb: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// Why not.
    pub why: String,
    count: Big,
}

impl Denial {
    /// Which path.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        PathField::bytes(self.path.clone(), self.path_b64.clone()).unwrap_or_default()
    }

    /// How often in a row.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.0
    }
}

/// A lease as it is shown.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct LeaseInfo {
    /// Its public name.
    pub handle: String,
    /// The lease above it.
    pub parent: Option<String>,
    /// Whose it is.
    pub uid: u32,
    /// `process`, `cgroup` or `user`.
    pub bind: String,
    /// The process it ends with.
    pub pid: Option<u32>,
    /// Patterns of paths.
    pub paths: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// What for.
    pub purpose: Option<String>,
    /// When it was given.
    pub issue_time: String,
    /// When it ends.
    pub expire_time: String,
    /// When it was last made longer.
    pub last_renewal: Option<String>,
    /// Seconds that are left.
    pub ttl: u64,
    /// Whether it can be made longer.
    pub renewable: bool,
    max_opens: Option<Big>,
    opens: Big,
    outstanding: Big,
}

impl LeaseInfo {
    /// How many opens it allows in all.
    #[must_use]
    pub fn max_opens(&self) -> Option<u64> {
        self.max_opens.map(|count| count.0)
    }

    /// How many were made.
    #[must_use]
    pub fn opens(&self) -> u64 {
        self.opens.0
    }

    /// How many descriptors were handed out under it.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.outstanding.0
    }
}

/// A descriptor that cannot be taken back.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Outstanding {
    /// Under which lease.
    pub handle: String,
    path: Option<String>,
    path_b64: Option<String>,
    /// `read` or `write`.
    pub mode: String,
    /// Which object.
    pub object: String,
    count: Big,
    /// Who got the last one.
    pub pid: Option<u32>,
}

impl Outstanding {
    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        PathField::bytes(self.path.clone(), self.path_b64.clone()).unwrap_or_default()
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.0
    }
}

/// What ended.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Revoked {
    /// How many leases.
    pub ended: u64,
    /// What may still be open.
    pub outstanding: Vec<Outstanding>,
    /// Why the end is not kept in the store or noted in the log, if it is not. The leases have ended
    /// all the same; what the store did not take would come back with a restart, until it takes it.
    pub unkept: Option<String>,
}

/// A file that was opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// It.
    pub file: File,
    /// Which object it is, whatever its name.
    pub handle: String,
    /// Its size when it was opened.
    pub size: u64,
    /// Which version, where that was asked for.
    pub version: Option<String>,
    /// Whether the file is a copy that nobody can write. The broker hands one out where the caller's
    /// own rights let it write the file; later changes do not show in it.
    pub is_copy: bool,
}

/// Facts about an object.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Stat {
    /// `file`, `dir`, …
    pub kind: String,
    /// Permission bits, octal.
    pub mode: String,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    size: Big,
    /// Which object it is.
    pub handle: String,
    /// When its content last changed.
    pub modified: String,
    /// Which version, of a file.
    pub version: Option<String>,
}

impl Stat {
    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size.0
    }
}

/// An entry of a directory or a tree.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    name: Option<String>,
    name_b64: Option<String>,
    /// `file`, `dir`, …
    pub kind: String,
}

impl Entry {
    /// Its name, or its path below the top of a walk.
    #[must_use]
    pub fn name(&self) -> Vec<u8> {
        PathField::bytes(self.name.clone(), self.name_b64.clone()).unwrap_or_default()
    }
}
