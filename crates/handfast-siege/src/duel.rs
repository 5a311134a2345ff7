//! One attacker against one victim, again and again.

use std::io;
use std::time::{Duration, Instant};

use handfast::{BackendChoice, Error, ErrorKind, Links, Root};

use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::attacks::Attack;
use crate::canary::Canary;
use crate::cell::Cell;
use crate::field::{CALMER, ENOUGH, Field, Quota, backend_name};
use crate::pace::Pace;
use crate::victims::{self, Names, Seen, Victim};
use crate::watchdog::Watchdog;

/// How an attack meets the verbs.
pub(crate) struct Duel {
    /// Sets the scene and plants the canary.
    pub(crate) scene: fn(&Arena) -> io::Result<Canary>,
    /// What stands before every name that a victim uses, below the root.
    pub(crate) prefix: &'static str,
    /// The directory those names lie in, below the arena, while nobody attacks.
    pub(crate) inside: &'static str,
    /// Which verbs are attacked, of those that use the name that is swapped.
    pub(crate) targets: fn(&Victim) -> bool,
    /// Under which policies for links.
    pub(crate) policies: &'static [Links],
    /// How attackers run.
    pub(crate) ways: &'static [Way],
    /// Whether the tree is as the caller wants it.
    pub(crate) is_good: fn(&Arena, &str) -> bool,
    /// The closed list of refusals that the attack explains.
    pub(crate) allowed: fn(&Victim, Links) -> Vec<ErrorKind>,
    /// How many of a hundred good attempts must succeed.
    pub(crate) floor: fn(&Victim) -> u64,
    /// Whether reading something of the outside is harm.
    pub(crate) leaks: bool,
    /// The one name that the attacker swaps: then it is started for each victim.
    pub(crate) leaf: Option<fn(&Victim) -> Option<&'static str>>,
    /// The FIFO that a call may hang on, below the arena.
    pub(crate) fifo: Option<&'static str>,
}

/// Both policies for links.
pub(crate) const BOTH: &[Links] = &[Links::Refuse, Links::Beneath];

pub(crate) const fn policy_name(links: Links) -> &'static str {
    match links {
        Links::Refuse => "refuse",
        Links::Beneath => "beneath",
    }
}

/// How a link to the outside is refused.
pub(crate) const fn refusal(links: Links) -> ErrorKind {
    match links {
        Links::Refuse => ErrorKind::Link,
        Links::Beneath => ErrorKind::Escape,
    }
}

/// Four of five good attempts succeed; where two lookups have to meet the same state, half.
pub(crate) fn usual_floor(victim: &Victim) -> u64 {
    if victim.lookups > 1 { 50 } else { 80 }
}

/// As [`usual_floor`], where the file itself is swapped: a version changes faster than it can be
/// used.
pub(crate) fn leaf_floor(victim: &Victim) -> u64 {
    match victim.verb {
        "write-if" | "remove-if" => 0,
        _ => usual_floor(victim),
    }
}

/// One part of a cell's rounds.
#[derive(Clone, Copy)]
struct Leg {
    links: Links,
    way: Way,
    rounds: u64,
    /// How much calmer than the call's length suggests.
    calmer: u32,
}

impl Duel {
    /// Runs every victim under the attack, on every backend, policy and way.
    pub(crate) fn run(&self, attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
        let targets: Vec<_> = victims::all()
            .filter(|victim| (self.targets)(victim) && field.wants(attack.name, victim.verb))
            .filter(|victim| self.leaf.is_none_or(|leaf| leaf(victim).is_some()))
            .collect();
        self.run_against(attack, field, &targets)
    }

