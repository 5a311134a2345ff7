//! The lock file is replaced by a fresh one, again and again.

use std::io;
use std::path::Path;
use std::time::Duration;

use handfast::{BackendChoice, Error, ErrorKind, Links, LockGuard, LockKind, RelPath, Root};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags};

use super::{Attack, BOTH_WAYS, Pace};
use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::canary::Canary;
use crate::cell::Cell;
use crate::controls::Control;
use crate::field::{CALMER, ENOUGH, Field, Quota, backend_name};
use crate::fight::note_error;

pub(crate) static ATTACK: Attack = Attack {
    name: "replaced-lock",
    does: "the lock file is replaced by a fresh one, again and again",
    harm: "two holders at once, and both believe it",
    swaps: |top, _| {
        let (lock, fresh) = (top.join("root/lock"), top.join("root/fresh"));
        vec![Box::new(move || {
            std::fs::write(&fresh, "").is_ok() && std::fs::rename(&fresh, &lock).is_ok()
        })]
    },
    pace: Pace::QUICK,
    ways: BOTH_WAYS,
    run: |attack, field| run(attack, field),
    control: Control {
        verb: "naive-lock",
        scene,
        leaf: "",
        attempt: |arena, attacker, work| {
            let path = arena.path("root/lock");
            let first = naive_lock(&path);
            work();
            attacker.wait_for_swap();
            let second = naive_lock(&path);
            first.is_some() && second.is_some()
        },
        fifo: None,
    },
};

/// Opens and locks, and does not look whether the name still means that file.
fn naive_lock(path: &Path) -> Option<rustix::fd::OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600)).ok()?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(fd)
}

type Call = fn(&Root) -> Result<LockGuard, Error>;

const CALLS: [(&str, Call); 2] = [
    ("lock", |root| {
        root.lock(
            &RelPath::parse("lock")?,
            LockKind::Exclusive,
            Duration::ZERO,
        )
    }),
    ("lock-dir", |root| {
        root.lock_dir(&RelPath::root(), LockKind::Exclusive, Duration::ZERO)
    }),
];

fn run(attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
    for (verb, call) in CALLS {
        for backend in field.backends(attack.name, verb) {
            field.tell(attack.name, verb, backend_name(backend));
            for calmer in std::iter::once(1).chain(CALMER) {
                for way in field.ways(attack.name, attack.ways) {
                    let pace = attack.pace.calmer(calmer);
                    let cell = run_cell(attack, field, backend, (way, pace), verb, call)?;
                    field.report.add(cell);
                }
                if !field.is_unsettled(attack.name, verb, backend_name(backend)) {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn run_cell(
    attack: &'static Attack,
    field: &mut Field<'_>,
    backend: BackendChoice,
    (way, pace): (Way, Pace),
    verb: &str,
    call: Call,
) -> io::Result<Cell> {
    let arena = Arena::new(&field.base)?;
    let mut canary = scene(&arena)?;
    let open = || arena.open(backend, Links::Refuse).map_err(io::Error::from);
    let (one, other) = (open()?, open()?);
    let attacker = Attacker::start(attack, arena.top(), "", way, field.program.as_ref())?;
    attacker.set_pace(pace)?;
    attacker.wait_for_life();
    let mut cell = Cell {
        verb: verb.to_owned(),
        attack: attack.name,
        backend: backend_name(backend),
        attackers: vec![way.name()],
        links: vec!["refuse"],
        floor: 80,
        ..Cell::default()
    };
    let rounds = field.rounds.div_ceil(2);
    let quota = Quota::paced(rounds, pace);
    while !quota.is_spent(cell.attempts) && cell.escapes < ENOUGH {
        let first = call(&one);
        attacker.wait_for_swap();
        let second = call(&other);
        cell.attempts += 1;
        cell.good += 1;
        if let (Ok(first), Ok(second)) = (&first, &second) {
            // A replaced file never comes back: if the first holder's file is under the name after
            // the second's was, both hold the same name at once.
            let both = matches!(second.verify(), Ok(true)) && matches!(first.verify(), Ok(true));
            if both {
                cell.escapes += 1;
                cell.harm
                    .get_or_insert_with(|| "two holders, and both verify".to_owned());
            }
        }
        if let Some(touched) = canary.touched() {
            cell.escapes += 1;
            cell.harm.get_or_insert(touched);
            canary.look_again();
        }
        match &first {
            Ok(_) => cell.succeeded += 1,
            Err(error) => note_error(&mut cell, error, &[ErrorKind::Raced]),
        }
        if let Err(error) = &second {
            // The second holder is refused while the first holds what is under the name.
            note_error(&mut cell, error, &[ErrorKind::Raced, ErrorKind::Busy]);
        }
    }
    cell.swaps = attacker.swaps();
    field.report.cut_short += u64::from(quota.is_late() && cell.attempts < rounds);
    Ok(cell)
}

fn scene(arena: &Arena) -> io::Result<Canary> {
    std::fs::write(arena.path("root/lock"), "")?;
    Canary::plant(&arena.path("outside"))
}
