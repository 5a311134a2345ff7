//! Where leases are kept.
//!
//! The broker decides from what it holds in memory and writes every change through before it is
//! answered. A store that several brokers share implements the same trait: `revision` grows with
//! every change and is in the log as the fence of what was done.

mod memory;
mod sqlite;

use std::fmt;

use crate::lease::{Ended, LeaseHandle, LeaseRecord};

pub use memory::MemoryStore;
pub use sqlite::SqliteStore;

/// A number that grows with every change of the store.
pub type Revision = u64;

/// Keeps leases. An answer means that the change survives the death of the broker.
pub trait LeaseStore: Send + Sync + fmt::Debug {
    /// The leases that have not ended, parents before their children.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn live(&self) -> Result<Vec<LeaseRecord>, StoreError>;

    /// Keeps a new lease.
    ///
    /// # Errors
    /// If it is not kept. It must not be given out then.
    fn insert(&self, record: &LeaseRecord) -> Result<Revision, StoreError>;

    /// Keeps a new end.
    ///
    /// # Errors
    /// If it is not kept. The old end holds then.
    fn extend(
        &self,
        handle: &LeaseHandle,
        expires_ns: u64,
        renewed_wall_ns: i64,
    ) -> Result<Revision, StoreError>;

    /// Keeps how many opens were made.
    ///
    /// # Errors
    /// If it is not kept. Nothing may be opened then.
    fn count_opens(&self, handle: &LeaseHandle, opens: u64) -> Result<Revision, StoreError>;

    /// Keeps that leases have ended.
    ///
    /// # Errors
    /// If it is not kept. The broker holds them for ended all the same while it runs, and says so.
    fn end(&self, handles: &[LeaseHandle], how: Ended) -> Result<Revision, StoreError>;
}

/// Why a store did not do it.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another broker has it.
    Locked,
    /// What is there is not what was written.
    Corrupt(String),
    /// What the disk or the database says.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked => f.write_str("another broker uses this lease store"),
            Self::Corrupt(why) => write!(f, "the lease store is damaged: {why}"),
            Self::Failed(why) => write!(f, "the lease store failed: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}
