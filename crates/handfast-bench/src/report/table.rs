//! Tables for people: aligned, one for each place and clock.

use super::cells::{LEGEND, cell, columns, measured, promised};
use super::{Place, Report};
use crate::budgets::Outcome;
use crate::clock::Clock;

/// The whole report as text.
#[must_use]
pub fn table(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "{}, {} cores, {}; {} rounds\n",
        machine.cpu, machine.cores, machine.kernel, report.rounds
    );
    for place in &report.places {
        for clock in &report.clocks {
            text += &format!("\n{}, {}\n\n", place.name, clock.name());
            text += &align(&times(place, *clock));
        }
        if !place.verdicts.is_empty() {
            text += &format!("\n{}, budgets\n\n", place.name);
            text += &align(&verdicts(place));
        }
    }
    text += &format!("\n{LEGEND}\n");
    let (passed, missed) = (report.count(Outcome::Pass), report.count(Outcome::Miss));
    let unknown = report.count(Outcome::NotMeasured);
    if passed + missed + unknown > 0 {
        text += &format!("Budgets: {passed} kept, {missed} missed, {unknown} not measured.\n");
    }
    text
}

/// A grid of texts; the first column is set to the left, the others to the right.
type Grid = Vec<Vec<String>>;

fn times(place: &Place, clock: Clock) -> Grid {
    let columns = columns(place);
    let mut header = vec![String::new()];
    for column in &columns {
        // Three texts make a cell; the name stands above the first.
        header.extend([column.to_string(), String::new(), String::new()]);
    }
    let mut grid = vec![header];
    for row in &place.rows {
        let mut line = vec![row.title.clone()];
        for column in &columns {
            line.extend(cell(row, *column, clock).unwrap_or_default());
        }
        grid.push(line);
    }
    grid
}

fn verdicts(place: &Place) -> Grid {
    place
        .verdicts
        .iter()
        .map(|verdict| {
            vec![
                verdict.budget.row.clone(),
                promised(verdict),
                measured(verdict),
                verdict.outcome.name().to_owned(),
            ]
        })
        .collect()
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
