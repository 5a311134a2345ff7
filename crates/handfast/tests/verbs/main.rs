//! What each verb does when nobody interferes, on both backends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]

#[path = "../support/mod.rs"]
mod support;

mod attributes;
mod in_root;
mod names;
mod reading;
mod rules;
mod trees;
mod writing;
