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
    let mut fresh = command(&scratch, &["--overlay=fresh"]);
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

#[test]
fn a_project_has_one_overlay_for_servers_and_runs() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.at(".git")).unwrap();
    scratch.file("src/main.rs", "fn main() {}\n");
    scratch.file("other/x", "x");
    scratch.file(".env", "TOKEN=1");
    scratch.link("../other/x", "src/sideways");
    let server = |dir: &str| {
        let mut command = command(&scratch, &["--overlay"]);
        command.arg(scratch.at(dir));
        let mut server = Mcp::spawn(command);
        server.initialize(json!({}));
        server
    };
    let mut one = server("");
    one.text(
        "write_file",
        json!({"path": path(&scratch, "src/new"), "content": "new\n"}),
    );
    assert!(!scratch.at("src/new").exists());
    // Names are those of the host, although the project is `/` in its session.
    let changes = one.text("list_changes", json!({}));
    assert!(
        changes.contains(&format!("added {}", path(&scratch, "src/new"))),
        "{changes}"
    );
    let edits = json!([{"oldText": "{}", "newText": "{ run() }"}]);
    let diff = one.text("edit_file", json!({"path": "src/main.rs", "edits": edits}));
    assert!(
        diff.contains(&format!("Index: {}\n", path(&scratch, "src/main.rs"))),
        "{diff}"
    );
    let found = one.text("search_files", json!({"path": "", "pattern": "**/new"}));
    assert_eq!(found, path(&scratch, "src/new"));
    let refusal = one.refusal("read_text_file", json!({"path": ".env"}));
    assert!(refusal.contains("protected by deny"), "{refusal}");
    // A second server meanwhile, over a part of it: the same overlay, and no more than the part.
    let mut part = server("src");
    assert_eq!(part.text("read_text_file", json!({"path": "new"})), "new\n");
    for outside in [
        "sideways",
        "../other/x",
        path(&scratch, "other/x").as_str(),
        "/other/x",
    ] {
        let refusal = part.refusal("read_text_file", json!({"path": outside}));
        assert!(refusal.starts_with("Access denied"), "{outside}: {refusal}");
    }
    assert_eq!((one.finish(), part.finish()), (0, 0));
    // The next start finds it again, and so does `run`.
    let mut again = server("");
    assert_eq!(
        again.text("read_text_file", json!({"path": "src/new"})),
        "new\n"
    );
    let words = again.words();
    let run = Command::new(binary())
        .args(["run", "--explain", "--state"])
        .arg(state(&scratch))
        .current_dir(scratch.inside())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{run:?}");
    let name = words.split('`').nth(1).unwrap();
    assert!(
        name.starts_with("run-inside-") && told.contains(name),
        "{words}: {told}"
    );
    let mut fresh = command(&scratch, &["--overlay=fresh"]);
    fresh.arg(scratch.inside());
    let mut server = Mcp::spawn(fresh);
    server.initialize(json!({}));
    let missing = server.refusal("read_text_file", json!({"path": "src/new"}));
    assert!(missing.starts_with("ENOENT"), "{missing}");
}

#[test]
fn a_new_overlay_protects_what_a_projects_overlay_protects() {
    let scratch = Scratch::new();
    scratch.file(".env", "TOKEN=1");
    scratch.file("own", "own\n");
    let read = |more: &[&str], name: &str| {
        let mut command = command(&scratch, &["--overlay=fresh"]);
        command.args(more).arg(scratch.inside());
        let mut server = Mcp::spawn(command);
        server.initialize(json!({}));
        server.call("read_text_file", json!({"path": name}))["result"].to_string()
    };
    let is_denied = |answer: &str| answer.contains("protected by deny");
    let plain = read(&[], ".env");
    assert!(is_denied(&plain) && !plain.contains("TOKEN"), "{plain}");
    assert!(read(&[], "own").contains("own"));
    // Rules that are given stand in its place.
    let own = read(&["--deny", "own"], ".env");
    assert!(own.contains("TOKEN=1"), "{own}");
    assert!(is_denied(&read(&["--deny", "own"], "own")));
}

#[test]
fn an_overlay_of_no_project_or_of_two_is_refused() {
    let scratch = Scratch::new();
    let mut two = command(&scratch, &["--overlay"]);
    two.args([scratch.inside(), scratch.outside()]);
    let (code, words) = ended(two);
    assert!(code == 2 && words.contains("one directory"), "{words}");
    let mut home = command(&scratch, &["--overlay"]);
    home.env("HOME", scratch.inside()).arg(scratch.inside());
    let (code, words) = ended(home);
    assert!(code == 2 && words.contains("home directory"), "{words}");
}
