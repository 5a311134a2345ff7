//! Victim and attackers on cores of their own: side by side on one they would take turns, and no
//! attacker would ever act in the middle of a call.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Keeps the victim's thread on one core until this is dropped.
pub(crate) struct Pinned(Option<CpuSet>);

impl Pinned {
    pub(crate) fn new() -> Self {
        let before = sched_getaffinity(None).ok();
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        // Where it is not allowed the scheduler decides, and the controls tell whether that is
        // good enough.
        Self(before.filter(|_| sched_setaffinity(None, &here).is_ok()))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Moves an attacker's thread, which began on the victim's core, to any other.
pub(crate) fn elsewhere() {
    let mut others = everywhere();
    if let Ok(victims) = sched_getaffinity(None)
        && victims.count() == 1
    {
        for core in 0..CpuSet::MAX_CPU {
            if victims.is_set(core) {
                others.unset(core);
            }
        }
        // There may be no other core.
        let _ = sched_setaffinity(None, &others);
    }
}

/// Lets a thread that began on the victim's core run on all.
pub(crate) fn anywhere() {
    let _ = sched_setaffinity(None, &everywhere());
}

fn everywhere() -> CpuSet {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|core| all.set(core));
    all
}

/// How long the calling thread was ready to run so far, and others had the processor.
pub(crate) fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
