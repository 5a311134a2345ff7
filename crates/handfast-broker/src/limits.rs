//! How much a peer may cost.

use std::time::Duration;

use handfast_session::policy;

/// Limits of a broker. Each has a default that suits one machine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections out of these that only the broker's user and root may use, so that nobody
    /// keeps them from revoking.
    pub reserved_connections: usize,
    /// Connections of one user.
    pub connections_per_user: usize,
    /// Connections of one user that no rule speaks of.
    pub connections_per_stranger: usize,
    /// Connections of all such users together.
    pub connections_of_strangers: usize,
    /// How long a connection may be silent. One of a stranger has `patience` for each message.
    pub idle: Duration,
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
    /// How long a file that was begun may wait to be committed.
    pub draft_idle: Duration,
    /// Bytes of the log for the refusals of one user that are told one by one, and how many of
    /// them come back in a second. Refusals beyond are counted.
    pub refusal_bytes: u64,
    /// See `refusal_bytes`.
    pub refusal_bytes_per_second: u64,
    /// How often in a second a user is answered whose refusals are only counted, and one that no
    /// rule speaks of; over all of its connections.
    pub refusals_per_second: u32,
    /// How long a message may take to arrive once it was begun, and an answer to be taken.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            reserved_connections: 16,
            connections_per_user: 512,
            connections_per_stranger: 16,
            connections_of_strangers: 128,
            idle: Duration::from_secs(3600),
            leases: 50_000,
            leases_per_user: 20_000,
            drafts: 64,
            draft_bytes_per_user: 256 << 20,
            draft_bytes: 64 << 20,
            draft_idle: Duration::from_secs(300),
            refusal_bytes: 48 << 10,
            refusal_bytes_per_second: 4 << 10,
            refusals_per_second: 2000,
            patience: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// What a policy says instead.
    pub(crate) fn with_policy(mut self, policy: &policy::Limits) -> Self {
        let set = |limit: &mut usize, said: Option<u64>| {
            if let Some(said) = said {
                *limit = usize::try_from(said).unwrap_or(usize::MAX);
            }
        };
        set(&mut self.connections, policy.connections);
        set(&mut self.reserved_connections, policy.reserved_connections);
        set(&mut self.connections_per_user, policy.connections_per_user);
        set(
            &mut self.connections_per_stranger,
            policy.connections_per_stranger,
        );
        set(&mut self.leases, policy.leases);
        set(&mut self.leases_per_user, policy.leases_per_user);
        self.idle = policy.idle.unwrap_or(self.idle);
        self.draft_idle = policy.draft_idle.unwrap_or(self.draft_idle);
        self.refusal_bytes = policy.refusal_bytes.unwrap_or(self.refusal_bytes);
        self
    }
}
