//! What the operator grants, and what the flags take away.

use std::process::Command;

use serde_json::json;

use super::client::{Mcp, command, read};
use crate::support::{Scratch, mcp};

/// Runs the command until it ends by itself.
fn ended(mut command: Command) -> (i32, String) {
    command.stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty(), "stdout is the protocol's");
    (output.status.code().unwrap(), words)
}

#[test]
fn a_directory_that_is_a_link_is_fine_and_both_names_work() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let link = scratch.path.join("link");
    std::os::unix::fs::symlink(scratch.inside(), &link).unwrap();
    let mut command = command(&scratch, &["--no-log"]);
    command.arg(&link);
    let mut server = Mcp::spawn(command);
    let real = scratch.inside().to_str().unwrap().to_owned();
    let link = link.to_str().unwrap().to_owned();
    let allowed = server.text("list_allowed_directories", json!({}));
    assert_eq!(allowed, format!("Allowed directories:\n{link}\n{real}"));
    for name in [format!("{link}/a"), format!("{real}/a"), "a".to_owned()] {
        assert_eq!(server.text("read_text_file", json!({"path": name})), "text");
    }
    // It was resolved once: where the link leads now does not matter any more.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(scratch.outside(), &link).unwrap();
    std::fs::write(scratch.outside().join("a"), "outside").unwrap();
    assert_eq!(
        server.text("read_text_file", json!({"path": format!("{link}/a")})),
        "text"
    );
}

#[test]
fn missing_directories_are_left_out_and_none_at_all_is_an_error() {
    let scratch = Scratch::new();
    scratch.file("nested/a", "text");
    let missing = scratch.path.join("missing");
    let file = scratch.file("file", "");
    let mut some = command(&scratch, &["--no-log"]);
    some.args([&missing, &scratch.inside(), &file, &scratch.at("nested")]);
    let mut server = Mcp::spawn(some);
    let allowed = server.text("list_allowed_directories", json!({}));
    let inside = scratch.inside().to_str().unwrap().to_owned();
    assert_eq!(
        allowed,
        format!("Allowed directories:\n{inside}\n{inside}/nested")
    );
    assert_eq!(
        server.text(
            "read_text_file",
            json!({"path": format!("{inside}/nested/a")})
        ),
        "text"
    );
    let words = server.words();
    assert_eq!(words.matches("is left out").count(), 2, "{words}");
    let mut none = command(&scratch, &["--no-log"]);
    none.arg(&missing);
    assert_eq!(ended(none).0, 1);
}

#[test]
fn the_start_says_what_stands_around_it() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &[]);
    let words = server.words();
    assert!(words.contains("read-write"), "{words}");
    assert!(words.contains("second wall"), "{words}");
    assert!(words.contains("log below"), "{words}");
}

#[test]
fn read_only_offers_and_does_nothing_else() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--read-only"]);
    let list = server.request("tools/list", json!({}));
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 11, "{names:?}");
    assert!(!names.contains(&"write_file"));
    for (tool, arguments) in [
        ("write_file", json!({"path": "a", "content": "x"})),
        ("edit_file", json!({"path": "a", "edits": []})),
        ("create_directory", json!({"path": "d"})),
        ("move_file", json!({"source": "a", "destination": "b"})),
    ] {
        let refusal = server.refusal(tool, arguments);
        assert!(refusal.contains("read-only"), "{refusal}");
    }
    assert_eq!(read(file), "text");
}

#[test]
fn protected_files_are_neither_read_nor_changed() {
    let scratch = Scratch::new();
    scratch.file(".env", "SECRET=1");
    scratch.file("notes.secret", "hush SECRET");
    scratch.file(".git/hooks/pre-commit", "#!/bin/sh");
    scratch.link(".env", "innocent");
    let mut server = Mcp::start(&scratch, &["--protect", "workspace", "--deny", "*.secret"]);
    for name in [".env", "notes.secret", "innocent"] {
        let refusal = server.refusal("read_text_file", json!({"path": name}));
        assert!(
            refusal.starts_with("Access denied - protected by deny"),
            "{refusal}"
        );
        let refusal = server.refusal("write_file", json!({"path": name, "content": ""}));
        assert!(
            refusal.starts_with("Access denied - protected by"),
            "{refusal}"
        );
    }
    let hook = json!({"path": ".git/hooks/pre-commit", "content": "evil"});
    assert!(server.refusal("write_file", hook).contains("read_only"));
    server.text("read_text_file", json!({"path": ".git/hooks/pre-commit"}));
    assert!(
        server
            .refusal("move_file", json!({"source": ".env", "destination": "e"}))
            .starts_with("Access denied")
    );
    let found = server.text("search_content", json!({"path": "", "pattern": "SECRET"}));
    assert_eq!(found, "No matches found");
    let mut wrong = command(&scratch, &["--protect", "nonsense"]);
    wrong.arg(scratch.inside());
    assert_eq!(ended(wrong).0, 2);
}

