//! `[limits]`: how much the users of a broker may cost.

use std::time::Duration;

use super::size;
use super::table::Keys;
use crate::error::Error;

/// Limits of a broker that a policy sets; nothing where it keeps the usual one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections in all.
    pub connections: Option<u64>,
    /// Connections that only the broker's own user and root may use.
    pub reserved_connections: Option<u64>,
    /// Connections of one user.
    pub connections_per_user: Option<u64>,
    /// Connections of one user that no rule speaks of.
    pub connections_per_stranger: Option<u64>,
    /// How long a connection may be silent.
    pub idle: Option<Duration>,
    /// Leases in all.
    pub leases: Option<u64>,
    /// Leases of one user.
    pub leases_per_user: Option<u64>,
    /// How long a file that was begun may wait to be committed.
    pub draft_idle: Option<Duration>,
    /// Bytes of the log for the refusals of one user, before they are counted.
    pub refusal_bytes: Option<u64>,
}

impl Limits {
    pub(super) fn read(mut keys: Keys) -> Result<Self, Error> {
        let time = "a time, such as \"30s\", \"10m\" or \"1h\"";
        let bytes = "a size, such as \"64KiB\"";
        let duration = |seconds: Option<u64>| seconds.map(Duration::from_secs);
        let limits = Self {
            connections: keys.integer("connections")?,
            reserved_connections: keys.integer("reserved_connections")?,
            connections_per_user: keys.integer("connections_per_user")?,
            connections_per_stranger: keys.integer("connections_per_stranger")?,
            idle: duration(keys.measured("idle", size::seconds, time)?),
            leases: keys.integer("leases")?,
            leases_per_user: keys.integer("leases_per_user")?,
            draft_idle: duration(keys.measured("draft_idle", size::seconds, time)?),
            refusal_bytes: keys.measured("refusal_bytes", size::bytes, bytes)?,
        };
        keys.finish(&[
            "connections",
            "reserved_connections",
            "connections_per_user",
            "connections_per_stranger",
            "idle",
            "leases",
            "leases_per_user",
            "draft_idle",
            "refusal_bytes",
        ])?;
        Ok(limits)
    }
}