    /// Every policy and way; whoever refused too much is tried again at calmer paces.
    fn run_against(
        &self,
        attack: &'static Attack,
        field: &mut Field<'_>,
        targets: &[&'static Victim],
    ) -> io::Result<()> {
        if targets.is_empty() {
            return Ok(());
        }
        let ways = field.ways(attack.name, self.ways);
        let count = (self.policies.len() * ways.len()) as u64;
        let rounds = field.rounds.div_ceil(count);
        for backend in field.backends.clone() {
            let mut left = targets.to_vec();
            for calmer in std::iter::once(1).chain(CALMER) {
                for &links in self.policies {
                    for &way in &ways {
                        let leg = Leg {
                            links,
                            way,
                            rounds,
                            calmer,
                        };
                        self.run_leg(attack, field, backend, leg, &left)?;
                    }
                }
                left.retain(|victim| {
                    field.is_unsettled(attack.name, victim.verb, backend_name(backend))
                });
                if left.is_empty() {
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
        leg: Leg,
        targets: &[&'static Victim],
    ) -> io::Result<()> {
        let arena = Arena::new(&field.base)?;
        let mut canary = (self.scene)(&arena)?;
        let root = arena.open(backend, leg.links).map_err(io::Error::from)?;
        let inside = arena.hold(self.inside).map_err(io::Error::from)?;
        let quiet = arena
            .open_at(self.inside, backend, leg.links)
            .map_err(io::Error::from)?;
        let watchdog = match self.fifo {
            Some(fifo) => Some(Watchdog::new(arena.path(fifo))?),
            None => None,
        };
        let mut shared = None;
        for victim in targets {
            field.tell(attack.name, victim.verb, backend_name(backend));
            let leaf = self.leaf.and_then(|leaf| leaf(victim)).unwrap_or_default();
            if self.leaf.is_some() {
                restore(&arena.path(self.inside).join(leaf))?;
            }
            let rehearsed = self.rehearse(victim, &quiet, &inside);
            if let Err(error) = &rehearsed {
                if error.kind() == ErrorKind::Unsupported {
                    field.skip(format!("{} everywhere", victim.verb), error.detail());
                    continue;
                }
                let cell = Cell {
                    attempts: 1,
                    spurious: 1,
                    odd: vec![format!("without any attack: {error}")],
                    ..self.blank(attack, victim, backend, leg)
                };
                field.report.add(cell);
                continue;
            }
            if self.leaf.is_some() {
                // The rehearsal may have made something else of it.
                restore(&arena.path(self.inside).join(leaf))?;
            }
            // An attacker of one name is stopped before the next is rehearsed.
            let own;
            let attacker = match (&mut shared, self.leaf.is_some()) {
                (_, true) => {
                    let program = field.program.as_ref();
                    own = Attacker::start(attack, arena.top(), leaf, leg.way, program)?;
                    &own
                }
                (Some(shared), false) => &*shared,
                (none, false) => {
                    let program = field.program.as_ref();
                    none.insert(Attacker::start(attack, arena.top(), "", leg.way, program)?)
                }
            };
            let mut cell = self.blank(attack, victim, backend, leg);
            let pace = Pace::around(rehearsed.unwrap_or_default()).calmer(leg.calmer);
            let before = attacker.swaps();
            attacker.set_pace(pace)?;
            attacker.wait_for_life();
            let quota = match leg.calmer {
                1 => Quota::new(leg.rounds),
                _ => Quota::paced(leg.rounds, pace),
            };
            let mut fight = Fight {
                duel: self,
                victim,
                arena: &arena,
                root: &root,
                inside: &inside,
                attacker,
                watchdog: watchdog.as_ref(),
                links: leg.links,
            };
            while !quota.is_spent(cell.attempts) && cell.escapes < ENOUGH {
                fight.attempt(&mut cell, &mut canary);
            }
            cell.swaps = attacker.swaps() - before;
            field.report.cut_short += u64::from(quota.is_late() && cell.attempts < leg.rounds);
            field.report.add(cell);
        }
        Ok(())
    }

    fn blank(
        &self,
        attack: &'static Attack,
        victim: &Victim,
        backend: BackendChoice,
        leg: Leg,
    ) -> Cell {
        Cell {
            verb: victim.verb.to_owned(),
            attack: attack.name,
            backend: backend_name(backend),
            attackers: vec![leg.way.name()],
            links: vec![policy_name(leg.links)],
            floor: (self.floor)(victim),
            ..Cell::default()
        }
    }

    /// A few calls through the quiet directory: it works here at all, and takes so long.
    fn rehearse(&self, victim: &Victim, quiet: &Root, inside: &Root) -> Result<Duration, Error> {
        let mut fastest = Duration::MAX;
        for number in 0..3 {
            (victim.prepare)(inside, number);
            let begun = Instant::now();
            (victim.attempt)(quiet, &Names { prefix: "" }, number)?;
            fastest = fastest.min(begun.elapsed());
        }
        Ok(fastest)
    }
}

/// Puts an ordinary file under a name that was attacked.
fn restore(path: &std::path::Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path)?,
        Ok(_) => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    std::fs::write(path, "inside")
}

struct Fight<'a> {
    duel: &'a Duel,
    victim: &'a Victim,
    arena: &'a Arena,
    root: &'a Root,
    inside: &'a Root,
    attacker: &'a Attacker,
    watchdog: Option<&'a Watchdog>,
    links: Links,
}

impl Fight<'_> {
    fn attempt(&mut self, cell: &mut Cell, canary: &mut Canary) {
        let names = Names {
            prefix: self.duel.prefix,
        };
        let number = cell.attempts;
        let leaf = self.duel.leaf.and_then(|leaf| leaf(self.victim));
        (self.victim.prepare)(self.inside, number);
        self.attacker.wait_for_swap();
        let good = (self.duel.is_good)(self.arena, leaf.unwrap_or_default());
        let call = || (self.victim.attempt)(self.root, &names, number);
        let (result, hung) = match self.watchdog {
            Some(watchdog) => watchdog.watch(call),
            None => (call(), false),
        };
        cell.attempts += 1;
        cell.good += u64::from(good);
        let mut harm = hung.then(|| "the call hung".to_owned());
        if let Some(touched) = canary.touched() {
            harm = harm.or(Some(touched));
            canary.look_again();
        }
        match result {
            Ok(seen) => {
                if self.duel.leaks {
                    harm = harm.or_else(|| leak(&seen, canary));
                }
                cell.succeeded += 1;
            }
            Err(error) => {
                let allowed = (self.duel.allowed)(self.victim, self.links);
                note_error(cell, &error, &allowed);
            }
        }
        if let Some(harm) = harm {
            cell.escapes += 1;
            cell.harm.get_or_insert(harm);
        }
    }
}

/// What a call saw of the outside.
fn leak(seen: &Seen, canary: &Canary) -> Option<String> {
    let word = b"outside";
    if seen.text.windows(word.len()).any(|window| window == word) {
        return Some("what is outside was read".to_owned());
    }
    let object = seen.object?;
    canary
        .owns(object)
        .then(|| "an object outside was handed out".to_owned())
}

/// Counts an error as a refusal, or as one that nothing explains.
pub(crate) fn note_error(cell: &mut Cell, error: &Error, allowed: &[ErrorKind]) {
    if allowed.contains(&error.kind()) {
        *cell.refused.entry(error.kind().name()).or_default() += 1;
    } else {
        cell.spurious += 1;
        if cell.odd.len() < 3 {
            cell.odd.push(format!("{}: {error}", error.kind()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attacks;
    use crate::cell::Finding;
    use crate::report::Report;
    use crate::victims::{fake, nothing};
    use handfast::RelPath;

    /// Lays siege to one victim that is not the library's, and says what its only cell found.
    fn found(victim: &'static Victim) -> Cell {
        let duel = Duel {
            scene: |arena| {
                arena.room("root/a")?;
                std::os::unix::fs::symlink("../outside", arena.path("root/evil"))?;
                Canary::plant(&arena.path("outside"))
            },
            prefix: "a/",
            inside: "root/a",
            targets: |_| true,
            policies: &[Links::Refuse],
            ways: &[Way::Thread],
            is_good: |arena, _| attacks::is_dir(&arena.path("root/a")),
            allowed: |_, links| vec![refusal(links), ErrorKind::Raced, ErrorKind::Invalid],
            floor: usual_floor,
            leaks: true,
            leaf: None,
            fifo: None,
        };
        let mut told = |_: &crate::siege::Progress<'_>| {};
        let mut field = Field {
            base: std::env::temp_dir(),
            rounds: 60,
            backends: vec![BackendChoice::Walk],
            only: Vec::new(),
            program: None,
            report: Report::default(),
            progress: &mut told,
            position: (1, 1),
        };
        let attack = attacks::find("directory-swap").unwrap();
        duel.run_against(attack, &mut field, &[victim]).unwrap();
        assert_eq!(field.report.cells.len(), 1);
        field.report.cells.remove(0)
    }

    /// Well while it is rehearsed, and never again.
    static REFUSES: Victim = fake("refuses", |_, names, _| match names.prefix {
        "" => Ok(Seen::default()),
        _ => RelPath::parse("/").map(|_| Seen::default()),
    });

    static READS: Victim = fake("reads", |root, names, _| {
        nothing(root.read(&names.at("data")?))
    });

    #[test]
    fn who_always_refuses_is_starved_after_all_its_chances() {
        let cell = found(&REFUSES);
        assert_eq!(cell.finding(), Finding::Starved, "{cell:?}");
        assert_eq!(cell.succeeded, 0);
    }

    #[test]
    fn who_reads_is_not_starved() {
        let cell = found(&READS);
        assert_eq!(cell.finding(), Finding::Held, "{cell:?}");
    }
}
