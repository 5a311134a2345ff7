//! Archives that are extracted: what is accepted, what is refused, and what is left behind.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests look at the tree past the library"
)]

mod accepted;
mod any_bytes;
mod created;
mod full_disk;
mod merge;
mod mutated;
mod packed;
mod race;
mod support;
mod tar_attacks;
mod tar_bytes;
mod told;
#[path = "../../../handfast/tests/support/turns.rs"]
mod turns;
mod zip_attacks;
mod zip_bytes;
