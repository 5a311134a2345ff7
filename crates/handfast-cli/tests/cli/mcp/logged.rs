//! Every call is in the log.

use std::process::Command;

use serde_json::json;

use super::client::{Mcp, path, state};
use crate::support::{Scratch, binary};

#[test]
fn every_call_is_logged_with_client_and_tool() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    scratch.file("d/b", "more");
    scratch.link("../outside", "out");
    let mut server = Mcp::start(&scratch, &[]);
    server.text("read_text_file", json!({"path": "a"}));
    server.text("write_file", json!({"path": "new", "content": "x"}));
    server.text(
        "edit_file",
        json!({"path": "a", "edits": [{"oldText": "t", "newText": "T"}]}),
    );
    server.text("list_directory_with_sizes", json!({"path": ""}));
    server.text("directory_tree", json!({"path": ""}));
    server.text("search_files", json!({"path": "", "pattern": "**"}));
    server.text("search_content", json!({"path": "", "pattern": "more"}));
    server.text("create_directory", json!({"path": "x/y"}));
    server.text(
        "move_file",
        json!({"source": "new", "destination": "newer"}),
    );
    server.text("get_file_info", json!({"path": "a"}));
    server.text("list_allowed_directories", json!({}));
    server.text(
        "read_multiple_files",
        json!({"paths": ["a", "/etc/shadow"]}),
    );
    server.refusal("read_media_file", json!({"path": "/etc/passwd"}));
    server.refusal("read_file", json!({"path": path(&scratch, "out/x")}));
    server.call("nope", json!({}));
    assert_eq!(server.finish(), 0);
    let lines = log_lines(&scratch, 0);
    for (tool, said) in [
        ("read_text_file", "allowed  read"),
        ("write_file", "done     write"),
        ("edit_file", "done     write-if"),
        ("list_directory_with_sizes", "allowed  read-dir"),
        ("directory_tree", "allowed  read-dir"),
        ("search_files", "allowed  read-dir"),
        ("search_content", "allowed  open"),
        ("create_directory", "done     create-dir"),
        ("move_file", "done     rename"),
        ("get_file_info", "allowed  metadata"),
        ("list_allowed_directories", "allowed  parse"),
        ("read_multiple_files", "allowed  read"),
        ("read_media_file", "DENIED   parse"),
        ("read_file", "DENIED   read"),
        ("nope", "DENIED   parse"),
    ] {
        let about = format!("tester 7 / {tool} ");
        let mut found = lines.iter().filter(|line| line.contains(&about));
        assert!(found.any(|line| line.contains(said)), "{tool}: {lines:#?}");
    }
    let outside = scratch.outside().to_str().unwrap().to_owned();
    assert!(
        !lines.iter().any(|line| line.contains(&outside)),
        "{lines:#?}"
    );
    let verified = Command::new(binary())
        .args(["log", "verify"])
        .arg(state(&scratch).join("logs/mcp-0"))
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn every_running_server_has_a_log_of_its_own_and_the_next_goes_on_with_it() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut one = Mcp::start(&scratch, &[]);
    let mut two = Mcp::start(&scratch, &[]);
    one.text("read_text_file", json!({"path": "a"}));
    two.text("get_file_info", json!({"path": "a"}));
    assert_eq!((one.finish(), two.finish()), (0, 0));
    let mut three = Mcp::start(&scratch, &[]);
    three.text("list_directory", json!({"path": ""}));
    three.finish();
    let (first, second) = (log_lines(&scratch, 0), log_lines(&scratch, 1));
    let all = [first.join("\n"), second.join("\n")].join("\n");
    for tool in ["read_text_file", "get_file_info", "list_directory"] {
        assert_eq!(all.matches(&format!("/ {tool} ")).count(), 1, "{all}");
    }
    assert!(!state(&scratch).join("logs/mcp-2").exists());
}

#[test]
fn no_log_means_none_and_a_log_that_cannot_be_means_no_calls() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    server.text("read_text_file", json!({"path": "a"}));
    server.finish();
    assert!(!state(&scratch).exists());
    // A file stands where the log's directory should be.
    std::fs::create_dir_all(state(&scratch).join("logs")).unwrap();
    std::fs::set_permissions(
        state(&scratch),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    std::fs::write(state(&scratch).join("logs/mcp-0"), "").unwrap();
    let mut server = Mcp::start(&scratch, &[]);
    let refusal = server.refusal("read_text_file", json!({"path": "a"}));
    assert!(refusal.contains("could not be recorded"), "{refusal}");
    assert!(refusal.contains("free space"), "{refusal}");
    let refusal = server.refusal("write_file", json!({"path": "b", "content": "x"}));
    assert!(refusal.contains("could not be recorded"), "{refusal}");
    assert!(!scratch.at("b").exists());
}

/// What `handfast log show` prints of the log with this number.
fn log_lines(scratch: &Scratch, number: u32) -> Vec<String> {
    let dir = state(scratch).join(format!("logs/mcp-{number}"));
    let shown = Command::new(binary())
        .args(["log", "show"])
        .arg(dir)
        .output()
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}
