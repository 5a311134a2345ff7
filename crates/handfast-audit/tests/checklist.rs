//! Small programs for every item and language: guarded, unguarded, subtly wrong. The first line of
//! each says which answers are expected of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

#[path = "checklist/index.rs"]
mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use handfast_audit::{Input, Knowledge, Options, Outcome, audit};

const ITEMS: [&str; 25] = [
    "A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "C1", "C2", "C3", "C4", "C5", "D1", "D2",
    "D3", "D4", "D5", "E1", "E2", "E3", "F1", "F2", "F3",
];

const LANGUAGES: [&str; 5] = ["c", "go", "python", "rust", "typescript"];

/// Files that belong together, by the name of the case.
fn cases() -> BTreeMap<String, Vec<(String, &'static str)>> {
    let mut out: BTreeMap<String, Vec<(String, &'static str)>> = BTreeMap::new();
    for (path, text) in index::FILES {
        let parts: Vec<&str> = path.split('/').collect();
        let case = parts[..parts.len().min(3)].join("/");
        let name = if parts.len() > 3 {
            parts[3..].join("/")
        } else {
            parts[2].to_owned()
        };
        out.entry(case).or_default().push((name, text));
    }
    out
}

fn expectation(text: &str) -> Option<Vec<(&str, &str)>> {
    let line = text.lines().find(|line| line.contains("expect: "))?;
    let (_, rest) = line.split_once("expect: ")?;
    Some(
        rest.trim_end_matches("*/")
            .split_whitespace()
            .map(|pair| pair.split_once('=').expect("item=answer"))
            .collect(),
    )
}

fn run(files: &[(String, &str)], threads: usize) -> Outcome {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let knowledge = KNOWLEDGE.get_or_init(|| Knowledge::new(&[]).unwrap());
    let inputs = files
        .iter()
        .map(|(name, text)| Input {
            path: name.clone(),
            bytes: text.as_bytes().to_vec(),
            is_named: expectation(text).is_some(),
            is_context: expectation(text).is_none(),
        })
        .collect();
    let options = Options {
        threads,
        ..Options::default()
    };
    audit(inputs, knowledge, &options)
}

/// Item → `yes`, `na` or `finding`, over all reports.
fn answers(outcome: &Outcome) -> BTreeMap<String, &'static str> {
    let mut out = BTreeMap::new();
    for report in &outcome.reports {
        for one in &report.evidence {
            let answer = if one.is_yes { "yes" } else { "na" };
            out.entry(one.item.clone()).or_insert(answer);
        }
        for finding in &report.findings {
            for item in &finding.items {
                out.insert(item.clone(), "finding");
            }
        }
    }
    out
}

