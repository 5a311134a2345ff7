//! One guarded program per language, and what becomes of its answers when one guard is taken away
//! or made subtly wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use std::collections::BTreeMap;

use handfast_audit::{Input, Knowledge, Options, Outcome, audit};

struct Set {
    name: &'static str,
    base: &'static str,
    tests_name: &'static str,
    tests: &'static str,
    cases: &'static str,
}

const SETS: [Set; 5] = [
    Set {
        name: "base.py",
        base: include_str!("fixtures/python/base.py"),
        tests_name: "test_base.py",
        tests: include_str!("fixtures/python/test_base.py"),
        cases: include_str!("fixtures/python/cases.txt"),
    },
    Set {
        name: "base.ts",
        base: include_str!("fixtures/typescript/base.ts"),
        tests_name: "base.test.ts",
        tests: include_str!("fixtures/typescript/base.test.ts"),
        cases: include_str!("fixtures/typescript/cases.txt"),
    },
    Set {
        name: "base.go",
        base: include_str!("fixtures/go/base.go"),
        tests_name: "base_test.go",
        tests: include_str!("fixtures/go/base_test.go"),
        cases: include_str!("fixtures/go/cases.txt"),
    },
    Set {
        name: "base.rs",
        base: include_str!("fixtures/rust/base.rs"),
        tests_name: "base_test.rs",
        tests: include_str!("fixtures/rust/base_test.rs"),
        cases: include_str!("fixtures/rust/cases.txt"),
    },
    Set {
        name: "base.c",
        base: include_str!("fixtures/c/base.c"),
        tests_name: "test_base.c",
        tests: include_str!("fixtures/c/test_base.c"),
        cases: include_str!("fixtures/c/cases.txt"),
    },
];

fn run(name: &str, text: &str, tests_name: &str, tests: &str) -> Outcome {
    let knowledge = Knowledge::new(&[]).unwrap();
    let input = |path: &str, text: &str, is_named| Input {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
        is_named,
        is_context: !is_named,
    };
    let inputs = vec![input(name, text, true), input(tests_name, tests, false)];
    audit(inputs, &knowledge, &Options::default())
}

/// Item → `yes`, `na` or `finding`.
fn answers(outcome: &Outcome) -> BTreeMap<String, &'static str> {
    let mut out = BTreeMap::new();
    for report in &outcome.reports {
        for one in &report.evidence {
            out.insert(one.item.clone(), if one.is_yes { "yes" } else { "na" });
        }
        for finding in &report.findings {
            for item in &finding.items {
                out.insert(item.clone(), "finding");
            }
        }
    }
    out
}

struct Case {
    title: String,
    text: String,
    expected: Vec<String>,
}

fn cases(set: &Set) -> Vec<Case> {
    let mut out = Vec::new();
    let text = format!("\n{}", set.cases);
    for block in text.split("\n== ").skip(1) {
        let mut lines = block.lines();
        let title = lines.next().unwrap().to_owned();
        let mut text = set.base.to_owned();
        let mut old = String::new();
        let mut new = String::new();
        let mut expected = Vec::new();
        let mut apply = |old: &mut String, new: &mut String| {
            if old.is_empty() {
                return;
            }
            let (from, to) = (old.trim_end_matches('\n'), new.trim_end_matches('\n'));
            assert!(text.contains(from), "{title}: not in the base: {from}");
            text = text.replacen(from, to, 1);
            old.clear();
            new.clear();
        };
        for line in lines {
            if let Some(part) = line.strip_prefix('-') {
                if !new.is_empty() {
                    apply(&mut old, &mut new);
                }
                old.push_str(part);
                old.push('\n');
            } else if let Some(part) = line.strip_prefix('+') {
                new.push_str(part);
                new.push('\n');
            } else if let Some(part) = line.strip_prefix('!') {
                apply(&mut old, &mut new);
                expected = part.split_whitespace().map(str::to_owned).collect();
            }
        }
        out.push(Case {
            title,
            text,
            expected,
        });
    }
    out
}

#[test]
fn the_guarded_programs_have_no_finding() {
    for set in &SETS {
        let outcome = run(set.name, set.base, set.tests_name, set.tests);
        let found = answers(&outcome);
        let bad: Vec<_> = found
            .iter()
            .filter(|(_, answer)| **answer == "finding")
            .collect();
        assert!(
            bad.is_empty(),
            "{}: {bad:?}\n{}",
            set.name,
            handfast_audit::render::text(&outcome)
        );
        assert_eq!(found.len(), 25, "{}", set.name);
        assert_eq!(outcome.verdict.name(), "CLEAN");
    }
}

#[test]
fn taking_a_guard_away_changes_exactly_what_depends_on_it() {
    let mut wrong = Vec::new();
    for set in &SETS {
        for case in cases(set) {
            let outcome = run(set.name, &case.text, set.tests_name, set.tests);
            let found: Vec<String> = answers(&outcome)
                .into_iter()
                .filter(|(_, answer)| *answer == "finding")
                .map(|(item, _)| item)
                .collect();
            if found != case.expected {
                wrong.push(format!(
                    "{}: {}\n  expected {:?}\n  found    {found:?}",
                    set.name, case.title, case.expected
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What does not change the meaning does not change the answers.
#[test]
fn spacing_names_and_place_of_helpers_do_not_matter() {
    for set in &SETS {
        let plain = answers(&run(set.name, set.base, set.tests_name, set.tests));
        let spaced = format!("\n\n{}\n\n", set.base.replace("\n\n", "\n\n\n"));
        let spaced = answers(&run(set.name, &spaced, set.tests_name, set.tests));
        assert_eq!(plain, spaced, "{}: spacing", set.name);
        let renamed = set
            .base
            .replace("validate", "gatekeeper")
            .replace("look(", "peer(");
        let renamed = answers(&run(set.name, &renamed, set.tests_name, set.tests));
        assert_eq!(plain, renamed, "{}: names", set.name);
    }
}

#[test]
fn a_validator_in_another_file_counts() {
    let set = &SETS[0];
    let plain = answers(&run(set.name, set.base, set.tests_name, set.tests));
    let from = set.base.find("def validate(").expect("the validator");
    let to = set.base.find("def look(").expect("what follows it");
    let head = "import re\nNAME = re.compile(r\"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\")\n\nclass InvalidPath(Exception):\n    pass\n\n";
    let checks = format!("{head}{}", &set.base[from..to]);
    let rest = format!(
        "from checks import validate\n{}{}",
        &set.base[..from],
        &set.base[to..]
    );
    let knowledge = Knowledge::new(&[]).unwrap();
    let input = |path: &str, text: &str, is_named: bool| Input {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
        is_named,
        is_context: !is_named,
    };
    let inputs = vec![
        input(set.name, &rest, true),
        input("checks.py", &checks, false),
        input(set.tests_name, set.tests, false),
    ];
    let moved = answers(&audit(inputs, &knowledge, &Options::default()));
    assert_eq!(plain, moved);
}
