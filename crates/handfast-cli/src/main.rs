//! The `handfast` command: arguments, printing, exit codes. What it does is the library's.
//!
//! A command computes its answer first, then the verdict, and prints last: a reader that closes
//! its pipe may silence the output and never changes the exit code.
#![forbid(unsafe_code)]
// Where no root can be opened there is one answer only.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]
#![cfg_attr(handfast_unsupported, allow(dead_code))]

#[cfg(supported)]
mod args;
#[cfg(supported)]
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
#[cfg(supported)]
mod json;
#[cfg(supported)]
mod lease;
#[cfg(supported)]
mod log;
#[cfg(supported)]
mod manual;
#[cfg(supported)]
mod mcp;
#[cfg(supported)]
mod output;
#[cfg(supported)]
mod serve;
#[cfg(supported)]
mod session;
#[cfg(supported)]
mod siege;
#[cfg(supported)]
mod time;
#[cfg(supported)]
mod top;
#[cfg(supported)]
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
