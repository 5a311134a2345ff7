//! Files under a lease as a victim: a broker in a process of its own, through its client.

use std::io;
use std::path::Path;

use handfast_broker::{Acquire, Client, LeaseFiles};

/// Where the lease of an arena is kept for an accomplice.
const LEASE: &str = "lease";

/// Where the broker of an arena listens: relative to it, so the place of the arena may be of any
/// length.
pub(super) const SOCKET: &str = "sock/broker";

/// Connects and acquires a lease on everything.
pub(super) fn acquire(top: &Path) -> io::Result<LeaseFiles> {
    let mut client = Client::connect(top.join(SOCKET))?;
    let wanted = Acquire::new(["**"], ["read", "write"])
        .bind("user")
        .ttl(3600);
    let lease = client.acquire(&wanted).map_err(io::Error::other)?.lease_id;
    std::fs::write(top.join(LEASE), &lease)?;
    Ok(LeaseFiles::new(client, lease)?)
}

/// Connects under the lease that the arena has.
pub(super) fn join(top: &Path) -> io::Result<LeaseFiles> {
    let client = Client::connect(top.join(SOCKET))?;
    let lease = std::fs::read_to_string(top.join(LEASE))?;
    Ok(LeaseFiles::new(client, lease)?)
}
