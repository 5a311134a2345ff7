//! A client that shows a model nothing but `structuredContent`, as several do.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{Mcp, read};
use crate::support::Scratch;

/// All that the model sees of a call that was done.
fn structured(server: &mut Mcp, tool: &str, arguments: Value) -> Value {
    let answer = server.call(tool, arguments);
    let structured = answer["result"]["structuredContent"].clone();
    assert!(structured.is_object(), "{answer}");
    structured
}

/// The text of an answer without the paragraph that says what is missing.
fn without_note(structured: &Value) -> String {
    let text = structured["content"].as_str().unwrap();
    match structured["truncated"] == true {
        true => text.rsplit_once("\n\n[").unwrap().0.to_owned(),
        false => text.to_owned(),
    }
}

#[test]
fn m1_a_file_is_edited_with_the_version_that_the_model_was_told() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one\ntwo\n");
    let mut server = Mcp::start(&scratch, &[]);
    let seen = structured(&mut server, "read_text_file", json!({"path": "a"}));
    assert_eq!(seen["content"], "one\ntwo\n");
    assert!(seen.get("truncated").is_none(), "{seen}");
    let version = seen["version"].as_str().unwrap().to_owned();
    let edit = |version: &str| {
        json!({"path": "a", "edits": [{"oldText": "two", "newText": "TWO"}],
        "expectedVersion": version})
    };
    std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
    let stale = server.refusal("edit_file", edit(&version));
    assert!(stale.starts_with("Stale - "), "{stale}");
    let now = stale.rsplit(' ').next().unwrap();
    let done = structured(&mut server, "edit_file", edit(now));
    assert_eq!(read(&file), "one\nTWO\nthree\n");
    assert!(done["version"].is_string(), "{done}");
}

#[test]
fn m1_every_cut_is_told_and_can_be_gone_on_from() {
    let scratch = Scratch::new();
    let long: String = (0..8_000).map(|n| format!("line {n} é\n")).collect();
    scratch.file("long", &long);
    std::fs::create_dir(scratch.at("many")).unwrap();
    for number in 0..3_000 {
        std::fs::write(scratch.at(format!("many/entry-{number:05}")), "hit\n").unwrap();
    }
    let mut server = Mcp::start(&scratch, &[]);
    for (tool, arguments) in [
        ("read_text_file", json!({"path": "long"})),
        ("list_directory", json!({"path": "many"})),
        ("search_files", json!({"path": "many", "pattern": "**"})),
        (
            "search_content",
            json!({"path": "many", "pattern": "hit", "maxResults": 2000}),
        ),
        (
            "search_content",
            json!({"path": "long", "pattern": "line", "maxResults": 2000}),
        ),
    ] {
        let (mut pages, mut arguments) = (Vec::new(), arguments);
        loop {
            let page = structured(&mut server, tool, arguments.clone());
            let text = page["content"].as_str().unwrap();
            assert!(text.len() < 50 << 10, "{tool}: {} bytes", text.len());
            pages.push(without_note(&page));
            let Some(next) = page["next"].as_str() else {
                assert!(page.get("truncated").is_none(), "{tool}: {text}");
                break;
            };
            assert!(text.contains("This is not all"), "{tool}: {text}");
            arguments["cursor"] = json!(next);
        }
        assert!(pages.len() > 2, "{tool}: {} pages", pages.len());
        if tool == "read_text_file" {
            assert_eq!(pages.concat(), long);
            continue;
        }
        let lines: Vec<&str> = pages.iter().flat_map(|page| page.lines()).collect();
        let once: BTreeSet<&str> = lines.iter().copied().collect();
        assert_eq!(lines.len(), once.len(), "{tool}: lines came twice");
        let wanted = if arguments["path"] == "long" {
            8_000
        } else {
            3_000
        };
        assert_eq!(lines.len(), wanted, "{tool}");
    }
    let tree = structured(&mut server, "directory_tree", json!({"path": "many"}));
    assert_eq!(tree["truncated"], true);
    let found = structured(
        &mut server,
        "search_content",
        json!({"path": "many", "pattern": "hit", "maxResults": 1}),
    );
    assert!(found["content"].as_str().unwrap().contains("not all"));
    let twice =
        json!({"path": "long", "edits": [{"oldText": "line", "newText": "x"}], "dryRun": true});
    let twice = structured(&mut server, "edit_file", twice);
    assert!(
        twice["content"]
            .as_str()
            .unwrap()
            .contains("fits 100 or more places")
    );
    let odd = server.refusal("list_directory", json!({"path": "many", "cursor": "?"}));
    assert!(odd.contains("cursor"), "{odd}");
}

