//! One cell of a siege: what was tried, what came of it, and what that says.

use std::collections::BTreeMap;

/// One verb under one attack on one backend; or the attack's naive control.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// What was called; for a control, what the naive code does.
    pub verb: String,
    /// Under which attack.
    pub attack: &'static str,
    /// On which backend; `none` for a control.
    pub backend: &'static str,
    /// Whether this is a control, which must come to harm.
    pub control: bool,
    /// How the attackers ran: `thread`, `process`.
    pub attackers: Vec<&'static str>,
    /// Under which policies for links the verb was called: `refuse`, `beneath`.
    pub links: Vec<&'static str>,
    /// Calls made.
    pub attempts: u64,
    /// Calls made while the tree was as the caller wants it.
    pub good: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that were refused, by kind, as the attack explains.
    pub refused: BTreeMap<&'static str, u64>,
    /// Errors that the attack does not explain.
    pub spurious: u64,
    /// The first few of those, in words.
    pub odd: Vec<String>,
    /// Attempts after which harm was found.
    pub escapes: u64,
    /// What the first harm was, in words.
    pub harm: Option<String>,
    /// How often the attackers changed the tree.
    pub swaps: u64,
    /// How many of a hundred good attempts must succeed.
    pub floor: u64,
    /// Calls made and calls answered with `Raced`, under each policy for links.
    pub raced: BTreeMap<&'static str, (u64, u64)>,
    /// Why nothing could be shown: others had the processors, in words.
    pub busy: Option<String>,
}

/// What a cell says.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd, Ord)]
pub enum Finding {
    /// All is well: nothing got out; or, for a control, something did.
    Held,
    /// As [`Finding::Weak`], on a machine whose processors others had: it was starved.
    Busy,
    /// A control that came to no harm, or a cell in which no attacker acted: nothing is proved.
    Weak,
    /// It refuses more than the attack explains.
    Starved,
    /// Errors that the attack does not explain.
    Spurious,
    /// Harm was done.
    Escaped,
}

impl Finding {
    /// The name, as it is in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Busy => "busy",
            Self::Weak => "weak",
            Self::Starved => "starved",
            Self::Spurious => "spurious",
            Self::Escaped => "ESCAPED",
        }
    }
}

impl Cell {
    /// What the cell says.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let weak = match self.busy {
            Some(_) => Finding::Busy,
            None => Finding::Weak,
        };
        if self.control {
            return if self.escapes > 0 {
                Finding::Held
            } else {
                weak
            };
        }
        if self.escapes > 0 {
            Finding::Escaped
        } else if self.spurious > 0 {
            Finding::Spurious
        } else if self.attempts == 0 || self.swaps == 0 {
            weak
        } else if self.succeeded < self.needed() {
            Finding::Starved
        } else {
            Finding::Held
        }
    }

    /// How many calls must succeed: a share of the good attempts, less what chance explains (three
    /// standard deviations, so that a handful of attempts need none).
    #[must_use]
    pub fn needed(&self) -> u64 {
        let floor = self.floor.min(100);
        let expected = self.good * floor / 100;
        let chance = (9 * self.good * floor * (100 - floor) / 10_000).isqrt();
        expected.saturating_sub(chance)
    }

    /// Counts an error that the attack does not explain.
    pub(crate) fn note_odd(&mut self, words: String) {
        self.spurious += 1;
        if self.odd.len() < 3 {
            self.odd.push(words);
        }
    }

    /// Counts a look at the scene, or its clearing, that failed: it is not known whether harm was done.
    pub(crate) fn blind(&mut self, error: &handfast::Error) {
        self.note_odd(format!("the look failed: {}: {error}", error.kind()));
    }

    /// Adds what another run of the same cell found.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (all, new) in [
            (&mut self.attackers, &other.attackers),
            (&mut self.links, &other.links),
        ] {
            for name in new {
                if !all.contains(name) {
                    all.push(name);
                }
            }
        }
        self.attempts += other.attempts;
        self.good += other.good;
        self.succeeded += other.succeeded;
        for (kind, count) in other.refused {
            *self.refused.entry(kind).or_default() += count;
        }
        self.spurious += other.spurious;
        self.odd.extend(other.odd);
        self.odd.truncate(3);
        self.escapes += other.escapes;
        self.harm = self.harm.take().or(other.harm);
        self.swaps += other.swaps;
        self.floor = self.floor.max(other.floor);
        for (links, (calls, raced)) in other.raced {
            let all = self.raced.entry(links).or_default();
            *all = (all.0 + calls, all.1 + raced);
        }
        self.busy = self.busy.take().or(other.busy);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cell(verb: &str) -> Cell {
        Cell {
            verb: verb.to_owned(),
            attack: "directory-swap",
            backend: "walk",
            attackers: vec!["thread"],
            links: vec!["refuse"],
            attempts: 1000,
            good: 500,
            succeeded: 480,
            refused: BTreeMap::from([("Link", 520)]),
            swaps: 1200,
            floor: 80,
            ..Cell::default()
        }
    }

    pub(crate) fn control() -> Cell {
        Cell {
            verb: "naive-read".to_owned(),
            attack: "directory-swap",
            backend: "none",
            control: true,
            attackers: vec!["thread"],
            attempts: 12,
            escapes: 1,
            swaps: 13,
            ..Cell::default()
        }
    }

    #[test]
    fn a_short_run_is_not_starved_by_chance() {
        let short = Cell {
            attempts: 30,
            good: 15,
            succeeded: 9,
            ..cell("read")
        };
        assert_eq!(short.finding(), Finding::Held);
        let middling = Cell {
            attempts: 200,
            good: 100,
            succeeded: 69,
            ..cell("read")
        };
        assert_eq!((middling.needed(), middling.finding()), (68, Finding::Held));
        let long = Cell {
            attempts: 20_000,
            good: 10_000,
            succeeded: 7_700,
            ..cell("read")
        };
        assert_eq!(long.finding(), Finding::Starved);
    }
}