#[test]
fn links_can_be_refused_and_quotas_hold() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    scratch.link("a", "link");
    scratch.link(scratch.at("a"), "absolute");
    let mut server = Mcp::start(&scratch, &[]);
    assert_eq!(
        server.text("read_text_file", json!({"path": "link"})),
        "text"
    );
    assert_eq!(
        server.text("read_text_file", json!({"path": "absolute"})),
        "text"
    );
    server.finish();
    let mut server = Mcp::start(&scratch, &["--links", "refuse", "--quota", "1KiB"]);
    let refusal = server.refusal("read_text_file", json!({"path": "link"}));
    assert!(
        refusal.contains("symbolic links are not followed here"),
        "{refusal}"
    );
    server.text(
        "write_file",
        json!({"path": "small", "content": "x".repeat(500)}),
    );
    let refusal = server.refusal(
        "write_file",
        json!({"path": "large", "content": "x".repeat(1000)}),
    );
    assert!(refusal.starts_with("ENOSPC: "), "{refusal}");
    assert!(!scratch.at("large").exists());
}

#[test]
fn a_policy_says_what_is_where() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    std::fs::write(scratch.outside().join("b"), "other").unwrap();
    let policy = scratch.path.join("policy.toml");
    let text = "version = 1\n[[root]]\nname = \"ws\"\npath = \"inside\"\nmode = \"read-write\"\ndeny = [\"*.key\"]\n\
                [[root]]\nname = \"lib\"\npath = \"outside\"\nmode = \"read-only\"\n";
    std::fs::write(&policy, text).unwrap();
    let mut with_policy = command(&scratch, &["--policy", policy.to_str().unwrap()]);
    with_policy.env("HOME", &scratch.path);
    let mut server = Mcp::spawn(with_policy);
    let allowed = server.text("list_allowed_directories", json!({}));
    assert_eq!(allowed, "Allowed directories:\n/ws\n/lib");
    assert_eq!(
        server.text("read_text_file", json!({"path": "/lib/b"})),
        "other"
    );
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
    assert!(
        server
            .refusal("write_file", json!({"path": "/lib/b", "content": ""}))
            .contains("read-only")
    );
    assert!(
        server
            .refusal("write_file", json!({"path": "/ws/x.key", "content": ""}))
            .contains("deny")
    );
    assert!(
        server
            .refusal("list_directory", json!({"path": "/"}))
            .starts_with("Access denied")
    );
    let refusal = server.refusal(
        "move_file",
        json!({"source": "/ws/a", "destination": "/lib/a"}),
    );
    assert!(
        refusal.starts_with("Access denied") || refusal.starts_with("EXDEV"),
        "{refusal}"
    );
}

#[test]
fn a_file_moves_between_directories_and_is_never_lost() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "text");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o750);
    std::fs::set_permissions(&file, mode).unwrap();
    scratch.file("d/x", "");
    std::fs::write(scratch.outside().join("taken"), "kept").unwrap();
    let mut both = command(&scratch, &["--no-log"]);
    both.args([scratch.inside(), scratch.outside()]);
    let mut server = Mcp::spawn(both);
    let to = |name: &str| scratch.outside().join(name).to_str().unwrap().to_owned();
    let refusal = server.refusal(
        "move_file",
        json!({"source": "a", "destination": to("taken")}),
    );
    assert!(
        refusal.starts_with("Destination already exists: "),
        "{refusal}"
    );
    assert_eq!(read(scratch.outside().join("taken")), "kept");
    let refusal = server.refusal("move_file", json!({"source": "d", "destination": to("d")}));
    assert!(refusal.starts_with("EXDEV: "), "{refusal}");
    server.text("move_file", json!({"source": "a", "destination": to("b")}));
    assert!(!file.exists());
    assert_eq!(read(scratch.outside().join("b")), "text");
    let moved = std::fs::metadata(scratch.outside().join("b")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&moved.permissions()) & 0o777,
        0o750
    );
}

#[test]
fn our_own_state_is_out_of_reach_even_inside_a_directory() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let own = scratch.at("state");
    let mut command = mcp();
    command
        .arg("--state")
        .arg(&own)
        .arg(scratch.inside())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut server = Mcp::spawn(command);
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
    let refusal = server.refusal("list_directory", json!({"path": "state"}));
    assert!(
        refusal.starts_with("EACCES") || refusal.starts_with("Access denied"),
        "{refusal}"
    );
    let refusal = server.refusal("write_file", json!({"path": "state/logs/x", "content": ""}));
    assert!(
        refusal.starts_with("EACCES") || refusal.starts_with("Access denied"),
        "{refusal}"
    );
}
