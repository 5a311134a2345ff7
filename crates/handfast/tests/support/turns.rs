//! Starved is not broken: whether a test had the processor often enough to say anything.
//!
//! A race that needs two threads at once shows nothing where others have the processors. A test that
//! comes up short asks here: on a machine that others keep busy it ends as *starved*, which is printed;
//! on any other it fails. The test's own threads do not make the machine busy, however many they are.
//! What gets out is an escape on either, and no test asks here about that.
#![allow(
    clippy::disallowed_methods,
    dead_code,
    unreachable_pub,
    reason = "several crates' tests share this file, and it asks the kernel"
)]

#[path = "../../../handfast-siege/src/others.rs"]
mod others;

use std::io::Write;

use others::Others;

/// What everybody else did since a moment.
pub struct Turns(Others);

impl Turns {
    pub fn start() -> Self {
        Self(Others::start())
    }

    /// Whether there was too little of the processors to show anything.
    pub fn is_busy(&self) -> bool {
        self.0.look().are_too_small()
    }

    /// Ends a test that came up short: as starved where the machine was busy.
    ///
    /// # Panics
    /// If it was not: then something is broken.
    #[track_caller]
    pub fn settle(&self, what: &str, why: &str) {
        let shares = self.0.look();
        assert!(
            shares.are_too_small(),
            "{what}: {why}, on a machine that was not busy ({shares})"
        );
        starved(what, &format!("{why} ({shares})"));
    }
}

/// Tells that a test could not show what it is for. Around the harness, which keeps to itself what
/// tests that pass print: CI counts these lines.
pub fn starved(what: &str, why: &str) {
    let line = format!("starved: {what}: {why}\n");
    // Nobody may be listening.
    drop(std::io::stderr().write_all(line.as_bytes()));
}
