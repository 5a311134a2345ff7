//! Resources that a client hears of when they change.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Mcp;
use super::http::{Served, request};
use crate::support::Scratch;

fn uri(scratch: &Scratch, name: &str) -> String {
    format!("file://{}", scratch.at(name).display())
}

/// Waits until the client is told of a change; what it is of.
fn told(server: &mut Mcp) -> String {
    let message = server.receive();
    assert_eq!(
        message["method"], "notifications/resources/updated",
        "{message}"
    );
    message["params"]["uri"].as_str().unwrap().to_owned()
}

#[test]
fn m9_a_client_hears_of_files_that_change_and_of_no_others() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one");
    scratch.file("d/x", "");
    scratch.file("quiet", "");
    let mut server = Mcp::start(&scratch, &["--no-log"]);
    for name in ["a", "d", "quiet"] {
        let params = json!({"uri": uri(&scratch, name)});
        let answer = server.request("resources/subscribe", params);
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let quiet = json!({"uri": uri(&scratch, "quiet")});
    server.request("resources/unsubscribe", quiet);
    // Somebody else writes.
    std::fs::write(scratch.at("quiet"), "changed").unwrap();
    std::fs::write(&file, "other").unwrap();
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    // A new name in a directory, a file that is replaced, one that goes, and one that comes again.
    std::fs::write(scratch.at("d/y"), "").unwrap();
    assert_eq!(told(&mut server), uri(&scratch, "d"));
    std::fs::write(scratch.at("b"), "other").unwrap();
    std::fs::rename(scratch.at("b"), &file).unwrap();
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    std::fs::write(&file, "again").unwrap();
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    // The end of the input ends the watching, too.
    let begun = Instant::now();
    assert_eq!(server.finish(), 0);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn m9_changes_in_an_overlay_are_told() {
    let scratch = Scratch::new();
    scratch.file("a", "one");
    let mut server = Mcp::start(&scratch, &["--session", "s"]);
    server.request("resources/subscribe", json!({"uri": uri(&scratch, "a")}));
    let write = json!({"path": "a", "content": "two"});
    assert!(
        server.call("write_file", write)["result"]
            .get("isError")
            .is_none()
    );
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    assert_eq!(std::fs::read_to_string(scratch.at("a")).unwrap(), "one");
}

#[test]
fn m9_nothing_outside_can_be_watched() {
    let scratch = Scratch::new();
    let outside = scratch.outside().join("x");
    std::fs::write(&outside, "one").unwrap();
    scratch.link(&outside, "out");
    scratch.file("a", "one");
    let mut server = Mcp::start(&scratch, &["--no-log", "--deny", ".env"]);
    scratch.file(".env", "secret");
    for bad in [
        format!("file://{}", outside.display()),
        uri(&scratch, "out"),
        uri(&scratch, "none"),
        uri(&scratch, ".env"),
        "http://a/b".to_owned(),
    ] {
        let answer = server.request("resources/subscribe", json!({"uri": bad}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    // A file that becomes a way out is told once, as gone; what happens outside is not.
    server.request("resources/subscribe", json!({"uri": uri(&scratch, "a")}));
    std::fs::remove_file(scratch.at("a")).unwrap();
    scratch.link(&outside, "a");
    assert_eq!(told(&mut server), uri(&scratch, "a"));
    std::fs::write(&outside, "more").unwrap();
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn m9_by_http_subscriptions_are_neither_claimed_nor_there() {
    let scratch = Scratch::new();
    scratch.file("a", "one");
    let served = Served::start(&scratch);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}});
    let answer = served.post(&request("initialize", hello), &[]).json();
    assert_eq!(answer["result"]["capabilities"]["resources"], json!({}));
    let subscribe = request("resources/subscribe", json!({"uri": uri(&scratch, "a")}));
    let answer: Value = served.post(&subscribe, &[]).json();
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}
