//! Every request is answered with its id, and a slow one holds up nobody.

use std::collections::BTreeMap;
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
fn slow_tree(scratch: &Scratch) {
    // Expressions are matched far faster in a build that is optimised.
    let lines = if cfg!(debug_assertions) {
        10_000
    } else {
        400_000
    };
    let text = "abababababababababababababababab\n".repeat(lines);
    for number in 0..8 {
        scratch.file(&format!("slow/{number}"), &text);
    }
}

fn slow_search(id: u64, meta: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "search_content", "_meta": meta,
        "arguments": {"path": "slow", "pattern": "(a|b){31}c$"}}})
    .to_string()
}

#[test]
fn m5_ping_does_not_wait_for_a_search_which_tells_its_progress() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &[]);
    let begun = Instant::now();
    server.send(&slow_search(700, json!({"progressToken": "p"})));
    std::thread::sleep(Duration::from_millis(20));
    let (mut pings, mut progress) = (Vec::new(), 0);
    let searched = 'search: loop {
        let asked = Instant::now();
        server.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        loop {
            let answer = server.receive();
            if answer["id"] == 1 {
                pings.push(asked.elapsed());
                break;
            }
            if answer["method"] == "notifications/progress" {
                assert_eq!(answer["params"]["progressToken"], "p");
                progress += 1;
                continue;
            }
            assert_eq!(answer["id"], 700, "{answer}");
            break 'search begun.elapsed();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    pings.sort();
    let median = pings[pings.len() / 2];
    println!(
        "search {searched:?}, {} pings, median {median:?}",
        pings.len()
    );
    assert!(
        searched > Duration::from_millis(150),
        "the search was quick: {searched:?}"
    );
    assert!(
        pings.len() > 4 && progress > 0,
        "{} pings, {progress} of progress",
        pings.len()
    );
    assert!(median < Duration::from_millis(50), "{pings:?}");
}

#[test]
fn m5_a_call_that_is_cancelled_ends_and_is_not_answered() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    scratch.file("a", "text");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    server.send(&slow_search(700, json!({})));
    server.send(&slow_search(701, json!({})));
    std::thread::sleep(Duration::from_millis(20));
    server
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":700}}"#);
    server.send(&call(5, "read_text_file", json!({"path": "a"})));
    // Another call is not touched by it.
    let mut ids = vec![
        server.receive()["id"].clone(),
        server.receive()["id"].clone(),
    ];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(5), json!(701)]);
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
