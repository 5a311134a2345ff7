//! What no client should send.

use std::io::Write;

use serde_json::{Value, json};

use super::client::{Mcp, path, read};
use crate::support::Scratch;

fn code(answer: &Value) -> i64 {
    answer["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn what_is_no_request_gets_an_error_and_the_next_is_answered() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &[]);
    for (line, expected) in [
        ("{", -32700),
        ("\"", -32700),
        ("[]", -32600),
        ("1", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
            -32602,
        ),
    ] {
        server.send(line);
        assert_eq!(code(&server.receive()), expected, "{line}");
    }
    server.send_bytes(b"\xff\xfe\x00");
    assert_eq!(code(&server.receive()), -32700);
    // Blank lines and notifications are not answered.
    server.send("");
    server.notify("notifications/cancelled");
    server.notify("nonsense");
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    assert_eq!(server.finish(), 0);
}

#[test]
fn arguments_are_checked_before_anything_is_touched() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &[]);
    for (tool, arguments) in [
        ("write_file", json!({"path": file})),
        ("write_file", json!({"path": file, "content": 1})),
        ("write_file", json!([])),
        ("write_file", json!("x")),
        (
            "write_file",
            json!({"path": file, "content": "x", "expectedVersion": "v0"}),
        ),
        (
            "write_file",
            json!({"path": file, "content": "x", "expectedVersion": 1}),
        ),
        (
            "edit_file",
            json!({"path": file, "edits": [{"oldText": "text"}]}),
        ),
        ("read_multiple_files", json!({"paths": []})),
        (
            "list_directory_with_sizes",
            json!({"path": "", "sortBy": "x"}),
        ),
        ("search_content", json!({"path": "", "pattern": 1})),
    ] {
        let refusal = server.refusal(tool, arguments.clone());
        assert!(
            refusal.starts_with("Input validation error: "),
            "{arguments}: {refusal}"
        );
    }
    assert_eq!(read(&file), "text");
}

#[test]
fn nothing_outside_is_reached_named_or_shown() {
    let scratch = Scratch::new();
    std::fs::write(scratch.outside().join("secret"), "secret text").unwrap();
    scratch.link("../outside", "out");
    scratch.link("../outside/secret", "out-file");
    scratch.link(scratch.outside(), "absolute");
    scratch.file("a", "x");
    let mut server = Mcp::start(&scratch, &[]);
    let outside = scratch.outside().to_str().unwrap().to_owned();
    for name in [
        "out/secret",
        "out-file",
        "absolute/secret",
        "out",
        "absolute",
    ] {
        let place = path(&scratch, name);
        for (tool, arguments) in [
            ("read_text_file", json!({"path": place})),
            ("read_text_file", json!({"path": place, "head": 1})),
            ("read_media_file", json!({"path": place})),
            ("write_file", json!({"path": place, "content": "x"})),
            ("edit_file", json!({"path": place, "edits": []})),
            ("list_directory", json!({"path": place})),
            ("list_directory_with_sizes", json!({"path": place})),
            ("directory_tree", json!({"path": place})),
            ("search_files", json!({"path": place, "pattern": "**"})),
            ("search_content", json!({"path": place, "pattern": "."})),
            ("get_file_info", json!({"path": place})),
            ("create_directory", json!({"path": format!("{place}/new")})),
            (
                "move_file",
                json!({"source": path(&scratch, "a"), "destination": format!("{place}/b")}),
            ),
        ] {
            let refusal = server.refusal(tool, arguments);
            assert!(
                refusal.starts_with("Access denied - "),
                "{tool} {name}: {refusal}"
            );
            assert!(!refusal.contains(&outside), "{tool} {name}: {refusal}");
        }
    }
    let many = json!({"paths": [path(&scratch, "out-file"), path(&scratch, "a")]});
    let text = server.text("read_multiple_files", many);
    assert!(
        !text.contains("secret text") && text.ends_with(":\nx\n"),
        "{text}"
    );
    for tool in [
        "directory_tree",
        "list_directory_with_sizes",
        "list_directory",
    ] {
        let text = server.text(tool, json!({"path": ""}));
        assert!(text.contains("out") && !text.contains("secret"), "{text}");
    }
    let found = server.text("search_files", json!({"path": "", "pattern": "**"}));
    assert!(!found.contains("out"), "{found}");
    assert_eq!(std::fs::read_dir(scratch.outside()).unwrap().count(), 1);
    assert_eq!(read(scratch.outside().join("secret")), "secret text");
}

