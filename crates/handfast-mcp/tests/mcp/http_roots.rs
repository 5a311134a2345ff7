//! Roots of a client by HTTP: asked for in the stream that answers a call, and closed otherwise.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::http::Served;
use crate::support::Scratch;

const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// Says who we are, with roots; the session's id.
fn begin(served: &Served) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
        "clientInfo": {"name": "web", "version": "1"}}});
    let answered = served.post(&message, &[BOTH]);
    answered.header("mcp-session-id").unwrap().to_owned()
}

fn read(path: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": path}}})
}

/// A call that is answered by a stream.
pub(super) struct Streamed(BufReader<TcpStream>);

impl Streamed {
    pub(super) fn send(served: &Served, session: &str, message: &Value) -> Self {
        let mut stream = TcpStream::connect(&served.address).unwrap();
        let headers = [BOTH, ("Mcp-Session-Id", session)];
        let request = served.request_text(message, &headers);
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream);
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.contains("text/event-stream"), "{head}");
        Self(reader)
    }

    pub(super) fn next(&mut self) -> Value {
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        }
        serde_json::from_str(&line["data: ".len()..]).unwrap()
    }
}

pub(super) fn tell(served: &Served, session: &str, message: &Value) {
    let headers = [("Mcp-Session-Id", session)];
    assert_eq!(served.post(message, &headers).status, 202);
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_client_with_roots_is_asked_for_them_and_gets_no_more() {
    let scratch = Scratch::new();
    scratch.file("part/a", "part");
    scratch.file("rest/b", "rest");
    let served = Served::start(&scratch);
    let session = begin(&served);
    let mut call = Streamed::send(&served, &session, &read("a"));
    let asked = call.next();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    // The answer of somebody else with the same id is none.
    let other = begin(&served);
    let uri = |dir: &str| json!([{"uri": format!("file://{}", scratch.at(dir).display())}]);
    let answer =
        |dir: &str| json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": uri(dir)}});
    tell(&served, &other, &answer(""));
    tell(&served, &session, &answer("part"));
    assert_eq!(text(&call.next()), "part");
    // The connection goes on, the roots are known now, and they hold in the other era too.
    let again = [BOTH, ("Mcp-Session-Id", session.as_str())];
    for path in ["../rest/b", "/etc/passwd"] {
        let refused = served.post(&read(path), &again).json();
        assert!(text(&refused).starts_with("Access denied"), "{refused}");
    }
    // Other roots: the next call asks for them.
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    tell(&served, &session, &changed);
    let mut call = Streamed::send(&served, &session, &read("b"));
    let asked = call.next();
    let error =
        json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no"}});
    tell(&served, &session, &error);
    let refused = call.next();
    assert!(text(&refused).contains("reaches nothing"), "{refused}");
}

#[test]
fn a_client_with_roots_that_cannot_be_asked_reaches_nothing() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let served = Served::start(&scratch);
    let session = begin(&served);
    // It takes no stream.
    let headers = [("Mcp-Session-Id", session.as_str())];
    let plain = served.request_text(&read("a"), &headers);
    let plain = plain.replace(", text/event-stream", "");
    assert!(!plain.contains("event-stream"), "{plain}");
    let refused = served.raw(&plain).json();
    assert!(text(&refused).contains("cannot be asked"), "{refused}");
    // It never answers, and other calls wait for the same answer.
    let mut call = Streamed::send(&served, &session, &read("a"));
    assert_eq!(call.next()["method"], "roots/list");
    let refused = served.raw(&plain).json();
    assert!(text(&refused).contains("in time"), "{refused}");
    assert_eq!(call.next()["method"], "notifications/cancelled");
    let refused = call.next();
    assert!(text(&refused).contains("in time"), "{refused}");
    // One without roots has what the operator grants.
    assert_eq!(text(&served.post(&read("a"), &[]).json()), "text");
}
