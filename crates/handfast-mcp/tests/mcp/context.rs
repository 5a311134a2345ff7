//! Prompts, resources and completions: what a client offers to a person, not to a model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::{Mcp, command, path};
use crate::support::Scratch;

fn result(server: &mut Mcp, method: &str, params: Value) -> Value {
    let answer = server.request(method, params);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

/// Code and text of a request that fails.
fn fault(server: &mut Mcp, method: &str, params: Value) -> (i64, String) {
    let answer = server.request(method, params);
    let error = &answer["error"];
    let code = error["code"].as_i64().unwrap_or_else(|| panic!("{answer}"));
    (code, error["message"].as_str().unwrap().to_owned())
}

fn prompt(server: &mut Mcp, name: &str, arguments: Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    let prompt = result(server, "prompts/get", params);
    let message = &prompt["messages"][0];
    assert_eq!(
        (&message["role"], &message["content"]["type"]),
        (&json!("user"), &json!("text"))
    );
    message["content"]["text"].as_str().unwrap().to_owned()
}

fn uri(scratch: &Scratch, name: &str) -> String {
    format!("file://{}", path(scratch, name))
}

#[test]
fn the_review_prompt_names_what_waits_and_is_offered_only_where_something_can() {
    let scratch = Scratch::new();
    scratch.file("a", "one");
    let mut server = Mcp::start(&scratch, &["--session", "s"]);
    let list = result(&mut server, "prompts/list", json!({}));
    let names: Vec<&Value> = list["prompts"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 2, "{list}");
    assert_eq!(names[0]["name"], "review_changes");
    assert_eq!(names[0]["title"], "Review my changes");
    assert_eq!(names[0]["arguments"][0]["name"], "path");
    let none = prompt(&mut server, "review_changes", json!({}));
    assert!(none.starts_with("Nothing"), "{none}");
    server.text("write_file", json!({"path": "a", "content": "two"}));
    server.text("create_directory", json!({"path": "d"}));
    server.text("write_file", json!({"path": "d/new", "content": "x"}));
    let all = prompt(&mut server, "review_changes", json!({}));
    for line in [
        format!("changed {}", path(&scratch, "a")),
        format!("added {}", path(&scratch, "d/new")),
    ] {
        assert!(all.contains(&line), "{line}: {all}");
    }
    let below = prompt(&mut server, "review_changes", json!({"path": "d"}));
    assert!(
        below.contains("d/new") && !below.contains(&path(&scratch, "a")),
        "{below}"
    );
    let (code, text) = fault(
        &mut server,
        "prompts/get",
        json!({"name": "review_changes", "arguments": {"path": "/etc"}}),
    );
    assert!(
        code == -32602 && text.starts_with("Access denied"),
        "{text}"
    );
    let mut plain = Mcp::start(&scratch, &[]);
    let list = result(&mut plain, "prompts/list", json!({})).to_string();
    assert!(!list.contains("review_changes"), "{list}");
    let (code, text) = fault(&mut plain, "prompts/get", json!({"name": "review_changes"}));
    assert_eq!(
        (code, text.as_str()),
        (-32602, "Prompt review_changes not found")
    );
}

#[test]
fn the_refusals_are_those_of_the_caller_who_asks() {
    let scratch = Scratch::new();
    scratch.file("x.key", "secret");
    let mut server = Mcp::start(&scratch, &["--deny", "*.key"]);
    let none = prompt(&mut server, "what_was_refused", json!({}));
    assert!(none.starts_with("Nothing was refused"), "{none}");
    server.refusal("read_text_file", json!({"path": "x.key"}));
    server.refusal("write_file", json!({"path": "/etc/x", "content": ""}));
    server.refusal("read_text_file", json!({"path": "missing"}));
    fault(
        &mut server,
        "resources/read",
        json!({"uri": "file:///etc/passwd"}),
    );
    let told = prompt(&mut server, "what_was_refused", json!({}));
    assert_eq!(told.matches("\n- ").count(), 3, "{told}");
    assert!(
        told.contains("read_text_file: Access denied - protected by deny `*.key`"),
        "{told}"
    );
    assert!(told.contains("resources/read: Access denied"), "{told}");
    assert!(!told.contains("missing"), "{told}");
    // Another client of the same server, as its requests say who they are.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "other", "version": "1"},
    });
    let other = result(
        &mut server,
        "prompts/get",
        json!({"name": "what_was_refused", "_meta": meta}),
    );
    assert_eq!(other["resultType"], "complete");
    let text = other["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("Nothing was refused"), "{text}");
}

