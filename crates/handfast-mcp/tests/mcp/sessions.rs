//! What a session that exists already is asked for, and what it is not.

use std::process::{Command, Stdio};
use std::sync::Barrier;

use serde_json::json;

use super::client::{Mcp, command};
use crate::support::Scratch;

/// Runs the command until it ends by itself.
fn ended(mut command: Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), words)
}

/// The command line of a server over directories.
fn over(scratch: &Scratch, args: &[&str], dirs: &[std::path::PathBuf]) -> Command {
    let mut command = command(scratch, args);
    command.args(dirs);
    command
}

#[test]
fn rules_for_a_session_that_exists_are_refused() {
    let scratch = Scratch::new();
    let dirs = [scratch.inside()];
    assert_eq!(ended(over(&scratch, &["--session", "s"], &dirs)).0, 0);
    for rule in [
        &["--deny", "*.key"][..],
        &["--protect", "workspace"],
        &["--quota", "1MiB"],
        &["--links", "refuse"],
        &["--links", "beneath"],
    ] {
        let args = [&["--session", "s"][..], rule].concat();
        let (code, words) = ended(over(&scratch, &args, &dirs));
        assert_eq!(code, 2, "{rule:?}: {words}");
        assert!(words.contains("rules of its own"), "{rule:?}: {words}");
    }
    assert_eq!(ended(over(&scratch, &["--session", "s"], &dirs)).0, 0);
}

#[test]
fn a_session_is_not_served_for_other_directories_than_it_holds() {
    let scratch = Scratch::new();
    scratch.file("nested/a", "text");
    let (one, two) = (scratch.inside(), scratch.outside());
    // One directory lies in another: the same command line works again.
    let nested = [one.clone(), scratch.at("nested")];
    for _ in 0..2 {
        assert_eq!(ended(over(&scratch, &["--session", "n"], &nested)).0, 0);
    }
    let both = [one.clone(), two.clone()];
    assert_eq!(ended(over(&scratch, &["--session", "s"], &both)).0, 0);
    for less in [vec![one], vec![two], vec![scratch.at("nested")]] {
        let (code, words) = ended(over(&scratch, &["--session", "s"], &less));
        assert_eq!(code, 2, "{less:?}: {words}");
    }
    assert_eq!(ended(over(&scratch, &["--session", "s"], &[])).0, 0);
}

#[test]
fn a_session_says_which_rules_it_has_and_whether_it_is_an_overlay() {
    let scratch = Scratch::new();
    let dirs = [scratch.inside()];
    let instructions = |args: &[&str], dirs: &[std::path::PathBuf]| {
        let mut server = Mcp::spawn(over(&scratch, args, dirs));
        let answer = server.initialize(json!({}));
        let text = answer["result"]["instructions"].as_str().unwrap();
        text.to_owned()
    };
    instructions(&["--session", "s", "--deny", "*.key"], &dirs);
    let again = instructions(&["--session", "s"], &[]);
    assert!(again.contains("`*.key`"), "{again}");
    assert!(again.contains("overlay"), "{again}");
    // A session that was made read-only keeps nothing in an overlay.
    instructions(&["--session", "r", "--read-only"], &dirs);
    let again = instructions(&["--session", "r"], &[]);
    assert!(!again.contains("overlay"), "{again}");
    assert!(again.contains("read-only"), "{again}");
}

/// Two starts at once under one new name: the rule that was asked for holds, or the server does not
/// start.
#[test]
fn a_rule_is_never_lost_to_a_start_at_the_same_time() {
    const ROUNDS: usize = 24;
    let (mut held, mut refused, mut lost) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let scratch = Scratch::new();
        scratch.file("x.key", "secret");
        let dirs = [scratch.inside()];
        let barrier = Barrier::new(2);
        let start = |args: &[&str]| {
            let mut command = over(&scratch, args, &dirs);
            barrier.wait();
            // The answer, or nothing if it did not start.
            let mut child = command.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "read_text_file", "arguments": {"path": "x.key"}}});
            let sent = std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes());
            drop((sent, input));
            let output = child.wait_with_output().unwrap();
            (
                output.status.code().unwrap(),
                String::from_utf8(output.stdout).unwrap(),
            )
        };
        let with = ["--no-log", "--session", "s", "--deny", "*.key"];
        let without = ["--no-log", "--session", "s"];
        let (strict, plain) = std::thread::scope(|scope| {
            let strict = scope.spawn(|| start(&with));
            let plain = scope.spawn(|| start(&without));
            (strict.join().unwrap(), plain.join().unwrap())
        });
        match strict {
            (0, answer) if answer.contains("Access denied") => held += 1,
            (0, answer) => {
                assert!(answer.contains("secret"), "{answer}");
                lost += 1;
            }
            (2, _) => refused += 1,
            (code, answer) => panic!("{code}: {answer}"),
        }
        assert_eq!(
            plain.0, 0,
            "a start without rules takes the session as it is"
        );
    }
    println!("{ROUNDS} starts at once: {held} with the rule, {refused} refused, {lost} without");
    assert_eq!(lost, 0);
    if held == 0 || refused == 0 {
        crate::turns::starved("two sessions of one name", "one side always came first");
    }
}
