//! The documents speak the truth: links lead somewhere, and commands print what is shown.
#![allow(
    missing_docs,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "reads the project's own files"
)]

mod arrows;
mod commands;
mod glossary;
mod licences;
mod links;
mod named;
mod scripts;
mod words;

use std::path::{Path, PathBuf};

/// Every Markdown file of the project; nothing where CI copied the test binary alone.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut dirs = vec![root];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            println!("skipped: the project's documents are not here");
            return Vec::new();
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            if path.is_dir()
                && !name.starts_with('.')
                && !["target", "node_modules"].contains(&name)
            {
                dirs.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The name of a document as people say it.
fn name(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.split_once("/../../")
        .map_or(text.as_ref(), |(_, name)| name)
        .to_owned()
}
