//! Attacks on a log and its readers that once won, and questions that once found nothing.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use crate::log::{events, made};
use crate::support::{Run, Scratch, handfast};

/// A log with a damaged segment: one bit in the name of the second file.
fn damaged() -> (Scratch, String) {
    let (scratch, key) = made("ordered");
    for name in ["one", "two", "three"] {
        scratch.logged(&[], &["write", name], b"x").ok();
    }
    let path = segment(&scratch);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(5)
        .position(|name| name == b"\"two\"")
        .unwrap();
    bytes[at + 1] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    (scratch, key)
}

fn segment(scratch: &Scratch) -> PathBuf {
    let all = std::fs::read_dir(scratch.log_dir().join("segments")).unwrap();
    all.map(|entry| entry.unwrap().path()).max().unwrap()
}

fn says_so(run: &Run, what: &str) {
    assert_eq!(run.code, 1, "{what}: {run:?}");
    let told = &run.stderr;
    assert!(told.contains("the log is damaged"), "{what}: {told}");
}

#[test]
fn g1_every_reading_command_says_that_the_log_is_damaged_and_shows_the_rest() {
    let (scratch, key) = damaged();
    for (command, more) in [
        ("show", &[][..]),
        ("tail", &[]),
        ("grep", &["--verb", "write"]),
    ] {
        let run = scratch.log(command, more);
        says_so(&run, command);
        let shown = events(&run);
        let last = shown.last().unwrap();
        assert_eq!(last["event"]["req"]["path"], "three", "{command}");
        assert!(run.json()["damage"][0]["what"].is_string(), "{command}");
        assert_eq!(run.json()["ok"], false, "{command}");
        says_so(&scratch.log_words(command, more), command);
    }
    let run = scratch.log("stat", &[]);
    says_so(&run, "stat");
    assert_eq!(run.json()["events"], 7);
    for format in ["jsonl", "html", "ocsf"] {
        let run = scratch.log_words("export", &["--format", format]);
        says_so(&run, format);
        assert!(run.text().contains("three"), "{format}");
    }
    // A signed statement about half a log would be a false one.
    let run = scratch.log_words("export", &["--format", "dsse"]);
    assert_eq!((run.code, run.text()), (1, ""), "{run:?}");
    assert_eq!(scratch.log("verify", &["--key", &key]).code, 1);
    // The event itself is in a bundle.
    let run = scratch.log("show", &["3"]);
    assert_eq!(events(&run)[0]["event"]["req"]["path"], "two");
    says_so(&run, "show 3");
}

#[test]
fn g1_a_reader_who_follows_a_damaged_log_learns_of_it_at_once() {
    let (scratch, _) = damaged();
    let mut child = handfast(&["log", "tail", "-f", scratch.log_dir().to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.contains("the log is damaged"), "{line}");
    let mut first = [0; 1];
    lines.read_exact(&mut first).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn g1_nothing_is_written_behind_damage() {
    let (scratch, _) = damaged();
    let run = scratch.logged(&[], &["write", "four"], b"x");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        !scratch.at("four").exists(),
        "what cannot be logged is not done"
    );
}

#[test]
fn g2_without_a_key_a_log_is_consistent_and_not_authenticated() {
    let (scratch, key) = made("strict");
    let verdict = |more: &[&str]| {
        let report = scratch.log("verify", more).ok();
        (report["verdict"].clone(), report["authenticated"].clone())
    };
    assert_eq!(
        verdict(&[]),
        ("consistent, not authenticated".into(), false.into())
    );
    assert_eq!(verdict(&["--key", &key]), ("good".into(), true.into()));
    let words = scratch.log_words("verify", &[]);
    assert!(
        words
            .text()
            .ends_with("verdict: consistent, not authenticated\n")
    );
}

#[test]
fn g4_durations_key_files_typed_verbs_and_the_name_of_the_root() {
    let (scratch, key) = made("ordered");
    scratch.logged(&[], &["write", "a"], b"x").ok();
    scratch.logged(&[], &["read", "a"], b"").ok();
    scratch.logged(&[], &["rm", "a"], b"").ok();
    let count = |more: &[&str]| events(&scratch.log("grep", more)).len();
    assert_eq!(count(&["--since", "1h"]), count(&["--since", "2020"]));
    assert_eq!(count(&["--since", "1h30m"]), 6);
    assert_eq!(count(&["--verb", "rm"]), 2);
    assert_eq!(count(&["--verb", "read"]), 1);
    assert_eq!(count(&["--verb", "log"]), 1);
    assert_eq!(scratch.log_words("grep", &["--verb", "frobnicate"]).code, 2);
    assert_eq!(scratch.log_words("grep", &["--since", "1mo"]).code, 2);
    // The key as `log init` prints it, in a file.
    let file = scratch.path.join("log.key");
    std::fs::write(&file, format!("{key}\n")).unwrap();
    let report = scratch
        .log("verify", &["--key", file.to_str().unwrap()])
        .ok();
    assert_eq!(report["verdict"], "good");
    std::fs::write(&file, "no key\n").unwrap();
    assert_eq!(
        scratch
            .log("verify", &["--key", file.to_str().unwrap()])
            .code,
        2
    );
    let write = &events(&scratch.log("grep", &["--verb", "write"]))[0];
    assert_eq!(
        write["event"]["root"]["id"],
        scratch.inside().to_str().unwrap()
    );
}

#[test]
fn g4_a_foreign_log_in_its_place_is_a_no() {
    let (scratch, key) = made("ordered");
    let (other, _) = made("ordered");
    let memory = scratch.path.join("memory");
    std::fs::copy(scratch.log_dir().join("checkpoint"), &memory).unwrap();
    let since = ["--since-checkpoint", memory.to_str().unwrap()];
    scratch.log("verify", &since).ok();
    assert_eq!(other.log("verify", &since).code, 1);
    assert_eq!(other.log("verify", &["--key", &key]).code, 1);
    // Several logs, and none of them the one that was meant.
    let more = other.log_dir().join("server");
    let made = Run::of(
        &["log", "init", more.to_str().unwrap()],
        b"",
        std::time::Duration::from_secs(60),
    );
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(other.log("verify", &["--key", &key]).code, 1);
}
