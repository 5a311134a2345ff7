//! A type name that is in more than two crates has a line in the glossary.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// So many crates may use a type name before it needs a line.
const CRATES_WITHOUT_A_LINE: usize = 2;

#[test]
fn type_names_of_several_crates_are_in_the_glossary() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = sources(&crates);
    if sources.is_empty() {
        println!("skipped: the project's files are not here");
        return;
    }
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (of, path) in &sources {
        let text = std::fs::read_to_string(path).unwrap();
        for name in text.lines().filter_map(defined) {
            users.entry(name.to_owned()).or_default().insert(of.clone());
        }
    }
    assert!(users.len() > 500, "only {} types were found", users.len());
    let glossary = std::fs::read_to_string(crates.join("../docs/glossary.md")).unwrap();
    let explained: BTreeSet<_> = glossary.lines().filter_map(explained).collect();
    let missing: Vec<_> = users
        .iter()
        .filter(|(name, of)| of.len() > CRATES_WITHOUT_A_LINE && !explained.contains(&***name))
        .map(|(name, of)| format!("`{name}` is in {of:?}: rename it, or explain it"))
        .collect();
    assert!(missing.is_empty(), "docs/glossary.md: {missing:#?}");
    let gone: Vec<_> = explained
        .iter()
        .filter(|name| !users.contains_key(**name))
        .collect();
    assert!(gone.is_empty(), "no type has these names: {gone:?}");
}

#[test]
fn definitions_and_lines_are_understood() {
    assert_eq!(defined("pub(crate) struct Found<'a> {"), Some("Found"));
    assert_eq!(defined("    enum Answer {"), Some("Answer"));
    assert_eq!(defined("type Place = u8;"), Some("Place"));
    assert_eq!(defined("    type Error = Error;"), None);
    assert_eq!(defined("/// A struct Found"), None);
    assert_eq!(explained("| `Found` | the result | |"), Some("Found"));
    assert_eq!(explained("| escape | see `Found` |"), None);
}

/// The name that a line defines a type by. An associated type belongs to its trait.
fn defined(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = match after.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => after,
        };
        rest = rest.strip_prefix(' ')?;
    }
    let (keyword, rest) = rest.split_once(' ')?;
    let is_nested = line.starts_with(' ');
    let is_type =
        ["struct", "enum", "trait", "union"].contains(&keyword) || keyword == "type" && !is_nested;
    let end = rest
        .find(|it: char| !it.is_alphanumeric() && it != '_')
        .unwrap_or(rest.len());
    let name = &rest[..end];
    (is_type && name.starts_with(char::is_uppercase)).then_some(name)
}

/// The type that a row of the glossary is about.
fn explained(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("| `")?.split_once("` |")?;
    name.starts_with(char::is_uppercase).then_some(name)
}

/// The source files of all crates, each with its crate's name.
fn sources(crates: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(crates) else {
        return found;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let of = entry.file_name().to_string_lossy().into_owned();
        let mut dirs = vec![entry.path().join("src")];
        while let Some(dir) = dirs.pop() {
            let Ok(entries) = std::fs::read_dir(&dir) else {
                continue;
            };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    found.push((of.clone(), path));
                }
            }
        }
    }
    found
}
