//! A lease as it is kept.

use serde::{Deserialize, Serialize};

use super::LeaseHandle;
use crate::identity::ProcessRef;

/// Who may use a lease.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// One process, which is also how long it lasts.
    Process(ProcessRef),
    /// Processes of a control group.
    Cgroup(u64),
    /// Any process of the user that presents the id.
    User,
}

impl Bound {
    /// The word on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process(_) => "process",
            Self::Cgroup(_) => "cgroup",
            Self::User => "user",
        }
    }
}

/// Everything about a lease that outlives the broker. Times are nanoseconds of the boot clock,
/// which no one can set, or of the wall clock where the name says so, for people.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRecord {
    /// Its public name; also the key.
    #[serde(with = "handle_text")]
    pub handle: LeaseHandle,
    /// The lease it was made from.
    #[serde(with = "optional_handle")]
    pub parent: Option<LeaseHandle>,
    /// The user it was given to.
    pub uid: u32,
    /// Who may use it.
    pub bound: Bound,
    /// It ends with this process too, also if others may use it.
    pub tether: Option<ProcessRef>,
    /// Patterns of paths.
    pub paths: Vec<String>,
    /// Verbs, as they were asked for.
    pub verbs: Vec<String>,
    /// What for.
    pub purpose: Option<String>,
    /// How many opens and begins it allows in all.
    pub max_opens: Option<u64>,
    /// How many were made.
    pub opens: u64,
    /// When it was given.
    pub issued_wall_ns: i64,
    /// When it was last made longer.
    pub renewed_wall_ns: Option<i64>,
    /// When it ends.
    pub expires_ns: u64,
    /// When it ends at the latest, however often it is renewed.
    pub limit_ns: u64,
    /// The start of the machine that the boot clock counts from.
    pub boot_id: String,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its time was over.
    Expired,
    /// It was taken away, or its parent was.
    Revoked,
    /// Its holder gave it back.
    Released,
    /// Its holder ended.
    HolderGone,
    /// The machine was started again.
    Rebooted,
}

impl Ended {
    /// The word on the wire and in the store.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Released => "released",
            Self::HolderGone => "holder-gone",
            Self::Rebooted => "rebooted",
        }
    }
}

mod handle_text {
    use super::LeaseHandle;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        handle: &LeaseHandle,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(handle.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<LeaseHandle, D::Error> {
        let text = String::deserialize(deserializer)?;
        LeaseHandle::parse(&text).ok_or_else(|| D::Error::custom("not a lease's handle"))
    }
}

mod optional_handle {
    use super::LeaseHandle;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        handle: &Option<LeaseHandle>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        handle
            .as_ref()
            .map(LeaseHandle::as_str)
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<LeaseHandle>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| {
            LeaseHandle::parse(&text).ok_or_else(|| D::Error::custom("not a lease's handle"))
        })
        .transpose()
    }
}
