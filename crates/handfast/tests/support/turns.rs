//! Starved is not broken: whether a test had the processor often enough to say anything.
//!
//! A race that needs two threads at once shows nothing where others have the processors. The kernel
//! counts how long a thread that could run waited for one. A test that comes up short asks here: on
//! a busy machine it ends as *starved*, which is printed; on a quiet one it fails. What gets out is
//! an escape on either, and no test asks here about that.
#![allow(
    clippy::disallowed_methods,
    dead_code,
    unreachable_pub,
    reason = "several crates' tests share this file, and it asks the kernel"
)]

use std::io::Write;
use std::time::{Duration, Instant};

/// Where threads of ours waited for this part of the time, in percent, a test may come up short.
const BUSY: u128 = 15;

/// The same for anybody on the machine: what a test starts is a process of its own.
const CROWDED: u128 = 50;

/// How the threads of this process fared since a moment.
pub struct Turns {
    begun: Instant,
    waited: Duration,
    pressed: Duration,
}

impl Turns {
    pub fn start() -> Self {
        Self {
            begun: Instant::now(),
            waited: waited(),
            pressed: pressed(),
        }
    }

    /// A part of the time since then, in percent.
    fn part(&self, time: Duration) -> u128 {
        time.as_micros() * 100 / self.begun.elapsed().as_micros().max(1)
    }

    /// For what part of the time somebody of us wanted a processor and had none, in percent. More
    /// than 100 where several threads waited at once.
    pub fn waiting(&self) -> u128 {
        self.part(waited().saturating_sub(self.waited))
    }

    /// For what part of the time anybody on the machine wanted one and had none.
    pub fn pressure(&self) -> u128 {
        self.part(pressed().saturating_sub(self.pressed))
    }

    /// Whether there was too little of the processors to show anything: others had them, or there is
    /// only one for the attacker and the victim.
    pub fn is_busy(&self) -> bool {
        let alone = std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
        alone || self.waiting() >= BUSY || self.pressure() >= CROWDED
    }

    /// Ends a test that came up short: as starved where the machine was busy.
    ///
    /// # Panics
    /// If it was not: then something is broken.
    #[track_caller]
    pub fn settle(&self, what: &str, why: &str) {
        assert!(
            self.is_busy(),
            "{what}: {why}, on a machine that was not busy ({self})"
        );
        starved(what, &format!("{why} ({self})"));
    }
}

impl std::fmt::Display for Turns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (waiting, pressure) = (self.waiting(), self.pressure());
        write!(
            f,
            "waited {waiting} % of the time, the machine {pressure} %"
        )
    }
}

/// Tells that a test could not show what it is for. Around the harness, which keeps to itself what
/// tests that pass print: CI counts these lines.
pub fn starved(what: &str, why: &str) {
    let line = format!("starved: {what}: {why}\n");
    // Nobody may be listening.
    drop(std::io::stderr().write_all(line.as_bytes()));
}

/// How long all threads of this process that could run had to wait for a processor, until now.
fn waited() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// How long somebody on the machine waited for a processor, until now; nothing where the kernel does
/// not count it.
fn pressed() -> Duration {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let total = text
        .lines()
        .next()
        .and_then(|some| some.split("total=").nth(1));
    let total = total.and_then(|total| total.trim().parse().ok());
    Duration::from_micros(total.unwrap_or(0))
}
