//! An MCP filesystem server: the reference server's tools, over a session.
//!
//! ```text
//!  line or POST ──parse──▶ message ──era──▶ call ──arguments──▶ place ──▶ Session ──▶ answer
//!                                             │                              │
//!                                             ▼                              ▼
//!                                          schema                    Event ──▶ Ledger
//! ```
//!
//! * [`Options`] is what the operator grants; [`Server::start`] pins the directories, opens the
//!   session and raises the wall; [`Server::serve_stdio`] and [`Server::serve_http`] answer.
//! * Every call runs through the same few lines (`call.rs`): the table of tools checks its
//!   arguments, a path becomes a place in the session, the session acts, and the log is told.
//!
//! # Does
//! Answer like the reference server 2026.8.31, with the later changes of its contract. Race-free:
//! what is checked is what is used. Refuse what leads outside, whatever the string says.
//!
//! # Does not
//! Start threads or a runtime before the wall is up. Look up a path of the host after start: a
//! path in a call is a path in the session, whose mounts were pinned.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![forbid(unsafe_code)]
#![cfg(supported)]

mod answer;
mod call;
mod callers;
mod completion;
mod dirs;
mod instructions;
mod listings;
mod log;
mod options;
mod person;
mod place;
mod prompts;
mod protocol;
mod refusals;
mod resources;
mod roots;
mod schema;
mod seen;
mod server;
mod standing;
mod start;
mod subscriptions;
mod text;
mod tools;
mod transport;
mod trouble;
mod uri;
mod view;

pub use handfast_ledger::Keep;
pub use options::{LogChoice, Options, Source};
pub use server::{Server, Started};
pub use start::StartError;
pub use transport::Tokens;
