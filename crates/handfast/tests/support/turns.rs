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

    /// Ends a race in which a side had fewer turns than the test wants. Turns depend on the scheduler,
    /// the disk and the fairness of locks, on a quiet machine too: if every side had some, the race was
    /// fought and is starved. A side without any is broken, unless the machine was busy.
    ///
    /// # Panics
    /// If a side had no turn on a machine that was not busy.
    #[track_caller]
    pub fn settle_counts(&self, what: &str, counts: &[(&str, u64)]) {
        let why: Vec<_> = counts
            .iter()
            .map(|(side, had)| format!("{had} {side}"))
            .collect();
        let why = why.join(", ");
        match counts.iter().all(|(_, had)| *had > 0) {
            true => starved(what, &why),
            false => self.settle(what, &why),
        }
    }
}

/// Tells that a test could not show what it is for. Around the harness, which keeps to itself what
/// tests that pass print: CI counts these lines.
pub fn starved(what: &str, why: &str) {
    let line = format!("starved: {what}: {why}\n");
    // Nobody may be listening.
    drop(std::io::stderr().write_all(line.as_bytes()));
}
