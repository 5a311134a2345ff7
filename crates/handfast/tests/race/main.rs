//! A concurrent attacker against every verb, on both backends and under both policies for links.
//!
//! Each cell: an attacker thread swaps something, with jitter; the victim waits for a fresh swap,
//! makes one call, and then the effect outside is checked, whatever the call returned. A naive
//! control in the same scene must escape, or the scene proves nothing. Successes are counted: a
//! library that refuses everything escapes never.
//!
//! A cell makes 300 attempts or takes 150 milliseconds; `HANDFAST_RACE_ROUNDS=20000` makes it that
//! many.
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

mod attacker;
mod canary;
mod cell;
mod control;
mod handles;
mod judged;
mod moves;
mod swaps;
mod victims;
