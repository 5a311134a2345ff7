//! Every request is answered with its id, and a slow one holds up nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Mcp, read};
use crate::support::Scratch;

fn call(id: u64, tool: &str, arguments: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
    .to_string()
}

#[test]
fn m3_messages_that_cannot_be_read_are_answered_with_their_id() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    server.send(r#"{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"\ud800"}}"#);
    let answer = server.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(41), &json!(-32700))
    );
    let content = "x".repeat(11 << 20);
    for (long, id) in [
        (
            format!(r#"{{"id":"first","x":"{content}"}}"#),
            json!("first"),
        ),
        (
            format!(r#"{{"x":{{"id":1,"y":"{content}"}},"id":42}}"#),
            json!(42),
        ),
        (content, Value::Null),
    ] {
        server.send(&long);
        let answer = server.receive();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(-32600))
        );
    }
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn m4_large_ids_come_back_as_they_were() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    for id in [
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "123456789012345678901234567890",
        "1.5",
        r#""a \" b""#,
    ] {
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let answer = server.receive_line();
        assert!(answer.contains(&format!(r#""id":{id},"#)), "{id}: {answer}");
    }
}

/// A tree in which a search takes a while.
pub(super) fn slow_tree(scratch: &Scratch) {
    // Expressions are matched far faster in a build that is optimised.
    let lines = if cfg!(debug_assertions) {
        60_000
    } else {
        400_000
    };
    let text = "abababababababababababababababab\n".repeat(lines);
    for number in 0..8 {
        scratch.file(&format!("slow/{number}"), &text);
    }
}

pub(super) fn slow_request(id: u64, meta: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "search_content", "_meta": meta,
        "arguments": {"path": "slow", "pattern": "(a|b){31}c$"}}})
}

fn slow_search(id: u64, meta: Value) -> String {
    slow_request(id, meta).to_string()
}

/// Sends a search that tells its progress, and waits until it is under way.
fn begin_search(server: &mut Mcp, id: u64) {
    server.send(&slow_search(id, json!({"progressToken": id})));
    loop {
        let message = server.receive();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        if message["params"]["progressToken"] == id {
            return;
        }
    }
}

#[test]
fn m5_ping_does_not_wait_for_a_search_which_tells_its_progress() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    let mut server = Mcp::start(&scratch, &[]);
    // Pings have small numbers, as many as there is time for.
    const SEARCH: u64 = 1 << 40;
    begin_search(&mut server, SEARCH);
    // The search is under way. Every ping that is answered before it did not wait for it.
    let mut before = Vec::new();
    let (mut asked, mut id) = (Instant::now(), 1_u64);
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    server.send(&ping(id));
    loop {
        let answer = server.receive();
        if answer["method"] == "notifications/progress" {
            continue;
        }
        if answer["id"] == SEARCH {
            assert_eq!(text_of(&answer), "No matches found");
            break;
        }
        assert_eq!(answer["id"], id, "{answer}");
        before.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
        (asked, id) = (Instant::now(), id + 1);
        server.send(&ping(id));
    }
    before.sort();
    println!(
        "{} pings before the search ended: {:?}",
        before.len(),
        before.last()
    );
    assert!(before.len() > 4, "only {} pings came through", before.len());
}

fn text_of(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn m5_a_call_that_is_cancelled_ends_and_is_not_answered() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    // Seven searches take all the threads that calls have: nothing else runs until one ends.
    for id in 700..707 {
        server.send(&slow_search(id, json!({"progressToken": id})));
    }
    let mut under_way = BTreeSet::new();
    while under_way.len() < 7 {
        let message = server.receive();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        under_way.insert(message["params"]["progressToken"].as_u64().unwrap());
    }
    server.send(&call(5, "read_text_file", json!({"path": "a"})));
    for id in 700..706 {
        let params = json!({"requestId": id});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        server.send(&cancel.to_string());
    }
    // The read is answered before the one search that goes on: a cancelled one has ended.
    let mut answered = Vec::new();
    while answered.len() < 2 {
        let message = server.receive();
        if message["method"] != "notifications/progress" {
            answered.push(message["id"].clone());
        }
    }
    assert_eq!(answered, [json!(5), json!(706)]);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    assert_eq!(server.finish(), 0);
}

#[test]
fn more_calls_than_may_wait_do_not_stop_the_roots_from_being_read() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut command = super::client::command(&scratch, &["--no-log"]);
    command.arg(scratch.inside());
    let mut server = Mcp::spawn(command);
    server.initialize(json!({"roots": {}}));
    let asked = server.receive()["id"].clone();
    for id in 0..300 {
        server.send(&call(1000 + id, "read_text_file", json!({"path": "a"})));
    }
    let roots = json!([{"uri": format!("file://{}", scratch.inside().display())}]);
    server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": roots}}).to_string());
    let answers: Vec<Value> = (0..300).map(|_| server.receive()).collect();
    let refused = answers
        .iter()
        .filter(|answer| answer.get("error").is_some());
    assert_eq!(refused.count(), 300 - 256);
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
}

#[test]
fn many_calls_at_once_are_all_answered_and_changes_keep_their_order() {
    let scratch = Scratch::new();
    let mut server = Mcp::start(&scratch, &[]);
    const ROUNDS: u64 = 100;
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        let write = json!({"path": "file", "content": text});
        server.send(&call(1000 + 2 * round, "write_file", write));
        server.send(&call(
            1001 + 2 * round,
            "read_text_file",
            json!({"path": "file"}),
        ));
    }
    let mut answers = BTreeMap::new();
    for _ in 0..2 * ROUNDS {
        let answer = server.receive();
        let id = answer["id"].as_u64().unwrap();
        assert!(answers.insert(id, answer).is_none(), "{id} came twice");
    }
    for round in 0..ROUNDS {
        let seen = &answers[&(1001 + 2 * round)]["result"]["structuredContent"]["content"];
        let seen = seen.as_str().unwrap().strip_prefix("round ").unwrap();
        // At least what was written before; what was sent after it may be there already.
        assert!(seen.parse::<u64>().unwrap() >= round, "{round}: {seen}");
    }
    assert_eq!(read(scratch.at("file")), format!("round {}", ROUNDS - 1));
    assert_eq!(server.finish(), 0);
}

/// A client that waits for each answer needs a thread that runs its call and one that reads on: a third would only cost
/// memory. The thread that answered counts as free before the answer leaves, so there is no race for it.
#[test]
fn calls_one_after_the_other_have_two_threads() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    for _ in 0..300 {
        assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
    }
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    assert_eq!(tasks.count(), 2);
}

/// What was sent after a change begins when the change is made, and is answered after it.
#[test]
fn a_change_is_answered_before_what_was_sent_after_it() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    for number in 0..150 {
        let write = json!({"path": "b", "content": "text", "overwrite": true});
        server.send(&call(2 * number, "write_file", write));
        server.send(&call(
            2 * number + 1,
            "read_text_file",
            json!({"path": "a"}),
        ));
    }
    let answered: Vec<u64> = (0..300)
        .map(|_| server.receive()["id"].as_u64().unwrap())
        .collect();
    let at = |id: u64| answered.iter().position(|answered| *answered == id);
    for change in (0..300).step_by(2) {
        assert!(at(change) < at(change + 1), "{answered:?}");
    }
}
