//! Rows of the attack catalogue that have no better home.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

#[path = "../support/mod.rs"]
mod support;

mod filesystems;
mod leftovers;
mod modes;
mod paths;
