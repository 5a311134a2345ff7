//! The broker from outside: real processes on a real socket.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "attackers and witnesses look at the tree from outside"
)]

mod bad_wire;
mod calls;
mod commits;
mod conformance;
mod containers;
mod fairness;
mod files;
mod full_disk;
mod handles;
mod holders;
mod lapse;
mod leases;
mod load;
mod log;
mod metrics;
mod policy;
mod python;
mod restart;
mod roles;
mod siege;
mod spiffe;
mod stage;
mod svids;
mod tokens;
mod trouble;
#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
mod wall;
mod wide;
mod witness;
mod workload_api;

/// Roles of this program's own.
fn more_role(role: &str, dir: &std::path::Path) {
    match role {
        "mounted" => lapse::mounted(dir),
        other => panic!("no such role: {other}"),
    }
}
