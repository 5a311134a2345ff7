//! What a request costs in system calls. Needs `strace`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Scratch, server};

type Calls = BTreeMap<String, u32>;

/// Runs the server under strace, sends lines one after the other, and counts what the last one
/// took: from the end of its reading to its answer.
fn calls_of(scratch: &Scratch, set_up: impl FnOnce(&mut Command), lines: &[String]) -> Calls {
    let trace = scratch.path.join("trace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-s", "1000", "-o"])
        .arg(&trace)
        .arg(server());
    set_up(&mut command);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for line in lines {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        let done = answer.contains(r#""result""#) && !answer.contains("isError");
        assert!(done || answer == "written\n", "{answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    between(&trace)
}

/// The calls from the last line that was read to the last answer.
fn between(trace: &Path) -> Calls {
    let text = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let last = |what: &dyn Fn(&str) -> bool| lines.iter().rposition(|line| what(line)).unwrap();
    let answered = last(&|line| line.contains(" write(1,"));
    // One thread may read while another is traced: then the line is "resumed". Content that is read
    // back from a file is no request.
    let is_input = |line: &str| line.contains(" read(0,") || line.contains("read resumed>");
    let asked = lines[..answered]
        .iter()
        .rposition(|line| is_input(line) && line.contains("three"))
        .unwrap();
    let mut calls = Calls::new();
    for line in &lines[asked + 1..answered] {
        let call = line.split_whitespace().nth(1).unwrap();
        let call = call.split('(').next().unwrap();
        // Memory is the allocator's business; the next request is waited for meanwhile.
        let memory = ["brk", "mmap", "munmap", "madvise", "mremap", "mprotect"];
        let waiting = ["futex", "ppoll", "<..."];
        if !memory.contains(&call) && !waiting.contains(&call) {
            *calls.entry(call.to_owned()).or_default() += 1;
        }
    }
    calls
}

/// Whether calls can be counted; CI must be able to.
fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "CI must have strace");
        println!("skipped: strace is not installed");
    }
    found
}

/// With `--sync` every tool that writes content waits for the disk, and without it none does.
#[test]
fn sync_is_waited_for_if_it_was_asked_for_and_not_otherwise() {
    if !has_strace() {
        return;
    }
    let tools = [
        ("write_file", json!({"path": "a", "content": "three"})),
        ("write_file", json!({"path": "three", "content": "new"})),
        (
            "edit_file",
            json!({"path": "a", "edits": [{"oldText": "one", "newText": "three"}]}),
        ),
        ("append_file", json!({"path": "a", "content": "three"})),
        ("append_file", json!({"path": "three", "content": "new"})),
        ("copy_file", json!({"source": "a", "destination": "three"})),
    ];
    for (tool, arguments) in tools {
        for (sync, overlay) in [(false, false), (true, false), (false, true), (true, true)] {
            let scratch = Scratch::new();
            scratch.file("a", "one");
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}});
            let calls = calls_of(
                &scratch,
                |command| {
                    let state = scratch.path.join("state");
                    command.arg("--no-log").arg("--state").arg(state);
                    if sync {
                        command.arg("--sync");
                    }
                    if overlay {
                        command.args(["--session", "s"]);
                    }
                    command.arg(scratch.inside());
                },
                &[request.to_string()],
            );
            let syncs: u32 = ["fsync", "fdatasync", "syncfs", "sync_file_range"]
                .iter()
                .filter_map(|call| calls.get(*call))
                .sum();
            let what = format!("{tool} {arguments}, sync {sync}, overlay {overlay}: {calls:?}");
            assert!(
                calls.values().sum::<u32>() > 3,
                "nothing was counted: {what}"
            );
            assert_eq!(syncs > 0, sync, "{what}");
        }
    }
}

#[test]
fn write_file_takes_few_calls_more_than_a_bare_write() {
    if !has_strace() {
        return;
    }
    let bare_dir = Scratch::new();
    let bare = calls_of(
        &bare_dir,
        |command| {
            command.env("HANDFAST_MCP_BARE_WRITES", bare_dir.inside());
        },
        &["one".to_owned(), "two".to_owned(), "three".to_owned()],
    );
    let scratch = Scratch::new();
    let request = |content: &str| {
        let arguments = json!({"path": scratch.at("file"), "content": content});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "write_file", "arguments": arguments}})
        .to_string()
    };
    let requests: Vec<String> = ["one", "two", "three"].map(request).to_vec();
    let served = calls_of(
        &scratch,
        |command| {
            command.arg("--no-log").arg(scratch.inside());
        },
        &requests,
    );
    // A thread that starts just then is not part of the call.
    let of_threads = [
        "clone3",
        "gettid",
        "prctl",
        "rseq",
        "rt_sigprocmask",
        "sched_getaffinity",
        "set_robust_list",
        "sigaltstack",
    ];
    let is_counted = |(name, _): &(&String, &u32)| !of_threads.contains(&name.as_str());
    let sum = |calls: &BTreeMap<String, u32>| -> u32 {
        calls
            .iter()
            .filter(is_counted)
            .map(|(_, count)| count)
            .sum()
    };
    let (few, many) = (sum(&bare), sum(&served));
    println!("a bare write: {few} {bare:?}; write_file: {many} {served:?}");
    assert!(few > 3, "nothing was counted: {bare:?}");
    assert!(
        many * 2 <= few * 3,
        "{many} calls of write_file, {few} of a bare write: {served:?}, {bare:?}"
    );
}

/// Behind `Place` a path is a type: no tool reads the text of one again.
#[test]
fn tools_parse_no_paths() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools");
    let mut looked = 0;
    for entry in std::fs::read_dir(tools).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for parser in ["VirtualPath::parse", "RelPath::parse", "RelPath::clean"] {
            assert!(!code.contains(parser), "{}: {parser}", path.display());
        }
        looked += 1;
    }
    assert!(looked > 15, "only {looked} tools were found");
}
