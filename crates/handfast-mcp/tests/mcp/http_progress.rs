//! Calls by HTTP that take a while: their progress, and their end before the answer.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::concurrent::{slow_request, slow_tree};
use super::http::{Served, request};
use super::http_roots::{Streamed, tell};
use crate::support::Scratch;

fn begin(served: &Served) -> String {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}});
    let answered = served.post(&request("initialize", hello), &[]);
    answered.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn m5_by_http_a_search_tells_its_progress_and_can_be_cancelled() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    let served = Served::start(&scratch);
    let (session, other) = (begin(&served), begin(&served));
    let search = slow_request(7, json!({"progressToken": "p"}));
    let mut call = Streamed::send(&served, &session, &search);
    let first = call.next();
    assert_eq!(first["method"], "notifications/progress", "{first}");
    assert_eq!(first["params"]["progressToken"], "p");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    // Somebody else's word counts for nothing.
    tell(&served, &other, &cancel);
    assert!(call.last().get("result").is_some(), "it was cancelled");
    // A fast machine may come to the end of a search before it is cancelled: then another one is begun.
    for _ in 0..50 {
        let mut call = Streamed::send(&served, &session, &search);
        if call.next()["method"] == "notifications/progress" {
            tell(&served, &session, &cancel);
            let last = call.last();
            assert_eq!(last["id"], 7, "{last}");
            if let Some(why) = last["error"]["message"].as_str() {
                assert!(why.contains("cancelled"), "{last}");
                return;
            }
        }
    }
    panic!("none of the searches was cancelled");
}

impl Streamed {
    /// The answer, behind all progress.
    fn last(&mut self) -> Value {
        loop {
            let message = self.next();
            if message["method"] != "notifications/progress" {
                return message;
            }
        }
    }
}

#[test]
fn m5_without_a_handshake_a_closed_connection_ends_the_call() {
    let scratch = Scratch::new();
    slow_tree(&scratch);
    let served = Served::start(&scratch);
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", served.pid()));
        tasks.unwrap().count()
    };
    let mut message = slow_request(
        7,
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}),
    );
    message["params"]["_meta"]["progressToken"] = json!(1);
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "search_content"),
    ];
    let whole = Instant::now();
    let answer = served.post(&slow_without_progress(&message), &headers);
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let whole = whole.elapsed();
    // The threads of the first call may end a little later than its answer.
    let mut idle = threads();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(10));
        idle = idle.min(threads());
    }
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let text = served.request_text(&message, &headers);
    stream.write_all(text.as_bytes()).unwrap();
    let begun = Instant::now();
    while threads() <= idle {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never began");
        std::thread::yield_now();
    }
    drop(stream);
    while threads() > idle {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!(
        "{whole:?} as a whole, {:?} until it was ended",
        begun.elapsed()
    );
    assert!(begun.elapsed() < whole / 2, "it went on to its end");
}

/// The same, answered at once.
fn slow_without_progress(message: &Value) -> Value {
    let mut message = message.clone();
    let meta = message["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("progressToken");
    message
}
