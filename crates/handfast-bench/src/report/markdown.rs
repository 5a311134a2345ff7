//! Tables for documents.

use super::cells::{LEGEND, cell, columns, measured, promised};
use super::{Place, Report};
use crate::clock::Clock;

/// The whole report as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "{}, {} cores, {}; {} rounds. {LEGEND}\n",
        machine.cpu, machine.cores, machine.kernel, report.rounds
    );
    for place in &report.places {
        for clock in &report.clocks {
            text += &format!("\n### {}, {}\n\n", place.name, clock.name());
            text += &times(place, *clock);
        }
        if !place.verdicts.is_empty() {
            text += &format!("\n### {}, budgets\n\n", place.name);
            text += &verdicts(place);
        }
    }
    text
}

fn times(place: &Place, clock: Clock) -> String {
    let columns = columns(place);
    let mut header = vec!["work".to_owned()];
    header.extend(columns.iter().map(ToString::to_string));
    let mut text = line(&header) + "|---|" + &"---:|".repeat(columns.len()) + "\n";
    for row in &place.rows {
        let mut cells = vec![row.title.clone()];
        for column in &columns {
            cells.push(match cell(row, *column, clock) {
                None => String::new(),
                Some([time, ratio, spread]) if ratio.is_empty() => format!("{time} {spread}"),
                Some([time, ratio, spread]) => format!("{time} **{ratio}** {spread}"),
            });
        }
        text += &line(&cells);
    }
    text
}

fn verdicts(place: &Place) -> String {
    let header = ["row", "budget", "measured", "verdict"].map(str::to_owned);
    let mut text = line(&header) + "|---|---|---:|---|\n";
    for verdict in &place.verdicts {
        text += &line(&[
            format!("`{}`", verdict.budget.row),
            promised(verdict),
            measured(verdict),
            verdict.outcome.name().to_owned(),
        ]);
    }
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
