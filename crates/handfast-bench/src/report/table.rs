//! Tables for people: aligned, one for each place and clock.

use super::cells::{
    LEGEND, NEEDS, Reasons, TABLES, cell, columns, floor, measured, needs, outcome, promised,
};
use super::{MeasuredAt, Report};
use crate::budgets::Outcome;
use crate::clock::Clock;
use crate::column::Column;
use crate::run::Measured;

/// The whole report as text.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut text = report.subject() + "\n";
    let mut reasons = Reasons::default();
    for place in &report.places {
        for clock in &report.clocks {
            for (title, belongs) in TABLES {
                let rows: Vec<_> = place.rows.iter().filter(|row| belongs(row.group)).collect();
                if !rows.is_empty() {
                    text += &format!("\n{}, {}, {title}\n\n", place.name, clock.name());
                    text += &align(&times(&columns(place), &rows, *clock, &mut reasons));
                }
            }
        }
        if !place.footprints.is_empty() {
            text += &format!("\n{}, memory and descriptors\n\n", place.name);
            text += &align(&footprints(place));
        }
        if !place.verdicts.is_empty() {
            text += &format!("\n{}, budgets\n\n", place.name);
            text += &align(&verdicts(place));
        }
    }
    text += &format!("\n{LEGEND}\n");
    if report
        .places
        .iter()
        .any(|place| !place.footprints.is_empty())
    {
        text += &format!("{NEEDS}\n");
    }
    text.extend(reasons.lines().map(|line| line + "\n"));
    let (passed, missed) = (report.count(Outcome::Pass), report.count(Outcome::Miss));
    let unknown = report.count(Outcome::NotMeasured);
    if passed + missed + unknown > 0 {
        text += &format!("Budgets: {passed} kept, {missed} missed, {unknown} not measured.\n");
    }
    text
}

/// A grid of texts; the first column is set to the left, the others to the right.
type Grid = Vec<Vec<String>>;

fn times(columns: &[Column], rows: &[&Measured], clock: Clock, reasons: &mut Reasons) -> Grid {
    let mut header = vec![String::new()];
    for column in columns {
        // Two texts make a cell; the name is above the first.
        header.extend([column.to_string(), String::new()]);
    }
    let mut grid = vec![header];
    for row in rows {
        let mut line = vec![row.title.clone()];
        for column in columns {
            line.extend(cell(row, *column, clock, reasons));
        }
        grid.push(line);
    }
    grid
}

fn footprints(place: &MeasuredAt) -> Grid {
    let columns = columns(place);
    let mut header = vec![String::new()];
    header.extend(columns.iter().map(ToString::to_string));
    let mut grid = vec![header];
    for row in &place.footprints {
        let mut line = vec![row.title.clone()];
        for column in &columns {
            let found = row.cells.iter().find(|(here, _)| here == column);
            line.push(found.map_or_else(String::new, |(_, found)| needs(found)));
        }
        grid.push(line);
    }
    let mut line = vec!["held between operations".to_owned()];
    for column in &columns {
        let found = place.at_rest.iter().find(|(here, _)| here == column);
        line.push(found.map_or_else(String::new, |(_, held)| format!("{held} fd")));
    }
    grid.push(line);
    grid
}

fn verdicts(place: &MeasuredAt) -> Grid {
    let header = ["", "budget", "measured", "raw's own lead", "verdict"].map(str::to_owned);
    let lines = place.verdicts.iter().map(|verdict| {
        vec![
            verdict.budget.row.clone(),
            promised(verdict),
            measured(verdict),
            floor(verdict),
            outcome(verdict),
        ]
    });
    std::iter::once(header.to_vec()).chain(lines).collect()
}

fn align(grid: &Grid) -> String {
    let columns = grid.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let lengths = grid.iter().filter_map(|line| line.get(column));
        lengths.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in grid {
        let mut out = String::new();
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            if *width == 0 {
                continue;
            }
            out += &match index {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text += out.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::align;

    #[test]
    fn numbers_stand_below_one_another() {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = align(&vec![line(["", "raw", ""]), line(["stat", "1 µs", "±2%"])]);
        assert_eq!(text, "       raw\nstat  1 µs  ±2%\n");
    }
}
