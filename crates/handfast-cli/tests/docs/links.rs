//! Every link between documents leads to a file that is there, and to a heading in it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{documents, name};

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut links = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let there = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            if !there.exists() {
                broken.push(format!("{}: {target}", name(&document)));
            } else if !heading.is_empty() && !has_heading(&there, heading) {
                broken.push(format!("{}: {target}: no such heading", name(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    if !documents().is_empty() {
        assert!(links > 50, "only {links} links were found");
    }
}

#[test]
fn links_and_headings_are_understood() {
    let text = "a [b](c.md#d) and ![e](f.svg)\n```\n[no](no.md)\n```\n`[no](no.md)`\n";
    assert_eq!(targets(text), ["c.md#d", "f.svg"]);
    assert_eq!(
        slug("What it *does*, `log verify`: 2"),
        "what-it-does-log-verify-2"
    );
}

/// Where the links of a text lead, outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in outside_fences(text) {
        // Every other part is between backticks.
        for prose in line.split('`').step_by(2) {
            for rest in prose.split("](").skip(1) {
                if let Some((target, _)) = rest.split_once(')') {
                    found.push(target.to_owned());
                }
            }
        }
        // A link whose text is code was cut in two.
        for rest in line.split("`](").skip(1) {
            if let Some((target, _)) = rest.split_once(')')
                && !found.iter().any(|it| it == target)
            {
                found.push(target.to_owned());
            }
        }
    }
    found
}

fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return false;
        }
        !inside
    })
}

fn has_heading(file: &Path, heading: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap();
    let mut seen = BTreeMap::new();
    outside_fences(&text)
        .filter(|line| line.starts_with('#'))
        .map(|line| slug(line.trim_start_matches('#').trim()))
        .any(|slug| {
            // The second of a name is numbered.
            let times = seen.entry(slug.clone()).or_insert(0);
            let numbered = format!("{slug}-{times}");
            let is_first = *times == 0;
            *times += 1;
            heading == if is_first { slug } else { numbered }
        })
}

/// A heading's anchor, as forges make it.
fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'))
        .map(|it| if it == ' ' { '-' } else { it })
        .collect()
}
