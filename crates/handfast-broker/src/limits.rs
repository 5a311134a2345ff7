//! How much a peer may cost.

use std::time::Duration;

/// Limits of a broker. Each has a default that suits one machine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections of one user.
    pub connections_per_user: usize,
    /// Leases in all.
    pub leases: usize,
    /// Leases of one user.
    pub leases_per_user: usize,
    /// Drafts that were begun and not committed, on one connection.
    pub drafts: usize,
    /// Bytes reserved by the drafts of one user.
    pub draft_bytes_per_user: u64,
    /// The largest draft.
    pub draft_bytes: u64,
    /// How long a message may take to arrive once it was begun, and an answer to be taken.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_user: 512,
            leases: 50_000,
            leases_per_user: 20_000,
            drafts: 64,
            draft_bytes_per_user: 256 << 20,
            draft_bytes: 64 << 20,
            patience: Duration::from_secs(10),
        }
    }
}
