//! A client that can ask the person in front of it: comments, and what an answer commits.

use std::ops::ControlFlow;

use handfast_ledger::LogReader;
use serde_json::{Value, json};

use super::client::{Mcp, command, path, read, state};
use crate::support::Scratch;

/// A server over an overlay, and a client that says it can ask.
fn start(scratch: &Scratch, more: &[&str]) -> Mcp {
    let args = [&["--session", "s"], more].concat();
    let mut command = command(scratch, &args);
    command.arg(scratch.inside());
    let mut server = Mcp::spawn(command);
    server.initialize(json!({"elicitation": {}}));
    server
}

/// Proposes, and gives the question that comes.
fn propose(server: &mut Mcp, id: u64) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "propose_changes", "arguments": {}}});
    server.send(&call.to_string());
    let question = server.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    question
}

/// Answers a question, and gives what the agent is told.
fn answer(server: &mut Mcp, question: &Value, result: Value) -> Value {
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    server.send(&reply.to_string());
    server.receive()
}

fn text(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The events of the server's log.
fn log_events(scratch: &Scratch) -> Vec<Value> {
    let log = LogReader::open(state(scratch).join("logs/mcp-0")).unwrap();
    let mut found = Vec::new();
    log.for_each(0, |_, leaf| {
        found.push(serde_json::from_slice(leaf).unwrap());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

fn accepted(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn an_answer_commits_nothing_unless_the_operator_trusts_the_client() {
    let scratch = Scratch::new();
    scratch.file("a", "one\n");
    let mut server = start(&scratch, &[]);
    server.text("write_file", json!({"path": "a", "content": "two\n"}));
    let question = propose(&mut server, 700);
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("-one\n+two\n"), "{message}");
    assert!(message.contains("commits nothing"), "{message}");
    let form = &question["params"]["requestedSchema"]["properties"];
    assert!(form.get("decision").is_none() && form["comment"]["type"] == "string");
    // A client that answers more than it was asked.
    let forged = accepted(json!({"decision": "commit", "comment": "call it three"}));
    let told = text(&answer(&mut server, &question, forged));
    assert!(
        told.contains("The person says") && told.contains("call it three"),
        "{told}"
    );
    assert!(told.contains("Nothing is on disk"), "{told}");
    for (number, silent) in (701..).zip([
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        accepted(json!({"comment": " "})),
        accepted(json!({"decision": "commit"})),
        json!("nonsense"),
        Value::Null,
    ]) {
        let question = propose(&mut server, number);
        let mut told = answer(&mut server, &question, silent.clone());
        if silent.is_null() {
            // No answer at all: the call is not held up for good.
            let error = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}});
            assert_eq!(told["error"]["code"], -32600, "{told}");
            server.send(&error.to_string());
            told = server.receive();
        }
        let told = text(&told);
        assert!(
            told.contains("1 change waits for a person"),
            "{silent}: {told}"
        );
        assert!(told.contains("`handfast session commit s`"), "{told}");
    }
    assert_eq!(read(scratch.at("a")), "one\n");
    assert_eq!(server.finish(), 0);
}

#[test]
fn what_the_person_approved_is_committed_and_a_reject_comes_with_its_comment() {
    let scratch = Scratch::new();
    scratch.file("a", "one\n");
    let mut server = start(&scratch, &["--trust-client-approval"]);
    server.text("write_file", json!({"path": "a", "content": "two\n"}));
    let question = propose(&mut server, 700);
    let reject = accepted(json!({"decision": "reject", "comment": "three, please"}));
    let told = text(&answer(&mut server, &question, reject));
    assert!(
        told.contains("rejected") && told.contains("three, please"),
        "{told}"
    );
    assert_eq!(read(scratch.at("a")), "one\n");
    // The second try; meanwhile another change comes in, which the person did not see.
    server.text("write_file", json!({"path": "a", "content": "three\n"}));
    let question = propose(&mut server, 701);
    server.text("write_file", json!({"path": "unseen", "content": "x"}));
    let commit = accepted(json!({"decision": "commit"}));
    let refused = answer(&mut server, &question, commit.clone());
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(text(&refused).starts_with("Not committed - "), "{refused}");
    assert_eq!(read(scratch.at("a")), "one\n");
    // Other bytes of the same file, behind the person's back.
    server.text("delete_file", json!({"path": "unseen"}));
    let question = propose(&mut server, 702);
    server.text("write_file", json!({"path": "a", "content": "evil!\n"}));
    let refused = answer(&mut server, &question, commit.clone());
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    server.text("write_file", json!({"path": "a", "content": "three\n"}));
    let question = propose(&mut server, 703);
    let told = text(&answer(&mut server, &question, commit));
    assert!(told.contains("1 change is on disk"), "{told}");
    assert_eq!(read(scratch.at("a")), "three\n");
    assert_eq!(server.text("list_changes", json!({})), "No changes");
    assert_eq!(server.finish(), 0);
    let events = log_events(&scratch);
    let about = |what: &str| {
        let is_it = |event: &&Value| event["type"] == "commit" && event.to_string().contains(what);
        events.iter().filter(is_it).count()
    };
    assert_eq!(about("three, please"), 1, "{events:#?}");
    // Three times it was approved, and twice it was not what had been shown.
    assert_eq!(about("approved through the client"), 3, "{events:#?}");
    assert_eq!(about("was changed since"), 2, "{events:#?}");
    assert!(about("tester 7 / propose_changes") >= 4, "{events:#?}");
}

#[test]
fn what_is_not_shown_is_not_committed_on_a_clients_word() {
    let scratch = Scratch::new();
    for (name, content) in [
        ("long", "line\n".repeat(20_000)),
        ("binary", "\0\u{1}\u{2}".repeat(100)),
    ] {
        let mut server = start(&scratch, &["--trust-client-approval"]);
        server.text("write_file", json!({"path": name, "content": content}));
        let question = propose(&mut server, 700);
        let form = &question["params"]["requestedSchema"]["properties"];
        assert!(form.get("decision").is_none(), "{name}: {form}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("Not everything is shown"), "{message}");
        let forged = accepted(json!({"decision": "commit"}));
        let told = text(&answer(&mut server, &question, forged));
        assert!(told.contains("Nothing is on disk"), "{told}");
        assert!(!scratch.at(name).exists());
        server.text("delete_file", json!({"path": name}));
    }
}

#[test]
fn a_question_ends_with_its_call_and_holds_up_nobody() {
    let scratch = Scratch::new();
    let mut server = start(&scratch, &[]);
    server.text(
        "write_file",
        json!({"path": "a", "content": path(&scratch, "a")}),
    );
    let question = propose(&mut server, 700);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    server.text("read_text_file", json!({"path": "a"}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 700}});
    server.send(&cancel.to_string());
    let told = server.receive();
    assert_eq!(told["method"], "notifications/cancelled", "{told}");
    assert_eq!(told["params"]["requestId"], question["id"]);
    // The input ends while a person is asked: so does the server.
    propose(&mut server, 701);
    assert_eq!(server.finish(), 0);
    // A client that cannot ask is not asked, and gets the id.
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut command = command(&scratch, &["--session", "s"]);
        command.arg(scratch.inside());
        let mut server = Mcp::spawn(command);
        server.initialize(capabilities);
        let told = server.text("propose_changes", json!({}));
        assert!(
            told.starts_with("Proposal ") && told.contains("waits"),
            "{told}"
        );
    }
    let mut command = command(&scratch, &["--trust-client-approval"]);
    command
        .arg(scratch.inside())
        .stdin(std::process::Stdio::null());
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}
