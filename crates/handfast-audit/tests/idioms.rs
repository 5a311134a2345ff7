//! Idioms, one line or a few each, put into the frame of their language.
//!
//! - `holes`: something stands there that looks like a guard and is none; the finding has to stay.
//! - `guards`: a guard that holds, in the ways people write it; the finding has to go.
//! - `flows`: external text takes some way to a path operation; it has to be found.
//!
//! A case marked `gap` is not understood yet. It must fail: when it is understood, the mark goes.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use handfast_audit::{Input, Knowledge, Options, Outcome, audit};

struct Sheet {
    extension: &'static str,
    text: &'static str,
}

struct Case<'s> {
    name: &'s str,
    is_gap: bool,
    program: String,
}

/// The frame stands first; `@@` is where a case goes. Cases begin with `=== name`.
fn cases<'s>(sheet: &Sheet, text: &'s str) -> Vec<Case<'s>> {
    let mut parts = text.split("\n=== ");
    let frame = parts.next().unwrap();
    let line = frame.lines().find(|line| line.contains("@@")).unwrap();
    let indent = &line[..line.find("@@").unwrap()];
    let mut out = Vec::new();
    for part in parts {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let (name, is_gap) = match head.strip_suffix(" gap") {
            Some(name) => (name, true),
            None => (head, false),
        };
        let body = body.trim_end().replace('\n', &format!("\n{indent}"));
        let program = format!("{}\n", frame.replacen("@@", &body, 1));
        assert!(
            !program.contains("@@"),
            "{name} in {}: the frame has one place",
            sheet.extension
        );
        out.push(Case {
            name,
            is_gap,
            program,
        });
    }
    out
}

fn run(knowledge: &Knowledge, extension: &str, program: &str) -> Outcome {
    let input = Input {
        path: format!("case.{extension}"),
        bytes: program.as_bytes().to_vec(),
        is_named: true,
        is_context: false,
    };
    audit(vec![input], knowledge, &Options::default())
}

/// Whether an item is a finding; `softly` also where it is advice below the gate.
fn finds(outcome: &Outcome, item: &str, softly: bool) -> bool {
    let findings = outcome.reports.iter().flat_map(|report| &report.findings);
    findings
        .filter(|finding| finding.items.iter().any(|known| *known == item))
        .any(|finding| softly || !finding.is_advice())
}

fn check(sheets: &[Sheet], floor: usize, holds: impl Fn(&Outcome) -> bool) {
    let knowledge = Knowledge::new(&[]).unwrap();
    let mut wrong = Vec::new();
    let mut understood = 0;
    for sheet in sheets {
        for case in cases(sheet, sheet.text) {
            let outcome = run(&knowledge, sheet.extension, &case.program);
            let name = format!("{} in {}", case.name, sheet.extension);
            match (holds(&outcome), case.is_gap) {
                (true, false) => understood += 1,
                (false, true) => {}
                (true, true) => wrong.push(format!("{name}: understood now, take the mark away")),
                (false, false) => wrong.push(format!("{name}: not understood")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(understood >= floor, "only {understood} cases were tried");
}

macro_rules! sheets {
    ($kind:literal) => {
        [
            Sheet {
                extension: "py",
                text: include_str!(concat!("idioms/", $kind, ".py.txt")),
            },
            Sheet {
                extension: "js",
                text: include_str!(concat!("idioms/", $kind, ".js.txt")),
            },
            Sheet {
                extension: "go",
                text: include_str!(concat!("idioms/", $kind, ".go.txt")),
            },
            Sheet {
                extension: "rs",
                text: include_str!(concat!("idioms/", $kind, ".rs.txt")),
            },
            Sheet {
                extension: "c",
                text: include_str!(concat!("idioms/", $kind, ".c.txt")),
            },
            Sheet {
                extension: "java",
                text: include_str!(concat!("idioms/", $kind, ".java.txt")),
            },
            Sheet {
                extension: "cpp",
                text: include_str!(concat!("idioms/", $kind, ".cpp.txt")),
            },
        ]
    };
}

#[test]
fn what_only_looks_like_a_guard_is_none() {
    check(&sheets!("holes"), 130, |outcome| {
        finds(outcome, "A1", true) && (finds(outcome, "A4", true) || finds(outcome, "B3", false))
    });
}

#[test]
fn guards_are_understood_as_people_write_them() {
    check(&sheets!("guards"), 150, |outcome| {
        !finds(outcome, "A4", true) && !finds(outcome, "B3", false)
    });
}

#[test]
fn external_text_is_followed_on_its_way() {
    check(&sheets!("flows"), 380, |outcome| finds(outcome, "A1", true));
}
