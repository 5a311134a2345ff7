//! Rules that say `ask`: a call waits for a person, in the client or elsewhere.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use handfast_session::{
    Answer, AnsweredBy, Catalogue, GrantScope, Inbox, Mode, MountSpec, Protect, Question,
    SessionSpec, VirtualPath,
};
use serde_json::{Value, json};

use super::client::{Mcp, command, state};
use super::http::{Served, request};
use super::http_roots::tell;
use crate::support::Scratch;

/// A session whose rule asks about `*.conf`.
fn guarded(scratch: &Scratch, timeout: Duration) -> Inbox {
    let inside = scratch.inside();
    let at = VirtualPath::parse(inside.to_str().unwrap()).unwrap();
    let mount = MountSpec::new(inside, at)
        .mode(Mode::Overlay)
        .protect(Protect::new().with_ask("*.conf"));
    let spec = SessionSpec::new().mount(mount).ask_timeout(timeout);
    std::fs::create_dir_all(state(scratch)).unwrap();
    let sessions = Catalogue::open_ambient(state(scratch)).unwrap();
    sessions.create("s", &spec).unwrap();
    sessions.inbox("s").unwrap()
}

/// A server that a shell started, as a client would: this process is the person's then, and not the client's.
fn start(scratch: &Scratch, more: &[&str]) -> Mcp {
    let server = served(scratch, more);
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\"; exit $?", "client"]);
    shell.arg(server.get_program()).args(server.get_args());
    shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    greeted(shell)
}

fn served(scratch: &Scratch, more: &[&str]) -> Command {
    let mut command = command(scratch, &[&["--session", "s"], more].concat());
    command.arg(scratch.inside());
    command
}

fn greeted(command: Command) -> Mcp {
    let mut server = Mcp::spawn(command);
    let hello = server.initialize(json!({"elicitation": {}}));
    let told = hello["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("a person is asked"), "{told}");
    server
}

fn call(id: u64, tool: &str, arguments: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
    .to_string()
}

fn waiting(inbox: &Inbox) -> Question {
    let begun = Instant::now();
    loop {
        if let Some(question) = inbox.questions().unwrap().pop() {
            return question;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn says(yes: bool) -> Answer {
    Answer {
        yes,
        scope: GrantScope::Once,
        by: AnsweredBy::Person("a person".to_owned()),
    }
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_call_waits_for_a_person_elsewhere_and_others_do_not_wait() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "token = 1\n");
    scratch.file("a", "text");
    let inbox = guarded(&scratch, Duration::from_secs(60));
    // Without the operator's word the client is not asked, though it could.
    let mut server = start(&scratch, &[]);
    server.send(&call(700, "read_text_file", json!({"path": "prod.conf"})));
    let question = waiting(&inbox);
    assert_eq!(server.text("read_text_file", json!({"path": "a"})), "text");
    inbox.answer(&question.digest, &says(true)).unwrap();
    assert_eq!(text(&server.receive()), "token = 1\n");
    // A search skips it instead of waiting.
    let found = server.text("search_content", json!({"path": "", "pattern": "t"}));
    assert!(
        found.contains("text") && !found.contains("token"),
        "{found}"
    );
    // Cancelled, it waits no longer.
    server.send(&call(701, "read_text_file", json!({"path": "prod.conf"})));
    waiting(&inbox);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 701}});
    server.send(&cancel.to_string());
    let begun = Instant::now();
    while !inbox.questions().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it waits on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn what_nobody_answers_is_refused_with_the_question() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "token = 1\n");
    let inbox = guarded(&scratch, Duration::from_millis(300));
    let mut server = start(&scratch, &[]);
    let refusal = server.refusal("read_text_file", json!({"path": "prod.conf"}));
    assert!(refusal.starts_with("Access denied"), "{refusal}");
    assert!(refusal.contains("nobody answered"), "{refusal}");
    assert!(refusal.contains("this was question "), "{refusal}");
    assert!(refusal.contains("handfast approve s"), "{refusal}");
    assert!(!refusal.contains("token"), "{refusal}");
    assert!(inbox.questions().unwrap().is_empty());
}

#[test]
fn the_person_at_a_trusted_client_answers_for_one_request() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "token = 1\n");
    let inbox = guarded(&scratch, Duration::from_secs(60));
    let mut server = start(&scratch, &["--trust-client-approval"]);
    for (id, said, allowed) in [
        (
            700,
            json!({"action": "accept", "content": {"decision": "allow"}}),
            true,
        ),
        (701, json!({"action": "decline"}), false),
        (
            702,
            json!({"action": "accept", "content": {"decision": "deny"}}),
            false,
        ),
    ] {
        server.send(&call(id, "read_text_file", json!({"path": "prod.conf"})));
        let question = server.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(
            message.contains("prod.conf") && !message.contains("token"),
            "{message}"
        );
        let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": said});
        server.send(&reply.to_string());
        let answer = server.receive();
        assert_eq!(answer["id"], id);
        assert_eq!(text(&answer) == "token = 1\n", allowed, "{answer}");
    }
    // Closed without a word, it waits on, and somebody else answers.
    server.send(&call(
        703,
        "write_file",
        json!({"path": "prod.conf", "content": "x"}),
    ));
    let question = server.receive();
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}});
    server.send(&reply.to_string());
    let digest = waiting(&inbox).digest;
    inbox.answer(&digest, &says(false)).unwrap();
    assert!(text(&server.receive()).contains("refused by a person"));
    assert_eq!(server.finish(), 0);
}

