//! Both eras of the protocol, and roots.

use serde_json::{Value, json};

use super::client::{Mcp, command, path};
use crate::support::Scratch;

const STATELESS: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
    })
}

fn over_inside(scratch: &Scratch) -> Mcp {
    let mut command = command(scratch, &["--no-log"]);
    command.arg(scratch.inside());
    Mcp::spawn(command)
}

#[test]
fn known_versions_are_echoed_and_others_get_the_newest_with_a_handshake() {
    let scratch = Scratch::new();
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (STATELESS, "2025-11-25"),
    ] {
        let mut server = over_inside(&scratch);
        let answer = server.request("initialize", json!({"protocolVersion": asked}));
        assert_eq!(answer["result"]["protocolVersion"], answered);
        assert_eq!(
            answer["result"]["capabilities"],
            json!({"tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}})
        );
        assert_eq!(server.request("ping", json!({}))["result"], json!({}));
        assert_eq!(server.finish(), 0);
    }
}

#[test]
fn without_a_handshake_every_request_says_it_all() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "text");
    let mut server = over_inside(&scratch);
    let found = server.request("server/discover", json!({"_meta": meta()}));
    assert_eq!(found["result"]["resultType"], "complete");
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(STATELESS)));
    let list = server.request("tools/list", json!({"_meta": meta()}));
    assert_eq!(list["result"]["cacheScope"], "private");
    assert!(list["result"]["ttlMs"].is_u64());
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 18);
    let read = json!({"name": "read_text_file", "arguments": {"path": file}, "_meta": meta()});
    let answer = server.request("tools/call", read);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"]["content"], "text");
    let code = |answer: &Value| answer["error"]["code"].as_i64().unwrap();
    assert_eq!(
        code(&server.request("ping", json!({"_meta": meta()}))),
        -32601
    );
    let mut lacking = meta();
    lacking
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(
        code(&server.request("tools/list", json!({"_meta": lacking}))),
        -32602
    );
    let mut unknown = meta();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let refused = server.request("tools/list", json!({"_meta": unknown}));
    assert_eq!(code(&refused), -32022);
    assert!(
        refused["error"]["data"]["supported"]
            .as_array()
            .unwrap()
            .contains(&json!(STATELESS))
    );
    // The same connection also speaks the older era, before and after.
    let plain = server.request("tools/list", json!({}));
    assert!(plain["result"].get("resultType").is_none());
}

/// Starts a server whose client has roots, and answers its question.
fn with_roots(scratch: &Scratch, roots: Value) -> Mcp {
    let mut server = over_inside(scratch);
    server.initialize(json!({"roots": {"listChanged": true}}));
    let question = server.receive();
    assert_eq!(question["method"], "roots/list");
    let id = question["id"].clone();
    server.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}).to_string());
    server
}

fn with_dirs(scratch: &Scratch, dirs: &[std::path::PathBuf]) -> Mcp {
    let mut command = command(scratch, &["--no-log"]);
    command.args(dirs);
    let mut server = Mcp::spawn(command);
    server.initialize(json!({}));
    server
}

