//! Leases on files for identified workloads: opened on their behalf, decided at the moment of use.
//!
//! ```text
//!  client ──varlink──▶ who is it? ──▶ lease, policy, patterns ──▶ log ──▶ open, copy, rename ──▶ descriptor
//!          (socket)    (pidfd)         (at every call)                     (beneath a root)
//! ```
//!
//! * [`ServeOptions`] starts a broker: first the wall, then threads, then the first connection.
//! * [`Rulebook`] is what is served to whom; it comes from a directory or from a policy file.
//! * [`Client`] asks: leases in Vault's words, files by descriptor, writes by commit.
//! * [`LeaseStore`] keeps leases; [`SqliteStore`] is the one that is there.
//!
//! # Does
//! Decides every open, begin and commit again: the lease, those above it, the policy, the protected
//! patterns, on the path that is walked. Ends a lease when its time is over, its holder ends, or
//! somebody says so, and answers that only when nothing is done under it any more. Writes every
//! decision to the ledger before it takes effect.
//!
//! # Does not
//! Take back a descriptor that was handed out. Keep processes of its own user from the files: that
//! takes a user of its own, or programs that are started confined.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![deny(unsafe_code)]
#![cfg(supported)]

mod boundary;
mod broker;
mod budget;
mod caller;
mod cleanup;
mod client;
mod clock;
mod differs;
mod drafts;
mod ending;
mod example;
mod fault;
mod identity;
mod in_force;
mod journal;
mod lease;
mod limits;
mod log;
mod lost_note;
#[doc(hidden)]
pub mod measure;
mod mount;
mod narrowing;
mod ops;
mod pace;
mod path;
mod policy_lines;
mod reaper;
mod refusals;
mod reload;
mod restore;
mod rulebook;
mod scope;
mod server;
mod site;
mod spiffe;
mod start;
mod store;
mod sys;
mod token;
mod wire;

pub use client::{
    Acquire, Acquired, Client, ClientError, Denial, Draft, Entry, Exported, LeaseFiles, LeaseInfo,
    Opened, Outstanding, Revoked, Stat,
};
pub use example::ExampleLease;
pub use fault::{Code, Fault};
pub use identity::{ExeReader, ProcessRef, serve_witness, witness_socket_from_stdin};
pub use lease::{Bound, Ended, LeaseHandle, LeaseId, LeaseRecord, VerbSet};
pub use limits::Limits;
pub use narrowing::Narrowing;
pub use rulebook::Rulebook;
pub use server::{
    INTERFACE, MetricsListener, Running, Signalled, Signals, bind_socket, default_socket,
    listener_from_environment, notify_alive, notify_ready, watchdog_interval,
};
pub use spiffe::{BundleReader, BundleSource, TrustBundle, X509Svid, serve_bundle};
pub use start::{Fence, ServeOptions, StartError};
pub use store::{LeaseStore, MemoryStore, Revision, SqliteStore, StoreError};
pub use token::narrow_token;
pub use wire::{MAX_DESCRIPTORS, MAX_MESSAGE};

/// Tells the operator of the broker what clients must not hear.
#[expect(clippy::print_stderr, reason = "a daemon's words go to standard error")]
pub(crate) fn complain(what: &str) {
    eprintln!("handfast-broker: {what}");
}

/// The examples of the documents are tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/broker.md")]
    struct Broker;
}
