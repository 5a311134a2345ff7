//! Tools and arguments that the reference does not have.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::client::{Mcp, path, read};
use crate::support::Scratch;

fn tools(server: &mut Mcp) -> Vec<String> {
    let list = server.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    let name = |tool: Value| tool["name"].as_str().unwrap().to_owned();
    tools.into_iter().map(name).collect()
}

#[test]
fn files_are_appended_to_and_copied() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
    scratch.file("d/x", "");
    scratch.link("../outside/secret", "out");
    std::fs::write(scratch.outside().join("secret"), "secret").unwrap();
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    server.text("append_file", json!({"path": "a", "content": "two\n"}));
    server.text("append_file", json!({"path": "new", "content": "first\n"}));
    assert_eq!(read(&file), "one\ntwo\n");
    assert_eq!(read(scratch.at("new")), "first\n");
    server.text("copy_file", json!({"source": "a", "destination": "d/b"}));
    assert_eq!(read(scratch.at("d/b")), "one\ntwo\n");
    let mode = std::fs::metadata(scratch.at("d/b")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o750);
    for (tool, arguments, start) in [
        (
            "copy_file",
            json!({"source": "a", "destination": "new"}),
            "Destination already exists",
        ),
        (
            "copy_file",
            json!({"source": "none", "destination": "x"}),
            "ENOENT",
        ),
        (
            "copy_file",
            json!({"source": "d", "destination": "x"}),
            "EISDIR",
        ),
        (
            "copy_file",
            json!({"source": "out", "destination": "x"}),
            "Access denied",
        ),
        (
            "append_file",
            json!({"path": "out", "content": "x"}),
            "Access denied",
        ),
        (
            "append_file",
            json!({"path": "d", "content": "x"}),
            "EISDIR",
        ),
    ] {
        let refusal = server.refusal(tool, arguments);
        assert!(refusal.starts_with(start), "{tool}: {refusal}");
    }
    assert_eq!(read(scratch.outside().join("secret")), "secret");
    assert!(!scratch.at("x").exists());
}