#[test]
fn files_and_directories_are_resources_and_nothing_outside_is() {
    let scratch = Scratch::new();
    scratch.file("a b.txt", "text\n");
    scratch.file("raw", b"\xff\x00");
    scratch.file("picture.png", b"\x89PNG\xff");
    scratch.file("x.key", "secret");
    scratch.link("../outside", "out");
    std::fs::write(scratch.outside().join("x"), "outside").unwrap();
    let mut server = Mcp::start(&scratch, &["--deny", "*.key", "--read-limit", "1KiB"]);
    let list = result(&mut server, "resources/list", json!({}));
    let dir = &list["resources"][0];
    assert_eq!(dir["uri"], format!("file://{}", scratch.inside().display()));
    assert_eq!(dir["mimeType"], "inode/directory");
    let templates = result(&mut server, "resources/templates/list", json!({}));
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "file://{+path}"
    );
    let mut read = |uri: &str| {
        let read = result(&mut server, "resources/read", json!({"uri": uri}));
        assert_eq!(read["contents"][0]["uri"], uri);
        read["contents"][0].clone()
    };
    let listed = read(dir["uri"].as_str().unwrap());
    assert!(
        listed["text"].as_str().unwrap().contains("[FILE] a b.txt"),
        "{listed}"
    );
    let text = read(&uri(&scratch, "a%20b.txt"));
    assert_eq!(
        (&text["text"], &text["mimeType"]),
        (&json!("text\n"), &json!("text/plain"))
    );
    let raw = read(&uri(&scratch, "raw"));
    assert_eq!(raw["blob"], STANDARD.encode(b"\xff\x00"));
    assert_eq!(read(&uri(&scratch, "picture.png"))["mimeType"], "image/png");
    scratch.file("large", "x".repeat(2000));
    for (bad, why) in [
        (uri(&scratch, "x.key"), "protected by deny"),
        (uri(&scratch, "out/x"), "outside"),
        (uri(&scratch, "missing"), "ENOENT"),
        (uri(&scratch, "large"), "EFBIG"),
        (
            uri(&scratch, "..%2f..%2fetc%2fpasswd"),
            "Resource not found",
        ),
        (
            "file:///etc/passwd".to_owned(),
            "outside allowed directories",
        ),
        ("test://x".to_owned(), "Resource not found"),
    ] {
        let answer = server.request("resources/read", json!({"uri": bad}));
        assert_eq!(answer["error"]["code"], -32002, "{bad}: {answer}");
        assert_eq!(answer["error"]["data"]["uri"], bad);
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains(why), "{bad}: {text}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    let (code, _) = fault(&mut server, "resources/read", json!({}));
    assert_eq!(code, -32602);
}

