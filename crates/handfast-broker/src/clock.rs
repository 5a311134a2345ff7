//! The boot clock, by which leases end: it counts sleep, and nobody can set it.

use handfast_ledger::event::Moment;

/// Nanoseconds since the machine was started.
pub(crate) fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    u64::try_from(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)).unwrap_or(0)
}

/// The wall clock now.
pub(crate) fn wall_ns() -> i64 {
    i64::try_from(Moment::now().wall_ns).unwrap_or(i64::MAX)
}

/// What the wall clock shows, or will show, at a moment of the boot clock, if nobody sets it.
pub(crate) fn wall_of(boot_ns: u64) -> i128 {
    let now = Moment::now();
    now.wall_ns + (i128::from(boot_ns) - i128::from(now.boot_ns))
}
