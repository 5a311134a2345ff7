//! What a request costs in system calls once a server runs, beside the same verb of a root. Needs
//! `strace`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use handfast::{Durability, RelPath, Root, WriteOptions};
use handfast_broker::{Acquire, Client};

use crate::lease::Served;
use crate::session_faults::strace_is_there;
use crate::support::{Scratch, binary};

const CHILD: &str = "HANDFAST_COUNTED_IN";
const FILE: &str = "a/b/c/file";

fn strace(trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-s", "300", "-o"]);
    command.arg(trace);
    command
}

/// The calls of a trace, each with its thread. What starts in one line and ends in another is the
/// line in which it starts. Memory is the allocator's business, and a development build asks
/// whether a descriptor is open before it closes it. Threads that wake each other touch no file.
fn calls(trace: &Path) -> Vec<(String, String)> {
    let beside = [
        "brk(",
        "mmap(",
        "munmap(",
        "madvise(",
        "mprotect(",
        "futex(",
    ];
    let text = std::fs::read_to_string(trace).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let lines = lines.map(|(thread, call)| (thread.to_owned(), call.trim_start().to_owned()));
    let is_one = |call: &str| {
        call.starts_with(|first: char| first.is_ascii_lowercase())
            && !beside.iter().any(|name| call.starts_with(name))
            && !call.contains("F_GETFD")
    };
    lines.filter(|(_, call)| is_one(call)).collect()
}

/// The calls behind the last one that says `from`, up to one that says `to`, with both.
fn between(calls: &[(String, String)], from: &str, to: &str) -> Vec<String> {
    let first = calls.iter().rposition(|(_, call)| call.contains(from));
    let (thread, _) = &calls[first.unwrap()];
    let rest = calls[first.unwrap()..].iter();
    let ours = rest.filter(|(other, _)| other == thread);
    let mut found = Vec::new();
    for (_, call) in ours {
        found.push(call.clone());
        if call.contains(to) && found.len() > 1 {
            break;
        }
    }
    found
}

/// Whether a call is about the tree that is served, by its name or by a descriptor of it.
fn is_on_files(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or_default();
    matches!(name, "openat2" | "openat" | "statx") || call.contains("F_SETFL")
}

/// What is traced: a root that is open makes each call twice.
fn as_a_root(dir: &Path) {
    let mark = |what: &str| drop(std::fs::symlink_metadata(format!("/handfast-mark-{what}")));
    let root = Root::open_ambient(dir).unwrap();
    let path = RelPath::parse(FILE).unwrap();
    let fast = WriteOptions::new().durability(Durability::None);
    for _ in 0..2 {
        mark("write");
        drop(root.write_with(&path, "new", fast).unwrap());
        mark("open");
        drop(root.open(&path).unwrap());
        mark("end");
    }
}

/// How many calls a root makes for a write and for an open.
fn of_a_root(scratch: &Scratch) -> [Vec<String>; 2] {
    let trace = scratch.path.join("root.trace");
    let test = "layer_calls::a_request_to_a_server_costs_little_more_than_a_roots_verb";
    let output = strace(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1"])
        .env(CHILD, scratch.inside())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let calls = calls(&trace);
    [("write\"", "open\""), ("open\"", "end\"")].map(|(from, to)| {
        let mut found = between(&calls, &format!("handfast-mark-{from}"), to);
        // The marks themselves.
        found.pop();
        found.remove(0);
        found
    })
}

/// The calls of one `write_file`, from the line that asks to the line that answers.
fn of_mcp(scratch: &Scratch) -> Vec<String> {
    let trace = scratch.path.join("mcp.trace");
    let mut server = strace(&trace)
        .arg(binary())
        .args(["mcp", "--quiet", "--no-log"])
        .arg(scratch.inside())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    for number in 0..3 {
        let path = scratch.at(FILE);
        let call = serde_json::json!({"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "write_file", "arguments": {"path": path, "content": "new"}}});
        // In one write: a message that comes in pieces is read in pieces.
        input.write_all(format!("{call}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("Successfully wrote"), "{answer}");
    }
    drop(input);
    assert!(server.wait().unwrap().success());
    between(&calls(&trace), "read(0, \"{", "write(1, ")
}

/// Ends the process that a trace is of: `strace` leaves it behind if it is killed itself.
struct Ended<'a>(&'a Path);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let text = std::fs::read_to_string(self.0).unwrap_or_default();
        let first = text.split(' ').next().and_then(|id| id.parse().ok());
        if let Some(id) = first.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
    }
}

/// The calls of the broker for one `Open`, from the message to the next wait for one.
fn of_broker(scratch: Scratch) -> Vec<String> {
    let (trace, socket) = (scratch.path.join("broker.trace"), scratch.path.join("s/b"));
    let mut command = strace(&trace);
    command
        .arg(binary())
        .args(["--json", "serve"])
        .arg(scratch.inside())
        .arg("--socket")
        .arg(&socket)
        .arg("--state")
        .arg(scratch.path.join("state"));
    let served = Served::started(scratch, command);
    let ended = Ended(&trace);
    let mut client = Client::connect(&socket).unwrap();
    let wanted = Acquire::new(["**"], ["read"]).bind("user").ttl(600);
    let lease = client.acquire(&wanted).unwrap().lease_id;
    // A file that changed a moment ago may have lost a name in that moment: its name is looked at twice.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    for _ in 0..3 {
        drop(client.open(&lease, FILE).unwrap());
    }
    // The answer comes before what is closed behind it.
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(client);
    let found = between(&calls(&trace), "Broker.Open", "ppoll(");
    // While its directory is still there.
    drop(ended);
    drop(served);
    found
}

#[test]
fn a_request_to_a_server_costs_little_more_than_a_roots_verb() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return as_a_root(Path::new(&dir));
    }
    if std::env::var("HANDFAST_EXPECT_BACKEND").is_ok_and(|backend| backend == "walk") {
        println!("skipped: calls are counted on the kernel backend");
        return;
    }
    if !strace_is_there() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file(FILE, "old");
    let [write, open] = of_a_root(&scratch);
    let mcp = of_mcp(&scratch);
    let lease = of_broker(scratch);
    let on_files = |calls: &[String]| calls.iter().filter(|call| is_on_files(call)).count();
    println!(
        "write: root {}, MCP {}; open: root {}, lease {}, on files {} and {}",
        write.len(),
        mcp.len(),
        open.len(),
        lease.len(),
        on_files(&open),
        on_files(&lease)
    );
    assert!(write.len() > 3 && open.len() > 2, "{write:#?} {open:#?}");
    assert!(
        mcp.len() * 2 <= write.len() * 3,
        "1.5 times at most: {mcp:#?}"
    );
    let pins = mcp.iter().filter(|call| call.contains("\"a/b/c\"")).count();
    assert_eq!(pins, 1, "the path is resolved once: {mcp:#?}");
    // A message, the peer and the log are calls that no root makes. On the tree, a lease makes the
    // same calls as a root, and those for its rules: whether the file lost a name while it was opened. Two
    // tell that on ext4; elsewhere the name is looked at again.
    let is_short = lease.iter().any(|call| call.contains("SEEK_DATA"))
        && !lease.iter().any(|call| call.starts_with("renameat2("));
    let more = if is_short { 2 } else { 5 };
    let on_tree = on_files(&lease);
    assert!(on_tree <= on_files(&open) + more, "{lease:#?}");
    assert!(lease.len() <= open.len() + 9 + more, "{lease:#?}");
}
