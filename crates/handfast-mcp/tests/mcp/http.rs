//! HTTP on loopback: who may ask, and both eras.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handfast_ledger::LogReader;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::client::{command, state};
use crate::support::Scratch;

pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    token: String,
}

pub(super) struct Answered {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl Answered {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.head))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let line = self
            .head
            .lines()
            .find(|line| line.to_lowercase().starts_with(name))?;
        Some(line.split_once(": ")?.1)
    }
}

impl Served {
    pub(super) fn start(scratch: &Scratch) -> Self {
        Self::with_tokens(scratch, None)
    }

    /// With more arguments.
    pub(super) fn with(scratch: &Scratch, args: &[&str]) -> Self {
        Self::spawn(scratch, None, args)
    }

    /// With a file of tokens, the first of which is ours.
    fn with_tokens(scratch: &Scratch, file: Option<&Path>) -> Self {
        Self::spawn(scratch, file, &[])
    }

    pub(super) fn spawn(scratch: &Scratch, file: Option<&Path>, args: &[&str]) -> Self {
        many_descriptors();
        let mut command = command(scratch, &["--http", "127.0.0.1:0"]);
        command.args(args);
        command.arg(scratch.inside()).stdin(Stdio::null());
        if let Some(file) = file {
            command.env("HANDFAST_MCP_TOKENS", file);
        }
        let mut child = command.spawn().unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let after = |line: String, mark: &str| line.split(mark).nth(1).unwrap().to_owned();
        let line = words
            .find(|line| line.contains("listening on http://"))
            .unwrap();
        let address = after(line, "http://").replace("/mcp", "");
        let token = match file {
            Some(file) => {
                let text = std::fs::read_to_string(file).unwrap();
                text.split_whitespace().nth(1).unwrap().to_owned()
            }
            None => {
                let line = words.find(|line| line.contains("Bearer ")).unwrap();
                after(line, "Bearer ")
            }
        };
        // Whatever else it says is read by nobody.
        std::thread::spawn(move || words.for_each(drop));
        Self {
            child,
            address,
            token,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The head of a request with a body of this length.
    pub(super) fn head_text(&self, length: usize) -> String {
        let (address, token) = (&self.address, &self.token);
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        )
    }

    pub(super) fn raw(&self, request: &str) -> Answered {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Self::receive(&mut stream)
    }

    pub(super) fn receive(stream: &mut TcpStream) -> Answered {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                reader.read_line(&mut head).unwrap() > 0,
                "closed after {head:?}"
            );
        }
        let mut answered = Answered {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: Vec::new(),
        };
        let length = answered.header("content-length").unwrap().parse().unwrap();
        answered.body.resize(length, 0);
        reader.read_exact(&mut answered.body).unwrap();
        answered
    }

    pub(super) fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answered {
        self.raw(&self.request_text(message, headers))
    }

    /// Asks once on a connection of its own; all that comes back.
    pub(super) fn try_post(&self, message: &Value) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        let request = self.request_text(message, &[("Connection", "close")]);
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub(super) fn request_text(&self, message: &Value, headers: &[(&str, &str)]) -> String {
        let body = message.to_string();
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{request}\r\n{body}")
    }
}

/// Tests that run at the same time have more sockets open than a process may have by default. The server sees to its own.
fn many_descriptors() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit).unwrap();
    });
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The events of the server's log, as they are stored.
fn events(scratch: &Scratch) -> Vec<String> {
    let log = LogReader::open(state(scratch).join("logs/mcp-0")).unwrap();
    let mut found = Vec::new();
    log.for_each(0, |_, event| {
        found.push(String::from_utf8(event.to_vec()).unwrap());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

pub(super) fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[test]
fn with_a_handshake_a_client_is_known_by_its_id() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let server = Served::start(&scratch);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}});
    let answer = server.post(&request("initialize", hello), &[]);
    assert_eq!(answer.status, 200, "{}", answer.head);
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(
        server.post(&initialized, &[("Mcp-Session-Id", &id)]).status,
        202
    );
    let read = request(
        "tools/call",
        json!({"name": "read_text_file", "arguments": {"path": "a"}}),
    );
    let answer = server.post(&read, &[("Mcp-Session-Id", &id)]);
    assert_eq!(
        answer.json()["result"]["structuredContent"]["content"],
        "text"
    );
    assert_eq!(
        server.post(&read, &[("Mcp-Session-Id", "nonsense")]).status,
        404
    );
    let lines = events(&scratch).join("\n");
    assert!(lines.contains("web 1 / read_text_file"), "{lines}");
    let end = format!(
        "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nMcp-Session-Id: {id}\r\n\r\n",
        server.address, server.token
    );
    assert_eq!(server.raw(&end).status, 200);
    assert_eq!(server.post(&read, &[("Mcp-Session-Id", &id)]).status, 404);
}

