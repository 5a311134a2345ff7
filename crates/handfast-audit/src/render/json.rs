//! JSON, version 1.

use serde_json::{Map, Value, json};

use crate::gate::FailOn;
use crate::report::{Finding, Outcome, Report};

/// One object, on one line, with its end.
#[must_use]
pub fn json(outcome: &Outcome, fail_on: FailOn) -> String {
    let reports: Vec<Value> = outcome.reports.iter().map(report).collect();
    let insufficient: Vec<Value> = outcome
        .insufficient
        .iter()
        .map(|one| json!({"target": one.target, "missing": one.missing}))
        .collect();
    let skipped: Vec<Value> = outcome
        .skipped
        .iter()
        .map(|one| json!({"file": one.file, "reason": one.reason}))
        .collect();
    let value = json!({
        "version": 1,
        "verdict": outcome.verdict.name(),
        "gate": if outcome.passes(fail_on) { "pass" } else { "fail" },
        "fail_on": fail_on.name(),
        "reports": reports,
        "tool": {"version": env!("CARGO_PKG_VERSION"), "knowledge": outcome.knowledge},
        "insufficient": insufficient,
        "skipped": skipped,
        "unparsed": outcome.unparsed,
        "bounded": outcome.bounded,
        "covered": outcome.covered.iter().map(|one| json!({"function": one.function, "caller": one.caller})).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn report(report: &Report) -> Value {
    let mut coverage = Map::new();
    for area in &report.coverage {
        coverage.insert(
            area.area.to_string(),
            json!({"yes": area.yes, "applicable": area.applicable}),
        );
    }
    let evidence: Vec<Value> = report
        .evidence
        .iter()
        .map(|one| {
            json!({
                "item": one.item,
                "answer": if one.is_yes { "yes" } else { "na" },
                "anchor": one.anchor,
                "reason": one.reason,
                "hash": one.hash,
            })
        })
        .collect();
    json!({
        "target": report.target,
        "archive": report.is_archive,
        "trusted_root": report.trusted_root,
        "input_surface": report.input_surface,
        "operation": report.operation,
        "verdict": report.verdict.name(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "evidence": evidence,
        "coverage": coverage,
        "recommendations": report.recommendations,
        "residual_risk": report.residual_risk,
        "depth": report.depth.name(),
    })
}

fn finding(finding: &Finding) -> Value {
    let trace: Vec<Value> = finding
        .trace
        .iter()
        .map(|step| json!({"file": step.file, "line": step.line, "note": step.note, "guard": step.guard}))
        .collect();
    json!({
        "id": finding.id,
        "items": finding.items,
        "title": finding.title,
        "category": finding.category,
        "severity": finding.severity.name(),
        "classification": finding.classification.name(),
        "advice": finding.is_advice(),
        "file": finding.file,
        "line": finding.line,
        "end_line": finding.end_line,
        "function": finding.function,
        "sink": finding.sink,
        "source": finding.source,
        "trigger": finding.trigger,
        "risk": finding.risk,
        "required_guard": finding.required_guard,
        "suggested_anchor": finding.suggested_anchor,
        "trace": trace,
    })
}
