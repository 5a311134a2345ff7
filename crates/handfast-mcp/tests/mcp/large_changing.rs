//! Directories that change while a client pages through them.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Mcp;
use crate::support::Scratch;

const ENTRIES: usize = 4_000;

/// Enough for three pages of a search, which shows longer lines.
const FOUND: usize = 2_000;

fn fill(dir: &Path, word: &str) {
    fill_with(dir, word, ENTRIES);
}

fn fill_with(dir: &Path, word: &str, count: usize) {
    std::fs::create_dir(dir).unwrap();
    for number in 0..count {
        std::fs::File::create(dir.join(format!("{word}-{number:05}"))).unwrap();
    }
}

/// One page: the names, what is said about them, and how to go on.
fn page(server: &mut Mcp, cursor: Option<&str>) -> (Vec<String>, String, Option<String>) {
    let mut arguments = json!({"path": "many"});
    if let Some(cursor) = cursor {
        arguments["cursor"] = json!(cursor);
    }
    let answer = server.call("list_directory", arguments);
    let seen = &answer["result"]["structuredContent"];
    let text = seen["content"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    let (lines, notes) = text.split_once("\n\n[").unwrap_or((text, ""));
    let name = |line: &str| line.strip_prefix("[FILE] ").unwrap().to_owned();
    let next = seen["next"].as_str().map(str::to_owned);
    assert_eq!(next.is_some(), seen["truncated"] == true, "{answer}");
    (lines.lines().map(name).collect(), notes.to_owned(), next)
}

#[test]
fn m6_pages_are_of_one_list_and_do_not_read_the_directory_again() {
    let scratch = Scratch::new();
    fill(&scratch.at("many"), "entry");
    let mut server = Mcp::start(&scratch, &[]);
    let (mut found, _, mut next) = page(&mut server, None);
    assert!(found.len() < ENTRIES / 2, "more pages are needed to tell");
    // Everything is gone and something else is there: a page that read the directory would show it.
    for number in 0..ENTRIES {
        std::fs::remove_file(scratch.at(format!("many/entry-{number:05}"))).unwrap();
        std::fs::File::create(scratch.at(format!("many/late-{number:05}"))).unwrap();
    }
    while let Some(cursor) = next {
        let (names, notes, after) = page(&mut server, Some(&cursor));
        assert!(
            notes.contains("The directory was changed since its first page"),
            "{notes}"
        );
        found.extend(names);
        next = after;
    }
    let all: Vec<String> = (0..ENTRIES)
        .map(|number| format!("entry-{number:05}"))
        .collect();
    assert_eq!(found, all);
    // From the beginning, it is as it is now.
    let (names, notes, _) = page(&mut server, None);
    assert_eq!(names[0], "late-00000");
    assert!(!notes.contains("changed since"), "{notes}");
}

#[test]
fn m6_pages_of_a_directory_that_is_replaced_are_of_the_new_one() {
    let scratch = Scratch::new();
    fill(&scratch.at("many"), "entry");
    fill(&scratch.at("other"), "fresh");
    let mut server = Mcp::start(&scratch, &[]);
    let (_, _, next) = page(&mut server, None);
    std::fs::rename(scratch.at("many"), scratch.at("old")).unwrap();
    std::fs::rename(scratch.at("other"), scratch.at("many")).unwrap();
    let (names, notes, next) = page(&mut server, next.as_deref());
    assert_eq!(names[0], "fresh-00000");
    assert!(notes.contains("read again"), "{notes}");
    // Gone, and then a way out: nothing of the list is shown.
    std::fs::rename(scratch.at("many"), scratch.at("gone")).unwrap();
    let arguments = json!({"path": "many", "cursor": next});
    let refusal = server.refusal("list_directory", arguments.clone());
    assert!(refusal.starts_with("ENOENT"), "{refusal}");
    scratch.link(scratch.outside(), "many");
    let refusal = server.refusal("list_directory", arguments);
    assert!(refusal.starts_with("Access denied"), "{refusal}");
}

#[test]
fn m6_every_page_is_in_the_log_and_a_made_up_cursor_is_no_list() {
    let scratch = Scratch::new();
    fill(&scratch.at("many"), "entry");
    let mut server = Mcp::start(&scratch, &[]);
    let (_, _, next) = page(&mut server, None);
    let next = next.unwrap();
    page(&mut server, Some(&next));
    for bad in ["x", "!", "AAAA"] {
        let arguments = json!({"path": "many", "cursor": bad});
        let refusal = server.refusal("list_directory", arguments);
        assert!(refusal.contains("cursor is not one"), "{refusal}");
    }
    // A number that no list has: it goes on by the name.
    let (names, notes, _) = page(&mut server, Some("AAAAAAAAAABlbnRyeS0wMzk5OA"));
    assert_eq!(names, ["entry-03999"]);
    assert!(notes.contains("read again"), "{notes}");
    assert_eq!(server.finish(), 0);
    let log = handfast_ledger::LogReader::open(super::client::state(&scratch).join("logs/mcp-0"))
        .unwrap();
    let mut pages = 0;
    log.for_each(0, |_, leaf| {
        let event: Value = serde_json::from_slice(leaf).unwrap();
        let is_allowed = !event.to_string().contains("cursor is not");
        let is_page = event.to_string().contains("list_directory") && is_allowed;
        pages += u32::from(is_page);
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(pages, 3);
}

/// A page of a search: the names, what is said about them, and how to go on.
fn found(server: &mut Mcp, path: &str, cursor: Option<&str>) -> (Vec<String>, Value) {
    let mut arguments = json!({"path": path, "pattern": "**/*-*"});
    if let Some(cursor) = cursor {
        arguments["cursor"] = json!(cursor);
    }
    let answer = server.call("search_files", arguments);
    let seen = answer["result"]["structuredContent"].clone();
    let text = seen["content"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    let lines = text.split("\n\n[").next().unwrap_or_default().lines();
    let name = |line: &str| line.rsplit('/').next().unwrap().to_owned();
    (lines.map(name).collect(), seen)
}

#[test]
fn m6_pages_of_a_search_do_not_read_a_large_directory_again() {
    let scratch = Scratch::new();
    fill_with(&scratch.at("many"), "entry", FOUND);
    // As the top of the search, and below it.
    for path in ["many", ""] {
        let mut server = Mcp::start(&scratch, &[]);
        let (mut names, mut seen) = found(&mut server, path, None);
        assert!(names.len() < FOUND / 2, "more pages are needed to tell");
        // A page that read the directory would not have these, and would have that one.
        let late = scratch.file("many/late-1", "");
        let gone = FOUND - 50..FOUND;
        for number in gone.clone() {
            std::fs::remove_file(scratch.at(format!("many/entry-{number:05}"))).unwrap();
        }
        while let Some(cursor) = seen["next"].as_str().map(str::to_owned) {
            let (more, after) = found(&mut server, path, Some(&cursor));
            let text = after["content"].as_str().unwrap();
            assert!(text.contains("[A directory was changed since"), "{text}");
            names.extend(more);
            seen = after;
        }
        let all: Vec<String> = (0..FOUND)
            .map(|number| format!("entry-{number:05}"))
            .collect();
        assert_eq!(names, all);
        for number in gone {
            scratch.file(&format!("many/entry-{number:05}"), "");
        }
        std::fs::remove_file(late).unwrap();
    }
}

#[test]
fn m6_pages_of_a_search_in_a_directory_that_is_replaced_are_of_the_new_one() {
    for path in ["many", ""] {
        let scratch = Scratch::new();
        fill_with(&scratch.at("many"), "entry", FOUND);
        fill_with(&scratch.at("zother"), "fresh", FOUND);
        fill_with(&scratch.outside().join("many"), "outside", 10);
        let mut server = Mcp::start(&scratch, &[]);
        let (_, seen) = found(&mut server, path, None);
        std::fs::rename(scratch.at("many"), scratch.at("old")).unwrap();
        std::fs::rename(scratch.at("zother"), scratch.at("many")).unwrap();
        let (names, seen) = found(&mut server, path, seen["next"].as_str());
        assert_eq!(names[0], "fresh-00000");
        assert!(seen["next"].is_string(), "{seen}");
        // A way out: nothing of the list is shown, and nothing of what is there.
        std::fs::rename(scratch.at("many"), scratch.at("gone")).unwrap();
        scratch.link(scratch.outside().join("many"), "many");
        let arguments = json!({"path": path, "pattern": "**/*-*", "cursor": seen["next"]});
        let answer = server.call("search_files", arguments).to_string();
        assert!(!answer.contains("outside-"), "{answer}");
        assert!(!answer.contains("many/fresh-"), "{answer}");
    }
}