#[test]
fn roots_may_only_narrow() {
    let scratch = Scratch::new();
    scratch.file("sub/a", "in sub");
    scratch.file("b", "beside");
    scratch.link("../b", "sub/out");
    let inside = path(&scratch, "");
    let inside = inside.trim_end_matches('/');
    let uri = |path: &str| json!([{"uri": format!("file://{path}")}]);
    let allowed = |server: &mut Mcp| {
        let text = server.text("list_allowed_directories", json!({}));
        text.replace("Allowed directories:\n", "")
    };
    for wide in [uri("/"), uri(scratch.path.to_str().unwrap())] {
        let mut server = with_roots(&scratch, wide.clone());
        assert_eq!(allowed(&mut server), inside, "{wide}");
        let refusal = server.refusal("read_text_file", json!({"path": "/etc/passwd"}));
        assert!(refusal.starts_with("Access denied - "), "{refusal}");
    }
    let mut server = with_roots(&scratch, uri(&format!("{inside}/sub")));
    assert_eq!(allowed(&mut server), format!("{inside}/sub"));
    assert_eq!(
        server.text("read_text_file", json!({"path": "a"})),
        "in sub"
    );
    for outside in [
        format!("{inside}/b"),
        format!("{inside}/sub/out"),
        "../b".to_owned(),
    ] {
        let refusal = server.refusal("read_text_file", json!({"path": outside}));
        assert!(refusal.starts_with("Access denied - "), "{refusal}");
    }
    // Nor by a link into another directory that the operator grants and the client does not want.
    let beside = scratch.path.join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("c"), "granted").unwrap();
    scratch.link(beside.join("c"), "sub/over");
    let mut command = command(&scratch, &["--no-log"]);
    command.args([scratch.inside(), beside.clone()]);
    let mut both = Mcp::spawn(command);
    both.initialize(json!({"roots": {}}));
    let id = both.receive()["id"].clone();
    let sub = uri(&format!("{inside}/sub"));
    both.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": sub}}).to_string());
    let refusal = both.refusal("read_text_file", json!({"path": "over"}));
    assert!(refusal.starts_with("Access denied - "), "{refusal}");
    both.finish();
    let mut wide = with_dirs(&scratch, &[scratch.inside(), beside]);
    assert_eq!(
        wide.text("read_text_file", json!({"path": "sub/over"})),
        "granted"
    );
    // A second answer may widen again, up to what the operator granted.
    server.notify("notifications/roots/list_changed");
    let id = server.receive()["id"].clone();
    server.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": uri("/")}}).to_string());
    assert_eq!(allowed(&mut server), inside);
}

#[test]
fn m6_roots_that_are_not_understood_give_nothing() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let inside = path(&scratch, "");
    let inside = inside.trim_end_matches('/');
    let uri = |path: &str| json!([{"uri": format!("file://{path}")}]);
    for (roots, why) in [
        (uri("/etc"), "none of the client's roots"),
        (uri("/nonexistent"), "none of the client's roots"),
        (
            uri(&format!("{inside}/missing")),
            "none of the client's roots",
        ),
        (uri(&format!("{inside}/a")), "none of the client's roots"),
        (
            json!([{"uri": format!("vscode-remote://x{inside}")}]),
            "none of the client's roots",
        ),
        (json!([]), "the client named no roots"),
        (json!("nonsense"), "the client did not tell its roots"),
    ] {
        let mut server = with_roots(&scratch, roots.clone());
        let allowed = server.text("list_allowed_directories", json!({}));
        assert_eq!(allowed, "Allowed directories:\n", "{roots}");
        for file in ["a".to_owned(), format!("{inside}/a")] {
            let refusal = server.refusal("read_text_file", json!({"path": file}));
            assert!(
                refusal.starts_with("Access denied - ") && refusal.contains(why),
                "{roots}: {refusal}"
            );
        }
    }
    // One that is understood counts, whatever stands beside it.
    let mixed = json!([{"uri": "https://a/b"}, {"uri": format!("file://{inside}")}]);
    let mut server = with_roots(&scratch, mixed);
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
}

#[test]
fn calls_wait_for_roots_and_are_refused_if_none_come() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut server = over_inside(&scratch);
    server.initialize(json!({"roots": {}}));
    assert_eq!(server.receive()["method"], "roots/list");
    // Nobody answers; other methods do not wait.
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    let refusal = server.refusal("read_text_file", json!({"path": "a"}));
    assert!(
        refusal.contains("did not tell its roots in time"),
        "{refusal}"
    );
    // A late change of mind is heard.
    server.notify("notifications/roots/list_changed");
    let id = server.receive()["id"].clone();
    let roots = json!([{"uri": format!("file://{}", scratch.inside().display())}]);
    server.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}).to_string());
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
}
