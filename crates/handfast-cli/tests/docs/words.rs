//! Retired phrases are in no document, help text, error or comment.
//!
//! Help texts and errors are in the sources, so the sources are read as they are. A phrase is found
//! over a line end too: the marks at the beginning of comments and lists are left out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The phrases, and what to write instead.
const RETIRED: &str = include_str!("retired.txt");

/// The file that quotes them, as an example of what not to write.
const QUOTES: &str = "CONTRIBUTING.md";

#[test]
fn no_retired_phrase_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let texts = texts(&root);
    if texts.is_empty() {
        println!("skipped: the project's files are not here");
        return;
    }
    assert!(texts.len() > 500, "only {} texts", texts.len());
    let retired = retired(RETIRED);
    assert!(retired.len() > 10, "only {} phrases", retired.len());
    let mut wrong = String::new();
    for path in texts {
        let mut text = std::fs::read_to_string(&path).unwrap_or_default();
        if path.ends_with(QUOTES) {
            text = without_words(&text);
        }
        for (line, phrase, instead) in found(&text, &retired) {
            let name = path.strip_prefix(&root).unwrap_or(&path).display();
            writeln!(wrong, "{name}:{line}: \"{phrase}\": write {instead}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn phrases_are_found_over_line_ends_and_as_whole_words() {
    let retired = retired("# no phrase\nwho is killed => if a process is killed\nanew => again\n");
    assert_eq!(retired.len(), 2);
    let text = "/// A\n//! sentence. Who is\n    /// killed after\nrenewed, `anew`\n";
    let lines: Vec<_> = found(text, &retired)
        .into_iter()
        .map(|(line, phrase, _)| (line, phrase))
        .collect();
    assert_eq!(lines, [(2, "who is killed"), (4, "anew")]);
    assert_eq!(
        without_words("a\n## Words\nb\n## More\nc\n"),
        "a\n## More\nc\n"
    );
}

/// The phrases in lower case, each with what to write.
fn retired(list: &str) -> Vec<(&str, &str)> {
    list.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(" => ").expect("a phrase and what to write"))
        .collect()
}

/// Where a phrase begins, by line.
fn found<'a>(text: &str, retired: &[(&'a str, &'a str)]) -> Vec<(usize, &'a str, &'a str)> {
    let mut flat = String::new();
    let mut starts = Vec::new();
    for line in text.lines() {
        starts.push(flat.len());
        let marks: &[_] = &[' ', '\t', '/', '!', '#', '*', '>', '-', '|', '\\'];
        flat.push_str(&line.trim_matches(marks).to_lowercase());
        flat.push(' ');
    }
    let is_part = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let mut places = Vec::new();
    for (phrase, instead) in retired {
        for (at, _) in flat.match_indices(phrase) {
            let before = flat[..at].chars().next_back();
            let after = flat[at + phrase.len()..].chars().next();
            if !is_part(before) && !is_part(after) {
                let line = starts.partition_point(|start| *start <= at);
                places.push((line, *phrase, *instead));
            }
        }
    }
    places.sort_unstable();
    places
}

/// The text without its section about words.
fn without_words(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with("## ") {
            inside = line == "## Words";
        }
        if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Everything that people read: documents, sources, manifests and scripts.
fn texts(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() {
                if ![".git", "target", "node_modules"].contains(&&*name) {
                    dirs.push(path);
                }
                continue;
            }
            let ends = ["md", "rs", "toml", "py", "mjs", "yml", "json"];
            let is_text = path
                .extension()
                .is_none_or(|it| ends.iter().any(|end| it == *end));
            // The words of others: test material of the auditor, and licences.
            let is_foreign = path.components().any(|it| {
                ["fixtures", "checklist", "cases"].contains(&&*it.as_os_str().to_string_lossy())
            }) || name.starts_with("LICENSE");
            // The phrases stand here as examples of themselves.
            if is_text && !is_foreign && name != "words.rs" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
