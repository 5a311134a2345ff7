//! Text, in the template of the checklist.

use std::fmt::Write;

use crate::report::{Depth, Outcome, Report};

/// All reports, separated by a line of dashes, and targets without context at the end.
#[must_use]
pub fn text(outcome: &Outcome) -> String {
    let reports: Vec<String> = outcome.reports.iter().map(one).collect();
    let mut out = reports.join("---\n");
    if !outcome.insufficient.is_empty() {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        out.push_str("Insufficient context (no verdict):\n");
        for target in &outcome.insufficient {
            writeln!(out, "  {}: {}", target.target, target.missing).ok();
        }
    }
    out
}

fn one(report: &Report) -> String {
    let mut out = String::new();
    let w = &mut out;
    writeln!(w, "Verdict: {}", report.verdict.name()).ok();
    let heading = if report.is_archive {
        " (archive entry names)"
    } else {
        ""
    };
    writeln!(w, "Target: {}{heading}", report.target).ok();
    if !report.is_insufficient {
        writeln!(w, "Trusted root: {}", report.trusted_root).ok();
        let surface = if report.input_surface.is_empty() {
            "undeclared".to_owned()
        } else {
            report.input_surface.join(", ")
        };
        writeln!(w, "External-input surface: {surface}").ok();
        writeln!(w, "Operation kind: {}", report.operation).ok();
        if report.depth != Depth::Standard {
            writeln!(w, "Depth: {}", report.depth.name()).ok();
        }
    }
    writeln!(w, "\nFindings:").ok();
    if report.findings.is_empty() {
        writeln!(w, "  none").ok();
    }
    for (index, finding) in report.findings.iter().enumerate() {
        let ids = finding.items.join(", ");
        let gap = if ids.is_empty() { "" } else { " " };
        writeln!(w, "{}. {ids}{gap}{}", index + 1, finding.title).ok();
        if finding.file.is_empty() {
            writeln!(w, "  Anchor: \"no anchor; missing from target\"").ok();
        } else {
            writeln!(w, "  Anchor: {}:{}", finding.file, finding.line).ok();
        }
        writeln!(w, "  Category: {}", finding.category).ok();
        writeln!(w, "  Severity: {}", finding.severity.name()).ok();
        writeln!(w, "  Classification: {}", finding.classification.name()).ok();
        writeln!(w, "  Trigger: {}", finding.trigger).ok();
        let accepted = finding
            .acceptance
            .as_ref()
            .map_or_else(String::new, |text| format!(" (accepted by {text})"));
        writeln!(w, "  Risk: {}{accepted}", finding.risk).ok();
        writeln!(w, "  Required guard: {}", finding.required_guard).ok();
        let anchor = finding.suggested_anchor.replace('\n', "; ");
        writeln!(w, "  Suggested anchor: {anchor}").ok();
    }
    if report.is_insufficient {
        return out;
    }
    writeln!(w, "\nChecklist evidence (non-findings):").ok();
    for one in &report.evidence {
        if one.is_yes {
            writeln!(w, "  {}: YES @ {}", one.item, one.anchor).ok();
        } else {
            writeln!(w, "  {}: N/A because {}", one.item, one.reason).ok();
        }
    }
    writeln!(w, "\nCoverage summary:").ok();
    for area in &report.coverage {
        writeln!(w, "  {}: {} / {}", area.area, area.yes, area.applicable).ok();
    }
    let list = |list: &[String]| {
        if list.is_empty() {
            "none".to_owned()
        } else {
            list.join("; ")
        }
    };
    writeln!(
        w,
        "\nCross-cutting recommendations: {}",
        list(&report.recommendations)
    )
    .ok();
    writeln!(w, "Residual risk: {}", list(&report.residual_risk)).ok();
    out
}
