//! What the design promises, and whether it holds.

use std::fmt;

use crate::Failure;
use crate::clock::Clock;
use crate::column::Column;
use crate::run::Measured;
use crate::stats::Summary;

/// The budgets of the design: data, not code.
const TABLE: &str = include_str!("../budgets.txt");

/// How a column has to compare with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It needs at most so many times as much.
    AtMost(f64),
    /// The other needs at least so many times as much.
    Ahead(f64),
}

/// One promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The row's id.
    pub row: String,
    /// Whose promise it is.
    pub column: Column,
    /// What was promised.
    pub bound: Bound,
    /// In comparison with whom.
    pub other: Column,
}

impl Budget {
    /// Every budget.
    ///
    /// # Errors
    /// The line that is wrong.
    pub fn all() -> Result<Vec<Self>, Failure> {
        parse(TABLE)
    }

    /// Compares with what was measured.
    #[must_use]
    pub fn check(&self, rows: &[Measured]) -> Option<Verdict> {
        let row = rows.iter().find(|row| row.id == self.row)?;
        let ratio = match self.bound {
            Bound::AtMost(_) => row.ratio(self.column, self.other, Clock::Cpu),
            Bound::Ahead(_) => row.ratio(self.other, self.column, Clock::Cpu),
        };
        let outcome = match (ratio, self.bound) {
            (None, _) => Outcome::NotMeasured,
            (Some(ratio), Bound::AtMost(most)) if ratio.median <= most => Outcome::Pass,
            (Some(ratio), Bound::Ahead(least)) if ratio.median >= least => Outcome::Pass,
            _ => Outcome::Miss,
        };
        // How far the floor itself is ahead says how far anybody could be.
        let floor = match self.bound {
            Bound::AtMost(_) => None,
            Bound::Ahead(_) => row.ratio(self.other, Column::Raw, Clock::Cpu),
        };
        Some(Verdict {
            budget: self.clone(),
            ratio,
            floor,
            outcome,
        })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::AtMost(most) => write!(f, "{} ≤ {most:.2} × {}", self.column, self.other),
            Bound::Ahead(least) => {
                write!(
                    f,
                    "{} ahead of {} by ≥ {least:.2} ×",
                    self.column, self.other
                )
            }
        }
    }
}

/// Whether a promise was kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It was.
    Pass,
    /// It was not.
    Miss,
    /// One of the two columns is not in this build.
    NotMeasured,
}

impl Outcome {
    /// The name, as it is in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Miss => "miss",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A promise and what became of it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The promise.
    pub budget: Budget,
    /// The ratio that was measured.
    pub ratio: Option<Summary>,
    /// Where somebody has to be left behind: how far the floor itself is ahead of them.
    pub floor: Option<Summary>,
    /// Whether it was kept.
    pub outcome: Outcome,
}

impl Verdict {
    /// By how much it was missed, as a share of what was promised; below zero if it was kept.
    #[must_use]
    pub fn shortfall(&self) -> Option<f64> {
        let measured = self.ratio?.median;
        Some(match self.budget.bound {
            Bound::AtMost(most) => measured / most - 1.0,
            Bound::Ahead(least) => 1.0 - measured / least,
        })
    }

    /// Whether the middle half of the rounds lies on both sides of what was promised.
    #[must_use]
    pub fn is_within_spread(&self) -> bool {
        let (Bound::AtMost(bound) | Bound::Ahead(bound)) = self.budget.bound;
        self.ratio
            .is_some_and(|ratio| ratio.p25 <= bound && bound <= ratio.p75)
    }

    /// Whether even the floor is not as far ahead as was promised.
    #[must_use]
    pub fn is_out_of_reach(&self) -> bool {
        match (self.budget.bound, self.floor) {
            (Bound::Ahead(least), Some(floor)) => floor.median < least,
            _ => false,
        }
    }
}

