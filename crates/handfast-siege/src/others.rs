//! How much of the processors everybody else had: whether a machine was too busy to show a race.
//!
//! A race needs two processors at once. That our own threads wait for each other says nothing about
//! the machine, so what counts is the time that was used by what is not ours. Threads of this process
//! that were there before the count began are not ours either: in a test binary they belong to other
//! tests.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A race is shown where at least so much of the processors is left, in hundredths of one.
const NEEDED: u64 = 150;

/// The shortest time that says anything.
const LEAST: Duration = Duration::from_millis(300);

/// Ticks of the kernel's clock in a second, as `/proc` counts for every program.
const TICKS: u64 = 100;

/// What others used since a moment.
pub(crate) struct Others {
    begun: Instant,
    all: u64,
    ours: u64,
    beside: BTreeMap<String, u64>,
    throttled: u64,
    cores: u64,
}

impl Others {
    /// Begins to count. Threads that are started later are ours.
    pub(crate) fn start() -> Self {
        let (all, cores) = used_by_all();
        let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
        let mut beside = used_by_threads();
        beside.retain(|thread, _| !own.ends_with(thread));
        Self {
            begun: Instant::now(),
            all,
            ours: used_by_us(),
            beside,
            throttled: throttled(),
            cores,
        }
    }

    /// What others used until now. The kernel counts in ticks, so a look after less than a few of them
    /// waits.
    pub(crate) fn look(&self) -> Shares {
        std::thread::sleep(LEAST.saturating_sub(self.begun.elapsed()));
        let all = used_by_all().0.saturating_sub(self.all);
        let now = used_by_threads();
        let beside = self.beside.iter();
        let beside =
            beside.map(|(thread, then)| now.get(thread).map_or(0, |now| now.saturating_sub(*then)));
        let ours = used_by_us().saturating_sub(self.ours + beside.sum::<u64>());
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let throttled = throttled().saturating_sub(self.throttled) / 1000;
        Shares {
            used: all.saturating_sub(ours) * 100_000 / TICKS / millis.max(1),
            cores: self.cores,
            was_stopped: throttled * 10 > millis,
        }
    }
}

/// Who had the processors.
pub(crate) struct Shares {
    /// What others used on average, in hundredths of a processor.
    pub(crate) used: u64,
    cores: u64,
    was_stopped: bool,
}

impl Shares {
    /// Whether too little of the processors was left for an attacker and its victim at once, or this
    /// container was stopped for a tenth of the time.
    pub(crate) fn are_too_small(&self) -> bool {
        (self.cores * 100).saturating_sub(self.used) < NEEDED || self.was_stopped
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part, cores) = (self.used / 100, self.used % 100, self.cores);
        write!(f, "others used {whole}.{part:02} of {cores} processors")?;
        match self.was_stopped {
            true => f.write_str(", and a limit stopped this container"),
            false => Ok(()),
        }
    }
}

/// Ticks that all processors worked, or were taken by a host; and how many processors there are.
fn used_by_all() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let words = text.lines().next().unwrap_or_default();
    let all: Vec<u64> = words
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let worked = [0, 1, 2, 5, 6, 7].iter().filter_map(|at| all.get(*at));
    let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cores = text.lines().filter(is_core).count() as u64;
    (worked.sum(), cores.max(1))
}

/// The numbers behind a process's or a thread's name, which may hold anything.
fn numbers_of(stat: &str) -> Vec<u64> {
    let behind = std::fs::read_to_string(stat).unwrap_or_default();
    let behind = behind.rsplit(')').next().unwrap_or_default();
    let words = behind.split_ascii_whitespace().skip(1);
    words.map(|word| word.parse().unwrap_or(0)).collect()
}

/// Ticks that this process used, with the processes it started, whether they ended or not.
fn used_by_us() -> u64 {
    let mut all: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let numbers = numbers_of(&format!("/proc/{id}/stat"));
        let parent = numbers.first().copied().unwrap_or(0);
        all.insert(id, (parent, numbers.iter().skip(10).take(4).sum()));
    }
    let us = u64::from(std::process::id());
    let is_ours = |mut id: u64| {
        // No chain of parents is longer than there are processes.
        for _ in 0..all.len() {
            match all.get(&id) {
                _ if id == us => return true,
                Some((parent, _)) => id = *parent,
                None => return false,
            }
        }
        false
    };
    let ours = all.iter().filter(|(id, _)| is_ours(**id));
    ours.map(|(_, (_, ticks))| ticks).sum()
}

/// Ticks of each thread of this process.
fn used_by_threads() -> BTreeMap<String, u64> {
    let threads = std::fs::read_dir("/proc/self/task");
    let names = threads.into_iter().flatten().flatten();
    let names = names.map(|thread| thread.file_name().to_string_lossy().into_owned());
    names
        .map(|name| {
            let numbers = numbers_of(&format!("/proc/self/task/{name}/stat"));
            (name, numbers.iter().skip(10).take(2).sum())
        })
        .collect()
}

/// For how many microseconds the limit of a container stopped it.
fn throttled() -> u64 {
    let text = std::fs::read_to_string("/sys/fs/cgroup/cpu.stat").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("throttled_usec "));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}
