//! The server, spoken to as clients do. It runs as a process of its own, `examples/serve.rs`,
//! because its wall is for a whole process.
//!
//! Every test has a private directory, so they run in parallel.
#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests look at the tree from outside"
)]

mod approval;
mod archives;
mod bad_input;
mod calls;
mod client;
mod concurrent;
mod connections;
mod context;
mod eras;
mod fair;
mod fuzz;
mod grants;
mod http;
mod http_progress;
mod http_roots;
mod large;
mod large_changing;
mod log_size;
mod more_tools;
mod names;
mod new_tools_race;
mod person;
mod roots;
mod seen;
mod sessions;
mod structured;
mod subscriptions;
mod support;
mod swapped;
mod versions;

#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
