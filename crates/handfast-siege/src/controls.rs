//! Naive code in the scene of an attack: if it comes to no harm, the attack proves nothing.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::attacks::Attack;
use crate::canary::Canary;
use crate::cell::Cell;
use crate::field::Field;
use crate::others::Others;
use crate::pace::Jitter;
use crate::watchdog::Watchdog;

/// How long a control tries in all, and how often everything begins again within that.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);
const BOUTS: u32 = 3;

/// A naive program, and how to see that it was harmed.
pub(crate) struct Control {
    /// What the naive code does.
    pub(crate) verb: &'static str,
    /// The same scene as for the victims.
    pub(crate) scene: fn(&Arena) -> io::Result<Canary>,
    /// The name that attackers swap, where they ask.
    pub(crate) leaf: &'static str,
    /// One try; says whether it came to harm. Between its check and its use it works.
    pub(crate) attempt: fn(&Arena, &Attacker, &mut dyn FnMut()) -> bool,
    /// The FIFO it may hang on, below the arena.
    pub(crate) fifo: Option<&'static str>,
}

/// Runs an attack's control until its first harm.
pub(crate) fn run(attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
    for way in field.ways(attack.name, attack.ways) {
        field.tell(attack.name, attack.control.verb, "none");
        let mut cell = Cell {
            verb: attack.control.verb.to_owned(),
            attack: attack.name,
            backend: "none",
            control: true,
            attackers: vec![way.name()],
            ..Cell::default()
        };
        let mut jitter = Jitter::new(7);
        let others = Others::start();
        for _ in 0..BOUTS {
            bout(attack, field, way, &mut jitter, &mut cell)?;
            if cell.escapes > 0 {
                break;
            }
        }
        cell.succeeded = cell.attempts - cell.escapes;
        // Starved is not weak: it is others who had the processors, and not our own threads.
        if cell.escapes == 0 {
            let shares = others.look();
            cell.busy = shares.are_too_small().then(|| shares.to_string());
        }
        field.report.add(cell);
    }
    Ok(())
}

/// A fresh scene and a fresh attacker, until the first harm or for its share of the patience.
fn bout(
    attack: &'static Attack,
    field: &Field<'_>,
    way: Way,
    jitter: &mut Jitter,
    cell: &mut Cell,
) -> io::Result<()> {
    let control = &attack.control;
    let arena = Arena::new(&field.base)?;
    let canary = (control.scene)(&arena)?;
    let watchdog = match control.fifo {
        Some(fifo) => Some(Watchdog::new(arena.path(fifo))?),
        None => None,
    };
    let program = field.program.as_ref();
    let attacker = Attacker::start(attack, arena.top(), control.leaf, way, program)?;
    attacker.wait_for_life();
    let begun = Instant::now();
    while cell.escapes == 0 && begun.elapsed() < CONTROL_TIMEOUT / BOUTS {
        // Both just after a change and at any other moment.
        if cell.attempts.is_multiple_of(2) {
            attacker.wait_for_swap();
        }
        cell.attempts += 1;
        let mut attempt = || (control.attempt)(&arena, &attacker, &mut || jitter.work());
        let (harmed, hung) = match &watchdog {
            Some(watchdog) => watchdog.watch(attempt),
            None => (attempt(), false),
        };
        let harm = canary
            .touched()
            .or_else(|| hung.then(|| "the call hung".to_owned()))
            .or_else(|| harmed.then(|| attack.harm.to_owned()));
        cell.escapes = u64::from(harm.is_some());
        cell.harm = harm;
    }
    cell.swaps += attacker.swaps();
    Ok(())
}

/// The check that everybody writes first: resolve the parent, compare prefixes.
pub(crate) fn naive_check(root: &Path, path: &Path) -> bool {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, root.canonicalize()) {
        (Some(parent), Ok(root)) => parent.starts_with(root),
        _ => false,
    }
}

/// Goes by descriptors and follows no link, but lets the kernel say where `..` is. It works before
/// every step of that name; whether it came to a file outside.
pub(crate) fn naive_descent<'a>(
    arena: &Arena,
    way: impl Iterator<Item = &'a str>,
    works_before: &str,
    work: &mut dyn FnMut(),
) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(mut here) = openat(CWD, arena.path("root"), flags, Mode::empty()) else {
        return false;
    };
    for step in way {
        if step == works_before {
            work();
        }
        match openat(&here, step, flags, Mode::empty()) {
            Ok(fd) => here = fd,
            Err(_) => return false,
        }
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut text = [0; 7];
    openat(&here, "data", flags, Mode::empty())
        .is_ok_and(|fd| rustix::io::read(fd, &mut text).is_ok() && &text == b"outside")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Nanoseconds that a thread or a process had a processor.
    fn had(who: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{who}/schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    /// What we use and what others use is no more than the machine has; were our own work counted as
    /// theirs, it would be.
    #[test]
    fn our_own_threads_and_processes_do_not_make_the_machine_busy() {
        let others = Others::start();
        let begun = Instant::now();
        let until = begun + Duration::from_millis(800);
        let endless = ["-c", "while :; do :; done"];
        let mut child = Command::new("sh").args(endless).spawn().unwrap();
        let spin = || {
            while Instant::now() < until {}
            had("thread-self")
        };
        let threads = std::thread::scope(|scope| {
            let threads = [0; 4].map(|_| scope.spawn(spin));
            threads.map(|thread| thread.join().unwrap())
        });
        let ours = threads.iter().sum::<u64>() + had(&child.id().to_string());
        let used = others.look().used;
        child.kill().unwrap();
        child.wait().unwrap();
        let ours = ours * 100 / u64::try_from(begun.elapsed().as_nanos()).unwrap();
        let machine = used_cores() * 100;
        assert!(
            used + ours <= machine + 25,
            "others {used}, we {ours}, of {machine} hundredths"
        );
    }

    fn used_cores() -> u64 {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let cores = text.lines().filter(|line| line.starts_with("cpu"));
        cores.count() as u64 - 1
    }
}