#[test]
fn files_are_deleted_only_where_that_is_offered() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    scratch.file("b", "text");
    scratch.file("d/x", "");
    scratch.link("a", "link");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    assert!(!tools(&mut server).contains(&"delete_file".to_owned()));
    let answer = server.call("delete_file", json!({"path": "a"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let mut server = Mcp::start(&scratch, &["--no-log", "--allow-delete"]);
    let version = server.version("read_text_file", json!({"path": "b"}));
    std::fs::write(scratch.at("b"), "other").unwrap();
    let stale = json!({"path": "b", "expectedVersion": version});
    assert!(server.refusal("delete_file", stale).starts_with("Stale - "));
    server.text("delete_file", json!({"path": "link"}));
    assert_eq!(read(scratch.at("a")), "text");
    server.text("delete_file", json!({"path": "a"}));
    assert!(!scratch.at("a").exists() && scratch.at("b").exists());
    assert!(
        server
            .refusal("delete_file", json!({"path": "d"}))
            .starts_with("EISDIR")
    );
    let outside = scratch.outside().join("x");
    std::fs::write(&outside, "").unwrap();
    let refusal = server.refusal("delete_file", json!({"path": outside}));
    assert!(refusal.starts_with("Access denied"), "{refusal}");
    assert!(outside.exists());
}

#[test]
fn an_overlay_says_what_waits_in_it() {
    let scratch = Scratch::new();
    scratch.file("old", "text");
    scratch.file("gone", "text");
    let mut server = Mcp::start(&scratch, &["--session", "review"]);
    assert_eq!(server.text("list_changes", json!({})), "No changes");
    server.text("write_file", json!({"path": "new", "content": "x"}));
    server.text("append_file", json!({"path": "old", "content": "x"}));
    server.text("delete_file", json!({"path": "gone"}));
    let at = |name: &str| path(&scratch, name);
    assert_eq!(
        server.text("list_changes", json!({})),
        format!(
            "deleted {}\nadded {}\nchanged {}",
            at("gone"),
            at("new"),
            at("old")
        )
    );
    assert_eq!(read(scratch.at("old")), "text");
    assert!(scratch.at("gone").exists());
    let mut plain = Mcp::start(&scratch, &["--no-log"]);
    assert!(!tools(&mut plain).contains(&"list_changes".to_owned()));
}

#[test]
fn tools_can_be_switched_off() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &["--no-log", "--without-tool", "move_file"]);
    assert!(!tools(&mut server).contains(&"move_file".to_owned()));
    let answer = server.call("move_file", json!({"source": "a", "destination": "b"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let mut unknown = super::client::command(&scratch, &["--without-tool", "nope"]);
    unknown
        .arg(scratch.inside())
        .stdin(std::process::Stdio::null());
    assert_eq!(unknown.output().unwrap().status.code(), Some(2));
}

#[test]
fn every_place_is_replaced_and_all_edits_or_none_are_made() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "x y x\n");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let edits = |edits: Value| json!({"path": "a", "edits": edits});
    server.text(
        "edit_file",
        edits(json!([{"oldText": "x", "newText": "z", "replaceAll": true}])),
    );
    assert_eq!(read(&file), "z y z\n");
    server.refusal(
        "edit_file",
        edits(json!([{"oldText": "z", "newText": "w"}, {"oldText": "none", "newText": ""}])),
    );
    assert_eq!(read(&file), "z y z\n");
    let all = json!({"path": "a", "edits": [{"oldText": "z", "newText": "w"}], "replaceAll": true});
    server.text("edit_file", all);
    assert_eq!(read(&file), "w y w\n");
}

#[test]
fn trees_have_a_depth_and_ignore_files_are_honoured_if_asked() {
    let scratch = Scratch::new();
    scratch.file(".gitignore", "*.log\ntarget/\n");
    scratch.file("a.log", "hit");
    scratch.file("target/deep/x", "hit");
    scratch.file("src/deep/y", "hit");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    for tool in ["list_directory", "directory_tree", "search_files"] {
        let all = json!({"path": "", "pattern": "**"});
        let mut some = all.clone();
        some["skipIgnored"] = json!(true);
        let (all, some) = (server.text(tool, all), server.text(tool, some));
        assert!(
            all.contains("a.log") && all.contains("target"),
            "{tool}: {all}"
        );
        assert!(
            !some.contains("a.log") && !some.contains("target"),
            "{tool}: {some}"
        );
        assert!(some.contains("src"), "{tool}: {some}");
    }
    let answer = server.call("directory_tree", json!({"path": "", "depth": 2}));
    let structured = answer["result"]["structuredContent"]["content"]
        .as_str()
        .unwrap();
    assert!(
        structured.contains("\"deep\"") && !structured.contains("\"y\""),
        "{structured}"
    );
    assert!(
        structured.contains("2 directories at depth 2 were not entered"),
        "{structured}"
    );
    let search = |more: Value| {
        let mut arguments = json!({"path": "", "pattern": "hit"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    let found = server.text("search_content", search(json!({})));
    assert_eq!(found, format!("{}:1:hit", path(&scratch, "src/deep/y")));
    let found = server.text("search_content", search(json!({"includeIgnored": true})));
    assert_eq!(found.lines().count(), 3, "{found}");
}

#[test]
fn searches_show_lines_around_and_matches_over_several() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one\ntwo\nthree\nfour\nfive\nsix\nthree\n");
    let at = file.to_str().unwrap();
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let mut found = |arguments: Value| server.text("search_content", arguments).replace(at, "a");
    assert_eq!(
        found(json!({"path": "a", "pattern": "^three", "contextLines": 1})),
        "a-2-two\na:3:three\na-4-four\n--\na-6-six\na:7:three"
    );
    assert_eq!(
        found(json!({"path": "a", "pattern": "two.*four$", "multiline": true})),
        "a:2:two\na:3:three\na:4:four\na:5:five\na:6:six\na:7:three"
            .split("\na:5")
            .next()
            .unwrap()
    );
    assert_eq!(
        found(json!({"path": "a", "pattern": "two.three"})),
        "No matches found"
    );
}

#[test]
fn a_proposal_waits_for_a_person_and_commits_nothing() {
    let scratch = Scratch::new();
    scratch.file("a", "one");
    let mut server = Mcp::start(&scratch, &["--session", "s"]);
    let none = server.refusal("propose_changes", json!({}));
    assert!(none.contains("nothing to propose"), "{none}");
    server.text("write_file", json!({"path": "a", "content": "two"}));
    let propose = |server: &mut Mcp| {
        let text = server.text("propose_changes", json!({}));
        assert!(
            text.contains("1 change waits") && text.contains("session commit s"),
            "{text}"
        );
        let id = text
            .strip_prefix("Proposal ")
            .unwrap()
            .split(':')
            .next()
            .unwrap();
        id.to_owned()
    };
    let id = propose(&mut server);
    assert_eq!(
        propose(&mut server),
        id,
        "the same changes are the same proposal"
    );
    assert_eq!(read(scratch.at("a")), "one", "nothing is committed");
    let ask = |server: &mut Mcp, id: &str| server.text("propose_changes", json!({"id": id}));
    assert!(ask(&mut server, &id).contains("as it was proposed"));
    // Another server of the same session knows it, too.
    let mut other = Mcp::start(&scratch, &["--session", "s"]);
    assert!(ask(&mut other, &id).contains("as it was proposed"));
    other.text("write_file", json!({"path": "a", "content": "six"}));
    assert!(ask(&mut server, &id).contains("is not what waits now"));
    assert_ne!(propose(&mut server), id);
    // The same bytes under another name are another proposal.
    let move_to = |from: &str, to: &str| json!({"source": from, "destination": to});
    server.text("write_file", json!({"path": "x", "content": "new"}));
    let named = |server: &mut Mcp| server.text("propose_changes", json!({}));
    let before = named(&mut server);
    server.text("move_file", move_to("x", "y"));
    assert_ne!(named(&mut server), before);
    server.text("delete_file", json!({"path": "y"}));
    other.text("write_file", json!({"path": "a", "content": "one"}));
    other.text("delete_file", json!({"path": "a"}));
    std::fs::remove_file(scratch.at("a")).unwrap();
    assert!(ask(&mut server, &id).contains("committed or discarded"));
    let odd = server.refusal("propose_changes", json!({"id": "../x"}));
    assert!(odd.contains("id is not one"), "{odd}");
    let mut plain = Mcp::start(&scratch, &[]);
    let tools = plain.request("tools/list", json!({})).to_string();
    assert!(!tools.contains("propose_changes"));
}
