//! A log of every decision that others can verify.
//!
//! ```text
//!  Event ──▶ Record ──▶ leaf ──▶ batch ──▶ segment (frames, one write, one sync)
//!                        │                     │
//!                        ▼                     ▼
//!                  Merkle tree ──▶ signed checkpoint ──▶ tiles, receipts, exports
//! ```
//!
//! * [`Ledger`] writes: many threads append, one batch at a time reaches the disk.
//! * [`LedgerRecorder`] is the library's [`Recorder`](handfast::Recorder).
//! * [`LogReader`] reads without the writer's lock; [`verify`] says whether everything in a log's
//!   directory fits together and is signed.
//! * [`Proof`] is the receipt of one event; [`note`] and [`merkle`] are what it is made of.
//!
//! # Does
//! Refuses what cannot be logged. Drops nothing that was answered. Says what it cannot know.
//!
//! # Does not
//! Protect from who is root on the host and holds the key: such a one can rewrite what nobody
//! outside has seen, or go back to an older state. Only a checkpoint that somebody else keeps
//! shows that ([`VerifyOptions::since`]).
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![forbid(unsafe_code)]
#![cfg(supported)]

mod attest;
mod config;
mod disk;
mod error;
pub mod event;
pub mod export;
mod inside;
mod keep;
mod lease;
mod level;
mod lock;
pub mod merkle;
pub mod note;
mod published;
mod query;
mod reader;
mod reading;
mod receipt;
mod recorder;
mod segment;
mod state;
mod store;
mod tiles;
pub mod time;
mod verify;
mod writer;

pub use attest::{Attestation, Attester};
pub use config::keys_of;
pub use error::{Error, ErrorKind};
pub use inside::lies_inside;
pub use keep::Keep;
pub use lease::{LeaseHandle, LeaseId};
pub use level::Level;
pub use query::{Filter, describe};
pub use reader::LogReader;
pub use receipt::Proof;
pub use recorder::{Context, LedgerRecorder};
pub use tiles::{bundle_path, tile_path};
pub use verify::{Problem, Report, Verdict, VerifyOptions, verify};
pub use writer::{CreateOptions, Ledger, OpenOptions, Receipt};

/// The examples of the documents are tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/ledger.md")]
    struct Ledger;
}
