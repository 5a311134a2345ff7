//! Changes that are stopped because the file is not the one that was read.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::client::{Mcp, read};
use crate::support::Scratch;

#[test]
fn a_stale_change_is_stopped_and_says_what_differs() {
    for args in [&[][..], &["--session", "s"]] {
        let scratch = Scratch::new();
        scratch.file("a", "one\n");
        let mut server = Mcp::start(&scratch, args);
        let seen = server.version("read_text_file", json!({"path": "a"}));
        let edits = json!([{"oldText": "one", "newText": "two"}]);
        let good = json!({"path": "a", "edits": edits, "expectedVersion": seen});
        let edited = server.version("edit_file", good);
        assert_ne!(edited, seen);
        for (tool, arguments) in [
            (
                "write_file",
                json!({"path": "a", "content": "x", "expectedVersion": seen}),
            ),
            (
                "edit_file",
                json!({"path": "a", "edits": [], "expectedVersion": seen}),
            ),
            (
                "edit_file",
                json!({"path": "a", "edits": [], "dryRun": true, "expectedVersion": seen}),
            ),
            (
                "move_file",
                json!({"source": "a", "destination": "b", "expectedVersion": seen}),
            ),
        ] {
            let answer = server.call(tool, arguments);
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("Stale - "), "{tool}: {text}");
            assert!(
                text.contains("another file") || text.contains("content"),
                "{text}"
            );
            assert_eq!(answer["result"]["isError"], true);
        }
        assert_eq!(server.text("read_text_file", json!({"path": "a"})), "two\n");
        let good = json!({"path": "a", "content": "three\n", "expectedVersion": edited});
        let written = server.version("write_file", good);
        let good = json!({"source": "a", "destination": "b", "expectedVersion": written});
        server.text("move_file", good);
        assert_eq!(
            server.text("read_text_file", json!({"path": "b"})),
            "three\n"
        );
        let gone = json!({"path": "a", "content": "x", "expectedVersion": written});
        let refusal = server.refusal("write_file", gone);
        assert!(
            refusal.starts_with("ENOENT: ") || refusal.starts_with("Stale - "),
            "{refusal}"
        );
    }
}

/// The version of a file is no version of a link that leads to it: moving the link would move something
/// that nobody read.
#[test]
fn a_link_is_not_moved_by_the_version_of_the_file_behind_it() {
    let scratch = Scratch::new();
    scratch.file("a", "one\n");
    std::os::unix::fs::symlink("a", scratch.inside().join("l")).unwrap();
    let mut server = Mcp::start(&scratch, &[]);
    let seen = server.version("read_text_file", json!({"path": "l"}));
    let arguments = json!({"source": "l", "destination": "b", "expectedVersion": seen});
    let refusal = server.refusal("move_file", arguments);
    assert!(refusal.starts_with("Stale - "), "{refusal}");
    assert!(scratch.inside().join("l").is_symlink());
}

#[test]
fn somebody_elses_change_is_seen() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one\n");
    let mut server = Mcp::start(&scratch, &[]);
    let seen = server.version("read_text_file", json!({"path": "a"}));
    // Same length, and perhaps the same moment: the digest tells.
    std::fs::write(&file, "eno\n").unwrap();
    let refusal = server.refusal(
        "write_file",
        json!({"path": "a", "content": "x", "expectedVersion": seen}),
    );
    assert!(refusal.starts_with("Stale - "), "{refusal}");
    assert_eq!(read(&file), "eno\n");
}

#[test]
fn writes_are_whole_and_keep_the_mode() {
    let scratch = Scratch::new();
    let file = scratch.file("run.sh", "old");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
    let mut server = Mcp::start(&scratch, &[]);
    server.text("write_file", json!({"path": "run.sh", "content": "new"}));
    server.text(
        "edit_file",
        json!({"path": "run.sh", "edits": [{"oldText": "new", "newText": "newer"}]}),
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, read(&file).as_str()), (0o750, "newer"));
    let names: Vec<_> = std::fs::read_dir(scratch.inside()).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
}

#[test]
fn bytes_that_are_not_text_survive_an_edit() {
    let scratch = Scratch::new();
    let file = scratch.file("latin", b"caf\xe9 one\r\nna\xefve two\r\n");
    let mut server = Mcp::start(&scratch, &[]);
    let diff = server.text(
        "edit_file",
        json!({"path": "latin", "edits": [{"oldText": "two", "newText": "2"}]}),
    );
    assert!(diff.contains("+na\u{fffd}ve 2\n"), "{diff}");
    assert_eq!(
        std::fs::read(&file).unwrap(),
        b"caf\xe9 one\r\nna\xefve 2\r\n"
    );
}
