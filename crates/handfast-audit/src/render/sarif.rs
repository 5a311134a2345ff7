//! SARIF 2.1.0: one rule per item, fingerprints without lines, code flows, suppressions.

use serde_json::{Value, json};

use crate::report::{Finding, Outcome};
use crate::tables::{Classification, Severity, items};

/// One log with one run, and its end.
#[must_use]
pub fn sarif(outcome: &Outcome) -> String {
    let rules: Vec<Value> = items()
        .iter()
        .map(|item| {
            let mut tags = vec!["security".to_owned()];
            tags.extend(item.cwe.iter().map(|number| format!("external/cwe/cwe-{number:03}")));
            json!({
                "id": format!("HF-{}", item.id),
                "name": format!("PathSafety{}", item.id),
                "shortDescription": {"text": item.title},
                "fullDescription": {"text": item.guard},
                "help": {"text": format!("{}. Trigger: {}. Risk: {}.", item.guard, item.trigger, item.risk)},
                "defaultConfiguration": {"level": level(item.severity)},
                "properties": {"tags": tags, "security-severity": number(item.severity)},
            })
        })
        .collect();
    let mut results = Vec::new();
    for report in &outcome.reports {
        for finding in &report.findings {
            results.push(result(finding, &report.target));
        }
    }
    let value = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "handfast audit",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    format!("{value}\n")
}

fn result(finding: &Finding, target: &str) -> Value {
    let rule = finding.items.first().map_or("F3", String::as_str);
    let index = items().iter().position(|item| item.id == rule).unwrap_or(0);
    let file = if finding.file.is_empty() {
        target
    } else {
        &finding.file
    };
    let text = format!(
        "{}: {}. Required guard: {}",
        finding.items.join(", "),
        finding.title,
        finding.required_guard
    );
    let steps: Vec<Value> = finding
        .trace
        .iter()
        .map(|step| {
            json!({"location": {
                "physicalLocation": place(&step.file, step.line, step.line),
                "message": {"text": step.note},
            }})
        })
        .collect();
    let mut value = json!({
        "ruleId": format!("HF-{rule}"),
        "ruleIndex": index,
        "level": level_of(finding),
        "message": {"text": text},
        "locations": [{"physicalLocation": place(file, finding.line.max(1), finding.end_line.max(1))}],
        "partialFingerprints": {"primaryLocationLineHash": format!("{}:1", finding.id), "handfast/v1": finding.id},
        "properties": {
            "items": finding.items,
            "classification": finding.classification.name(),
            "severity": finding.severity.name(),
            "advice": finding.is_advice(),
        },
    });
    if !steps.is_empty() {
        value["codeFlows"] = json!([{"threadFlows": [{"locations": steps}]}]);
    }
    if finding.classification == Classification::Accepted {
        let reason = finding.acceptance.clone().unwrap_or_default();
        value["suppressions"] =
            json!([{"kind": "inSource", "status": "accepted", "justification": reason}]);
    }
    value
}

fn place(file: &str, line: u32, end: u32) -> Value {
    json!({
        "artifactLocation": {"uri": uri(file)},
        "region": {"startLine": line, "endLine": end.max(line)},
    })
}

/// A relative reference; everything beyond plain characters is percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// What is no hole is a note; what is not sure is a warning.
fn level_of(finding: &Finding) -> &'static str {
    match finding.classification {
        Classification::Confirmed if !finding.is_advice() => "error",
        Classification::Likely if !finding.is_advice() => "warning",
        Classification::Open => "warning",
        _ => "note",
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

fn number(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.3",
        Severity::High => "7.5",
        Severity::Medium => "5.0",
        Severity::Low => "2.0",
    }
}
