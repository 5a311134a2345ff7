//! A directory is filled faster than it can be emptied.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use handfast::{BackendChoice, Error, ErrorKind, Links, RelPath, Root, TreeLimits};

use super::{Attack, Pace, THREADS};
use crate::arena::Arena;
use crate::attacker::{Attacker, Swap, Way};
use crate::canary::Canary;
use crate::cell::Cell;
use crate::controls::Control;
use crate::cores;
use crate::field::{ENOUGH, Field, Quota, backend_name};
use crate::fight::note_error;
use crate::watchdog::HANG;

/// How long a victim may take.
const LIMIT: Duration = Duration::from_millis(50);

/// Who fills never has more than this many entries there at once, or the disk would fill too.
const MOST: u64 = 4000;

pub(crate) static ATTACK: Attack = Attack {
    name: "endless-directory",
    does: "several attackers fill a directory faster than it can be emptied",
    harm: "a call does not end within its limit",
    swaps: |top, _| (0..4).map(|who| fill(top, who)).collect(),
    pace: Pace::HURRIED,
    ways: THREADS,
    run: |attack, field| run(attack, field),
    control: Control {
        verb: "naive-remove-all",
        scene,
        leaf: "",
        attempt: |arena, _, work| !empties(&arena.path("root/t"), work),
        fifo: None,
    },
};

fn fill(top: &Path, who: u32) -> Swap {
    let dir = top.join("root/t");
    let mut next = 0_u64;
    Box::new(move || {
        next += 1;
        let name = dir.join(format!("{who}-{}", next % (MOST / 4)));
        match std::fs::File::create(&name) {
            Ok(_) => true,
            // It was removed: begin again.
            Err(_) => std::fs::create_dir(&dir).is_ok(),
        }
    })
}

/// Lists and removes until nothing is left; gives up after the time in which a call counts as
/// hanging.
fn empties(dir: &Path, work: &mut dyn FnMut()) -> bool {
    let begun = Instant::now();
    loop {
        let mut left = 0;
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            left += 1;
            work();
            drop(std::fs::remove_file(entry.path()));
            if begun.elapsed() > HANG {
                return false;
            }
        }
        if left == 0 {
            return true;
        }
    }
}

type Call = fn(&Root, &RelPath, TreeLimits) -> Result<(), Error>;

/// Verbs that go through a whole directory.
const CALLS: [(&str, Call); 4] = [
    ("remove-tree", |root, path, limits| {
        root.remove_tree_with(path, limits)
    }),
    ("walk", |root, path, limits| {
        let mut walk = root.walk_with(path, limits)?;
        while walk.next_entry()?.is_some() {}
        Ok(())
    }),
    ("copy-tree", |root, path, limits| {
        root.copy_tree_with(path, &RelPath::parse("copy")?, limits)
    }),
    ("recover", |root, path, limits| {
        root.recover_with(path, limits).map(drop)
    }),
];

fn run(attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
    for (verb, call) in CALLS {
        for backend in field.backends(attack.name, verb) {
            field.tell(attack.name, verb, backend_name(backend));
            let cell = run_cell(attack, field, backend, verb, call)?;
            field.report.add(cell);
        }
    }
    Ok(())
}

fn run_cell(
    attack: &'static Attack,
    field: &Field<'_>,
    backend: BackendChoice,
    verb: &str,
    call: Call,
) -> io::Result<Cell> {
    let arena = Arena::new(&field.base)?;
    let mut canary = scene(&arena)?;
    let root = arena
        .open(backend, Links::Refuse)
        .map_err(io::Error::from)?;
    let parsed = |name: &str| RelPath::parse(name).map_err(io::Error::from);
    let (path, copy) = (parsed("t")?, parsed("copy")?);
    let attacker = Attacker::start(attack, arena.top(), "", Way::Thread, None)?;
    attacker.wait_for_life();
    let mut cell = Cell {
        verb: verb.to_owned(),
        attack: attack.name,
        backend: backend_name(backend),
        attackers: vec![Way::Thread.name()],
        links: vec!["refuse"],
        ..Cell::default()
    };
    // Each takes as long as its limit.
    let rounds = (field.rounds / 100).clamp(3, 40);
    let quota = Quota::slow(rounds, HANG);
    let limits = TreeLimits::new().with_time(LIMIT);
    // What may be refused: it does not end, or entries vanish while it looks.
    let allowed = [
        ErrorKind::Limit,
        ErrorKind::Busy,
        ErrorKind::Raced,
        ErrorKind::NotFound,
    ];
    while !quota.is_spent(cell.attempts) && cell.escapes < ENOUGH {
        attacker.wait_for_swap();
        let (begun, waited) = (Instant::now(), cores::waited());
        let result = call(&root, &path, limits);
        // Others had the processor for a part of it: that is not the call's time.
        let waited = cores::waited().saturating_sub(waited);
        let took = begun.elapsed().saturating_sub(waited);
        cell.attempts += 1;
        let mut harm = (took > LIMIT + HANG).then(|| format!("it took {} ms", took.as_millis()));
        if let Some(touched) = canary.touched() {
            harm = harm.or(Some(touched));
            canary.look_again();
        }
        match result {
            Ok(()) => cell.succeeded += 1,
            Err(error) => note_error(&mut cell, &error, &allowed),
        }
        if let Some(harm) = harm {
            cell.escapes += 1;
            cell.harm.get_or_insert(harm);
        }
        drop(root.remove_tree(&copy));
    }
    cell.swaps = attacker.swaps();
    Ok(cell)
}

fn scene(arena: &Arena) -> io::Result<Canary> {
    std::fs::create_dir(arena.path("root/t"))?;
    Canary::plant(&arena.path("outside"))
}