#[test]
fn large_things_are_bounded() {
    let scratch = Scratch::new();
    let sparse = std::fs::File::create(scratch.at("huge")).unwrap();
    sparse.set_len(10 << 30).unwrap();
    scratch.file("long", "line\n".repeat(300_000));
    let mut server = Mcp::start(&scratch, &["--read-limit", "1MiB", "--full-answers"]);
    let answer = server.call("read_text_file", json!({"path": "huge"}));
    let content = &answer["result"]["content"];
    assert_eq!(content[0]["text"].as_str().unwrap().len(), 1 << 20);
    assert!(
        content[1]["text"]
            .as_str()
            .unwrap()
            .contains("offset 1048576"),
        "{}",
        content[1]
    );
    assert!(
        server
            .refusal("read_media_file", json!({"path": "huge"}))
            .starts_with("EFBIG: ")
    );
    assert!(
        server
            .refusal("edit_file", json!({"path": "huge", "edits": []}))
            .starts_with("EFBIG: ")
    );
    assert_eq!(
        server.text("read_text_file", json!({"path": "long", "tail": 2})),
        "line\n"
    );
    // From note to note through the whole file.
    let (mut all, mut offset) = (String::new(), 0);
    loop {
        let part = server.call("read_text_file", json!({"path": "long", "offset": offset}));
        let content = part["result"]["content"].clone();
        all.push_str(content[0]["text"].as_str().unwrap());
        let Some(note) = content[1]["text"].as_str() else {
            break;
        };
        offset = note
            .split("offset ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
    }
    assert_eq!(all, read(scratch.at("long")));
    // A message over the limit is answered, and the connection goes on.
    server.send(&"x".repeat(11 << 20));
    assert_eq!(code(&server.receive()), -32600);
    let long = server.refusal("read_text_file", json!({"path": "n".repeat(300)}));
    assert!(long.starts_with("ENAMETOOLONG: "), "{long}");
    let deep = server.refusal("read_text_file", json!({"path": "d/".repeat(3000)}));
    assert!(deep.starts_with("ENAMETOOLONG: "), "{deep}");
}

#[test]
fn patterns_that_explode_are_refused_or_quick() {
    let scratch = Scratch::new();
    scratch.file(&"a".repeat(200), "a".repeat(10_000));
    let mut server = Mcp::start(&scratch, &[]);
    let begun = std::time::Instant::now();
    for pattern in [
        "{a,b}".repeat(40),
        "{1..999999999}".to_owned(),
        "@(".repeat(2000),
    ] {
        let refusal = server.refusal("search_files", json!({"path": "", "pattern": pattern}));
        assert!(refusal.starts_with("Invalid pattern: "), "{refusal}");
    }
    server.text(
        "search_files",
        json!({"path": "", "pattern": format!("{}b", "+(a|aa)*".repeat(60))}),
    );
    for pattern in ["(", "a{9999999}", "(?:a{1000}){1000}"] {
        let refusal = server.refusal("search_content", json!({"path": "", "pattern": pattern}));
        assert!(refusal.starts_with("Invalid pattern: "), "{refusal}");
    }
    server.text("search_content", json!({"path": "", "pattern": "(a*)*b"}));
    assert!(begun.elapsed().as_secs() < 60, "no pattern takes for ever");
}

#[test]
fn a_client_that_breaks_off_ends_the_server() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "x".repeat(1 << 20));
    let server = Mcp::start(&scratch, &[]);
    let (mut child, mut input) = server.deafen();
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": file}}});
    // It may be gone before all of it is written.
    drop(writeln!(input, "{call}").and_then(|()| writeln!(input, "{call}")));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}

#[test]
fn special_files_do_not_hang_and_hard_links_are_left_alone() {
    let scratch = Scratch::new();
    scratch.fifo("fifo");
    let outside = scratch.outside().join("linked");
    std::fs::write(&outside, "outside").unwrap();
    std::fs::hard_link(&outside, scratch.at("linked")).unwrap();
    let mut server = Mcp::start(&scratch, &[]);
    for (tool, arguments) in [
        ("read_text_file", json!({"path": "fifo"})),
        ("read_text_file", json!({"path": "fifo", "tail": 1})),
        ("read_media_file", json!({"path": "fifo"})),
        ("write_file", json!({"path": "fifo", "content": "x"})),
        ("edit_file", json!({"path": "fifo", "edits": []})),
    ] {
        let refusal = server.refusal(tool, arguments);
        assert!(
            refusal.starts_with("Access denied - not a regular file"),
            "{tool}: {refusal}"
        );
    }
    let facts = server.text("get_file_info", json!({"path": "fifo"}));
    assert!(
        facts.contains("isDirectory: false\nisFile: false"),
        "{facts}"
    );
    server.text("write_file", json!({"path": "linked", "content": "inside"}));
    assert_eq!(read(&outside), "outside");
    assert_eq!(read(scratch.at("linked")), "inside");
}
