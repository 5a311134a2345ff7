//! A section for a document.

use super::cells::{
    LEGEND, NEEDS, Reasons, TABLES, cell, columns, floor, measured, needs, outcome, promised,
};
use super::{MeasuredAt, Report};
use crate::clock::Clock;
use crate::column::Column;
use crate::run::Measured;

/// The whole report as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = format!("{}.\n\n{LEGEND}\n", report.subject());
    if let Some(chart) = &report.chart {
        text += &format!("\n![Time beside raw system calls]({chart})\n");
    }
    let mut reasons = Reasons::default();
    for place in &report.places {
        for clock in &report.clocks {
            text += &format!("\n### {}, {}\n", place.name, clock.name());
            for (title, belongs) in TABLES {
                let rows: Vec<_> = place.rows.iter().filter(|row| belongs(row.group)).collect();
                if !rows.is_empty() {
                    text += &format!("\n{}:\n\n", capital(title));
                    text += &times(&columns(place), &rows, *clock, &mut reasons);
                }
            }
        }
        if !place.footprints.is_empty() {
            text += &format!(
                "\n### {}, memory and descriptors\n\n{NEEDS}\n\n",
                place.name
            );
            text += &footprints(place);
        }
        if !place.verdicts.is_empty() {
            text += &format!("\n### {}, budgets\n\n", place.name);
            text += &verdicts(place);
        }
    }
    if reasons.lines().next().is_some() {
        text += "\n### Empty cells\n\n";
        text.extend(reasons.lines().map(|line| format!("- {line}\n")));
    }
    text += "\n### The columns\n\n";
    let here = |column: &Column| {
        report
            .places
            .iter()
            .any(|place| columns(place).contains(column))
    };
    for column in Column::ALL.into_iter().filter(here) {
        text += &format!("- **{}**: {}\n", column.title(), column.scope());
    }
    text
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

fn head(first: &str, columns: &[Column]) -> String {
    let mut header = vec![first.to_owned()];
    header.extend(columns.iter().map(|column| column.title().to_owned()));
    line(&header) + "|---|" + &"---:|".repeat(columns.len()) + "\n"
}

fn times(columns: &[Column], rows: &[&Measured], clock: Clock, reasons: &mut Reasons) -> String {
    let mut text = head("work", columns);
    for row in rows {
        let mut cells = vec![row.title.clone()];
        for column in columns {
            let [number, spread] = cell(row, *column, clock, reasons);
            let ours = matches!(column, Column::Kernel | Column::Walk);
            cells.push(match spread.as_str() {
                "" => number,
                _ if ours => format!("**{number}** {spread}"),
                _ => format!("{number} {spread}"),
            });
        }
        text += &line(&cells);
    }
    text
}

fn footprints(place: &MeasuredAt) -> String {
    let columns = columns(place);
    let mut text = head("work", &columns);
    for row in &place.footprints {
        let mut cells = vec![row.title.clone()];
        for column in &columns {
            let found = row.cells.iter().find(|(here, _)| here == column);
            cells.push(found.map_or_else(String::new, |(_, found)| needs(found)));
        }
        text += &line(&cells);
    }
    let mut cells = vec!["held between operations".to_owned()];
    for column in &columns {
        let found = place.at_rest.iter().find(|(here, _)| here == column);
        cells.push(found.map_or_else(String::new, |(_, held)| format!("{held} fd")));
    }
    text + &line(&cells)
}

fn verdicts(place: &MeasuredAt) -> String {
    let header = ["row", "budget", "measured", "raw's own lead", "verdict"].map(str::to_owned);
    let mut text = line(&header) + "|---|---|---:|---:|---|\n";
    for verdict in &place.verdicts {
        text += &line(&[
            format!("`{}`", verdict.budget.row),
            promised(verdict),
            measured(verdict),
            floor(verdict),
            outcome(verdict),
        ]);
    }
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