fn parse(table: &str) -> Result<Vec<Budget>, Failure> {
    table
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            parse_line(line).ok_or_else(|| format!("budgets, line {}: {line}", index + 1).into())
        })
        .collect()
}

fn parse_line(line: &str) -> Option<Budget> {
    let mut words = line.split_whitespace();
    let row = words.next()?.to_owned();
    let column = Column::from_name(words.next()?)?;
    let bound = match words.next()? {
        "<=" => Bound::AtMost,
        "ahead" => Bound::Ahead,
        _ => return None,
    };
    let factor: f64 = words.next()?.parse().ok()?;
    let other = Column::from_name(words.next()?)?;
    let ends = words.next().is_none();
    (ends && factor > 0.0 && factor.is_finite()).then(|| Budget {
        row,
        column,
        bound: bound(factor),
        other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Sample;
    use crate::row::Group;
    use crate::run::Cell;
    use crate::scale::Scale;

    #[test]
    fn the_table_parses_and_names_rows_that_exist() {
        let rows: Vec<String> = crate::rows::all(&Scale::FULL)
            .into_iter()
            .map(|row| row.id)
            .collect();
        let budgets = Budget::all().unwrap();
        assert!(budgets.len() > 20);
        for budget in budgets {
            assert!(rows.contains(&budget.row), "{budget:?}");
        }
    }

    #[test]
    fn a_line_that_makes_no_sense_is_told() {
        for bad in [
            "stat/1 kernel <= 1.10",
            "stat/1 kernel < 1.10 raw",
            "stat/1 kernel <= fast raw",
            "stat/1 kernel <= -1 raw",
            "stat/1 nobody <= 1.10 raw",
            "stat/1 kernel <= 1.10 raw more",
        ] {
            let failure = parse(bad).unwrap_err().to_string();
            assert!(failure.contains("line 1"), "{failure}");
        }
        assert_eq!(parse("# a remark\n\n").unwrap(), []);
    }

    #[test]
    fn both_bounds_are_judged_in_the_right_direction() {
        let cell = |column, cpu| Cell {
            column,
            samples: vec![Sample { cpu, wall: cpu }],
        };
        let rows = [Measured {
            id: "row".into(),
            title: String::new(),
            batch: 1,
            work: 1,
            group: Group::Work,
            lacks: Vec::new(),
            cells: vec![
                cell(Column::Raw, 100.0),
                cell(Column::Kernel, 105.0),
                cell(Column::Std, 126.0),
            ],
        }];
        let outcome = |line: &str| {
            let budget = parse_line(line).unwrap();
            budget.check(&rows).map(|verdict| verdict.outcome)
        };
        assert_eq!(outcome("row kernel <= 1.10 raw"), Some(Outcome::Pass));
        assert_eq!(outcome("row kernel <= 1.04 raw"), Some(Outcome::Miss));
        assert_eq!(outcome("row kernel ahead 1.20 std"), Some(Outcome::Pass));
        assert_eq!(outcome("row kernel ahead 1.25 std"), Some(Outcome::Miss));
        let judged = |line: &str| parse_line(line).unwrap().check(&rows).unwrap();
        let missed = judged("row kernel ahead 1.25 std");
        assert!((missed.shortfall().unwrap() - 0.04).abs() < 1e-9);
        // The floor is 1.26 ahead, so it could be done; 1.30 could not.
        assert!(!missed.is_out_of_reach());
        assert!(judged("row kernel ahead 1.30 std").is_out_of_reach());
        let kept = judged("row kernel <= 1.10 raw");
        assert!(kept.shortfall().unwrap() < 0.0 && !kept.is_out_of_reach());
        assert!(judged("row kernel <= 1.05 raw").is_within_spread());
        let absent = outcome("row kernel ahead 1.25 cap-std");
        assert_eq!(absent, Some(Outcome::NotMeasured));
        assert_eq!(outcome("other kernel <= 1.10 raw"), None);
    }
}