#[test]
fn without_a_handshake_head_and_body_must_agree() {
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let server = Served::start(&scratch);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let read = request(
        "tools/call",
        json!({"name": "read_text_file", "arguments": {"path": "a"}, "_meta": meta}),
    );
    let good = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "read_text_file"),
    ];
    let answer = server.post(&read, &good);
    assert_eq!(answer.json()["result"]["resultType"], "complete");
    for bad in [
        &good[..1],
        &good[1..],
        &[good[0], ("Mcp-Method", "tools/list")],
        &[good[0], good[1], ("Mcp-Name", "write_file")],
        &good[..2],
    ] {
        let answer = server.post(&read, bad);
        assert_eq!(answer.status, 400, "{bad:?}");
        assert_eq!(answer.json()["error"]["code"], -32020, "{bad:?}");
    }
    // What `_meta` lacks is a bad request, too, and nothing is done.
    let mut lacking = read.clone();
    lacking["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let answer = server.post(&lacking, &good);
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_i64()),
        (400, Some(-32602))
    );
    // Resources and prompts are named by the head as well, in base64 where it is no plain text.
    let uri = format!("file://{}", scratch.at("a").display());
    let resource = request("resources/read", json!({"uri": uri, "_meta": meta}));
    let coded = format!("=?base64?{}?=", STANDARD.encode(&uri));
    for (name, status) in [
        (uri.as_str(), 200),
        (coded.as_str(), 200),
        ("file:///x", 400),
    ] {
        let head = [
            good[0],
            ("Mcp-Method", "resources/read"),
            ("Mcp-Name", name),
        ];
        assert_eq!(server.post(&resource, &head).status, status, "{name}");
    }
    let ping = request("ping", json!({"_meta": meta}));
    let answer = server.post(&ping, &[good[0], ("Mcp-Method", "ping")]);
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_i64()),
        (404, Some(-32601))
    );
}

#[test]
fn nobody_else_gets_in() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let list = request("tools/list", json!({}));
    let body = list.to_string();
    let ask = |host: &str, more: &str| {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        server.raw(&format!("{head}{more}\r\n{body}")).status
    };
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    assert_eq!(ask("localhost", &token), 200);
    assert_eq!(ask("localhost", ""), 401);
    assert_eq!(ask("localhost", "Authorization: Bearer wrong\r\n"), 401);
    assert_eq!(ask("evil.example", &token), 403);
    assert_eq!(
        ask(
            "localhost",
            &format!("{token}Origin: http://evil.example\r\n")
        ),
        403
    );
    assert_eq!(ask("localhost", &format!("{token}Origin: null\r\n")), 403);
    assert_eq!(
        ask(
            "localhost",
            &format!("{token}Origin: http://localhost:5173\r\n")
        ),
        200
    );
    assert_eq!(ask("localhost", &format!("{token}{token}")), 400);
    for (request, status) in [
        (
            format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{token}\r\n"),
            405,
        ),
        (
            format!("POST /else HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 0\r\n\r\n"),
            404,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
            ),
            415,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: application/json\r\n\r\n"
            ),
            411,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
            ),
            413,
        ),
        (
            format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: +5\r\n\r\n"),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Transfer-Encoding: gzip\r\n\r\n"
            ),
            400,
        ),
        ("nonsense\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(40_000)), 431),
    ] {
        assert_eq!(
            server.raw(&request).status,
            status,
            "{}",
            &request[..request.len().min(80)]
        );
    }
    let bad = server.post(&json!([]), &[]);
    assert_eq!(
        (bad.status, bad.json()["error"]["code"].as_i64()),
        (400, Some(-32600))
    );
}

