//! One attacker against one victim, again and again.

use std::io;
use std::time::Duration;

use handfast::{Error, ErrorKind, Links};

use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::attacks::{Attack, BOTH_WAYS};
use crate::canary::Canary;
use crate::cell::Cell;
use crate::field::{CALMER, ENOUGH, Field, Quota};
use crate::fight::Fight;
use crate::layers::{self, Layer, ROOTS, Rules, Stand};
use crate::pace::Pace;
use crate::victims::{self, Returned, Victim};
use crate::watchdog::Watchdog;

/// A look for harm: in words, if there is some.
pub(crate) type Look = fn(&Arena, &Stand, Option<&Returned>) -> Result<Option<String>, Error>;

/// How an attack meets the verbs.
pub(crate) struct Duel {
    /// Sets the scene and plants the canary.
    pub(crate) scene: fn(&Arena) -> io::Result<Canary>,
    /// What is before every name that a victim uses, below the root.
    pub(crate) prefix: &'static str,
    /// The directory those names lie in, below the arena, while no attacker acts.
    pub(crate) inside: &'static str,
    /// Which layers are attacked.
    pub(crate) layers: &'static [Layer],
    /// The rules of the layers above a root.
    pub(crate) rules: Rules,
    /// The two names below the root that an accomplice inside the same session or lease exchanges.
    pub(crate) pair: Option<(&'static str, &'static str)>,
    /// Which verbs are attacked, of those that use the name that is swapped.
    pub(crate) targets: fn(&Victim) -> bool,
    /// Verbs of this attack alone.
    pub(crate) own: &'static [Victim],
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
    /// What else is looked at after every call: harm in words. It is given what the call said, unless
    /// it refused. A look that fails is no good news, and counts as an error without reason.
    pub(crate) look: Look,
    /// Whether attackers never pause: what they wait for is there for a moment only.
    pub(crate) is_hurried: bool,
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
        Links::InRoot => "in-root",
    }
}

