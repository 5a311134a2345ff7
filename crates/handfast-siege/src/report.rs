//! What a siege found, as data: its cells, what was skipped, and the verdict.

use crate::cell::{Cell, Finding};

/// Something that was not tried, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Skipped {
    /// What was not tried.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The answer as a whole.
#[must_use = "an escape is only told here"]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing got out, and every attack was strong enough to show it.
    Held,
    /// Something got out, failed without reason, or refused too much.
    Broken,
    /// Nothing got out as far as could be seen, and others had the processors while a control was to
    /// be beaten.
    Starved,
    /// An attack had no working control, or nothing was tried.
    TooWeak,
}

impl Verdict {
    /// The name, as it is in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::Starved => "starved",
            Self::TooWeak => "too-weak",
        }
    }
}

/// Everything a siege found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Rounds asked for, a cell.
    pub rounds: u64,
    /// On which filesystem.
    pub filesystem: String,
    /// By an ordinary user or by root.
    pub user: &'static str,
    /// Cells, controls included.
    pub cells: Vec<Cell>,
    /// What was not tried.
    pub skipped: Vec<Skipped>,
    /// Each attack that was tried: name, what it does, what counts as harm.
    pub attacks: Vec<(&'static str, &'static str, &'static str)>,
    /// Attacks that broke off: what they did not get to is not known.
    pub broken_off: Vec<&'static str>,
    /// Cells that ended by time before they had all their rounds.
    pub cut_short: u64,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

impl Report {
    /// The verdict: harm beats weakness, and nothing tried is not a yes.
    pub fn verdict(&self) -> Verdict {
        let any = |is: fn(Finding) -> bool| self.cells.iter().any(|cell| is(cell.finding()));
        if any(|finding| finding > Finding::Weak) {
            return Verdict::Broken;
        }
        let tried = self.cells.iter().any(|cell| !cell.control);
        let controlled = self.cells.iter().filter(|cell| !cell.control).all(|cell| {
            self.cells
                .iter()
                .any(|other| other.control && other.attack == cell.attack)
        });
        if !self.broken_off.is_empty()
            || !tried
            || !controlled
            || any(|finding| finding == Finding::Weak)
        {
            return Verdict::TooWeak;
        }
        if any(|finding| finding == Finding::Busy) {
            return Verdict::Starved;
        }
        Verdict::Held
    }

    /// The verdict in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let count = |finding: Finding| {
            self.cells
                .iter()
                .filter(|cell| !cell.control && cell.finding() == finding)
                .count()
        };
        match self.verdict() {
            Verdict::Held => {
                let attempts: u64 = self.victims().map(|cell| cell.attempts).sum();
                format!(
                    "nothing got out: 0 escapes in {attempts} attempts, and every naive control was beaten"
                )
            }
            Verdict::Broken => format!(
                "NOT SAFE HERE: {} cells escaped, {} failed without reason, {} refused too much",
                count(Finding::Escaped),
                count(Finding::Spurious),
                count(Finding::Starved)
            ),
            Verdict::Starved => {
                let busy = self.cells.iter().filter(|cell| cell.busy.is_some());
                let words: Vec<_> = busy.map(|cell| cell.attack).collect();
                let parts = match words.len() {
                    1 => "1 part".to_owned(),
                    count => format!("{count} parts"),
                };
                let words = words.join(", ");
                format!(
                    "starved: others had the processors, and {parts} could not be shown: {words}"
                )
            }
            Verdict::TooWeak => {
                let mut weak: Vec<_> = self
                    .cells
                    .iter()
                    .filter(|cell| cell.finding() == Finding::Weak)
                    .map(|cell| cell.attack)
                    .chain(self.broken_off.iter().copied())
                    .collect();
                weak.dedup();
                match weak.is_empty() {
                    true => "too weak to tell: nothing was shown".to_owned(),
                    false => format!("too weak to tell: {}", weak.join(", ")),
                }
            }
        }
    }

    /// How often a file that is swapped for a link makes a root answer `Raced`, where links are
    /// followed: the backend, calls, and how many were answered so.
    #[must_use]
    pub fn raced(&self) -> Vec<(&'static str, u64, u64)> {
        let of = |backend| {
            let cells = self.victims();
            let cells = cells.filter(|cell| (cell.attack, cell.backend) == ("leaf-swap", backend));
            let found = cells.filter_map(|cell| cell.raced.get("beneath"));
            found.fold((backend, 0, 0), |all, one| {
                (backend, all.1 + one.0, all.2 + one.1)
            })
        };
        let all = ["kernel", "walk"].map(of);
        all.into_iter().filter(|(_, calls, _)| *calls > 0).collect()
    }

    /// Cells that are not controls.
    pub(crate) fn victims(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| !cell.control)
    }

    /// Adds a cell, or adds to the one that is there already.
    pub(crate) fn add(&mut self, cell: Cell) {
        let same = |other: &&mut Cell| {
            (&other.verb, other.attack, other.backend, other.control)
                == (&cell.verb, cell.attack, cell.backend, cell.control)
        };
        // A control by threads does not vouch for attackers that are processes: each is its own.
        let merged = self
            .cells
            .iter_mut()
            .filter(|other| !cell.control || other.attackers == cell.attackers)
            .find(same);
        match merged {
            Some(found) => found.absorb(cell),
            None => self.cells.push(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cell, control};
    use std::collections::BTreeMap;

    fn report(cells: Vec<Cell>) -> Report {
        Report {
            cells,
            ..Report::default()
        }
    }

    #[test]
    fn a_yes_needs_cells_and_a_beaten_control_for_each_attack() {
        assert_eq!(
            report(vec![cell("read"), control()]).verdict(),
            Verdict::Held
        );
        assert_eq!(report(vec![cell("read")]).verdict(), Verdict::TooWeak);
        assert_eq!(report(vec![control()]).verdict(), Verdict::TooWeak);
        assert_eq!(report(vec![]).verdict(), Verdict::TooWeak);
        let other = Cell {
            attack: "leaf-swap",
            ..control()
        };
        assert_eq!(
            report(vec![cell("read"), other]).verdict(),
            Verdict::TooWeak
        );
    }

    #[test]
    fn a_control_that_was_not_beaten_is_too_weak_and_never_a_yes() {
        let unbeaten = Cell {
            escapes: 0,
            attackers: vec!["process"],
            ..control()
        };
        let found = report(vec![cell("read"), control(), unbeaten]);
        assert_eq!(found.verdict(), Verdict::TooWeak);
        assert_eq!(found.sentence(), "too weak to tell: directory-swap");
    }

    #[test]
    fn an_attack_that_broke_off_is_too_weak() {
        let found = Report {
            broken_off: vec!["leaf-swap"],
            ..report(vec![cell("read"), control()])
        };
        assert_eq!(found.verdict(), Verdict::TooWeak);
        assert_eq!(found.sentence(), "too weak to tell: leaf-swap");
    }

    #[test]
    fn a_control_without_processors_is_starved_and_one_with_them_is_weak() {
        let unbeaten = Cell {
            escapes: 0,
            attackers: vec!["process"],
            ..control()
        };
        let starved = Cell {
            busy: Some("others used 1.90 of 2 processors".to_owned()),
            ..unbeaten.clone()
        };
        let found = report(vec![cell("read"), control(), starved.clone()]);
        assert_eq!(found.verdict(), Verdict::Starved);
        assert!(
            found.sentence().contains("1 part could"),
            "{}",
            found.sentence()
        );
        let found = report(vec![cell("read"), control(), starved, unbeaten]);
        assert_eq!(found.verdict(), Verdict::TooWeak);
    }

    #[test]
    fn raced_answers_are_counted_where_links_are_followed() {
        let one = Cell {
            attack: "leaf-swap",
            raced: BTreeMap::from([("beneath", (200, 3)), ("refuse", (200, 50))]),
            ..cell("read")
        };
        let found = report(vec![
            one.clone(),
            Cell {
                verb: "write".to_owned(),
                ..one
            },
        ]);
        assert_eq!(found.raced(), [("walk", 400, 6)]);
    }

    #[test]
    fn harm_beats_weakness() {
        for broken in [
            Cell {
                escapes: 1,
                ..cell("read")
            },
            Cell {
                spurious: 1,
                ..cell("read")
            },
            Cell {
                succeeded: 100,
                ..cell("read")
            },
        ] {
            assert_eq!(report(vec![broken]).verdict(), Verdict::Broken);
        }
    }

    #[test]
    fn nobody_attacked_means_nothing_was_shown() {
        for weak in [
            Cell {
                swaps: 0,
                ..cell("read")
            },
            Cell {
                attempts: 0,
                good: 0,
                ..cell("read")
            },
        ] {
            assert_eq!(report(vec![weak, control()]).verdict(), Verdict::TooWeak);
        }
    }

    #[test]
    fn runs_of_one_cell_are_added_up() {
        let mut found = report(vec![]);
        found.add(cell("read"));
        found.add(Cell {
            attackers: vec!["process"],
            links: vec!["beneath"],
            ..cell("read")
        });
        found.add(control());
        found.add(Cell {
            attackers: vec!["process"],
            ..control()
        });
        assert_eq!(found.cells.len(), 3);
        let merged = &found.cells[0];
        assert_eq!((merged.attempts, merged.refused["Link"]), (2000, 1040));
        assert_eq!(merged.attackers, ["thread", "process"]);
        assert_eq!(merged.links, ["refuse", "beneath"]);
    }
}