#[test]
fn m4_a_connection_is_kept_also_after_a_refusal_or_says_that_it_is_closed() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let list = request("tools/list", json!({}));
    let good = server.request_text(&list, &[]);
    let refused = good.replace("Bearer ", "Bearer x");
    for round in 0..100 {
        stream.write_all(refused.as_bytes()).unwrap();
        let answer = Served::receive(&mut stream);
        assert_eq!(answer.status, 401, "{round}");
        assert_eq!(answer.header("connection"), None);
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert_eq!(answer.json()["error"], "unauthorized");
        stream.write_all(good.as_bytes()).unwrap();
        assert_eq!(Served::receive(&mut stream).status, 200, "{round}");
    }
    // A body that is too long to be read is the end, and that is said.
    let long = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n";
    stream.write_all(long.as_bytes()).unwrap();
    let answer = Served::receive(&mut stream);
    assert_eq!(
        (answer.status, answer.header("connection")),
        (401, Some("close"))
    );
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn m4_bodies_in_chunks_are_read() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = request("ping", json!({})).to_string();
    let (one, two) = body.split_at(10);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        server.token
    );
    for _ in 0..3 {
        stream.write_all(head.as_bytes()).unwrap();
        for part in [one, two] {
            write!(stream, "{:x}\r\n{part}\r\n", part.len()).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        let answer = Served::receive(&mut stream);
        assert_eq!((answer.status, &answer.json()["result"]), (200, &json!({})));
    }
    let huge = format!("{head}FFFFFFFF\r\n");
    assert_eq!(server.raw(&huge).status, 413);
}

#[test]
fn m4_an_unknown_version_in_the_head_is_refused() {
    let scratch = Scratch::new();
    let server = Served::start(&scratch);
    let ping = request("ping", json!({}));
    for (version, status) in [("1999-01-01", 400), ("2025-06-18", 200)] {
        let answer = server.post(&ping, &[("MCP-Protocol-Version", version)]);
        assert_eq!(answer.status, status, "{version}");
    }
}

#[test]
fn m4_every_caller_has_its_token_and_is_in_the_log() {
    if std::env::var_os("HANDFAST_BIN").is_some() {
        println!("skipped: the file of tokens is given to this crate's own server");
        return;
    }
    let scratch = Scratch::new();
    scratch.file("a", "text");
    let file = scratch.path.join("tokens");
    let made = Served::with_tokens(&scratch, Some(&file));
    assert_eq!(made.post(&request("ping", json!({})), &[]).status, 200);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(made);
    let ana = "a".repeat(32);
    let ben = "b".repeat(32);
    std::fs::write(&file, format!("ana {ana}\nben {ben}\n")).unwrap();
    let server = Served::with_tokens(&scratch, Some(&file));
    let hello = request(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "web", "version": "1"}}),
    );
    let begun = server.post(&hello, &[]);
    let id = begun.header("mcp-session-id").unwrap().to_owned();
    let read = request(
        "tools/call",
        json!({"name": "read_text_file", "arguments": {"path": "a"}}),
    );
    let of_ana = server.request_text(&read, &[("Mcp-Session-Id", &id)]);
    assert_eq!(server.raw(&of_ana).status, 200);
    // Another caller does not speak for her.
    assert_eq!(server.raw(&of_ana.replace(&ana, &ben)).status, 404);
    let lines = events(&scratch).join("\n");
    assert!(lines.contains("ana: web 1 / read_text_file"), "{lines}");
    drop(server);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = command(&scratch, &["--http", "127.0.0.1:0"]);
    command
        .arg(scratch.inside())
        .env("HANDFAST_MCP_TOKENS", &file);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
