//! The report for programs. Times are nanoseconds for one operation.

use serde_json::{Value, json};

use super::{MeasuredAt, Report};
use crate::budgets::{Bound, Verdict};
use crate::clock::Clock;
use crate::column::Column;
use crate::footprint::Footprint;
use crate::row::Group;
use crate::run::{Cell, Measured};
use crate::stats::Summary;

/// The whole report as JSON: always both clocks.
#[must_use]
pub fn json(report: &Report) -> Value {
    json!({
        "version": 1,
        "machine": {
            "cpu": report.machine.cpu,
            "cores": report.machine.cores,
            "kernel": report.machine.kernel,
        },
        "rounds": report.rounds,
        "places": report.places.iter().map(place).collect::<Vec<_>>(),
    })
}

fn place(place: &MeasuredAt) -> Value {
    json!({
        "place": place.name,
        "rows": place.rows.iter().map(row).collect::<Vec<_>>(),
        "footprints": place.footprints.iter().map(footprint).collect::<Vec<_>>(),
        "atRest": place.at_rest.iter().map(|(column, held)| {
            json!({ "column": column.name(), "descriptors": held })
        }).collect::<Vec<_>>(),
        "checks": place.verdicts.iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn row(row: &Measured) -> Value {
    let cells = row.cells.iter().map(|cell| column(row, cell));
    let lacks = row.lacks.iter().map(lacking);
    let (files, threads) = match row.group {
        Group::Work | Group::Service => (None, None),
        Group::Files(files) => (Some(files), None),
        Group::Threads(threads) => (None, Some(threads)),
    };
    json!({
        "row": row.id,
        "title": row.title,
        "files": files,
        "threads": threads,
        "rounds": row.rounds(),
        "batch": row.batch,
        "work": row.work,
        "columns": cells.collect::<Vec<_>>(),
        "lacking": lacks.collect::<Vec<_>>(),
    })
}

fn lacking((column, reason): &(Column, &str)) -> Value {
    json!({ "column": column.name(), "reason": reason })
}

fn footprint(row: &Footprint) -> Value {
    let cells = row.cells.iter().map(|(column, needs)| {
        json!({
            "column": column.name(),
            "heapBytes": needs.heap,
            "allocations": needs.allocations,
            "descriptors": needs.descriptors,
        })
    });
    json!({ "row": row.id, "title": row.title, "columns": cells.collect::<Vec<_>>() })
}

fn column(row: &Measured, cell: &Cell) -> Value {
    let column = cell.column;
    let clock = |clock: Clock| {
        json!({
            "ns": summary(row.time(column, clock)),
            "toRaw": summary(row.ratio(column, Column::Raw, clock)),
        })
    };
    json!({
        "column": column.name(),
        "cpu": clock(Clock::Cpu),
        "wall": clock(Clock::Wall),
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let budget = &verdict.budget;
    let (bound, factor) = match budget.bound {
        Bound::AtMost(most) => ("at-most", most),
        Bound::Ahead(least) => ("ahead", least),
    };
    json!({
        "row": budget.row,
        "column": budget.column.name(),
        "bound": bound,
        "factor": factor,
        "other": budget.other.name(),
        "measured": summary(verdict.ratio),
        "rawLead": summary(verdict.floor),
        "shortfall": verdict.shortfall(),
        "outcome": verdict.outcome.name(),
    })
}

fn summary(summary: Option<Summary>) -> Value {
    summary.map_or(
        Value::Null,
        |summary| json!({ "median": summary.median, "p25": summary.p25, "p75": summary.p75 }),
    )
}
