//! The operator's directories while the server runs.

use serde_json::json;

use super::client::{Mcp, command, path, read};
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

/// A part of a project is served over the session of the whole project. Nothing that the client says
/// about its roots opens the rest.
#[test]
fn a_part_of_a_project_stays_a_part_whatever_the_roots_are() {
    if std::env::var_os("HANDFAST_BIN").is_some() {
        println!("skipped: the project is given to this crate's own server");
        return;
    }
    let scratch = Scratch::new();
    scratch.file("part/a", "part");
    scratch.file("rest/b", "rest");
    scratch.link("../rest/b", "part/link");
    let project = scratch.inside().to_str().unwrap().to_owned();
    let args = ["--no-log", "--session", "p", "--project", &project];
    let start = || {
        let mut command = command(&scratch, &args);
        command.arg(scratch.at("part"));
        Mcp::spawn(command)
    };
    // What waits elsewhere in the project is not told.
    let mut whole = command(&scratch, &args);
    whole.arg(scratch.inside());
    let mut whole = Mcp::spawn(whole);
    whole.text("write_file", json!({"path": "rest/new", "content": "x"}));
    whole.text("write_file", json!({"path": "part/new", "content": "x"}));
    for roots in [
        None,
        Some(scratch.at("part")),
        Some(scratch.inside()),
        Some("/".into()),
    ] {
        let mut server = start();
        match &roots {
            None => drop(server.initialize(json!({}))),
            Some(root) => {
                server.initialize(json!({"roots": {}}));
                let asked = server.receive()["id"].clone();
                let roots = json!([{"uri": format!("file://{}", root.display())}]);
                let answer = json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": roots}});
                server.send(&answer.to_string());
            }
        }
        assert_eq!(server.text("read_text_file", json!({"path": "a"})), "part");
        for rest in ["link", "../rest/b", "/rest/b"] {
            let refusal = server.refusal("read_text_file", json!({"path": rest}));
            assert!(
                refusal.starts_with("Access denied"),
                "{roots:?} {rest}: {refusal}"
            );
        }
        let changes = server.text("list_changes", json!({}));
        assert!(changes.contains("part/new"), "{changes}");
        assert!(!changes.contains("rest/new"), "{roots:?}: {changes}");
    }
}

/// A client cannot leave its own roots by speaking the other era on the same connection.
#[test]
fn roots_hold_in_both_eras_of_a_connection() {
    let scratch = Scratch::new();
    scratch.file("part/a", "part");
    scratch.file("rest/b", "rest");
    let mut command = command(&scratch, &["--no-log"]);
    command.arg(scratch.inside());
    let mut server = Mcp::spawn(command);
    server.initialize(json!({"roots": {}}));
    let asked = server.receive()["id"].clone();
    let roots = json!([{"uri": format!("file://{}", scratch.at("part").display())}]);
    server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": roots}}).to_string());
    for meta in [
        json!({}),
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}),
    ] {
        let call = |name: &str| {
            json!({"name": "read_text_file", "_meta": meta,
                "arguments": {"path": path(&scratch, name)}})
        };
        let inside = server.request("tools/call", call("part/a"));
        assert_eq!(inside["result"]["structuredContent"]["content"], "part");
        let outside = server.request("tools/call", call("rest/b"));
        assert_eq!(outside["result"]["isError"], true, "{outside}");
    }
}

/// What others moved into the client's roots has a name from elsewhere, which the client is not told.
#[test]
fn where_a_file_was_outside_of_the_roots_is_not_told() {
    let scratch = Scratch::new();
    scratch.file("part/a", "part");
    scratch.file("rest/payroll-2026", "rest\n");
    let args = ["--no-log", "--session", "p"];
    let spawn = || {
        let mut command = command(&scratch, &args);
        command.arg(scratch.inside());
        Mcp::spawn(command)
    };
    let mut whole = spawn();
    whole.initialize(json!({}));
    let names = json!({"source": "rest/payroll-2026", "destination": "part/moved"});
    whole.text("move_file", names);
    let seen = whole.text("list_changes", json!({}));
    assert!(seen.contains("payroll"), "{seen}");
    let mut server = spawn();
    server.initialize(json!({"roots": {}, "elicitation": {}}));
    let asked = server.receive()["id"].clone();
    let roots = json!([{"uri": format!("file://{}", scratch.at("part").display())}]);
    server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": roots}}).to_string());
    let changes = server.text("list_changes", json!({}));
    assert!(changes.contains("part/moved"), "{changes}");
    assert!(!changes.contains("payroll"), "{changes}");
    let prompt = server
        .request("prompts/get", json!({"name": "review_changes"}))
        .to_string();
    assert!(
        prompt.contains("part/moved") && !prompt.contains("payroll"),
        "{prompt}"
    );
    let propose = json!({"jsonrpc": "2.0", "id": 700, "method": "tools/call",
        "params": {"name": "propose_changes", "arguments": {}}});
    server.send(&propose.to_string());
    let question = server.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(!question.to_string().contains("payroll"), "{question}");
}

/// What a denied directory holds is not completed; what is denied is no resource, and cannot be watched.
#[test]
fn what_is_denied_is_neither_completed_nor_a_resource() {
    let scratch = Scratch::new();
    scratch.file("keys/one.pem", "secret");
    scratch.file("vault/inner", "secret");
    let mut server = Mcp::start(
        &scratch,
        &["--no-log", "--deny", "*.pem", "--deny", "vault"],
    );
    let mut complete = |value: String| {
        let params = json!({"ref": {"type": "ref/resource", "uri": "file://{+path}"},
            "argument": {"name": "path", "value": value}});
        server.request("completion/complete", params)["result"]["completion"].clone()
    };
    let inner = complete(path(&scratch, "vault/"));
    assert_eq!(inner["total"], 0, "{inner}");
    for name in ["keys/one.pem", "vault", "vault/inner", "vault/none"] {
        let uri = format!("file://{}", path(&scratch, name));
        for method in ["resources/read", "resources/subscribe"] {
            let answer = server.request(method, json!({"uri": uri}));
            assert!(answer.get("error").is_some(), "{method} {name}: {answer}");
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
    }
    // A name in a denied directory is refused alike, whether it is there or not.
    let mut said = |name: &str| {
        let uri = format!("file://{}", path(&scratch, name));
        let answer = server.request("resources/read", json!({"uri": uri}));
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .replace(name, "NAME")
    };
    assert_eq!(said("vault/inner"), said("vault/none"));
}
