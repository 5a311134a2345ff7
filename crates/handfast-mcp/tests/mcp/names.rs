//! Names that are not plain text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::client::{Mcp, read};
use crate::support::Scratch;

#[test]
fn names_that_are_not_text_can_be_given_back() {
    let scratch = Scratch::new();
    let odd = scratch.inside().join(OsStr::from_bytes(b"caf\xe9\n.txt"));
    std::fs::write(&odd, "odd").unwrap();
    let mut server = Mcp::start(&scratch, &[]);
    let shown = server.text("list_directory", json!({"path": ""}));
    assert_eq!(shown, "[FILE] caf\\xe9\\x0a.txt");
    let name = shown.strip_prefix("[FILE] ").unwrap();
    assert_eq!(server.text("read_text_file", json!({"path": name})), "odd");
    server.text("write_file", json!({"path": name, "content": "new"}));
    assert_eq!(read(&odd), "new");
    server.text("move_file", json!({"source": name, "destination": "plain"}));
    assert_eq!(read(scratch.at("plain")), "new");
}

#[test]
fn accents_and_blanks_that_look_the_same_find_the_file() {
    let scratch = Scratch::new();
    scratch.file("cafe\u{301}/shot 1\u{202f}PM.png", "found");
    let mut server = Mcp::start(&scratch, &[]);
    let asked = "caf\u{e9}/shot 1 PM.png";
    assert_eq!(
        server.text("read_text_file", json!({"path": asked})),
        "found"
    );
    server.text("write_file", json!({"path": asked, "content": "written"}));
    assert_eq!(
        read(scratch.at("cafe\u{301}/shot 1\u{202f}PM.png")),
        "written"
    );
    server.text(
        "write_file",
        json!({"path": "caf\u{e9}/new one", "content": "n"}),
    );
    assert_eq!(read(scratch.at("cafe\u{301}/new one")), "n");
    scratch.file("cafe\u{301}/shot\u{a0}1 PM.png", "other");
    let refusal = server.refusal("read_text_file", json!({"path": asked}));
    assert!(
        refusal.starts_with("Ambiguous Unicode path component: "),
        "{refusal}"
    );
}
