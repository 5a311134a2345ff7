//! Sessions from outside: what an agent can do, what it cannot, and what survives.
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod ask;
mod attacks;
mod both_made;
mod brief_names;
mod commit;
mod conformance;
mod counts;
mod drafts;
mod foreign;
mod full;
mod git;
mod held;
mod hunks;
mod late;
mod linked;
mod locks;
mod many;
mod model;
mod modes;
mod mounts;
mod moved;
mod names;
mod overlay;
mod pinned_dirs;
mod places;
mod properties;
mod protect;
mod quota;
mod review;
mod rows;
mod siege;
mod support;
mod told;
mod tree_model;
#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
mod undo;
