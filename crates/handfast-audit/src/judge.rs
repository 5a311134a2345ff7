//! From answers to a report: findings merged by cause, severity, verdict, words.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::accept::Acceptances;
use crate::grade::{self, Group};
use crate::interp::SinkKind;
use crate::items::{ALL, ItemAnswer};
use crate::report::{Coverage, Depth, Evidence, Finding, Report};
use crate::scope::{Flow, Scope};
use crate::standing::GuardState;
use crate::tables::{Classification, Severity, Weighed, verdict};
use crate::term::SourceKind;

const RESIDUAL: [&str; 3] = [
    "filesystem-level TOCTOU between consecutive looks at a name remains bounded but not eliminated unless operations are anchored",
    "a mount namespace can present another filesystem at the configured root; that is a matter of deployment",
    "locks, fsync and O_NOFOLLOW may behave differently on NFS, FUSE and overlayfs",
];

/// A line that shows where to start.
pub(crate) fn suggestion(family: &str, cause: &str) -> String {
    static TABLE: OnceLock<BTreeMap<String, BTreeMap<String, String>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        toml::from_str(include_str!("suggestions.toml")).expect("the built-in suggestions parse")
    });
    table
        .get(family)
        .and_then(|lines| lines.get(cause))
        .cloned()
        .unwrap_or_default()
}

/// The cause under which a missing item is filed.
pub(crate) fn cause_of(id: &str) -> &'static str {
    match id {
        "A1" | "A2" | "A4" | "A5" => "input",
        "A3" => "option",
        "A6" => "key",
        "B1" | "B2" => "root",
        "B3" => "containment",
        "C1" | "C2" | "C3" => "walk",
        "C4" => "errors",
        "C5" | "D2" => "leaf",
        "D1" => "mkdir",
        "D3" => "write",
        "D4" | "E2" => "revalidate",
        "D5" => "descriptor",
        "E1" => "lock",
        "E3" => "branch",
        _ => "tests",
    }
}

/// The report of one file.
pub(crate) fn judge(
    scope: &Scope<'_>,
    target: &str,
    depth: Depth,
    accepted: &mut Acceptances,
) -> Report {
    let answers: Vec<(&'static str, ItemAnswer)> = ALL
        .iter()
        .map(|(id, evaluate)| (*id, evaluate(scope)))
        .collect();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let standings: Vec<GuardState> = scope.flows.iter().map(Flow::standing).collect();
    let worst = standings.iter().copied().max().unwrap_or(GuardState::Open);
    let mut evidence = Vec::new();
    let mut counts: BTreeMap<char, (usize, usize)> = BTreeMap::new();
    for (id, answer) in &answers {
        let area = id.chars().next().unwrap_or('A');
        let count = counts.entry(area).or_default();
        match answer {
            ItemAnswer::Yes(at) => {
                count.0 += 1;
                count.1 += 1;
                // What has no place of its own is shown where the operation is.
                let at = match scope.flows.first() {
                    Some(flow) if at.line == 0 => &flow.sink.at,
                    _ => at,
                };
                evidence.push(Evidence {
                    item: (*id).to_owned(),
                    is_yes: true,
                    anchor: scope.program.place(*at),
                    reason: String::new(),
                    hash: short_hash(scope.program.file(at.file).line(at.line).trim()),
                });
            }
            ItemAnswer::NotApplicable(reason) => evidence.push(Evidence {
                item: (*id).to_owned(),
                is_yes: false,
                anchor: String::new(),
                reason: reason.clone(),
                hash: String::new(),
            }),
            ItemAnswer::Missing(gaps) => {
                count.1 += 1;
                for gap in gaps {
                    let standing = gap.flow.map_or(worst, |index| standings[index]);
                    let key = match gap.flow {
                        Some(index) => flow_key(&scope.flows[index], standing),
                        None => gap.cause.to_owned(),
                    };
                    let group = groups.entry(key).or_insert_with(|| Group {
                        items: Vec::new(),
                        gaps: Vec::new(),
                        flows: Vec::new(),
                        standing,
                        cause: gap.cause,
                    });
                    if !group.items.contains(id) {
                        group.items.push(id);
                    }
                    group.flows.extend(gap.flow);
                    group.gaps.push(gap.clone());
                }
            }
        }
    }
    for group in groups.values_mut() {
        group.flows.sort_unstable();
        group.flows.dedup();
    }
    let mut findings: Vec<Finding> = groups.values().map(|group| group.finding(scope)).collect();
    findings.extend(scope.hazards.iter().map(|one| grade::hazard(scope, one)));
    evidence.retain(|one| !scope.hazards.iter().any(|hazard| hazard.item == one.item));
    findings.sort_by(|a, b| {
        (&a.items[0], &a.file, a.line, &a.function).cmp(&(
            &b.items[0],
            &b.file,
            b.line,
            &b.function,
        ))
    });
    accepted.apply(&mut findings);
    findings.extend(accepted.incomplete());
    let verdict = weigh(&findings);
    let coverage = "ABCDEF".chars().map(|area| {
        let (yes, applicable) = counts.get(&area).copied().unwrap_or_default();
        Coverage {
            area,
            yes,
            applicable,
        }
    });
    if depth == Depth::Quick {
        findings.retain(|finding| {
            finding.severity >= Severity::High && finding.classification != Classification::Accepted
        });
        evidence.retain(|one| one.is_yes);
    }
    Report {
        target: target.to_owned(),
        trusted_root: roots(scope),
        input_surface: surface(scope),
        operation: operation(scope),
        verdict,
        recommendations: recommendations(scope, &findings),
        residual_risk: RESIDUAL.iter().map(|text| (*text).to_owned()).collect(),
        findings,
        evidence,
        coverage: coverage.collect(),
        depth,
        is_insufficient: false,
        is_archive: false,
    }
}

/// The verdict over findings.
pub(crate) fn weigh(findings: &[Finding]) -> crate::tables::Verdict {
    verdict(findings.iter().map(|finding| Weighed {
        severity: finding.severity,
        classification: finding.classification,
        reachable: finding.reachable,
        compensated: finding.compensated,
    }))
}

/// Operations of one function that the same text reaches in the same standing are one flow.
fn flow_key(flow: &Flow, standing: GuardState) -> String {
    format!(
        "{:?} {} {:?} {}",
        std::cmp::Reverse(standing as u8),
        flow.function,
        flow.sink.function,
        flow.labels.join(",")
    )
}

fn roots(scope: &Scope<'_>) -> String {
    let mut out: Vec<String> = Vec::new();
    for facts in &scope.roots {
        let text = match facts.root.at {
            Some(at) => format!("{} ({})", facts.root.label, scope.program.place(at)),
            None => facts.root.label.clone(),
        };
        if !out.contains(&text) {
            out.push(text);
        }
    }
    if out.is_empty() {
        "undeclared".to_owned()
    } else {
        out.join(", ")
    }
}

fn surface(scope: &Scope<'_>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for flow in scope.flows.iter().chain(&scope.spawns) {
        for (leaf, label) in flow.leaves.iter().zip(&flow.labels) {
            let text = match leaf.kind {
                SourceKind::Guessed => {
                    format!("{label} (parameter of a public function, assumed external)")
                }
                _ => label.clone(),
            };
            if leaf.kind != SourceKind::Undeclared && !out.contains(&text) {
                out.push(text);
            }
        }
    }
    out.sort();
    out
}

