//! The operator's directories while the server runs.

use serde_json::json;

use super::client::{Mcp, path, read};
use crate::support::Scratch;

#[test]
fn m6_a_directory_that_is_replaced_or_deleted_is_an_error() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
    let moved = scratch.path.join("moved");
    std::fs::rename(scratch.inside(), &moved).unwrap();
    let calls = [
        ("write_file", json!({"path": "b", "content": "x"})),
        ("read_text_file", json!({"path": path(&scratch, "a")})),
        ("list_directory", json!({"path": ""})),
    ];
    for what in ["moved away or deleted", "replaced"] {
        for (tool, arguments) in &calls {
            let refusal = server.refusal(tool, arguments.clone());
            assert!(
                refusal.starts_with("ESTALE: ") && refusal.contains(what),
                "{tool}: {refusal}"
            );
        }
        drop(std::fs::create_dir(scratch.inside()));
    }
    assert!(!moved.join("b").exists() && !scratch.at("b").exists());
    // Once it is back, everything goes on.
    std::fs::remove_dir(scratch.inside()).unwrap();
    std::fs::rename(&moved, scratch.inside()).unwrap();
    server.text("write_file", json!({"path": "b", "content": "x"}));
    assert_eq!(read(scratch.at("b")), "x");
}