#[test]
fn every_program_gets_the_answers_it_expects() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (case, files) in cases() {
        let outcome = run(&files, 1);
        let found = answers(&outcome);
        let mut bad = Vec::new();
        for (_, text) in &files {
            for (item, expected) in expectation(text).unwrap_or_default() {
                count += 1;
                let answer = match item {
                    "verdict" => outcome.verdict.name(),
                    _ => found.get(item).copied().unwrap_or("none"),
                };
                if answer != expected {
                    bad.push(format!("{item}: {answer} instead of {expected}"));
                }
            }
        }
        if !bad.is_empty() {
            wrong.push(format!("{case}: {}", bad.join(", ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases are wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count > 400, "only {count} expectations");
}

/// Every item of every language has its three kinds of programs.
#[test]
fn no_item_and_no_language_is_left_out() {
    let mut kinds: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for case in cases().keys() {
        let parts: Vec<&str> = case.split('/').collect();
        let kind = parts[2].split(['_', '.']).next().unwrap_or("");
        kinds
            .entry((parts[0].to_owned(), parts[1].to_owned()))
            .or_default()
            .insert(kind.to_owned());
    }
    for language in LANGUAGES {
        for item in ITEMS {
            let key = (language.to_owned(), item.to_owned());
            let there = kinds.get(&key).cloned().unwrap_or_default();
            for kind in ["guarded", "unguarded", "wrong"] {
                assert!(there.contains(kind), "{language}/{item}: no {kind} program");
            }
        }
    }
}

/// A fixture that is not in the index is not tested. Where the sources cannot be read, as on another
/// machine, there is nothing to compare.
#[test]
fn the_index_is_complete() {
    let base = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checklist");
    let mut found = 0;
    let mut pending = vec![base.clone()];
    while let Some(dir) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            println!("skipped: the sources cannot be read here");
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            } else if dir != base {
                found += 1;
            }
        }
    }
    assert_eq!(found, index::FILES.len(), "run tests/checklist/index.sh");
}

/// The number of threads changes no byte of any format.
#[test]
fn threads_do_not_change_the_output() {
    let mut all: Vec<(String, &str)> = Vec::new();
    for (path, text) in index::FILES
        .iter()
        .filter(|(path, _)| path.contains("/A4/"))
    {
        all.push(((*path).to_owned(), text));
    }
    let formats = |threads| {
        let outcome = run(&all, threads);
        [
            handfast_audit::render::text(&outcome),
            handfast_audit::render::json(&outcome, handfast_audit::FailOn::Block),
            handfast_audit::render::sarif(&outcome),
            handfast_audit::render::markdown(&outcome),
        ]
    };
    let one = formats(1);
    assert!(one[0].len() > 1000);
    assert_eq!(one, formats(2));
    assert_eq!(one, formats(8));
}

/// Empty lines, line ends and a comment at the top change no answer of any program.
#[test]
fn reformatting_changes_no_answer() {
    let mut wrong = Vec::new();
    for (case, files) in cases() {
        let plain = answers(&run(&files, 1));
        let forms: [fn(&str) -> String; 3] = [
            |text| text.replace("\n\n", "\n\n\n\n"),
            |text| text.replace('\n', "\r\n"),
            |text| format!("\n\n{text}\n\n"),
        ];
        for (index, form) in forms.iter().enumerate() {
            let texts: Vec<(String, String)> = files
                .iter()
                .map(|(name, text)| (name.clone(), form(text)))
                .collect();
            let again: Vec<(String, &str)> = texts
                .iter()
                .map(|(name, text)| (name.clone(), text.as_str()))
                .collect();
            if answers(&run(&again, 1)) != plain {
                wrong.push(format!("{case}: form {index}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of local variables carry no meaning.
#[test]
fn renaming_variables_changes_no_answer() {
    const NAMES: [(&str, &str); 8] = [
        ("target", "zeta"),
        ("relative", "rho"),
        ("slug", "sigma"),
        ("layer", "lambda1"),
        ("here", "eta"),
        ("info", "omega"),
        ("repo", "pi"),
        ("day", "delta"),
    ];
    let rename = |text: &str| {
        let mut out = String::new();
        let mut word = String::new();
        let mut before = ' ';
        for c in text.chars().chain(['\0']) {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            // A field, a keyword argument or text in quotes is no variable.
            let is_plain = !matches!(before, '.' | '"' | '\'' | '/' | ':' | '%' | '<');
            let new = NAMES.iter().find(|(old, _)| *old == word);
            match new {
                Some((_, new)) if is_plain && !matches!(c, '"' | '\'' | ':' | '/') => {
                    out.push_str(new);
                }
                _ => out.push_str(&word),
            }
            word.clear();
            before = c;
            if c != '\0' {
                out.push(c);
            }
        }
        out
    };
    let mut wrong = Vec::new();
    let mut changed = 0;
    for (case, files) in cases() {
        // Declared types and destructured fields tie a variable to a name elsewhere.
        let ties = |text: &str| {
            NAMES
                .iter()
                .any(|(old, _)| text.contains(&format!("{old}:")))
        };
        if files
            .iter()
            .any(|(_, text)| ties(text) || text.contains("const {"))
        {
            continue;
        }
        let texts: Vec<(String, String)> = files
            .iter()
            .map(|(name, text)| (name.clone(), rename(text)))
            .collect();
        if texts.iter().zip(&files).all(|(new, old)| new.1 == old.1) {
            continue;
        }
        changed += 1;
        let again: Vec<(String, &str)> = texts
            .iter()
            .map(|(name, text)| (name.clone(), text.as_str()))
            .collect();
        if answers(&run(&again, 1)) != answers(&run(&files, 1)) {
            wrong.push(case);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(changed > 80, "only {changed} programs have such a name");
}
