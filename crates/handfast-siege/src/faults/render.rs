//! The faults for people, for programs and for documents.

use std::fmt::Write;

use serde_json::{Value, json as value};

use super::report::{FaultReport, FaultRow};
use crate::report::Verdict;

/// One line for each row.
#[must_use]
pub fn table(report: &FaultReport) -> String {
    let mut text = format!("faults: {}\n", circumstances(report));
    for (fault, does) in &report.faults {
        let _ = writeln!(text, "\n{fault}: {does}");
        for row in report.rows.iter().filter(|row| row.fault == *fault) {
            let _ = writeln!(
                text,
                "  {:<16} {:<7} {:>4} points {:>5} runs {:>5} felt {:>4} violations  {}",
                row.scenario,
                row.backend,
                row.points,
                row.runs,
                row.felt,
                row.violations,
                finding(row)
            );
            if let (Some(first), false) = (&row.first, row.control) {
                let _ = writeln!(text, "    {first}");
            }
        }
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "\nnot tried: {} ({})", skipped.what, skipped.why);
    }
    text
}

/// One table for all.
#[must_use]
pub fn markdown(report: &FaultReport) -> String {
    let mut text = format!(
        "**{}**\n\n{}.\n\n",
        report.sentence(),
        circumstances(report)
    );
    text.push_str("| fault | scenario | backend | points | runs | felt | violations | finding |\n");
    text.push_str("|---|---|---|---:|---:|---:|---:|---|\n");
    for row in &report.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.fault,
            match row.control {
                true => format!("*control* {}", row.scenario),
                false => row.scenario.to_owned(),
            },
            row.backend,
            row.points,
            row.runs,
            row.felt,
            row.violations,
            finding(row)
        );
    }
    text.push('\n');
    for (fault, does) in &report.faults {
        let _ = writeln!(text, "- {fault}: {does}");
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "- not tried: {} ({})", skipped.what, skipped.why);
    }
    text
}

/// One JSON object on one line.
#[must_use]
pub fn json(report: &FaultReport) -> String {
    let rows: Vec<Value> = report.rows.iter().map(row).collect();
    let skipped = report.skipped.iter();
    let skipped: Vec<Value> = skipped
        .map(|skipped| value!({"what": skipped.what, "why": skipped.why}))
        .collect();
    let faults = report.faults.iter();
    let faults: Vec<Value> = faults
        .map(|(name, does)| value!({"name": name, "does": does}))
        .collect();
    value!({
        "version": 1,
        "ok": report.verdict() == Verdict::Held,
        "verdict": report.verdict().name(),
        "sentence": report.sentence(),
        "filesystem": report.filesystem,
        "milliseconds": report.milliseconds,
        "faults": faults,
        "rows": rows,
        "skipped": skipped,
    })
    .to_string()
}

fn row(row: &FaultRow) -> Value {
    value!({
        "fault": row.fault,
        "scenario": row.scenario,
        "backend": row.backend,
        "control": row.control,
        "points": row.points,
        "runs": row.runs,
        "felt": row.felt,
        "violations": row.violations,
        "first": row.first,
        "finding": finding(row),
    })
}

fn finding(row: &FaultRow) -> &'static str {
    match (row.control, row.violations, row.felt) {
        (true, 0, _) => "not beaten: too weak",
        (true, _, _) => "beaten",
        (false, 0, 0) => "not felt",
        (false, 0, _) => "held",
        (false, _, _) => "BROKEN",
    }
}

fn circumstances(report: &FaultReport) -> String {
    format!(
        "on {}, {}.{} s",
        report.filesystem,
        report.milliseconds / 1000,
        report.milliseconds % 1000 / 100
    )
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn every_form_tells_every_row() {
        let report = report();
        let parsed: Value = serde_json::from_str(&json(&report)).unwrap();
        assert_eq!(parsed["version"], 1);
        assert_eq!(parsed["rows"][1]["finding"], "beaten");
        assert!(table(&report).contains("naive-write"));
        let markdown = markdown(&report);
        let rows: Vec<_> = markdown
            .lines()
            .filter(|line| line.starts_with('|'))
            .collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.matches('|').count() == 9));
    }
}
