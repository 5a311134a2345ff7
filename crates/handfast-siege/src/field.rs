//! A siege under way: what was asked for, what was found so far.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use handfast::{Backend, BackendChoice};

use crate::attacker::{AttackerProgram, Way};
use crate::cell::Finding;
use crate::layers::Layer;
use crate::pace::Pace;
use crate::report::{Report, Skipped};
use crate::siege::Progress;

/// One harm is enough to know, a few show that it was no accident.
pub(crate) const ENOUGH: u64 = 10;

/// A cell that refused too much, or that no attacker met, is run again this many times, each at a
/// pace that is calmer by the factor, before it is called so: on a busy machine a victim loses its
/// core in the middle of its call, and few attempts say little.
pub(crate) const CALMER: [u32; 3] = [4, 16, 64];

/// A part of a cell has at least this, however few its rounds.
const LEAST: Duration = Duration::from_millis(20);

/// How long one such run may take.
const AGAIN: Duration = Duration::from_secs(1);

/// What attacks work with.
pub(crate) struct Field<'a> {
    pub(crate) base: PathBuf,
    pub(crate) rounds: u64,
    pub(crate) layers: Vec<Layer>,
    pub(crate) only: Vec<String>,
    pub(crate) program: Option<AttackerProgram>,
    pub(crate) report: Report,
    pub(crate) progress: &'a mut dyn FnMut(&Progress<'_>),
    pub(crate) position: (usize, usize),
}

impl Field<'_> {
    /// The backends of a root on which an attack meets a verb that was asked for.
    pub(crate) fn backends(&self, attack: &str, verb: &str) -> Vec<BackendChoice> {
        let layers = self.layers.iter();
        let layers = layers.filter(|layer| self.wants(attack, verb, **layer));
        layers.filter_map(|layer| layer.backend()).collect()
    }

    /// Whether a cell was asked for: by a part of `attack/verb@layer`.
    pub(crate) fn wants(&self, attack: &str, verb: &str, layer: Layer) -> bool {
        let layer = layer.name();
        let name = format!("{attack}/{verb}@{layer}");
        self.only.is_empty() || self.only.iter().any(|pattern| name.contains(pattern))
    }

    pub(crate) fn tell(&mut self, attack: &str, verb: &str, backend: &str) {
        (self.progress)(&Progress {
            attack,
            verb,
            backend,
            index: self.position.0,
            attacks: self.position.1,
        });
    }

    pub(crate) fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let skipped = Skipped {
            what: what.into(),
            why: why.into(),
        };
        if !self.report.skipped.contains(&skipped) {
            self.report.skipped.push(skipped);
        }
    }

    /// Notes that a layer does not have a verb.
    pub(crate) fn lacks(&mut self, verb: &str, layer: Layer, why: &str) {
        match layer.backend() {
            Some(_) => self.skip(format!("{verb} everywhere"), why),
            None => {
                // One line a layer, however many verbs it lacks.
                let layer = format!(" on {}", layer.name());
                let mut skipped = self.report.skipped.iter_mut();
                match skipped.find(|one| one.why == why && one.what.ends_with(&layer)) {
                    Some(one) if one.what.split([',', ' ']).any(|word| word == verb) => {}
                    Some(one) => one.what = format!("{verb}, {}", one.what),
                    None => self.skip(format!("{verb}{layer}"), why),
                }
            }
        }
    }

    /// Whether a cell refused too much so far, refused everything in attempts too few to judge, or
    /// met no attacker.
    pub(crate) fn is_unsettled(&self, attack: &str, verb: &str, backend: &str) -> bool {
        self.report.victims().any(|cell| {
            (cell.attack, cell.verb.as_str(), cell.backend) == (attack, verb, backend)
                && (matches!(
                    cell.finding(),
                    Finding::Starved | Finding::Weak | Finding::Busy
                ) || (cell.finding() == Finding::Held && cell.floor > 0 && cell.succeeded == 0))
        })
    }

    /// How attackers can run here.
    pub(crate) fn ways(&mut self, attack: &str, ways: &[Way]) -> Vec<Way> {
        if ways.contains(&Way::Process) && self.program.is_none() {
            self.skip(
                format!("{attack} by attackers that are processes"),
                "no program was named that can be started as one",
            );
            return vec![Way::Thread];
        }
        ways.to_vec()
    }
}

pub(crate) fn backend_name(choice: BackendChoice) -> &'static str {
    match choice {
        BackendChoice::Kernel => Backend::Kernel.name(),
        BackendChoice::Walk => Backend::Walk.name(),
        BackendChoice::Auto => "auto",
    }
}

/// The end of a cell: so many rounds, or so much time.
pub(crate) struct Quota {
    rounds: u64,
    deadline: Instant,
}

impl Quota {
    /// 90 microseconds a round, so that 20,000 rounds of all 770 cells end within 30 minutes on
    /// whatever machine: slow ones make fewer attempts, and the report says so.
    pub(crate) fn new(rounds: u64) -> Self {
        let time = Duration::from_micros(rounds.saturating_mul(90)).max(LEAST);
        Self {
            rounds,
            deadline: Instant::now() + time,
        }
    }

    /// For a layer above a root, which makes a quarter of the rounds in the same time.
    pub(crate) fn of_layer(rounds: u64) -> Self {
        let time = Duration::from_micros(rounds.saturating_mul(360));
        Self {
            rounds,
            deadline: Instant::now() + time.max(LEAST),
        }
    }

    /// For a cell that is run again at a calmer pace: each round waits for a change.
    pub(crate) fn paced(rounds: u64, pace: Pace) -> Self {
        let usual = Self::new(rounds);
        let calm = Self::slow(rounds, pace.most());
        Self {
            deadline: usual
                .deadline
                .max(calm.deadline.min(Instant::now() + AGAIN)),
            ..usual
        }
    }

    /// For attempts that take their time.
    pub(crate) fn slow(rounds: u64, each: Duration) -> Self {
        let each = u64::try_from(each.as_micros()).unwrap_or(u64::MAX);
        Self {
            rounds,
            deadline: Instant::now() + Duration::from_micros(rounds.saturating_mul(each)),
        }
    }

    /// The same with no less time than this.
    pub(crate) fn at_least(self, time: Duration) -> Self {
        Self {
            deadline: self.deadline.max(Instant::now() + time),
            ..self
        }
    }

    pub(crate) fn is_spent(&self, attempts: u64) -> bool {
        attempts >= self.rounds || self.is_late()
    }

    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}
