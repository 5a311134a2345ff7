//! An agent's changes in an overlay, looked at and committed with the other commands.

use std::process::Command;

use serde_json::json;

use super::client::{Mcp, command, path, read, state};
use super::ended;
use crate::support::{Scratch, binary};

#[test]
fn an_overlay_keeps_changes_apart_until_they_are_committed() {
    let scratch = Scratch::new();
    scratch.file("src/main.rs", "fn main() {}\n");
    scratch.file("old.txt", "old\n");
    let mut server = Mcp::start(&scratch, &["--session", "review"]);
    let edits = json!([{"oldText": "{}", "newText": "{ run() }"}]);
    server.text("edit_file", json!({"path": "src/main.rs", "edits": edits}));
    server.text("write_file", json!({"path": "new.txt", "content": "new\n"}));
    server.text(
        "move_file",
        json!({"source": "old.txt", "destination": "moved.txt"}),
    );
    assert_eq!(
        server.text("read_text_file", json!({"path": "moved.txt"})),
        "old\n"
    );
    assert_eq!(server.finish(), 0);
    assert_eq!(read(scratch.at("src/main.rs")), "fn main() {}\n");
    assert!(!scratch.at("new.txt").exists());
    let session = |args: &[&str]| {
        let output = Command::new(binary())
            .args(["session", "--state"])
            .arg(state(&scratch))
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let diff = session(&["diff", "review"]);
    assert!(
        diff.contains(&format!("changed  {}", path(&scratch, "src/main.rs"))),
        "{diff}"
    );
    assert!(diff.contains("+fn main() { run() }"), "{diff}");
    // The next server goes on where this one ended, also without naming the directory.
    let mut again = Mcp::spawn(command(&scratch, &["--session", "review"]));
    assert_eq!(
        again.text("read_text_file", json!({"path": "new.txt"})),
        "new\n"
    );
    again.finish();
    session(&["commit", "--yes", "review"]);
    assert_eq!(read(scratch.at("src/main.rs")), "fn main() { run() }\n");
    assert_eq!(read(scratch.at("moved.txt")), "old\n");
    let mut other = command(&scratch, &["--session", "review"]);
    other.arg(scratch.outside());
    let (code, words) = ended(other);
    assert!(code == 2 && words.contains("does not hold"), "{words}");
    let (code, words) = ended(command(&scratch, &["--session", "unknown"]));
    assert!(
        code == 2 && words.contains("there is no session"),
        "{words}"
    );
    let mut fresh = command(&scratch, &["--overlay"]);
    fresh.arg(scratch.inside());
    let mut server = Mcp::spawn(fresh);
    server.text(
        "write_file",
        json!({"path": "new.txt", "content": "third\n"}),
    );
    let words = server.words();
    assert!(words.contains("handfast session diff mcp-"), "{words}");
    assert_eq!(read(scratch.at("new.txt")), "new\n");
}