fn operation(scope: &Scope<'_>) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for flow in &scope.flows {
        let kind = match flow.sink.kind {
            SinkKind::Read | SinkKind::Stat | SinkKind::Spawn => "read",
            SinkKind::Open if flow.sink.flags.create => "create",
            SinkKind::Open if flow.sink.flags.write => "mutate",
            SinkKind::Open => "read",
            SinkKind::Create
            | SinkKind::MoveTo
            | SinkKind::Mkdir
            | SinkKind::MkdirAll
            | SinkKind::Temp
            | SinkKind::Link => "create",
            SinkKind::Mutate => "mutate",
            SinkKind::Delete | SinkKind::MoveFrom => "delete",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds.as_slice() {
        [one] => (*one).to_owned(),
        _ => "mixed".to_owned(),
    }
}

fn recommendations(scope: &Scope<'_>, findings: &[Finding]) -> Vec<String> {
    let has = |id: &str| {
        findings
            .iter()
            .any(|finding| finding.items.iter().any(|item| item == id))
    };
    let mut out = Vec::new();
    if has("A1") || has("A4") {
        out.push(
            "promote validation to one function that every entry point calls first".to_owned(),
        );
    }
    if has("C1") || has("D1") {
        out.push("extract one helper that walks or creates a path segment by segment, and use it at every site".to_owned());
    }
    if scope.lang.has_anchored_operations() && (has("B3") || has("D2")) {
        out.push("open the root once and work relative to its descriptor".to_owned());
    }
    if has("F3") {
        out.push("share one test helper that makes a private directory with links, hard links and files in the way".to_owned());
    }
    out
}

/// A short hash of text.
pub(crate) fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The deterministic report of a target whose context is missing.
pub(crate) fn insufficient(target: &str, missing: &str) -> Report {
    let root = missing == "trusted-root-undeclared";
    let finding = Finding {
        id: short_hash(&format!("{target}\n{missing}")),
        items: Vec::new(),
        title: if root {
            "trusted root is not declared"
        } else {
            "external-input surface is not declared"
        }
        .to_owned(),
        category: if root {
            "Trusted-root handling"
        } else {
            "Input validation"
        }
        .to_owned(),
        severity: Severity::Low,
        classification: Classification::Open,
        file: String::new(),
        line: 0,
        end_line: 0,
        snippet: String::new(),
        column: 0,
        width: 0,
        function: String::new(),
        sink: String::new(),
        source: String::new(),
        trigger: missing.to_owned(),
        risk: if root {
            "without the directory that paths must stay in, no guard can be judged"
        } else {
            "without the fields that flow into the path, no guard can be judged"
        }
        .to_owned(),
        required_guard: if root {
            "declare the directory that the target confines paths to"
        } else {
            "declare which fields or parameters come from outside"
        }
        .to_owned(),
        suggested_anchor: if root {
            "pass --root NAME or write a comment `handfast: root=NAME` in the target"
        } else {
            "pass --input FIELD or write a comment `handfast: input=FIELD` in the target"
        }
        .to_owned(),
        trace: Vec::new(),
        acceptance: None,
        reachable: true,
        compensated: false,
        is_weak: false,
        within: (0, 0),
    };
    Report {
        target: target.to_owned(),
        trusted_root: "undeclared".to_owned(),
        input_surface: Vec::new(),
        operation: String::new(),
        verdict: crate::tables::Verdict::Block,
        findings: vec![finding],
        evidence: Vec::new(),
        coverage: Vec::new(),
        recommendations: Vec::new(),
        residual_risk: Vec::new(),
        depth: Depth::Standard,
        is_insufficient: true,
        is_archive: false,
    }
}
