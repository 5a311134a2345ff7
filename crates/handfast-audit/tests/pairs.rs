//! Programs as people write them, each with a mistake and as it was repaired: the finding is there
//! before and gone after.
//!
//! A sheet holds many: `@@ name items file what` begins one, `@@+ file` adds a file to it. Between `<<V`
//! and `==F` stands what only the mistaken one has, from there to `>>` what only the repaired one
//! has. Items are alternatives (`A4|B3`); one of those found before has to be gone after.
//! What is not understood yet stands in `gaps.txt`, with the reason, and must fail.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use std::collections::{BTreeMap, BTreeSet};

use handfast_audit::{Classification, Input, Knowledge, Options, audit};

const SHEETS: [&str; 5] = [
    include_str!("pairs/python.txt"),
    include_str!("pairs/javascript.txt"),
    include_str!("pairs/go.txt"),
    include_str!("pairs/rust.txt"),
    include_str!("pairs/c.txt"),
];

const GAPS: &str = include_str!("pairs/gaps.txt");

#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Both,
    Mistaken,
    Repaired,
}

struct Pair<'s> {
    name: &'s str,
    items: Vec<Vec<&'s str>>,
    /// File, mistaken text, repaired text.
    files: Vec<(&'s str, String, String)>,
}

fn pairs(sheet: &str) -> Vec<Pair<'_>> {
    let mut out: Vec<Pair<'_>> = Vec::new();
    let mut part = Part::Both;
    for line in sheet.lines() {
        if let Some(rest) = line.strip_prefix("@@ ") {
            let mut words = rest.split(' ');
            let name = words.next().unwrap();
            let items = words.next().unwrap();
            let items = items.split(',').map(|one| one.split('|').collect());
            let file = words.next().unwrap();
            out.push(Pair {
                name,
                items: items.collect(),
                files: vec![(file, String::new(), String::new())],
            });
            part = Part::Both;
            continue;
        }
        let pair = out.last_mut().unwrap();
        if let Some(file) = line.strip_prefix("@@+ ") {
            pair.files.push((file.trim(), String::new(), String::new()));
            part = Part::Both;
            continue;
        }
        part = match line.trim_end() {
            "<<V" => Part::Mistaken,
            "==F" => Part::Repaired,
            ">>" => Part::Both,
            _ => {
                let (_, mistaken, repaired) = pair.files.last_mut().unwrap();
                if part != Part::Repaired {
                    mistaken.push_str(line);
                    mistaken.push('\n');
                }
                if part != Part::Mistaken {
                    repaired.push_str(line);
                    repaired.push('\n');
                }
                continue;
            }
        };
    }
    out
}

/// Items that are found, surely or likely.
fn found(knowledge: &Knowledge, files: &[(&str, &str)]) -> BTreeSet<String> {
    let inputs = files
        .iter()
        .map(|(path, text)| Input {
            path: (*path).to_owned(),
            bytes: text.as_bytes().to_vec(),
            is_named: files.len() == 1,
            is_context: false,
        })
        .collect();
    let outcome = audit(inputs, knowledge, &Options::default());
    let findings = outcome.reports.iter().flat_map(|report| &report.findings);
    findings
        .filter(|finding| {
            matches!(
                finding.classification,
                Classification::Confirmed | Classification::Likely
            )
        })
        .flat_map(|finding| finding.items.iter().map(ToString::to_string))
        .collect()
}

/// What is wrong with the answers to a pair.
fn judge(knowledge: &Knowledge, pair: &Pair<'_>) -> Option<String> {
    let side = |repaired: bool| {
        let files: Vec<(&str, &str)> = pair
            .files
            .iter()
            .map(|(path, a, b)| (*path, if repaired { b.as_str() } else { a.as_str() }))
            .collect();
        found(knowledge, &files)
    };
    let (before, after) = (side(false), side(true));
    for wanted in &pair.items {
        let told: Vec<&&str> = wanted
            .iter()
            .filter(|item| before.contains(**item))
            .collect();
        if told.is_empty() {
            return Some(format!("{}: {} is not found", pair.name, wanted.join("|")));
        }
        if told.iter().all(|item| after.contains(**item)) {
            let left = wanted.join("|");
            return Some(format!(
                "{}: {left} is still found when repaired",
                pair.name
            ));
        }
    }
    None
}

#[test]
fn a_repair_turns_the_answer() {
    let knowledge = Knowledge::new(&[]).unwrap();
    let gaps: BTreeMap<&str, &str> = GAPS
        .lines()
        .map(|line| line.split_once(": ").expect("name: reason"))
        .collect();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for pair in SHEETS.iter().flat_map(|sheet| pairs(sheet)) {
        assert!(seen.insert(pair.name), "{} stands there twice", pair.name);
        match (judge(&knowledge, &pair), gaps.contains_key(pair.name)) {
            (None, true) => wrong.push(format!("{}: understood now, no gap", pair.name)),
            (Some(what), false) => wrong.push(what),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    for gap in gaps.keys() {
        assert!(seen.contains(gap), "{gap} is a gap of nothing");
    }
    assert!(seen.len() >= 130, "only {} pairs", seen.len());
}
