//! Naive code in the scene of an attack: if it comes to no harm, the attack proves nothing.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::arena::Arena;
use crate::attacker::Attacker;
use crate::attacks::Attack;
use crate::canary::Canary;
use crate::field::Field;
use crate::report::Cell;
use crate::watchdog::Watchdog;

/// How long a control tries.
const PATIENCE: Duration = Duration::from_secs(5);

/// What people write first, and how its harm shows.
pub(crate) struct Control {
    /// What the naive code does.
    pub(crate) verb: &'static str,
    /// The same scene as for the victims.
    pub(crate) scene: fn(&Arena) -> io::Result<Canary>,
    /// The name that attackers swap, where they ask.
    pub(crate) leaf: &'static str,
    /// One try; says whether it came to harm.
    pub(crate) attempt: fn(&Arena, &Attacker) -> bool,
    /// The FIFO it may hang on, below the arena.
    pub(crate) fifo: Option<&'static str>,
}

/// Runs an attack's control until its first harm.
pub(crate) fn run(attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
    for way in field.ways(attack.name, attack.ways) {
        let control = &attack.control;
        field.tell(attack.name, control.verb, "none");
        let arena = Arena::new(&field.base)?;
        let canary = (control.scene)(&arena)?;
        let watchdog = match control.fifo {
            Some(fifo) => Some(Watchdog::new(arena.path(fifo))?),
            None => None,
        };
        let program = field.program.as_ref();
        let attacker = Attacker::start(attack, arena.top(), control.leaf, way, program)?;
        let mut cell = Cell {
            verb: control.verb.to_owned(),
            attack: attack.name,
            backend: "none",
            control: true,
            attackers: vec![way.name()],
            ..Cell::default()
        };
        let begun = Instant::now();
        while cell.escapes == 0 && begun.elapsed() < PATIENCE {
            // Both just after a change and at any other moment.
            if cell.attempts.is_multiple_of(2) {
                attacker.wait_for_swap();
            }
            cell.attempts += 1;
            let attempt = || (control.attempt)(&arena, &attacker);
            let (harmed, hung) = match &watchdog {
                Some(watchdog) => watchdog.watch(attempt),
                None => (attempt(), false),
            };
            if let Some(touched) = canary.touched() {
                cell.harm.get_or_insert(touched);
                cell.escapes = 1;
            }
            if hung {
                cell.harm.get_or_insert_with(|| "the call hung".to_owned());
                cell.escapes = 1;
            }
            if harmed {
                cell.harm.get_or_insert_with(|| attack.harm.to_owned());
                cell.escapes = 1;
            }
        }
        cell.succeeded = cell.attempts - cell.escapes;
        cell.swaps = attacker.swaps();
        drop(attacker);
        field.report.add(cell);
    }
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
