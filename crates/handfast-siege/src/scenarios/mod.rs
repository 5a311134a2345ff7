//! Whole workloads under attack, one file each.

mod build;
mod git;
mod shared_root;

pub(crate) use build::ATTACK as BUILD;
pub(crate) use git::ATTACK as GIT;
pub(crate) use shared_root::ATTACK as SHARED_ROOT;

use std::io;
use std::time::{Duration, Instant};

use handfast::{BackendChoice, Error, ErrorKind, Links, RelPath, Root};

use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::attacks::Attack;
use crate::canary::Canary;
use crate::cell::Cell;
use crate::duel::{BOTH, policy_name, refusal};
use crate::field::{CALMER, ENOUGH, Field, Quota, backend_name};
use crate::fight::note_error;
use crate::pace::Pace;

/// Many calls that belong together: one attempt is all of them, or up to the first refusal.
pub(crate) struct Workload {
    pub(crate) verb: &'static str,
    pub(crate) scene: fn(&Arena) -> io::Result<Canary>,
    pub(crate) is_good: fn(&Arena) -> bool,
    pub(crate) steps: fn(&Root, u64) -> Result<(), Error>,
    pub(crate) allowed: &'static [ErrorKind],
    pub(crate) floor: u64,
}

impl Workload {
    pub(crate) fn run(&self, attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
        for backend in field.backends(attack.name, self.verb) {
            field.tell(attack.name, self.verb, backend_name(backend));
            for calmer in std::iter::once(1).chain(CALMER) {
                for &links in BOTH {
                    for way in field.ways(attack.name, attack.ways) {
                        let cell = self.run_leg(attack, field, backend, links, way, calmer)?;
                        field.report.add(cell);
                    }
                }
                if !field.is_unsettled(attack.name, self.verb, backend_name(backend)) {
                    break;
                }
            }
        }
        Ok(())
    }

    fn run_leg(
        &self,
        attack: &'static Attack,
        field: &mut Field<'_>,
        backend: BackendChoice,
        links: Links,
        way: Way,
        calmer: u32,
    ) -> io::Result<Cell> {
        let arena = Arena::new(&field.base)?;
        let mut canary = (self.scene)(&arena)?;
        let root = arena.open(backend, links).map_err(io::Error::from)?;
        let took = self.rehearse(&root).map_err(io::Error::from)?;
        let attacker = Attacker::start(attack, arena.top(), "", way, field.program.as_ref())?;
        attacker.set_pace(Pace::around(took).calmer(calmer))?;
        attacker.wait_for_life();
        let mut cell = Cell {
            verb: self.verb.to_owned(),
            attack: attack.name,
            backend: backend_name(backend),
            attackers: vec![way.name()],
            links: vec![policy_name(links)],
            floor: self.floor,
            ..Cell::default()
        };
        let mut allowed = self.allowed.to_vec();
        allowed.push(refusal(links));
        // An attempt is many calls.
        let rounds = field.rounds.div_ceil(8);
        let quota = Quota::slow(rounds, (took * 12).clamp(LEAST, MOST)).at_least(ENOUGH_TIME);
        while !quota.is_spent(cell.attempts) && cell.escapes < ENOUGH {
            attacker.wait_for_swap();
            cell.good += u64::from((self.is_good)(&arena));
            let result = (self.steps)(&root, cell.attempts);
            cell.attempts += 1;
            if let Some(touched) = canary.touched() {
                cell.escapes += 1;
                cell.harm.get_or_insert(touched);
                canary.look_again();
            }
            match result {
                Ok(()) => cell.succeeded += 1,
                Err(error) => note_error(&mut cell, &error, &allowed),
            }
        }
        cell.swaps = attacker.swaps();
        field.report.cut_short += u64::from(quota.is_late() && cell.attempts < rounds);
        Ok(cell)
    }

    /// The whole workload while no attacker acts: it works here, and how long it takes.
    fn rehearse(&self, root: &Root) -> Result<Duration, Error> {
        let mut fastest = Duration::MAX;
        for number in 0..3 {
            let begun = Instant::now();
            // Under numbers that no attempt has.
            (self.steps)(root, u64::from(u32::MAX) + number)?;
            fastest = fastest.min(begun.elapsed());
        }
        Ok(fastest)
    }
}

/// Bounds of the time that an attempt may take with the wait for a change before it.
const LEAST: Duration = Duration::from_millis(2);
const MOST: Duration = Duration::from_millis(3);
/// A few attempts take longer together than many one by one.
const ENOUGH_TIME: Duration = Duration::from_millis(400);

fn path(text: &str) -> Result<RelPath, Error> {
    RelPath::parse(text)
}
