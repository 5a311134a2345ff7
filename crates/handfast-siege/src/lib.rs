//! Attacks the library on the machine it runs on, and says what came of it.
//!
//! A *cell* is one verb under one attack on one backend: an attacker changes the tree, with jitter,
//! as a thread or as a process of its own; the victim waits for a fresh change, makes one call, and
//! then the effect outside is checked, whatever the call returned. Every error must be on the
//! cell's closed list, and successes are counted: a library that refuses everything never lets
//! anything out. Every attack has a naive *control* in the same scene that must come to harm, or the
//! attack proves nothing and the verdict is "too weak to tell".
//!
//! # Does
//! Run everything in a private directory that is removed at the end, with the rights of the user who runs
//! it. What could not be tried is in the report, with the reason.
//!
//! # Does not
//! Attack other programs, need privileges, or prove the absence of a race: it looks for one.
#![deny(unsafe_code)]
#![cfg(supported)]
#![allow(
    clippy::disallowed_methods,
    reason = "attackers and naive controls do what the lint warns of; scenes are set ambiently"
)]

mod arena;
mod attacker;
mod attacks;
mod canary;
mod cell;
mod controls;
mod cores;
mod duel;
pub mod faults;
mod field;
mod fight;
mod layers;
mod others;
mod pace;
pub mod render;
mod report;
mod scenarios;
mod siege;
mod sys;
mod victims;
mod watchdog;

pub use attacker::{AttackerProgram, Order, UnknownAttack, serve_attacker};
pub use cell::{Cell, Finding};
pub use report::{Report, Skipped, Verdict};
pub use siege::{Backends, Progress, Siege, SiegeError};
