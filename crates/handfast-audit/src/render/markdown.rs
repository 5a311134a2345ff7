//! Markdown, for a comment on a change.

use std::fmt::Write;

use crate::report::Outcome;

/// A table per report, the answers below it.
#[must_use]
pub fn markdown(outcome: &Outcome) -> String {
    let mut out = String::new();
    let w = &mut out;
    for report in &outcome.reports {
        writeln!(
            w,
            "### {}: {}\n",
            report.verdict.name(),
            cell(&report.target)
        )
        .ok();
        if !report.is_insufficient {
            let surface = report.input_surface.join(", ");
            writeln!(
                w,
                "Trusted root: {}. External input: {}. Operation: {}.\n",
                cell(&report.trusted_root),
                cell(&surface),
                report.operation
            )
            .ok();
        }
        if !report.findings.is_empty() {
            writeln!(w, "| items | finding | where | severity | classification | start with |\n|---|---|---|---|---|---|").ok();
        }
        for finding in &report.findings {
            let place = if finding.file.is_empty() {
                "no anchor".to_owned()
            } else {
                format!("{}:{}", finding.file, finding.line)
            };
            writeln!(
                w,
                "| {} | {} | {} | {} | {} | {} |",
                finding.items.join(", "),
                cell(&finding.title),
                cell(&place),
                finding.severity.name(),
                finding.classification.name(),
                cell(&finding.suggested_anchor),
            )
            .ok();
        }
        let yes: Vec<String> = report
            .evidence
            .iter()
            .filter(|one| one.is_yes)
            .map(|one| format!("{} ({})", one.item, cell(&one.anchor)))
            .collect();
        if !yes.is_empty() {
            writeln!(w, "\nAnswered yes: {}", yes.join(", ")).ok();
        }
        writeln!(w).ok();
    }
    for one in &outcome.insufficient {
        writeln!(w, "- {}: {}", cell(&one.target), one.missing).ok();
    }
    out
}

/// Text that cannot break out of its cell.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' => out.push_str("\\|"),
            '<' => out.push_str("&lt;"),
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}
