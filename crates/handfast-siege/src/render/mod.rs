//! The report for people, for programs and for documents: one renderer each.

mod json;
mod markdown;
mod table;

pub use json::json;
pub use markdown::markdown;
pub use table::table;

use crate::cell::Cell;
use crate::report::Report;

/// Refusals by kind, most frequent first.
fn refusals(cell: &Cell) -> String {
    let mut kinds: Vec<_> = cell.refused.iter().collect();
    kinds.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
    let words: Vec<_> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    words.join(", ")
}

/// A part of a hundred.
fn share(part: u64, whole: u64) -> String {
    match (part * 100).checked_div(whole) {
        Some(share) => format!("{share} %"),
        None => "-".to_owned(),
    }
}

/// A part of a hundred, to its hundredths.
fn hundredths(part: u64, whole: u64) -> String {
    let share = (part * 10_000).checked_div(whole).unwrap_or(0);
    format!("{}.{:02} %", share / 100, share % 100)
}

/// Where it ran, in a line.
fn circumstances(report: &Report) -> String {
    format!(
        "{} {} a cell, on {}, as {}, {}.{} s",
        report.rounds,
        if report.rounds == 1 {
            "round"
        } else {
            "rounds"
        },
        report.filesystem,
        match report.user {
            "root" => "root",
            _ => "an ordinary user",
        },
        report.milliseconds / 1000,
        report.milliseconds % 1000 / 100
    )
}

/// What a reader must know beside the cells.
fn remarks(report: &Report) -> Vec<String> {
    let mut remarks: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| format!("not tried: {} ({})", skipped.what, skipped.why))
        .collect();
    let starved: Vec<_> = report
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.busy.as_ref()?)))
        .collect();
    for (cell, why) in &starved {
        remarks.push(format!("starved: {} {}: {why}", cell.attack, cell.verb));
    }
    if !starved.is_empty() {
        remarks.push(format!("starved: {} in all", starved.len()));
    }
    for (backend, calls, raced) in report.raced() {
        remarks.push(format!(
            "answered Raced: {} of {calls} leaf-swap calls on {backend} where links are followed ({})",
            raced,
            hundredths(raced, calls)
        ));
    }
    if report.cut_short > 0 {
        remarks.push(format!(
            "{} parts of cells ended by time, with fewer attempts than rounds",
            report.cut_short
        ));
    }
    remarks
}
