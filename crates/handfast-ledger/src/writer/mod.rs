//! The one writer of a log.
//!
//! `ledger.rs` is the door. Callers put frames into the open batch (`queue.rs`); the thread that comes
//! first commits it for all (`core.rs`), and while the disk is busy the next batch fills. No timer
//! is involved. `keeper.rs` runs beside: it signs and syncs what `ordered` has only written, and
//! publishes (`publish.rs`). `recover.rs` decides what of a log counts when it is opened.
//!
//! Locks, in the order in which they are taken: publisher, core, queue.

#[cfg(test)]
mod buffered;
mod core;
mod create;
#[cfg(test)]
mod forged;
mod keeper;
mod ledger;
mod open;
#[cfg(test)]
mod overtaken;
mod prune;
mod publish;
mod queue;
mod recover;
mod rotate;
#[cfg(test)]
mod slow_disk;
mod system;
#[cfg(test)]
mod tests;

pub use create::CreateOptions;
pub(crate) use ledger::hold;
pub use ledger::{Ledger, OpenOptions, Receipt};
