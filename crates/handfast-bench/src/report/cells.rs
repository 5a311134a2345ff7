//! Measurements as short texts, for tables of either kind.

use crate::budgets::{Bound, Verdict};
use crate::clock::Clock;
use crate::column::Column;
use crate::run::Measured;

use super::Place;

/// What the numbers in a table mean.
pub(super) const LEGEND: &str = "Each cell: time for one operation (median); then how many times \
     what the same system calls by hand need, raw-walk for walk and raw for the others (median of \
     the rounds' ratios), ± half the distance between the quartiles. For raw the ± is of the time.";

/// The columns that any row of a place has.
pub(super) fn columns(place: &Place) -> Vec<Column> {
    Column::ALL
        .into_iter()
        .filter(|column| {
            let has = |row: &Measured| row.cells.iter().any(|cell| cell.column == *column);
            place.rows.iter().any(has)
        })
        .collect()
}

/// One cell of a table: time, ratio, spread; nothing if the row lacks the column.
pub(super) fn cell(row: &Measured, column: Column, clock: Clock) -> Option<[String; 3]> {
    let time = row.time(column, clock)?;
    let ratio = column
        .baseline()
        .and_then(|baseline| row.ratio(column, baseline, clock));
    let spread = ratio.unwrap_or(time).spread_percent();
    Some([
        duration(time.median),
        ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
        format!("±{spread:.0}%"),
    ])
}

/// What a verdict measured: the ratio and its quartiles.
pub(super) fn measured(verdict: &Verdict) -> String {
    verdict.ratio.map_or_else(
        || "-".to_owned(),
        |ratio| format!("{:.3} ({:.3}–{:.3})", ratio.median, ratio.p25, ratio.p75),
    )
}

/// What a verdict promised.
pub(super) fn promised(verdict: &Verdict) -> String {
    let budget = &verdict.budget;
    match budget.bound {
        Bound::AtMost(most) => format!("{} / {} ≤ {most:.2}", budget.column, budget.other),
        Bound::Ahead(least) => format!("{} / {} ≥ {least:.2}", budget.other, budget.column),
    }
}

/// Nanoseconds for people: three or four digits and a unit.
pub(super) fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        small if small < 1e4 => return format!("{small:.0} ns"),
        medium if medium < 1e7 => (medium / 1e3, "µs"),
        large if large < 1e10 => (large / 1e6, "ms"),
        huge => (huge / 1e9, "s"),
    };
    if value < 100.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_keep_three_digits() {
        let texts = [999.6, 9_999.0, 23_091.0, 1_260_000.0, 17_300_000.0].map(duration);
        assert_eq!(
            texts,
            ["1000 ns", "9999 ns", "23.1 µs", "1260 µs", "17.3 ms"]
        );
    }
}