/// How a link to the outside is refused.
pub(crate) const fn refusal(links: Links) -> ErrorKind {
    match links {
        Links::Refuse => ErrorKind::Link,
        // A link to the outside leads into the root, where nothing is.
        Links::InRoot => ErrorKind::NotFound,
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
    layer: Layer,
    links: Links,
    way: Way,
    rounds: u64,
    /// How much calmer than the call's length suggests.
    calmer: u32,
}

/// Numbers of rehearsals: no attempt has them.
pub(crate) const REHEARSED: u64 = 1 << 32;

impl Duel {
    /// What most duels are: every verb, on a root, by threads and processes.
    pub(crate) const USUAL: Self = Self {
        scene: |_| Err(io::ErrorKind::Unsupported.into()),
        prefix: "",
        inside: "root",
        layers: ROOTS,
        rules: Rules::NONE,
        pair: None,
        targets: |_| true,
        own: &[],
        policies: BOTH,
        ways: BOTH_WAYS,
        is_good: |_, _| true,
        allowed: |_, links| vec![refusal(links), ErrorKind::Raced],
        floor: usual_floor,
        leaks: true,
        look: |_, _, _| Ok(None),
        is_hurried: false,
        leaf: None,
        fifo: None,
    };

    /// Runs every victim under the attack, on every layer, policy and way.
    pub(crate) fn run(&self, attack: &'static Attack, field: &mut Field<'_>) -> io::Result<()> {
        for layer in field.layers.clone() {
            if !self.layers.contains(&layer) {
                continue;
            }
            let targets: Vec<_> = victims::all()
                .filter(|victim| victim.is_common || layer.backend().is_some())
                .filter(|victim| (self.targets)(victim))
                .chain(self.own)
                .filter(|victim| field.wants(attack.name, victim.verb, layer))
                .filter(|victim| self.leaf.is_none_or(|leaf| leaf(victim).is_some()))
                .collect();
            match self.run_against(attack, field, layer, &targets) {
                // A layer that cannot be set up here is left out, and the others go on.
                Err(error) if layer.backend().is_none() => {
                    field.skip(
                        format!("{} on {}", attack.name, layer.name()),
                        error.to_string(),
                    );
                    if error.kind() != io::ErrorKind::Unsupported {
                        field.report.broken_off.push(attack.name);
                    }
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Every policy and way; a victim that refused too much is tried again at calmer paces.
    fn run_against(
        &self,
        attack: &'static Attack,
        field: &mut Field<'_>,
        layer: Layer,
        targets: &[&'static Victim],
    ) -> io::Result<()> {
        if targets.is_empty() {
            return Ok(());
        }
        let legs = self.legs(attack, field, layer);
        let mut left = targets.to_vec();
        for calmer in std::iter::once(1).chain(CALMER) {
            for leg in &legs {
                self.run_leg(attack, field, Leg { calmer, ..*leg }, &left)?;
            }
            left.retain(|victim| field.is_unsettled(attack.name, victim.verb, layer.name()));
            if left.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The parts of a cell: each policy and each way gets its share of the rounds. A call through a
    /// layer above a root takes many times as long, and makes a quarter of them, where links are
    /// followed if the attack allows for that.
    fn legs(&self, attack: &Attack, field: &mut Field<'_>, layer: Layer) -> Vec<Leg> {
        let is_root = layer.backend().is_some();
        let mut ways = field.ways(attack.name, self.ways);
        if self.pair.is_some() && layers::has_accomplices(layer) {
            ways.push(Way::Accomplice);
        }
        let policies = match (is_root, self.policies) {
            (true, policies) => policies,
            (false, [.., last]) => std::slice::from_ref(last),
            (false, []) => &[],
        };
        let rounds = field.rounds.div_ceil(if is_root { 1 } else { 4 });
        let rounds = rounds.div_ceil((policies.len() * ways.len()) as u64);
        let leg = |links: &Links, way: &Way| Leg {
            layer,
            links: *links,
            way: *way,
            rounds,
            calmer: 1,
        };
        let of = |links| ways.iter().map(move |way| leg(links, way));
        policies.iter().flat_map(of).collect()
    }

    fn run_leg(
        &self,
        attack: &'static Attack,
        field: &mut Field<'_>,
        leg: Leg,
        targets: &[&'static Victim],
    ) -> io::Result<()> {
        let arena = Arena::new(&field.base)?;
        let mut canary = (self.scene)(&arena)?;
        let program = field.program.clone();
        let stand = Stand::open(leg.layer, &arena, leg.links, self.rules, program.as_ref())?;
        let inside = arena.hold(self.inside).map_err(io::Error::from)?;
        let watchdog = match self.fifo {
            Some(fifo) => Some(Watchdog::new(arena.path(fifo))?),
            None => None,
        };
        let mut fight = Fight {
            duel: self,
            arena: &arena,
            stand: &stand,
            layer: leg.layer,
            inside: &inside,
            watchdog: watchdog.as_ref(),
            links: leg.links,
        };
        // Everybody rehearses before the first change of the tree.
        let mut ready = Vec::new();
        for victim in targets {
            if let Some(took) = self.rehearsed(attack, field, leg, victim, &fight)? {
                ready.push((*victim, took));
            }
        }
        let mut shared = None;
        for (victim, took) in ready {
            field.tell(attack.name, victim.verb, leg.layer.name());
            let leaf = self.swapped(leg, victim);
            // An attacker of one name is stopped before the next begins.
            let start = || Attacker::start(attack, arena.top(), &leaf, leg.way, program.as_ref());
            let own;
            let attacker = match (&mut shared, self.leaf.is_some()) {
                (_, true) => {
                    own = start()?;
                    &own
                }
                (Some(shared), false) => &*shared,
                (none, false) => none.insert(start()?),
            };
            let mut cell = self.blank(attack, victim, leg);
            let pace = match self.is_hurried {
                true => Pace::HURRIED,
                false => Pace::around(took).calmer(leg.calmer),
            };
            let before = attacker.swaps();
            attacker.set_pace(pace)?;
            attacker.wait_for_life();
            let quota = match (leg.calmer, leg.layer.backend()) {
                (1, Some(_)) => Quota::new(leg.rounds),
                (1, None) => Quota::of_layer(leg.rounds),
                _ => Quota::paced(leg.rounds, pace),
            };
            let quota = match self.is_hurried {
                // Few cells, and a moment that is seldom met.
                true => quota.at_least(Duration::from_millis(300)),
                false => quota,
            };
            while !quota.is_spent(cell.attempts) && cell.escapes < ENOUGH {
                fight.attempt(victim, attacker, leg.way, &mut cell, &mut canary);
            }
            // What the last attempt left in an overlay shows on the disk. Links that lead outside are
            // not committed: then the scene would lose one.
            if self.rules.is_any()
                && let Err(error) = stand.commit()
            {
                cell.blind(&error);
            }
            if let Some(touched) = canary.touched() {
                cell.escapes += 1;
                cell.harm.get_or_insert(touched);
                canary.look_again();
            }
            cell.swaps = attacker.swaps() - before;
            field.report.cut_short += u64::from(quota.is_late() && cell.attempts < leg.rounds);
            field.report.add(cell);
        }
        Ok(())
    }

    /// The closed list of refusals on a layer. Those above a root look name by name and say that a link
    /// came in between; they also have rules, where the attack gives them some.
    pub(crate) fn allowed_on(&self, layer: Layer, victim: &Victim, links: Links) -> Vec<ErrorKind> {
        let mut allowed = (self.allowed)(victim, links);
        if layer.backend().is_none() {
            allowed.push(ErrorKind::Link);
            allowed.extend(self.rules.is_any().then_some(ErrorKind::Denied));
            // The base changed between two names that an overlay looked up.
            allowed.extend((layer == Layer::Overlay).then_some(ErrorKind::NotADirectory));
        }
        allowed
    }

    /// What the attacker has to swap: the victim's own name, or what an accomplice exchanges.
    fn swapped(&self, leg: Leg, victim: &Victim) -> String {
        match (leg.way, self.pair) {
            (Way::Accomplice, Some((one, other))) => {
                format!("{}/{one}/{other}", leg.layer.name())
            }
            _ => self
                .leaf
                .and_then(|leaf| leaf(victim))
                .unwrap_or_default()
                .to_owned(),
        }
    }

    fn blank(&self, attack: &'static Attack, victim: &Victim, leg: Leg) -> Cell {
        Cell {
            verb: victim.verb.to_owned(),
            attack: attack.name,
            backend: leg.layer.name(),
            attackers: vec![leg.way.name()],
            links: vec![policy_name(leg.links)],
            floor: (self.floor)(victim),
            ..Cell::default()
        }
    }

    /// A few calls while no attacker acts: how long one takes here. Nothing if it does not work here;
    /// then the report says why.
    fn rehearsed(
        &self,
        attack: &'static Attack,
        field: &mut Field<'_>,
        leg: Leg,
        victim: &Victim,
        fight: &Fight<'_>,
    ) -> io::Result<Option<Duration>> {
        let leaf = self.leaf.and_then(|leaf| leaf(victim));
        let leaf = leaf.map(|leaf| fight.arena.path(self.inside).join(leaf));
        leaf.as_deref().map_or(Ok(()), restore)?;
        let found = fight.rehearse(victim);
        // The rehearsal may have made something else of it.
        leaf.as_deref().map_or(Ok(()), restore)?;
        let error = match found {
            Ok(took) => return Ok(Some(took)),
            Err(error) => error,
        };
        if error.kind() == ErrorKind::Unsupported {
            field.lacks(victim.verb, leg.layer, &error.detail());
        } else {
            let cell = Cell {
                attempts: 1,
                spurious: 1,
                odd: vec![format!("without any attack: {error}")],
                ..self.blank(attack, victim, leg)
            };
            field.report.add(cell);
        }
        Ok(None)
    }
}

/// Puts an ordinary file under a name that was attacked.
fn restore(path: &std::path::Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path)?,
        Ok(_) => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut file, b"inside")
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
        found_by(victim, Duel::USUAL.look)
    }

    /// The same, with a look of its own.
    fn found_by(victim: &'static Victim, look: Look) -> Cell {
        let duel = Duel {
            look,
            scene: |arena| {
                arena.room("root/a")?;
                std::os::unix::fs::symlink("../outside", arena.path("root/evil"))?;
                Canary::plant(&arena.path("outside"))
            },
            prefix: "a/",
            inside: "root/a",
            policies: &[Links::Refuse],
            ways: &[Way::Thread],
            is_good: |arena, _| attacks::is_dir(&arena.path("root/a")),
            allowed: |_, links| vec![refusal(links), ErrorKind::Raced, ErrorKind::Invalid],
            ..Duel::USUAL
        };
        let mut told = |_: &crate::siege::Progress<'_>| {};
        let mut field = Field {
            base: std::env::temp_dir(),
            rounds: 60,
            layers: vec![Layer::Walk],
            only: Vec::new(),
            program: None,
            report: Report::default(),
            progress: &mut told,
            position: (1, 1),
        };
        let attack = attacks::find("directory-swap").unwrap();
        duel.run_against(attack, &mut field, Layer::Walk, &[victim])
            .unwrap();
        assert_eq!(field.report.cells.len(), 1);
        field.report.cells.remove(0)
    }

    /// Well while it is rehearsed, and never again.
    static REFUSES: Victim = fake("refuses", |_, _, number| match number >= REHEARSED {
        true => Ok(Returned::default()),
        false => RelPath::parse("/").map(|_| Returned::default()),
    });

    static READS: Victim = fake("reads", |files, names, _| {
        nothing(files.read(&names.at("data")?, 100))
    });

    #[test]
    fn who_always_refuses_is_starved_after_all_its_chances() {
        let cell = found(&REFUSES);
        assert_eq!(cell.finding(), Finding::Starved, "{cell:?}");
        assert_eq!(cell.succeeded, 0);
    }

    #[test]
    fn a_look_that_fails_is_no_good_news() {
        let blind = |_: &Arena, _: &Stand, _: Option<&Returned>| {
            Err(Error::refused(ErrorKind::Io, "it is dark"))
        };
        let cell = found_by(&READS, blind);
        assert_eq!(cell.finding(), Finding::Spurious, "{cell:?}");
        assert_eq!(cell.spurious, cell.attempts);
        assert!(cell.odd[0].contains("the look failed"), "{cell:?}");
    }

    #[test]
    fn who_reads_is_not_starved() {
        let cell = found(&READS);
        assert_eq!(cell.finding(), Finding::Held, "{cell:?}");
    }
}
