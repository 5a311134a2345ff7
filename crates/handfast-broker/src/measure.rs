//! For the benchmark alone: the check that every use of a lease begins with, without the socket.

use std::sync::Arc;

use handfast::Verb;
use handfast_session::VirtualPath;

use crate::clock;
use crate::fault::Fault;
use crate::lease::{Bound, Lease, LeaseId, LeaseRecord, LeaseTable, Room};

/// Some leases in a table, and the id of one of them.
#[derive(Debug)]
pub struct LeaseCheck {
    table: LeaseTable,
    id: String,
    path: VirtualPath,
}

impl LeaseCheck {
    /// A table with so many leases.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn new(leases: usize) -> Result<Self, Fault> {
        let table = LeaseTable::new(Room {
            total: leases,
            per_user: leases,
        });
        let mut last = String::new();
        for _ in 0..leases {
            let id = LeaseId::new(1000, "bench").map_err(|why| Fault::parameter("task", why))?;
            let record = LeaseRecord {
                handle: id.handle(),
                parent: None,
                uid: 1000,
                bound: Bound::User,
                tether: None,
                paths: vec!["src/**".to_owned(), "*.md".to_owned()],
                verbs: vec!["read".to_owned()],
                purpose: None,
                max_opens: None,
                opens: 0,
                issued_wall_ns: 0,
                renewed_wall_ns: None,
                expires_ns: u64::MAX,
                limit_ns: u64::MAX,
                boot_id: String::new(),
            };
            table.insert(&Arc::new(Lease::new(record, None, None, 0)?));
            last = id.secret().to_owned();
        }
        Ok(Self {
            table,
            id: last,
            path: VirtualPath::parse("/src/deep/file.rs")?,
        })
    }

    /// Finds a lease by its id and judges one open: in force, verb, path.
    #[must_use]
    pub fn check(&self) -> bool {
        let Some(id) = LeaseId::parse(&self.id) else {
            return false;
        };
        let Some(lease) = self.table.get(&id.handle()) else {
            return false;
        };
        let Ok(held) = lease.hold(clock::now_ns()) else {
            return false;
        };
        held.lease.grants(Verb::Open) && held.lease.covers(&self.path)
    }
}
