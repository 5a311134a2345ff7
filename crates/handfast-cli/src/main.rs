//! The `handfast` command: arguments, printing, exit codes. What it does is the library's.
//!
//! A command computes its answer first, then the verdict, and prints last: a reader that closes
//! its pipe may silence the output and never changes the exit code.
#![forbid(unsafe_code)]
// Where no root can be opened there is one answer only.
#![cfg_attr(not(supported), allow(dead_code))]

#[cfg(all(
    supported,
    not(all(
        feature = "audit",
        feature = "broker",
        feature = "review",
        feature = "run",
        feature = "siege",
        feature = "tour"
    ))
))]
mod absent;
#[cfg(supported)]
mod approve;
#[cfg(supported)]
mod args;
#[cfg(all(supported, feature = "audit"))]
mod audit;
#[cfg(supported)]
mod completions;
#[cfg(supported)]
mod doctor;
mod exit;
#[cfg(supported)]
mod failure;
#[cfg(supported)]
mod fs;
#[cfg(all(
    supported,
    feature = "broker",
    any(feature = "siege", feature = "tour")
))]
mod interrupt;
#[cfg(supported)]
mod json;
#[cfg(all(supported, feature = "broker"))]
mod lease;
#[cfg(supported)]
mod log;
#[cfg(supported)]
mod manual;
#[cfg(supported)]
mod mcp;
#[cfg(all(supported, feature = "run"))]
mod mount;
#[cfg(supported)]
mod other_names;
#[cfg(supported)]
mod output;
#[cfg(supported)]
mod progress;
#[cfg(all(supported, feature = "review"))]
mod review;
#[cfg(all(supported, feature = "run"))]
mod run;
#[cfg(all(supported, feature = "broker"))]
mod serve;
#[cfg(supported)]
mod session;
#[cfg(all(supported, feature = "siege"))]
mod siege;
#[cfg(supported)]
mod size;
#[cfg(all(supported, feature = "broker"))]
mod top;
#[cfg(all(supported, feature = "tour"))]
mod tour;
#[cfg(not(supported))]
mod unsupported;
#[cfg(supported)]
mod width;

use std::process::ExitCode;

#[cfg(supported)]
use args::run;
#[cfg(not(supported))]
use unsupported::run;

fn main() -> ExitCode {
    run().into()
}
