//! The face in front of real programs: a session is mounted, and git and the kernel use it.
//!
//! Every test runs in a mount namespace of its own, with a device node of its own; the host's mounts
//! and its `/dev/fuse` are never touched.
#![allow(
    missing_docs,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod git;
mod late;
mod names;
mod posix;
mod replaced;
mod support;
mod themes;
mod waiting;
mod watch;
