//! Nobody replaces a whole file of which they have seen only a part.

use serde_json::json;

use super::client::{Mcp, read};
use crate::support::Scratch;

#[test]
fn a_file_that_was_read_in_part_is_not_replaced() {
    let scratch = Scratch::new();
    let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let file = scratch.file("long", &lines);
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let write = json!({"path": "long", "content": "short"});
    // Cut, and only the first lines: both are parts.
    for part in [json!({"path": "long"}), json!({"path": "long", "head": 2})] {
        let mut server = Mcp::start(&scratch, &["--no-log"]);
        let version = server.version("read_text_file", part);
        let refusal = server.refusal("write_file", write.clone());
        assert!(
            refusal.starts_with("Refused - you have seen only a part"),
            "{refusal}"
        );
        let mut with_version = write.clone();
        with_version["expectedVersion"] = json!(version);
        server.refusal("write_file", with_version);
        assert_eq!(read(&file), lines);
    }
    // Read to its end, piece by piece, it is known.
    let mut arguments = json!({"path": "long"});
    loop {
        let answer = server.call("read_text_file", arguments.clone());
        let next = answer["result"]["structuredContent"]["next"].clone();
        if next.is_null() {
            break;
        }
        arguments["cursor"] = next;
    }
    server.text("write_file", write.clone());
    assert_eq!(read(&file), "short");
    // What was never read, what one wrote oneself, and what is meant, is replaced as ever.
    server.text("write_file", write);
    std::fs::write(&file, &lines).unwrap();
    server.text("read_text_file", json!({"path": "long", "tail": 3}));
    server.text(
        "write_file",
        json!({"path": "long", "content": "meant", "overwrite": true}),
    );
    assert_eq!(read(&file), "meant");
}

#[test]
fn what_was_appended_to_is_replaced_as_ever() {
    let scratch = Scratch::new();
    scratch.file("unread", "old\n");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let append = |path: &str| json!({"path": path, "content": "more\n"});
    let write = |path: &str| json!({"path": path, "content": "all"});
    // A file that the append made is known whole; one that was never read is as before.
    for path in ["new", "unread"] {
        server.text("append_file", append(path));
        server.text("append_file", append(path));
        server.text("write_file", write(path));
        assert_eq!(read(scratch.at(path)), "all");
    }
    // One that was read in part stays known in part.
    scratch.file("part", "one\ntwo\nthree\n");
    server.text("read_text_file", json!({"path": "part", "head": 1}));
    server.text("append_file", append("part"));
    let refusal = server.refusal("write_file", write("part"));
    assert!(refusal.contains("only a part"), "{refusal}");
    // One that was read whole stays known, also behind an append.
    server.text("read_text_file", json!({"path": "part"}));
    server.text("append_file", append("part"));
    server.text("write_file", write("part"));
    // Known whole, then changed by somebody else: that is for `expectedVersion` to say.
    scratch.file("made", "");
    server.text("append_file", append("made"));
    let edit = json!({"path": "made", "edits": [{"oldText": "more", "newText": "less"}]});
    server.text("edit_file", edit);
    server.text("write_file", write("made"));
}
