//! A server that is spoken to one message at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Scratch, mcp};

/// A running `handfast mcp` over the scratch's `inside`.
pub struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

/// The state directory of a scratch: beside what is served.
pub fn state(scratch: &Scratch) -> PathBuf {
    scratch.path.join("state")
}

/// The command line of a server, without directories.
pub fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = mcp();
    command
        .arg("--state")
        .arg(state(scratch))
        .args(args)
        .env_remove("HANDFAST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Mcp {
    /// Starts a server over `inside`, and says who we are.
    pub fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let mut command = command(scratch, args);
        command.arg(scratch.inside());
        let mut server = Self::spawn(command);
        server.initialize(json!({}));
        server
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
            next: 0,
        }
    }

    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let answer = self.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": {"name": "tester", "version": "7"},
            }),
        );
        self.notify("notifications/initialized");
        answer
    }

    pub fn notify(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}).to_string());
    }

    pub fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }

    pub fn receive(&mut self) -> Value {
        serde_json::from_str(&self.receive_line()).unwrap()
    }

    pub fn receive_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server ended: {}", self.words());
        line
    }

    /// What it said to people; only at its end.
    pub fn words(&mut self) -> String {
        drop(self.input.take());
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
        }
        text
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The first text of a call that is done.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer["result"].get("isError").is_none(), "{answer}");
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The text of a call that is refused.
    pub fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"].get("structuredContent").is_none());
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The version that a call's answer carries.
    pub fn version(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        let version = answer["result"]["_meta"]["handfast/version"].as_str();
        version.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input and waits; the exit code.
    pub fn finish(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap()
    }

    /// Stops listening to it.
    pub fn deafen(mut self) -> (Child, ChildStdin) {
        let input = self.input.take().unwrap();
        let Self { child, output, .. } = self;
        drop(output);
        (child, input)
    }
}

/// A path below `inside` as text.
pub fn path(scratch: &Scratch, name: &str) -> String {
    scratch.at(name).to_str().unwrap().to_owned()
}

pub fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}