#[test]
fn m2_the_model_is_told_where_it_is() {
    let scratch = Scratch::new();
    let state = scratch.path.join("state");
    let inside = scratch.inside().to_str().unwrap().to_owned();
    let instructions = |args: &[&str]| {
        let mut command = super::client::command(&scratch, args);
        command.arg(scratch.inside());
        let mut server = Mcp::spawn(command);
        let answer = server.initialize(json!({}));
        let text = answer["result"]["instructions"]
            .as_str()
            .unwrap()
            .to_owned();
        (server, text)
    };
    let (_, plain) = instructions(&["--no-log"]);
    assert!(
        plain.contains(&inside) && !plain.contains("overlay"),
        "{plain}"
    );
    let (_, only) = instructions(&["--no-log", "--read-only", "--deny", "*.key"]);
    assert!(
        only.contains("read-only") && only.contains("`*.key`"),
        "{only}"
    );
    let (mut server, kept) = instructions(&["--session", "review"]);
    assert!(kept.contains("overlay of the session `review`"), "{kept}");
    assert!(kept.contains("person"), "{kept}");
    let wrote = structured(
        &mut server,
        "write_file",
        json!({"path": "a", "content": "x"}),
    );
    assert!(
        wrote["content"].as_str().unwrap().contains("overlay"),
        "{wrote}"
    );
    assert!(!scratch.at("a").exists() && state.exists());
    assert_eq!(server.finish(), 0);
    // What waits from before is told to the agent and to the person.
    let (mut server, kept) = instructions(&["--session", "review"]);
    assert!(kept.contains("1 change of earlier work waits"), "{kept}");
    let words = server.words();
    assert!(words.contains("1 change waits for review"), "{words}");
}

#[test]
fn m6_a_passage_that_is_not_found_gets_the_nearest_text() {
    let scratch = Scratch::new();
    scratch.file(
        "a.rs",
        "fn one() {}\n\nfn two(x: u32) {\n    second(x);\n}\n",
    );
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let edits = json!([{"oldText": "fn two(x: u64) {\n    second(y);", "newText": ""}]);
    let refusal = server.refusal("edit_file", json!({"path": "a.rs", "edits": edits}));
    assert!(
        refusal.starts_with("Could not find exact match for edit:\n"),
        "{refusal}"
    );
    assert!(
        refusal.contains("lines 3 to 4:\n     3\tfn two(x: u32) {"),
        "{refusal}"
    );
}

#[test]
fn m6_offsets_and_lines_are_honoured() {
    let scratch = Scratch::new();
    scratch.file("a", "one\ntwö\nthree\nfour\n");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let mut text = |arguments: Value| server.text("read_text_file", arguments);
    assert_eq!(text(json!({"path": "a", "head": 1, "offset": 4})), "twö");
    // Within the two bytes of the ö: at the next character.
    assert_eq!(text(json!({"path": "a", "offset": 7})), "\nthree\nfour\n");
    assert_eq!(
        text(json!({"path": "a", "startLine": 2, "endLine": 3})),
        "twö\nthree"
    );
    assert_eq!(text(json!({"path": "a", "startLine": 4})), "four");
    let numbered = text(json!({"path": "a", "startLine": 3, "endLine": 4, "lineNumbers": true}));
    assert_eq!(numbered, "     3\tthree\n     4\tfour");
    for (bad, why) in [
        (
            json!({"path": "a", "tail": 1, "offset": 3}),
            "tail cannot go with offset",
        ),
        (
            json!({"path": "a", "startLine": 1, "head": 3}),
            "cannot go with head",
        ),
        (
            json!({"path": "a", "startLine": 3, "endLine": 2}),
            "endLine lies before startLine",
        ),
        (
            json!({"path": "a", "startLine": 9}),
            "beyond the end of the file",
        ),
        (
            json!({"path": "a", "offset": 3, "lineNumbers": true}),
            "lineNumbers needs a beginning",
        ),
        (json!({"path": "a", "cursor": "x"}), "cursor is not one"),
    ] {
        let refusal = server.refusal("read_text_file", bad.clone());
        assert!(refusal.contains(why), "{bad}: {refusal}");
    }
}
