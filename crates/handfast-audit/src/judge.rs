//! From answers to a report: findings merged by cause, severity, verdict, words.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::accept::Acceptances;
use crate::facts::bit;
use crate::interp::SinkKind;
use crate::ir::Span;
use crate::items::{ALL, Answer, Gap};
use crate::report::{Coverage, Depth, Evidence, Finding, Report, Step};
use crate::scope::{Flow, Scope};
use crate::tables::{Classification, Severity, Weighed, item, verdict};
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

struct Group<'s> {
    items: Vec<&'static str>,
    gaps: Vec<Gap>,
    flow: Option<&'s Flow>,
    cause: &'static str,
}

/// The report of one file.
pub(crate) fn judge(
    scope: &Scope<'_>,
    target: &str,
    depth: Depth,
    accepted: &mut Acceptances,
) -> Report {
    let answers: Vec<(&'static str, Answer)> = ALL
        .iter()
        .map(|(id, evaluate)| (*id, evaluate(scope)))
        .collect();
    let mut groups: BTreeMap<(String, &'static str), Group<'_>> = BTreeMap::new();
    let mut evidence = Vec::new();
    let mut counts: BTreeMap<char, (usize, usize)> = BTreeMap::new();
    for (id, answer) in &answers {
        let area = id.chars().next().unwrap_or('A');
        let count = counts.entry(area).or_default();
        match answer {
            Answer::Yes(at) => {
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
            Answer::NotApplicable(reason) => evidence.push(Evidence {
                item: (*id).to_owned(),
                is_yes: false,
                anchor: String::new(),
                reason: reason.clone(),
                hash: String::new(),
            }),
            Answer::Missing(gaps) => {
                count.1 += 1;
                for gap in gaps {
                    let flow = gap.flow.map(|index| &scope.flows[index]);
                    // Closures share a name; their place tells them apart.
                    let place = flow.map_or_else(String::new, |flow| {
                        format!("{} {:?}", flow.function, flow.sink.function)
                    });
                    let group = groups.entry((place, gap.cause)).or_insert_with(|| Group {
                        items: Vec::new(),
                        gaps: Vec::new(),
                        flow,
                        cause: gap.cause,
                    });
                    if !group.items.contains(id) {
                        group.items.push(id);
                    }
                    group.gaps.push(gap.clone());
                }
            }
        }
    }
    let mut findings: Vec<Finding> = groups.values().map(|group| finding(scope, group)).collect();
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
    }
}

/// The verdict over findings.
pub(crate) fn weigh(findings: &[Finding]) -> crate::tables::Verdict {
    verdict(findings.iter().map(|finding| Weighed {
        severity: finding.severity,
        classification: finding.classification,
        reachable: finding.reachable,
        compensated: false,
    }))
}

fn finding(scope: &Scope<'_>, group: &Group<'_>) -> Finding {
    let flow = group.flow.or_else(|| scope.flows.first());
    let first = item(group.items[0]).expect("a known item");
    let worst = group
        .items
        .iter()
        .filter_map(|id| item(id))
        .max_by_key(|item| (item.severity, std::cmp::Reverse(item.id.clone())));
    let worst = worst.unwrap_or(first);
    let is_tests = group.cause == "tests";
    let external = flow.is_some_and(Flow::is_external);
    let mut severity = group
        .items
        .iter()
        .filter_map(|id| item(id))
        .map(|item| {
            if external {
                item.severity
            } else {
                item.otherwise
            }
        })
        .max()
        .unwrap_or(Severity::High);
    if group.gaps.iter().all(|gap| gap.milder) {
        severity = severity.milder();
    }
    let certain = flow.is_some_and(Flow::is_certain) && !scope.is_damaged;
    let lexical_only = group.cause == "containment" && group.gaps.iter().all(|gap| gap.milder);
    let classification = if is_tests {
        Classification::TestGap
    } else if certain && !lexical_only {
        Classification::Confirmed
    } else {
        Classification::Likely
    };
    let detail = group.gaps.iter().find_map(|gap| gap.detail.clone());
    let is_shared = group.items.len() == 1 || group.gaps.iter().all(|gap| gap.detail == detail);
    let title = match &detail {
        Some(detail) if is_shared => detail.clone(),
        // It tells of one of several items only.
        Some(detail) => format!("{} ({detail})", worst.title),
        None => worst.title.clone(),
    };
    let at: Option<Span> = group.gaps.iter().find_map(|gap| gap.at).or_else(|| {
        group
            .gaps
            .iter()
            .find_map(|gap| gap.flow)
            .map(|index| scope.flows[index].sink.at)
    });
    let at = at.filter(|at| !is_tests && at.line > 0);
    let (file, line, end_line) = match at {
        Some(at) => (
            scope.program.file(at.file).path.clone(),
            at.line,
            at.end_line.max(at.line),
        ),
        None => (String::new(), 0, 0),
    };
    let function = group
        .flow
        .map_or_else(String::new, |flow| flow.function.clone());
    let sink = flow.map_or_else(String::new, |flow| flow.sink.name.to_string());
    let source = flow.map_or_else(String::new, |flow| flow.labels.join(", "));
    let mut guards: Vec<&str> = Vec::new();
    for id in &group.items {
        if let Some(item) = item(id)
            && !guards.contains(&item.guard.as_str())
        {
            guards.push(&item.guard);
        }
    }
    let mut id = String::new();
    for part in [
        &group.items.join("+"),
        &function,
        &sink,
        scope.program.file(scope.file).path.as_str(),
    ] {
        id.push_str(part);
        id.push('\n');
    }
    let trigger = if source.is_empty() || is_tests {
        worst.trigger.clone()
    } else {
        format!("{} (`{source}` into `{sink}`)", worst.trigger)
    };
    Finding {
        id: short_hash(&id),
        items: group.items.iter().map(|id| (*id).to_owned()).collect(),
        title,
        category: first.category.clone(),
        severity,
        classification,
        file,
        line,
        end_line,
        function,
        sink,
        source,
        trigger,
        risk: worst.risk.clone(),
        required_guard: guards.join("; "),
        suggested_anchor: suggestion(scope.lang.family(), group.cause),
        trace: flow.map(|flow| trace(scope, flow)).unwrap_or_default(),
        acceptance: None,
        reachable: flow.is_none_or(Flow::is_reachable),
        within: group.flow.map_or((0, 0), |flow| {
            let span = scope.program.function(flow.sink.function).span;
            (span.line, span.end_line)
        }),
    }
}

fn trace(scope: &Scope<'_>, flow: &Flow) -> Vec<Step> {
    let mut steps = Vec::new();
    let step = |at: Span, note: String| Step {
        file: scope.program.file(at.file).path.clone(),
        line: at.line.max(1),
        note,
    };
    let start = scope
        .program
        .function(
            flow.sink
                .calls
                .first()
                .map_or(flow.sink.function, |(id, _)| *id),
        )
        .span;
    if let Some(label) = flow.labels.first() {
        steps.push(step(start, format!("external text `{label}`")));
    }
    for (id, at) in &flow.sink.calls {
        if at.line > 0 {
            steps.push(step(
                *at,
                format!("goes into `{}`", scope.program.function(*id).name),
            ));
        }
    }
    steps.push(step(flow.sink.at, format!("reaches `{}`", flow.sink.name)));
    steps
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
pub(crate) fn insufficient(target: &str, missing: &str, family: &str) -> Report {
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
        within: (0, 0),
    };
    let _ = (family, bit::TYPED);
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
    }
}
