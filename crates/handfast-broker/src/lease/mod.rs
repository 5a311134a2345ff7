//! Leases: what was granted to whom, until when.

mod hex;
mod live;
mod outstanding;
mod record;
mod table;
mod verbs;

pub use handfast_ledger::{LeaseHandle, LeaseId};
pub(crate) use hex::hex;
pub(crate) use live::{Held, Lease, over};
pub(crate) use outstanding::{Given, GivenMode};
pub use record::{Bound, Ended, LeaseRecord};
pub(crate) use table::{LeaseTable, Room};
pub use verbs::VerbSet;