#[test]
fn the_process_that_started_the_server_does_not_answer() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "token = 1\n");
    let inbox = guarded(&scratch, Duration::from_millis(1500));
    // This process is the client: an agent that runs a command could call `handfast approve` like that.
    let mut server = greeted(served(&scratch, &[]));
    server.send(&call(700, "read_text_file", json!({"path": "prod.conf"})));
    let question = waiting(&inbox);
    let refused = inbox.answer(&question.digest, &says(true)).unwrap_err();
    assert!(refused.detail().contains("started by"), "{refused}");
    // Nor in the server's name.
    let as_server = Answer {
        by: AnsweredBy::Face("the person at tester".to_owned()),
        ..says(true)
    };
    assert!(inbox.answer(&question.digest, &as_server).is_err());
    let answer = server.receive();
    assert!(text(&answer).contains("nobody answered"), "{answer}");
    assert_eq!(server.finish(), 0);
}

#[test]
fn changes_that_wait_hold_up_nothing_that_was_sent_after_them() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    for number in 0..12 {
        scratch.file(&format!("{number}.conf"), "before");
    }
    let inbox = guarded(&scratch, Duration::from_secs(120));
    let mut server = start(&scratch, &[]);
    // More than there are threads for calls; and they are sent at once, with a read behind them.
    let write = |number: u64| {
        let arguments = json!({"path": format!("{number}.conf"), "content": "after"});
        call(700 + number, "write_file", arguments)
    };
    let mut lines: Vec<String> = (0..12).map(write).collect();
    lines.push(call(800, "read_text_file", json!({"path": "a"})));
    server.send(&lines.join("\n"));
    let answer = server.receive();
    assert_eq!((&answer["id"], text(&answer)), (&json!(800), "text"));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    server.text("write_file", json!({"path": "b", "content": "new"}));
    assert_eq!(server.text("read_text_file", json!({"path": "b"})), "new");
    // Every one of them is done once its answer is there, one after the other.
    let begun = Instant::now();
    let mut answered = Vec::new();
    while answered.len() < 12 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{answered:?}");
        for question in inbox.questions().unwrap() {
            inbox.answer(&question.digest, &says(true)).unwrap();
            answered.push(question.path);
        }
    }
    let mut ids: Vec<u64> = (0..12)
        .map(|_| {
            let answer = server.receive();
            assert!(answer["result"].get("isError").is_none(), "{answer}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (700..712).collect::<Vec<u64>>());
    // A client that goes leaves no question behind, and its server does not wait for an answer.
    server.send(&write(3));
    waiting(&inbox);
    let begun = Instant::now();
    assert_eq!(server.finish(), 0);
    assert!(begun.elapsed() < Duration::from_secs(60), "it waited on");
    assert!(inbox.questions().unwrap().is_empty());
}

#[test]
fn without_a_session_that_a_person_finds_nothing_waits() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "token = 1\n");
    let policy = scratch.path.join("policy.toml");
    let inside = scratch.inside();
    let text = format!(
        "version = 1\n[[root]]\nname = \"x\"\npath = {inside:?}\nmount = {inside:?}\nmode = \"read-write\"\nask = [\"*.conf\"]\n"
    );
    std::fs::write(&policy, text).unwrap();
    let mut command = command(&scratch, &["--policy"]);
    command.arg(&policy);
    let mut server = Mcp::spawn(command);
    server.initialize(json!({}));
    let begun = Instant::now();
    let name = scratch.at("prod.conf");
    let refusal = server.refusal("read_text_file", json!({"path": name.to_str().unwrap()}));
    assert!(refusal.contains("would have to be asked"), "{refusal}");
    assert!(begun.elapsed() < Duration::from_secs(30), "it waited");
    let words = server.words();
    assert!(words.contains("nobody can be asked"), "{words}");
}

#[test]
fn by_http_a_call_waits_and_its_question_goes_with_the_connection() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "before");
    let inbox = guarded(&scratch, Duration::from_secs(120));
    // A server for several clients: the process that started it is the operator's.
    let served = Served::with(&scratch, &["--session", "s"]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let write = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"_meta": meta,
        "name": "write_file", "arguments": {"path": "prod.conf", "content": "after", "overwrite": true}}});
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "write_file"),
    ];
    let text = served.request_text(&write, &headers);
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    waiting(&inbox);
    drop(stream);
    let begun = Instant::now();
    while !inbox.questions().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it waits on");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::scope(|scope| {
        let call = scope.spawn(|| served.post(&write, &headers).json());
        let question = waiting(&inbox);
        inbox.answer(&question.digest, &says(true)).unwrap();
        let answer = call.join().unwrap();
        assert!(text_of_call(&answer).contains("prod.conf"), "{answer}");
    });
}

fn text_of_call(answer: &Value) -> &str {
    assert!(answer["result"].get("isError").is_none(), "{answer}");
    text(answer)
}

/// By HTTP something has to be answered. Of a change that was cancelled, that is what became of it.
#[test]
fn by_http_a_change_that_is_cancelled_says_what_became_of_it() {
    let scratch = Scratch::new();
    scratch.file("prod.conf", "before");
    let inbox = guarded(&scratch, Duration::from_secs(120));
    let served = Served::with(&scratch, &["--session", "s"]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}});
    let hello = served.post(&request("initialize", hello), &[]);
    let session = hello.header("mcp-session-id").unwrap().trim();
    let write = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "write_file", "arguments": {"path": "prod.conf", "content": "after", "overwrite": true}}});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let headers = [("Mcp-Session-Id", session)];
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| served.post(&write, &headers).json());
        waiting(&inbox);
        tell(&served, session, &cancel);
        call.join().unwrap()
    });
    assert!(text(&answer).contains("given up"), "{answer}");
    assert!(inbox.questions().unwrap().is_empty());
}
