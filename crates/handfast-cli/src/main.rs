//! The `handfast` command: arguments, printing, exit codes. What it does is the library's.
//!
//! A command computes its answer first, then the verdict, and prints last: a reader that closes
//! its pipe may silence the output and never changes the exit code.
#![forbid(unsafe_code)]
// Where no root can be opened there is one answer only.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]
#![cfg_attr(handfast_unsupported, allow(dead_code))]

#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod args;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod audit;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod completions;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod doctor;
mod exit;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod failure;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod fs;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod json;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod lease;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod log;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod manual;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod mcp;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod output;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod serve;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod session;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod siege;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod time;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod top;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod tour;
#[cfg(not(all(target_os = "linux", not(handfast_unsupported))))]
mod unsupported;
#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
mod width;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", not(handfast_unsupported)))]
use args::run;
#[cfg(not(all(target_os = "linux", not(handfast_unsupported))))]
use unsupported::run;

fn main() -> ExitCode {
    run().into()
}
