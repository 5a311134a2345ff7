//! For documents: one row for each cell.

use super::{circumstances, refusals, remarks, share};
use crate::cell::Cell;
use crate::report::Report;

/// The report as Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut lines = vec![
        format!("**{}**", report.sentence()),
        String::new(),
        format!("{}.", circumstances(report)),
    ];
    for (name, does, harm) in &report.attacks {
        lines.push(String::new());
        lines.push(format!("### {name}"));
        lines.push(String::new());
        lines.push(format!("{}. Harm: {harm}.", capital(does)));
        lines.push(String::new());
        lines.push("| verb | backend | attackers | attempts | escapes | spurious | succeeded | refused | swaps | finding |".to_owned());
        lines.push("|---|---|---|---:|---:|---:|---:|---|---:|---|".to_owned());
        let cells = report.cells.iter().filter(|cell| cell.attack == *name);
        lines.extend(cells.map(row));
    }
    let remarks = remarks(report);
    if !remarks.is_empty() {
        lines.push(String::new());
        lines.extend(remarks.iter().map(|remark| format!("- {remark}")));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn row(cell: &Cell) -> String {
    let (verb, finding) = match (cell.control, cell.escapes) {
        (true, 0) if cell.busy.is_some() => {
            (format!("*control* {}", cell.verb), "not beaten: starved")
        }
        (true, 0) => (format!("*control* {}", cell.verb), "not beaten: too weak"),
        (true, _) => (format!("*control* {}", cell.verb), "beaten"),
        (false, _) => (cell.verb.clone(), cell.finding().name()),
    };
    format!(
        "| {verb} | {} | {} | {} | {} | {} | {} | {} | {} | {finding} |",
        cell.backend,
        cell.attackers.join(", "),
        cell.attempts,
        cell.escapes,
        cell.spurious,
        share(cell.succeeded, cell.attempts),
        refusals(cell),
        cell.swaps,
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cell, control};

    #[test]
    fn every_cell_is_a_row_of_as_many_columns_as_the_head() {
        let report = Report {
            cells: vec![cell("read"), control()],
            attacks: vec![("directory-swap", "it swaps", "it leaks")],
            ..Report::default()
        };
        let text = markdown(&report);
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 4);
        for row in rows {
            assert_eq!(row.matches('|').count(), 11, "{row}");
        }
        assert!(text.contains("It swaps. Harm: it leaks."));
        assert!(text.contains("| *control* naive-read | none |"));
    }
}
