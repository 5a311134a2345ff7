//! What the documents name is there: tests, files, commands and their flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{documents, name};

/// A table with this head says by which tests its rows are shown.
const SHOWN_BY: &str = "shown by";

/// Documents for those who work on the project, where `src/` is a crate's and not a user's.
const OURS: [&str; 3] = ["CONTRIBUTING.md", "ARCHITECTURE.md", "internals.md"];

#[test]
fn every_test_that_is_named_exists() {
    let files = files();
    if files.is_empty() {
        return;
    }
    let known = tests(&files);
    assert!(known.len() > 800, "only {} tests were found", known.len());
    let mut named = 0;
    let mut missing = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for cell in shown_by(&text) {
            let names: Vec<_> = cell.split('`').skip(1).step_by(2).collect();
            let nothing_to_show = cell.contains("does not apply") || cell == "not a promise";
            if names.is_empty() && !nothing_to_show {
                missing.push(format!("{}: no test is named: {cell}", name(&document)));
            }
            // A script is there by its path, and is looked for with the files.
            for test in names.iter().filter(|it| !it.contains(['/', '.'])) {
                named += 1;
                if !known.contains(*test) {
                    missing.push(format!("{}: {test}", name(&document)));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 200, "only {named} tests are named");
}

#[test]
fn every_file_that_is_named_exists() {
    let files = files();
    if files.is_empty() {
        return;
    }
    let mut missing = Vec::new();
    let mut named = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let is_ours = OURS.iter().any(|end| document.ends_with(end));
        let words = words_in_code(&text).into_iter();
        let paths = words.filter(|it| is_path(it) || is_ours && is_inner_path(it));
        for path in paths {
            named += 1;
            if !files.iter().any(|file| ends_with(file, &path)) {
                missing.push(format!("{}: {path}", name(&document)));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 60, "only {named} are named");
}

#[test]
fn every_command_and_flag_that_is_named_exists() {
    let Some(reference) = documents().into_iter().find(|it| it.ends_with("cli.md")) else {
        return;
    };
    let known = commands(&std::fs::read_to_string(&reference).unwrap());
    assert!(known.len() > 50, "{known:?}");
    let mut wrong = Vec::new();
    let mut named = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for line in calls(&text) {
            named += 1;
            if let Some(what) = unknown(&line, &known) {
                wrong.push(format!("{}: {what} in `{line}`", name(&document)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named > 150, "only {named} commands were found");
}

#[test]
fn what_is_named_is_understood() {
    let table = "| a | shown by |\n|---|---|\n| b | `one_test`, `two` and text |\n\n| c | d |\n|---|---|\n| `no_test` | `no_test` |\n";
    assert_eq!(shown_by(table), ["`one_test`, `two` and text"]);
    let text = "see `crates/a/b.rs`, `x` and `tests/*.rs`\n```\n`c/d.rs`\n```\n";
    assert_eq!(words_in_code(text), ["crates/a/b.rs", "x", "tests/*.rs"]);
    assert!(ends_with(Path::new("crates/a/src/b.rs"), "src/b.rs"));
    assert!(ends_with(Path::new("crates/a/src/b.rs"), "src/*.rs"));
    assert!(ends_with(Path::new("crates/a/src"), "a/src/"));
    assert!(!ends_with(Path::new("crates/a/src/b.rs"), "rc/b.rs"));
    let known = commands(
        "## `handfast`\n- `-q, --quiet`: x\n### `handfast log`\n#### `handfast log grep`\n- `--pid <PID>`: y\n",
    );
    let text = "`handfast log grep D --pid 1 -q`\n```console\n$ a=$(handfast log grep D --pod 1 | handfast nix)\n```\n";
    let calls = calls(text);
    assert_eq!(calls.len(), 3, "{calls:?}");
    let wrong: Vec<_> = calls.iter().map(|line| unknown(line, &known)).collect();
    assert_eq!(
        wrong,
        [None, Some("--pod".to_owned()), Some("nix".to_owned())]
    );
}

/// Everything that belongs to the project, as paths from its top; nothing where CI copied the test
/// binary alone.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            println!("skipped: the project's files are not here");
            return Vec::new();
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let last = path.file_name().unwrap().to_string_lossy().into_owned();
            if [".git", "target", "node_modules"].contains(&&*last) {
                continue;
            }
            found.push(path.strip_prefix(&root).unwrap().to_owned());
            if path.is_dir() && !path.is_symlink() {
                dirs.push(path);
            }
        }
    }
    found
}

/// The names of all functions that are tests.
fn tests(files: &[PathBuf]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut names = BTreeSet::new();
    let sources = files
        .iter()
        .filter(|file| file.starts_with("crates") && file.extension().is_some_and(|it| it == "rs"));
    for file in sources {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim() == "#[test]"
                && let Some(name) = lines
                    .find_map(|line| line.trim().strip_prefix("fn "))
                    .and_then(|rest| rest.split('(').next())
            {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// The last column of tables that say by what their rows are shown.
fn shown_by(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|it| it.strip_suffix(" |")) else {
            inside = inside && line.starts_with("|---");
            continue;
        };
        let last = row.rsplit(" | ").next().unwrap_or_default();
        if last == SHOWN_BY {
            inside = true;
        } else if inside {
            found.push(last.to_owned());
        }
    }
    found
}

/// The first words of what is in code, outside of blocks.
fn words_in_code(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            let code = line.split('`').skip(1).step_by(2);
            let first = code.map(|it| it.split(' ').next().unwrap_or_default());
            found.extend(first.map(str::to_owned));
        }
    }
    found
}

/// Whether a word names a file of this project, and not one of its users'.
fn is_path(word: &str) -> bool {
    let top = [
        "crates/",
        "docs/",
        "interop/",
        "examples/",
        "contrib/",
        "clients/",
        "fuzz/",
        ".ci/",
    ];
    let plain = |it: char| it.is_ascii_alphanumeric() || "._-/*".contains(it);
    word.chars().all(plain)
        && (top.iter().any(|dir| word.starts_with(dir))
            || word.strip_suffix(".rs").is_some_and(|it| it.len() > 1))
}

/// Whether a word names something inside of a crate; a name in capitals stands for another.
fn is_inner_path(word: &str) -> bool {
    let starts = ["src/", "tests/", "knowledge/", "verbs/", "event/"];
    starts.iter().any(|dir| word.starts_with(dir))
        && !word.contains(char::is_uppercase)
        && word
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "._-/*".contains(it))
}

/// Whether a path ends in another, by whole names; `*` stands for any part of one.
fn ends_with(path: &Path, end: &str) -> bool {
    let end: Vec<_> = end.trim_end_matches('/').split('/').collect();
    let path: Vec<_> = path.iter().map(|it| it.to_string_lossy()).collect();
    path.len() >= end.len()
        && path[path.len() - end.len()..]
            .iter()
            .zip(&end)
            .all(|(name, wanted)| match wanted.split_once('*') {
                None => name == wanted,
                Some((start, rest)) => name.starts_with(start) && name.ends_with(rest),
            })
}

/// The commands of the reference, each with its flags and those of the commands above it.
fn commands(reference: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in reference.lines() {
        let heading = line.trim_start_matches('#').trim();
        if line.starts_with('#') && heading.starts_with("`handfast") {
            current = heading.trim_matches('`').to_owned();
            let above = current.rsplit_once(' ').map_or("", |(above, _)| above);
            let inherited = known.get(above).cloned().unwrap_or_default();
            known.insert(current.clone(), inherited);
        } else if let Some(flags) = line.strip_prefix("- `-")
            && let Some(all) = known.get_mut(&current)
        {
            let flags = flags.split('`').next().unwrap_or_default();
            let flags = format!("-{flags}");
            let words = flags.split([' ', ',']).filter(|it| it.starts_with('-'));
            all.extend(words.map(str::to_owned));
        }
    }
    for flags in known.values_mut() {
        flags.extend(["-h", "--help", "-V", "--version"].map(str::to_owned));
    }
    known
}

/// What is typed after `handfast` wherever it is called: in lines of a console, and in code.
fn calls(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            continue;
        }
        let code: Vec<&str> = match inside {
            true => line.strip_prefix("$ ").into_iter().collect(),
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        for code in code {
            let code = code.replace("\\|", ",");
            let mut rest = code.as_str();
            while let Some(at) = rest.find("handfast ") {
                // The crate has the same name, and other flags.
                let before = match rest[..at].ends_with("-p ") || rest[at..].contains(" = ") {
                    true => Some('-'),
                    false => rest[..at].chars().next_back(),
                };
                rest = &rest[at + "handfast ".len()..];
                let end = rest
                    .find(['|', ';', '&', '>', '<', ')', '\'', '#', '…'])
                    .unwrap_or(rest.len());
                if before.is_none_or(|it| " ('".contains(it)) {
                    found.push(rest[..end].trim().to_owned());
                }
            }
        }
    }
    found
}

/// The first word of a call that is neither a command nor a flag of it.
fn unknown(line: &str, known: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let mut command = "handfast".to_owned();
    let mut is_value = false;
    for word in line.split_whitespace() {
        let word = word.trim_matches(['[', ']', ',', '"']);
        if word == "--" {
            break;
        }
        let flag = word.split('=').next().unwrap_or_default();
        if flag.starts_with('-') && flag.len() > 1 {
            if !known[&command].contains(flag) {
                return Some(flag.to_owned());
            }
            is_value = true;
            continue;
        }
        let deeper = format!("{command} {word}");
        if known.contains_key(&deeper) {
            command = deeper;
        } else if command == "handfast"
            && !is_value
            && word.bytes().all(|it| it.is_ascii_lowercase())
        {
            return Some(word.to_owned());
        }
        is_value = false;
    }
    None
}
