//! The program that the tests run as somebody else: under strace, in a namespace of its own, with
//! few descriptors, behind the second wall. Not an example to follow.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "part of the tests"
)]

#[cfg(supported)]
mod modes;

#[cfg(supported)]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    std::process::ExitCode::from(u8::try_from(modes::run(&args)).unwrap_or(1))
}

#[cfg(not(supported))]
fn main() {}
