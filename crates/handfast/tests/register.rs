//! The documents say which test shows what; this sees to it that they speak the truth.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "reads the project's own files"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn project() -> Option<PathBuf> {
    // Not there in a published package, nor where CI copied the test binary alone.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("THREAT-MODEL.md").is_file().then_some(root)
}

/// Names of all test functions of the crates that the documents name.
fn tests(project: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut dirs: Vec<_> = [
        "handfast",
        "handfast-session",
        "handfast-ledger",
        "handfast-cli",
    ]
    .iter()
    .flat_map(|name| ["tests", "src"].map(|part| format!("crates/{name}/{part}")))
    .map(|dir| project.join(dir))
    .collect();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                if line.trim() == "#[test]"
                    && let Some(name) = lines
                        .find(|line| line.trim_start().starts_with("fn "))
                        .and_then(|line| line.trim().strip_prefix("fn "))
                        .and_then(|rest| rest.split('(').next())
                {
                    names.insert(name.to_owned());
                }
            }
        }
    }
    assert!(names.len() > 100, "{}", names.len());
    names
}

/// Rows of a table: what is in the first column, and in the last.
fn rows(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix('|')?.strip_suffix('|'))
        .map(|line| {
            let cells: Vec<_> = line.split(" | ").map(str::trim).collect();
            let cell = |index: usize| cells.get(index).copied().unwrap_or_default().to_owned();
            (cell(0), cell(cells.len() - 1))
        })
        .collect()
}

fn check(document: &str, keys: &[String]) {
    let Some(project) = project() else {
        println!("skipped: the project's documents are not here");
        return;
    };
    let known = tests(&project);
    let text = std::fs::read_to_string(project.join(document)).unwrap();
    let rows = rows(&text);
    for key in keys {
        let shown: Vec<_> = rows
            .iter()
            .filter(|(first, _)| first.trim_matches('*') == key)
            .collect();
        assert_eq!(shown.len(), 1, "{document}: row {key}");
        let by = &shown[0].1;
        let names: Vec<_> = by.split('`').skip(1).step_by(2).collect();
        let applies = !by.contains("does not apply:");
        assert!(
            !names.is_empty() || !applies,
            "{document}: row {key} names no test"
        );
        for name in names {
            assert!(
                known.contains(name),
                "{document}: row {key} names `{name}`, which is no test"
            );
        }
    }
}

#[test]
fn every_attack_of_the_catalogue_names_its_tests() {
    let keys: Vec<_> = (1..=50).map(|number: u32| number.to_string()).collect();
    check("THREAT-MODEL.md", &keys);
}

#[test]
fn every_attack_on_sessions_and_the_log_names_its_tests() {
    let sessions = (1..=14).map(|number: u32| format!("S{number}"));
    let log = (1..=12).map(|number: u32| format!("L{number}"));
    check("THREAT-MODEL.md", &sessions.chain(log).collect::<Vec<_>>());
}

#[test]
fn every_bug_of_others_names_its_tests() {
    let keys: Vec<_> = (1..=45).map(|number: u32| format!("B{number}")).collect();
    check("docs/regressions.md", &keys);
}