#[test]
fn resources_keep_to_the_roots_of_the_client() {
    let scratch = Scratch::new();
    scratch.file("one/a", "in");
    scratch.file("two/b", "out");
    let mut command = command(&scratch, &["--no-log"]);
    command.arg(scratch.inside());
    let mut server = Mcp::spawn(command);
    server.initialize(json!({"roots": {}}));
    let asked = server.receive()["id"].clone();
    // Sent before the roots are known: it waits for them.
    let list = json!({"jsonrpc": "2.0", "id": "early", "method": "resources/list"});
    server.send(&list.to_string());
    let roots = json!([{"uri": uri(&scratch, "one")}]);
    server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": roots}}).to_string());
    let early = server.receive();
    assert_eq!(early["id"], "early");
    assert_eq!(early["result"]["resources"][0]["uri"], uri(&scratch, "one"));
    let read = result(
        &mut server,
        "resources/read",
        json!({"uri": uri(&scratch, "one/a")}),
    );
    assert_eq!(read["contents"][0]["text"], "in");
    let (code, text) = fault(
        &mut server,
        "resources/read",
        json!({"uri": uri(&scratch, "two/b")}),
    );
    assert!(
        code == -32002 && text.starts_with("Access denied"),
        "{text}"
    );
}

#[test]
fn paths_are_completed_within_the_directories() {
    let scratch = Scratch::new();
    scratch.file("src/main.rs", "");
    scratch.file("src/mod.rs", "");
    scratch.file("sub/x", "");
    scratch.link("../outside", "out");
    std::fs::write(scratch.outside().join("hidden"), "").unwrap();
    for number in 0..150 {
        scratch.file(&format!("many/{number:03}"), "");
    }
    let mut server = Mcp::start(&scratch, &["--session", "s"]);
    let template = json!({"type": "ref/resource", "uri": "file://{+path}"});
    let complete = |server: &mut Mcp, of: &Value, value: &str| {
        let params = json!({"ref": of, "argument": {"name": "path", "value": value}});
        result(server, "completion/complete", params)["completion"].clone()
    };
    let inside = scratch.inside().display().to_string();
    let mut values = |of: &Value, value: &str| {
        let values = complete(&mut server, of, value)["values"].clone();
        serde_json::from_value::<Vec<String>>(values).unwrap()
    };
    assert_eq!(
        values(&template, ""),
        [
            inside.clone(),
            "many/".into(),
            "out".into(),
            "src/".into(),
            "sub/".into()
        ]
    );
    assert_eq!(values(&template, "/"), [inside.as_str()]);
    assert_eq!(
        values(&template, &format!("{inside}/s")),
        [format!("{inside}/src/"), format!("{inside}/sub/")]
    );
    let review = json!({"type": "ref/prompt", "name": "review_changes"});
    assert_eq!(values(&review, "src/m"), ["src/main.rs", "src/mod.rs"]);
    for nothing in ["/etc/pass", "out/", "missing/x", "../"] {
        assert!(values(&template, nothing).is_empty(), "{nothing}");
    }
    let many = complete(&mut server, &template, "many/");
    assert_eq!(many["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&many["total"], &many["hasMore"]),
        (&json!(150), &json!(true))
    );
    for bad in [
        json!({"ref": {"type": "ref/resource", "uri": "http://{x}"}, "argument": {"name": "path", "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "path", "value": ""}}),
        json!({"ref": template, "argument": {"name": "path"}}),
        json!({}),
    ] {
        let (code, text) = fault(&mut server, "completion/complete", bad.clone());
        assert_eq!(code, -32602, "{bad}: {text}");
    }
}

/// A directory that is read as a resource has no second page, so no list is kept for it, and none is forgotten.
#[test]
fn directories_as_resources_push_out_no_list() {
    let scratch = Scratch::new();
    for number in 0..1_500 {
        scratch.file(&format!("d/{number:04}"), "");
    }
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    let page = |server: &mut Mcp, arguments: Value| {
        server.call("list_directory", arguments)["result"]["structuredContent"].clone()
    };
    let first = page(&mut server, json!({"path": "d"}));
    let uri = format!("file://{}", scratch.at("d").display());
    for _ in 0..40 {
        let read = server.request("resources/read", json!({"uri": uri}));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.contains("This is not all"), "{text}");
    }
    let second = page(&mut server, json!({"path": "d", "cursor": first["next"]}));
    let text = second["content"].as_str().unwrap();
    assert!(!text.contains("read again"), "{text}");
}
