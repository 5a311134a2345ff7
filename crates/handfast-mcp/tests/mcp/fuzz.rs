//! Random and mutated requests: no crash, no leak. The same numbers give the same requests.
//!
//! `HANDFAST_MCP_REQUESTS` says how many, `HANDFAST_MCP_SEED` which.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::client::Mcp;
use super::http::Served;
use crate::support::Scratch;

/// A generator of numbers (SplitMix64): small, and always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let index = self.below(of.len());
        &of[index]
    }
}

const TOOLS: [&str; 20] = [
    "read_file",
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "write_file",
    "edit_file",
    "create_directory",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "move_file",
    "search_files",
    "search_content",
    "get_file_info",
    "list_allowed_directories",
    "append_file",
    "copy_file",
    "extract_archive",
    "delete_file",
    "nope",
];

const TEXTS: [&str; 24] = [
    "a",
    "b.txt",
    "d",
    "d/c",
    "d/../a",
    "../outside/x",
    "/etc/passwd",
    "",
    ".",
    "~",
    "C:\\x",
    "link",
    "out/x",
    "loop",
    "n\u{e9}",
    "a b",
    "\\xff",
    "\0",
    "**/*",
    "{a,b}",
    "!(a)",
    "[",
    "(a+)+$",
    "\u{202e}x",
];

const NAMES: [&str; 19] = [
    "path",
    "paths",
    "content",
    "edits",
    "dryRun",
    "source",
    "destination",
    "pattern",
    "excludePatterns",
    "head",
    "tail",
    "sortBy",
    "offset",
    "expectedVersion",
    "cursor",
    "startLine",
    "replaceAll",
    "depth",
    "skipIgnored",
];

fn value(numbers: &mut Numbers, depth: usize) -> Value {
    match numbers.below(if depth > 3 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(numbers.below(2) == 0),
        2 => json!(numbers.below(10)),
        3 => json!(-1.5e300),
        4 | 5 => json!(numbers.one(&TEXTS)),
        6 => Value::from(
            (0..numbers.below(3))
                .map(|_| value(numbers, depth + 1))
                .collect::<Vec<_>>(),
        ),
        7 => json!([{"oldText": numbers.one(&TEXTS), "newText": numbers.one(&TEXTS)}]),
        _ => {
            let count = numbers.below(3);
            let pairs =
                (0..count).map(|_| ((*numbers.one(&NAMES)).to_owned(), value(numbers, depth + 1)));
            Value::Object(pairs.collect())
        }
    }
}

