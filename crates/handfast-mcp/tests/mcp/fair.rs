//! Several callers by HTTP, each with a token: what one of them does takes nothing from another.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Answered, Served};
use super::http_roots::{Streamed, tell};
use crate::support::Scratch;

const ANA: &str = "0123456789abcdefghijklmn-ana";
const BEN: &str = "0123456789abcdefghijklmn-ben";

/// Whether the file of tokens can be given to the server that is tested.
fn takes_tokens() -> bool {
    let is_own = std::env::var_os("HANDFAST_BIN").is_none();
    if !is_own {
        println!("skipped: the file of tokens is given to this crate's own server");
    }
    is_own
}

/// A server for two callers.
fn served(scratch: &Scratch, args: &[&str]) -> Served {
    let file = scratch.path.join("tokens");
    std::fs::write(&file, format!("ana {ANA}\nben {BEN}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    Served::spawn(scratch, Some(&file), args)
}

/// A call of a client that names itself as it likes.
fn call(client: &str, tool: &str, arguments: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"_meta": meta, "name": tool, "arguments": arguments}})
}

fn request(served: &Served, token: &str, message: &Value) -> String {
    let tool = message["params"]["name"].as_str().unwrap();
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    served.request_text(message, &headers).replace(ANA, token)
}

fn ask(served: &Served, token: &str, message: &Value) -> Answered {
    served.raw(&request(served, token, message))
}

/// What a model sees of an answer.
fn seen(answered: &Answered) -> Value {
    let answer = answered.json();
    let result = &answer["result"];
    assert!(result.get("isError").is_none(), "{answer}");
    result["structuredContent"].clone()
}

/// Says who a caller is, with roots that it will never tell; the session's id.
fn with_roots(served: &Served, token: &str) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
        "clientInfo": {"name": "slow", "version": "1"}}});
    let answered = served.raw(&served.request_text(&hello, &[]).replace(ANA, token));
    answered.header("mcp-session-id").unwrap().trim().to_owned()
}

/// How a connection was answered so far: nothing, or the status.
fn status(stream: &mut TcpStream) -> Option<u16> {
    stream.set_nonblocking(true).unwrap();
    let mut start = [0; 12];
    let got = stream.peek(&mut start).unwrap_or(0);
    let text = std::str::from_utf8(&start[..got]).unwrap();
    let status = text.split(' ').nth(1)?;
    Some(status.parse().unwrap())
}

/// Ben begins as many calls as there are places, and each of them waits for roots that he never tells. Ana is answered
/// meanwhile, on new connections, and those of Ben's calls that found no place are told so.
#[test]
fn calls_that_wait_leave_places_for_other_callers() {
    if !takes_tokens() {
        return;
    }
    for attempt in 1..=3 {
        if places_are_left() {
            return;
        }
        println!("attempt {attempt} was too slow: Ben's calls had ended");
    }
    crate::turns::starved("places of callers", "nothing is shown about places");
}

/// Whether Ana was answered before the wait for Ben's roots was over, as far as Ben's own answers tell.
fn places_are_left() -> bool {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let served = served(&scratch, &[]);
    let read = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": "a"}}});
    let sessions: Vec<String> = (0..8).map(|_| with_roots(&served, BEN)).collect();
    let begun = Instant::now();
    let mut slow = Vec::new();
    for session in &sessions {
        // The first call of a session is answered by a stream that asks for the roots, the others wait for the same answer.
        let headers = [("Mcp-Session-Id", session.as_str())];
        let text = served.request_text(&read, &headers).replace(ANA, BEN);
        for _ in 0..83 {
            let mut stream = TcpStream::connect(&served.address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            slow.push(stream);
        }
    }
    let sent = begun.elapsed();
    for _ in 0..5 {
        assert_eq!(seen(&ask(&served, ANA, &ana_reads()))["content"], "text");
    }
    let took = begun.elapsed();
    let statuses: Vec<Option<u16>> = slow.iter_mut().map(status).collect();
    let count = |wanted: Option<u16>| statuses.iter().filter(|found| **found == wanted).count();
    let (waiting, asked, turned_away) = (count(None), count(Some(200)), count(Some(503)));
    println!(
        "Ben: {waiting} wait, {asked} are asked, {turned_away} turned away; {sent:?}, {took:?}"
    );
    assert_eq!(waiting + asked + turned_away, slow.len());
    // The first of Ben's calls end after five seconds.
    if sent > Duration::from_secs(4) {
        return false;
    }
    assert!(turned_away > 0, "all of Ben's calls have a place");
    if took > Duration::from_secs(4) {
        return false;
    }
    assert!(asked <= 8, "Ben's calls did not wait");
    // Ben himself is answered as soon as there is a place again.
    drop(slow);
    let read = call("ben", "read_text_file", &json!({"path": "a"}));
    let answered = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(50));
        ask(&served, BEN, &read).status == 200
    });
    assert!(answered.is_some(), "Ben's places are never given back");
    true
}

