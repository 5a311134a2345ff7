//! The built `handfast`, run as people and programs run it.
//!
//! Every test has a private directory, so they run in parallel. What needs something that this
//! machine lacks says `skipped: …` with a running number, and passes.
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the tree from outside"
)]

mod approve;
mod archive_faults;
mod archives;
mod audit;
mod audit_daily;
mod bad_input;
mod doctor;
mod fs_layers;
mod fs_options;
mod layer_calls;
mod lease;
mod lease_mount;
mod lease_users;
mod log;
mod log_rows;
mod log_whole;
mod manual;
mod mcp;
mod mounts;
mod names;
mod pipes;
mod reload;
mod review;
mod run;
mod serving;
mod session;
mod session_faults;
mod session_interrupted;
mod session_list;
mod session_pick;
mod session_review;
mod session_undo;
mod settled;
mod settled_links;
mod shapes;
mod sidecar;
mod siege;
mod support;
mod top;
mod tour;
#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
mod usage;
mod versions;
#[path = "../../../handfast-session/tests/it/ask/walls.rs"]
mod walls;
mod words;
mod wrong_usage;
