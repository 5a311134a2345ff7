//! What a batch costs: CPU time of the process, and time on the wall.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// What one batch cost, in nanoseconds for each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// User and system time of this process.
    pub cpu: f64,
    /// Time on the wall, in which other processes may have run.
    pub wall: f64,
}

/// Which of the two clocks is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clock {
    /// CPU time: what the work costs. Budgets are about this one.
    Cpu,
    /// Wall time: how long it takes here and now.
    Wall,
}

impl Clock {
    /// The name of the clock.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "process CPU time",
            Self::Wall => "wall time",
        }
    }

    /// The part of a sample that this clock measured.
    #[must_use]
    pub const fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Cpu => sample.cpu,
            Self::Wall => sample.wall,
        }
    }
}

/// Both clocks, started together.
#[derive(Debug)]
pub struct Stopwatch {
    cpu: f64,
    wall: Instant,
}

impl Stopwatch {
    /// Starts both clocks.
    #[must_use]
    pub fn start() -> Self {
        let wall = Instant::now();
        Self { cpu: cpu(), wall }
    }

    /// What went by since the start, for each of `count` operations.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    pub fn stop(&self, count: usize) -> Sample {
        let cpu = cpu() - self.cpu;
        let wall = self.wall.elapsed();
        let count = count.max(1) as f64;
        Sample {
            cpu: cpu / count,
            wall: wall.as_secs_f64() * 1e9 / count,
        }
    }
}

/// CPU time of the process so far, in nanoseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a process does not live for 2^53 ns"
)]
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