fn request(numbers: &mut Numbers) -> Vec<u8> {
    let mut arguments = serde_json::Map::new();
    for name in NAMES {
        let is_wanted = !matches!(
            name,
            "expectedVersion" | "head" | "tail" | "sortBy" | "cursor" | "startLine" | "replaceAll"
        );
        if numbers.below(if is_wanted { 6 } else { 2 }) > 0 {
            let value = match (name, numbers.below(24)) {
                (_, 0) => value(numbers, 0),
                ("paths" | "excludePatterns", _) => json!([numbers.one(&TEXTS)]),
                ("edits", _) => {
                    json!([{"oldText": numbers.one(&TEXTS), "newText": numbers.one(&TEXTS)}])
                }
                ("head" | "tail" | "offset" | "startLine" | "depth", _) => json!(numbers.below(4)),
                ("dryRun" | "replaceAll" | "skipIgnored", _) => json!(true),
                ("sortBy", _) => json!("size"),
                _ => json!(numbers.one(&TEXTS)),
            };
            arguments.insert(name.to_owned(), value);
        }
    }
    let method = *numbers.one(&[
        "tools/call",
        "tools/call",
        "tools/call",
        "tools/call",
        "tools/list",
        "ping",
        "initialize",
        "prompts/get",
        "resources/list",
        "resources/read",
        "completion/complete",
        "x",
    ]);
    let mut message = json!({"jsonrpc": "2.0", "id": numbers.below(1000), "method": method,
        "params": {"name": numbers.one(&TOOLS), "arguments": arguments}});
    let text = *numbers.one(&TEXTS);
    let params = &mut message["params"];
    match method {
        "prompts/get" => params["name"] = json!("what_was_refused"),
        "resources/read" => params["uri"] = json!(format!("file://{text}")),
        "completion/complete" => {
            params["ref"] = json!({"type": "ref/resource", "uri": "file://{+path}"});
            params["argument"] = json!({"name": "path", "value": text});
        }
        _ => {}
    }
    let mut bytes = message.to_string().into_bytes();
    // Every third is bent.
    if numbers.below(3) == 0 {
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(bytes.len().max(1));
            if bytes.is_empty() {
                break;
            }
            match numbers.below(4) {
                0 => bytes[at] = u8::try_from(numbers.below(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"{}[]\",:\\0"[numbers.below(9)]),
                _ => bytes.truncate(at.max(1)),
            }
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    if bytes.is_empty() {
        bytes.push(b'{');
    }
    bytes
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

/// Says after each tenth of a long run how much memory is resident.
fn tell_growth(index: u64, count: u64, pid: u32) {
    if count >= 100_000 && index > 0 && index.is_multiple_of(count / 10) {
        println!("after {index} of {count}: {} KiB", resident(pid));
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn random_and_bent_requests_break_nothing() {
    let count = number("HANDFAST_MCP_REQUESTS", 3_000);
    let seed = number("HANDFAST_MCP_SEED", 20_261_116);
    let scratch = tree();
    let mut server = Mcp::start(&scratch, &["--no-log", "--quota", "1MiB", "--allow-delete"]);
    let mut numbers = Numbers(seed);
    let (mut answered, mut done, mut early) = (0_u64, 0_u64, (0, 0));
    for index in 0..count {
        let bytes = request(&mut numbers);
        // Bent, it may have become a notification, or an answer to nothing: those get no answer.
        let wants_answer = match serde_json::from_slice::<Value>(&bytes) {
            Ok(Value::Object(message)) => {
                let has_id = message
                    .get("id")
                    .is_some_and(|id| id.is_string() || id.is_number());
                let whole = message.get("jsonrpc") == Some(&json!("2.0"));
                let method = message.get("method").is_some_and(Value::is_string);
                !(whole && method && message.get("id").is_none())
                    && !(whole
                        && has_id
                        && !message.contains_key("method")
                        && (message.contains_key("error")
                            || message.get("result").is_some_and(|r| !r.is_null())))
            }
            _ => !bytes.trim_ascii().is_empty(),
        };
        server.send_bytes(&bytes);
        if wants_answer {
            let answer = server.receive();
            let text = answer.to_string();
            assert!(
                !text.contains("outside text"),
                "{}",
                String::from_utf8_lossy(&bytes)
            );
            assert!(
                !text.contains("root:x:"),
                "{}",
                String::from_utf8_lossy(&bytes)
            );
            answered += 1;
            done += u64::from(answer["result"].get("structuredContent").is_some());
        }
        if index == count / 10 {
            early = (resident(server.pid()), descriptors(server.pid()));
        }
        tell_growth(index, count, server.pid());
    }
    let late = (resident(server.pid()), descriptors(server.pid()));
    println!("{count} requests, {answered} answered, {done} done");
    nothing_grew(early, late);
    assert!(done > count / 40, "only {done} of {count} did anything");
    nothing_happened_outside(&scratch);
    assert_eq!(server.finish(), 0);
}

/// What the requests are about.
fn tree() -> Scratch {
    let scratch = Scratch::new();
    std::fs::write(scratch.outside().join("x"), "outside text").unwrap();
    scratch.file("a", "text a\n");
    scratch.file("b.txt", "text b\n");
    scratch.file("d/c", "text c\n");
    scratch.link("a", "link");
    scratch.link("../outside", "out");
    scratch.link("loop", "loop");
    scratch
}

/// Memory and descriptors after a tenth of the requests, and after all of them.
fn nothing_grew(early: (u64, usize), late: (u64, usize)) {
    println!("resident {} to {} KiB", early.0, late.0);
    assert_eq!(early.1, late.1, "descriptors");
    assert!(
        late.0 < early.0 * 3 / 2 + 4096,
        "memory grew from {} to {} KiB",
        early.0,
        late.0
    );
}

fn nothing_happened_outside(scratch: &Scratch) {
    let text = std::fs::read_to_string(scratch.outside().join("x")).unwrap();
    assert_eq!(text, "outside text");
    assert_eq!(std::fs::read_dir(scratch.outside()).unwrap().count(), 1);
}

#[test]
fn random_and_bent_requests_by_http_break_nothing() {
    let count = number("HANDFAST_MCP_REQUESTS", 3_000);
    let seed = number("HANDFAST_MCP_SEED", 20_261_116);
    let scratch = tree();
    let served = Served::with(&scratch, &["--no-log", "--quota", "1MiB", "--allow-delete"]);
    let mut numbers = Numbers(seed ^ 1);
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let (mut statuses, mut done, mut early) = (BTreeMap::new(), 0_u64, (0, 0));
    for index in 0..count {
        let bytes = request(&mut numbers);
        let mut all = served.head_text(bytes.len()).into_bytes();
        all.extend_from_slice(&bytes);
        stream.write_all(&all).unwrap();
        // Every request is answered, and the connection stays.
        let answered = Served::receive(&mut stream);
        let text = String::from_utf8_lossy(&answered.body);
        let sent = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("outside text"), "{sent}");
        assert!(!text.contains("root:x:"), "{sent}");
        *statuses.entry(answered.status).or_insert(0_u64) += 1;
        done += u64::from(text.contains("structuredContent"));
        if index == count / 10 {
            early = (resident(served.pid()), descriptors(served.pid()));
        }
        tell_growth(index, count, served.pid());
    }
    let late = (resident(served.pid()), descriptors(served.pid()));
    println!("{count} requests by HTTP, {done} done, by status: {statuses:?}");
    nothing_grew(early, late);
    assert!(done > count / 40, "only {done} of {count} did anything");
    assert!(
        statuses
            .keys()
            .all(|status| [200, 202, 400].contains(status))
    );
    nothing_happened_outside(&scratch);
}
