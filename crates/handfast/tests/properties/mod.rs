//! Properties of the parser, the resolvers and the verbs, each a function of a string of bytes.
//!
//! `tests/random.rs` feeds them a bounded number of random strings; the targets in `fuzz/` feed
//! them what a fuzzer finds.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::missing_panics_doc,
    reason = "each test binary uses its own part of this, and sets its scenes with ambient calls"
)]

pub mod answers;
pub mod bytes;
pub mod model;
pub mod parser;
pub mod resolvers;
pub mod verbs;
