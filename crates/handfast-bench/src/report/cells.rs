//! Measurements as short texts, for tables of either kind.

use crate::budgets::{Bound, Outcome, Verdict};
use crate::clock::Clock;
use crate::column::Column;
use crate::footprint::Needs;
use crate::row::Group;
use crate::run::Measured;
use crate::words::{bytes, duration};

use super::MeasuredAt;

/// What the numbers in a table mean.
pub(super) const LEGEND: &str = "raw: the time of one operation (median of the rounds). The \
     others: how many times that they need (median of the ratios within a round); below 1 by more \
     than the spread, fewer system calls than Handfast's promises need. ±: half the distance between the quartiles.";

/// What the numbers about memory and descriptors mean.
pub(super) const NEEDS: &str = "For one operation: the most heap in use at once, how often memory \
     was asked for, and the fewest descriptors with which it works.";

type Belongs = fn(Group) -> bool;

/// The tables, in their order, and which rows they have.
pub(super) const TABLES: [(&str, Belongs); 4] = [
    ("work", |group| group == Group::Work),
    ("through the broker", |group| group == Group::Service),
    ("more and more files", |group| {
        matches!(group, Group::Files(_))
    }),
    ("more and more threads", |group| {
        matches!(group, Group::Threads(_))
    }),
];

/// The columns that any row of a place has.
pub(super) fn columns(place: &MeasuredAt) -> Vec<Column> {
    Column::ALL
        .into_iter()
        .filter(|column| {
            let has = |row: &Measured| row.cells.iter().any(|cell| cell.column == *column);
            place.rows.iter().any(has)
        })
        .collect()
}

/// Why cells are empty: each reason once, with a letter.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<&'static str>);

impl Reasons {
    fn letter(index: usize) -> char {
        char::from(b'a'.saturating_add(u8::try_from(index).unwrap_or(u8::MAX)))
    }

    /// What is in an empty cell.
    pub(super) fn mark(&mut self, reason: &'static str) -> String {
        let known = self.0.iter().position(|told| *told == reason);
        let index = known.unwrap_or_else(|| {
            self.0.push(reason);
            self.0.len() - 1
        });
        format!("({})", Self::letter(index))
    }

    /// The reasons, each with its mark.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let lines = self.0.iter().enumerate();
        lines.map(|(index, reason)| format!("({}) {reason}.", Self::letter(index)))
    }
}

/// One cell of a table: a time or a ratio, and its spread; or the mark of a reason.
pub(super) fn cell(
    row: &Measured,
    column: Column,
    clock: Clock,
    reasons: &mut Reasons,
) -> [String; 2] {
    if let Some((_, reason)) = row.lacks.iter().find(|(lacking, _)| *lacking == column) {
        return [reasons.mark(reason), String::new()];
    }
    let (text, summary) = if column == Column::Raw {
        let time = row.time(column, clock);
        (time.map(|time| duration(time.median)), time)
    } else {
        let ratio = row.ratio(column, Column::Raw, clock);
        (ratio.map(|ratio| format!("{:.2}", ratio.median)), ratio)
    };
    let spread = summary.map(|summary| format!("±{:.0}%", summary.spread_percent()));
    [text.unwrap_or_default(), spread.unwrap_or_default()]
}

/// What an operation needs besides time.
pub(super) fn needs(needs: &Needs) -> String {
    format!(
        "{}, {}×, {} fd",
        bytes(needs.heap),
        needs.allocations,
        needs.descriptors
    )
}

/// What a verdict measured: the ratio and its quartiles.
pub(super) fn measured(verdict: &Verdict) -> String {
    verdict.ratio.map_or_else(
        || "-".to_owned(),
        |ratio| format!("{:.3} ({:.3}–{:.3})", ratio.median, ratio.p25, ratio.p75),
    )
}

/// How far the floor itself is ahead, where that matters.
pub(super) fn floor(verdict: &Verdict) -> String {
    let floor = verdict.floor.map(|floor| format!("{:.3}", floor.median));
    floor.unwrap_or_default()
}

/// What a verdict promised.
pub(super) fn promised(verdict: &Verdict) -> String {
    let budget = &verdict.budget;
    match budget.bound {
        Bound::AtMost(most) => format!("{} / {} ≤ {most:.2}", budget.column, budget.other),
        Bound::Ahead(least) => format!("{} / {} ≥ {least:.2}", budget.other, budget.column),
    }
}

/// Whether a promise was kept, and by how much.
pub(super) fn outcome(verdict: &Verdict) -> String {
    let share = verdict.shortfall().unwrap_or_default() * 100.0;
    let mut text = match verdict.outcome {
        Outcome::NotMeasured => return "not measured".to_owned(),
        Outcome::Pass => format!("kept, {:.1}% to spare", -share),
        Outcome::Miss => format!("missed by {share:.1}%"),
    };
    if verdict.is_within_spread() {
        text += ", within the spread";
    }
    if verdict.outcome == Outcome::Miss && verdict.is_out_of_reach() {
        text += "; raw calls miss it too";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Reasons;

    #[test]
    fn a_reason_is_told_once() {
        let mut reasons = Reasons::default();
        let marks = ["x", "y", "x"].map(|reason| reasons.mark(reason));
        assert_eq!(marks, ["(a)", "(b)", "(a)"]);
        assert_eq!(reasons.lines().collect::<Vec<_>>(), ["(a) x.", "(b) y."]);
    }
}
