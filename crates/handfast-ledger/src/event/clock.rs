//! Points in time: the wall's, and the machine's own since it was started.

use rustix::time::{ClockId, clock_gettime};

/// One moment by both clocks. Events are ordered by their index, never by these.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Nanoseconds since 1970 by the wall clock.
    pub wall_ns: i128,
    /// Nanoseconds since the machine was started, sleep included.
    pub boot_ns: u64,
}

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let nanoseconds = |clock| {
            let time = clock_gettime(clock);
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        Self {
            wall_ns: nanoseconds(ClockId::Realtime),
            boot_ns: u64::try_from(nanoseconds(ClockId::Boottime)).unwrap_or(0),
        }
    }
}
