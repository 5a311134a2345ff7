//! One verb under one attack: what it may answer, and how often it must succeed.

use crate::attacker::*;
use crate::canary::*;
use crate::support::turns::Turns;
use crate::support::*;
use crate::victims::*;
use handfast::{BackendChoice, ErrorKind, Links, Root};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Attackers need a core of their own: one scene at a time.
pub(crate) static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How long a cell goes on.
pub(crate) struct Rounds {
    limit: u64,
    time: Duration,
    begun: Instant,
}

impl Rounds {
    pub(crate) fn start() -> Self {
        let asked = std::env::var("HANDFAST_RACE_ROUNDS").ok();
        let (limit, time) = match asked {
            Some(rounds) => (rounds.parse().expect("a number"), Duration::from_secs(600)),
            None => (300, Duration::from_millis(150)),
        };
        Self {
            limit,
            time,
            begun: Instant::now(),
        }
    }

    /// Whether there is another attempt after so many. On a busy machine a cell takes longer, so that
    /// there is something to judge.
    pub(crate) fn go_on(&self, attempts: u64) -> bool {
        let time = match attempts {
            ..50 => self.time * 10,
            _ => self.time,
        };
        attempts < self.limit && self.begun.elapsed() < time
    }
}

/// What a cell found.
#[derive(Default)]
pub(crate) struct Tally {
    pub attempts: u64,
    pub swaps: u64,
    pub good: u64,
    pub succeeded: u64,
    pub refused: BTreeMap<&'static str, u64>,
    /// How the machine was meanwhile.
    pub turns: Option<Turns>,
}

impl Tally {
    /// How often a call must have succeeded. One of two lookups that lasts as long as a state of
    /// the tree may well meet both.
    fn needed(&self, lookups: u32) -> u64 {
        self.good * if lookups > 1 { 4 } else { 8 } / 10
    }

    /// Both states of the tree were met, as they must for a cell to say anything.
    fn saw_both(&self) -> bool {
        self.attempts / 10 <= self.good && self.good <= self.attempts * 95 / 100
    }

    pub(crate) fn is_enough(&self, lookups: u32) -> bool {
        self.attempts > 20
            && self.met_swaps()
            && self.saw_both()
            && self.succeeded >= self.needed(lookups)
    }

    /// The attacker had about as many turns as the victim.
    pub(crate) fn met_swaps(&self) -> bool {
        self.swaps >= self.attempts / 2
    }

    /// Ends a cell that came up short: starved on a busy machine, else broken. Who never succeeds
    /// while the tree is often as it should be is broken on any.
    pub(crate) fn settle(&self, what: &str) {
        let Self {
            attempts,
            swaps,
            good,
            succeeded,
            refused,
            turns,
        } = self;
        let why = format!(
            "{attempts} attempts, {swaps} swaps, {good} good, {succeeded} succeeded, refused {refused:?}"
        );
        assert!(*succeeded > 0 || *good < 20, "{what}: {why}");
        let turns = turns.as_ref().expect("a cell that was run");
        turns.settle(what, &why);
    }
}

/// Runs a cell. Where the machine is so busy that calls last longer than the tree stays as it is,
/// the attacker is calmed down and the cell run again: nothing that gets out is ever forgiven.
pub(crate) fn run_cell(
    victim: &Victim,
    root: &Root,
    inside: &Root,
    prefix: &str,
    attacker: &Attacker,
    is_good: &dyn Fn() -> bool,
    canary: &Canary,
) -> Tally {
    calmer(attacker, || {
        let tally = run_once(victim, root, inside, prefix, attacker, is_good, canary);
        let is_enough = tally.is_enough(victim.lookups);
        (tally, is_enough)
    })
}

/// Runs a scene against an attacker who pauses longer each time, until it succeeds often enough.
pub(crate) fn calmer(attacker: &Attacker, mut scene: impl FnMut() -> (Tally, bool)) -> Tally {
    let mut tally = Tally::default();
    for calm in [1, 4, 16, 64] {
        attacker.calm.store(calm, Ordering::Relaxed);
        let (turns, swaps) = (Turns::start(), attacker.swaps.load(Ordering::Acquire));
        let is_enough;
        (tally, is_enough) = scene();
        tally.swaps = attacker.swaps.load(Ordering::Acquire) - swaps;
        tally.turns = Some(turns);
        if is_enough {
            break;
        }
        println!(
            "again, more calmly: {} attempts, {} good, {} succeeded",
            tally.attempts, tally.good, tally.succeeded
        );
    }
    attacker.calm.store(1, Ordering::Relaxed);
    tally
}

/// Runs a cell once, against the attacker as he is.
pub(crate) fn run_once(
    victim: &Victim,
    root: &Root,
    inside: &Root,
    prefix: &str,
    attacker: &Attacker,
    is_good: &dyn Fn() -> bool,
    canary: &Canary,
) -> Tally {
    let rounds = Rounds::start();
    let mut tally = Tally {
        turns: Some(Turns::start()),
        ..Tally::default()
    };
    let swaps = attacker.swaps.load(Ordering::Acquire);
    let path = |name: &str| rel(format!("{prefix}{name}"));
    // A cell that runs again makes other new names.
    let names = swaps << 20;
    while rounds.go_on(tally.attempts) {
        (victim.prepare)(inside);
        attacker.wait_for_swap();
        let good = is_good();
        let result = (victim.attempt)(root, &path, names + tally.attempts);
        tally.attempts += 1;
        tally.good += u64::from(good);
        assert!(
            canary.is_untouched(),
            "{}: an effect outside after {result:?}",
            victim.verb
        );
        match result {
            Ok(seen) => {
                let leak = seen.windows(7).any(|window| window == b"outside");
                assert!(!leak, "{}: saw the outside", victim.verb);
                tally.succeeded += 1;
            }
            Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
        }
    }
    tally.swaps = attacker.swaps.load(Ordering::Acquire) - swaps;
    tally
}

/// Every error must be one of these; successes must come as often as the tree allows, or the machine
/// was too busy.
pub(crate) fn judge(what: &str, tally: &Tally, allowed: &[ErrorKind], lookups: u32) {
    let Tally {
        attempts,
        good,
        succeeded,
        refused,
        ..
    } = tally;
    println!(
        "{what}: {attempts} attempts, {good} good, {succeeded} succeeded, refused {refused:?}"
    );
    let names: Vec<_> = allowed.iter().map(|kind| kind.name()).collect();
    assert!(
        refused.keys().all(|kind| names.contains(kind)),
        "{what}: {refused:?}"
    );
    if !tally.is_enough(lookups) {
        tally.settle(what);
    }
}

pub(crate) fn policies() -> Vec<(BackendChoice, Links)> {
    let mut policies = Vec::new();
    each_backend(|backend| {
        policies.push((backend, Links::Refuse));
        policies.push((backend, Links::Beneath));
    });
    policies
}

/// As [`policies`], and with links that are taken from the root.
pub(crate) fn every_policy() -> Vec<(BackendChoice, Links)> {
    let mut policies = policies();
    each_backend(|backend| policies.push((backend, Links::InRoot)));
    policies
}

pub(crate) fn refusal(links: Links) -> ErrorKind {
    match links {
        Links::Refuse => ErrorKind::Link,
        Links::Beneath => ErrorKind::Escape,
        // The link leads to a name in the root, and nothing has that name.
        Links::InRoot => ErrorKind::NotFound,
    }
}