/// Every place of a caller is taken by calls that wait for its roots. The answer that they wait for needs none.
#[test]
fn an_answer_that_calls_wait_for_needs_no_place() {
    if !takes_tokens() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let served = served(&scratch, &[]);
    let session = with_roots(&served, ANA);
    let headers = [("Mcp-Session-Id", session.as_str())];
    let read = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": "a"}}});
    let mut first = Streamed::send(&served, &session, &read);
    let question = first.next();
    let text = served.request_text(&read, &headers);
    let mut others: Vec<TcpStream> = (0..440)
        .map(|_| {
            let mut stream = TcpStream::connect(&served.address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    let uri = format!("file://{}", scratch.inside().display());
    let roots =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": uri}]}});
    tell(&served, &session, &roots);
    assert_eq!(
        first.next()["result"]["structuredContent"]["content"],
        "text"
    );
    for stream in &mut others {
        assert_eq!(seen(&Served::receive(stream))["content"], "text");
    }
}

fn ana_reads() -> Value {
    call("ana", "read_text_file", &json!({"path": "a"}))
}

/// Ben sends a great many large requests and finishes none. Ana's large ones are taken, and so are Ben's small ones.
#[test]
fn large_requests_that_are_never_whole_leave_room_for_other_callers() {
    if !takes_tokens() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let served = served(&scratch, &[]);
    let large = json!({"path": "large", "content": "x".repeat(1 << 20), "overwrite": true});
    let large = call("large", "write_file", &large);
    let text = request(&served, BEN, &large);
    let _half_sent: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&served.address).unwrap();
            // Whatever the server does not read yet stays in the socket.
            stream.set_nonblocking(true).unwrap();
            drop(stream.write(&text.as_bytes()[..text.len() - 1]));
            stream
        })
        .collect();
    for _ in 0..3 {
        assert_eq!(ask(&served, ANA, &large).status, 200);
        let small = call("ben", "read_text_file", &json!({"path": "a"}));
        assert_eq!(seen(&ask(&served, BEN, &small))["content"], "text");
    }
}

/// Ben pages through as many lists as he can, under many names. Ana's second page is of the same list as her first.
#[test]
fn lists_of_one_caller_push_out_none_of_another() {
    if !takes_tokens() {
        return;
    }
    let scratch = Scratch::new();
    for number in 0..1_500 {
        scratch.file(&format!("d/{number:04}"), "");
    }
    let served = served(&scratch, &[]);
    let page = |token: &str, client: &str, cursor: Option<&str>| {
        let mut arguments = json!({"path": "d"});
        if let Some(cursor) = cursor {
            arguments["cursor"] = json!(cursor);
        }
        seen(&ask(
            &served,
            token,
            &call(client, "list_directory", &arguments),
        ))
    };
    let first = page(ANA, "ana", None);
    for number in 0..40 {
        assert!(page(BEN, &format!("ben {number}"), None)["next"].is_string());
    }
    let second = page(ANA, "ana", first["next"].as_str());
    let text = second["content"].as_str().unwrap();
    assert!(!text.contains("read again"), "{text}");
}

/// Ana has read a part of a file. Ben reads a great many files; she may still not replace hers unseen.
#[test]
fn reads_of_one_caller_do_not_make_another_forget() {
    if !takes_tokens() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("long", "line\n".repeat(20_000));
    scratch.file("many", "x");
    let served = served(&scratch, &[]);
    let part = call("ana", "read_text_file", &json!({"path": "long"}));
    assert_eq!(seen(&ask(&served, ANA, &part))["truncated"], true);
    for number in 0..1_200 {
        let read = call(
            &format!("ben {number}"),
            "read_text_file",
            &json!({"path": "many"}),
        );
        assert_eq!(ask(&served, BEN, &read).status, 200);
    }
    let write = call(
        "ana",
        "write_file",
        &json!({"path": "long", "content": "all"}),
    );
    let answer = ask(&served, ANA, &write).json();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

/// Ana was refused something once, Ben a great many times. She is still told.
#[test]
fn refusals_of_one_caller_do_not_make_another_forget() {
    if !takes_tokens() {
        return;
    }
    let scratch = Scratch::new();
    let served = served(&scratch, &[]);
    let refused = |token: &str, client: &str| {
        let read = call(client, "read_text_file", &json!({"path": "../outside/x"}));
        let answer = ask(&served, token, &read).json();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    };
    refused(ANA, "ana");
    for number in 0..300 {
        refused(BEN, &format!("ben {number}"));
    }
    let mut told = call("ana", "what_was_refused", &json!({}));
    told["method"] = json!("prompts/get");
    let text =
        request(&served, ANA, &told).replace("Mcp-Method: tools/call", "Mcp-Method: prompts/get");
    let answer = served.raw(&text).json().to_string();
    assert!(answer.contains("read_text_file: Access denied"), "{answer}");
}
