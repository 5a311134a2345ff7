//! `log` and `--log`, as people and programs run them.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Run, Scratch, backends, handfast, os};

const PATIENCE: Duration = Duration::from_secs(60);

impl Scratch {
    pub fn log_dir(&self) -> PathBuf {
        self.path.join("log")
    }

    /// `handfast log COMMAND DIR …`, with `--json`.
    pub fn log(&self, command: &str, more: &[&str]) -> Run {
        let mut args: Vec<OsString> = vec!["--json".into(), "log".into(), command.into()];
        args.push(self.log_dir().into());
        args.extend(more.iter().map(OsString::from));
        Run::of(&args, b"", PATIENCE)
    }

    pub fn log_words(&self, command: &str, more: &[&str]) -> Run {
        let mut args: Vec<OsString> = vec!["log".into(), command.into()];
        args.push(self.log_dir().into());
        args.extend(more.iter().map(OsString::from));
        Run::of(&args, b"", PATIENCE)
    }

    pub fn logged<S: AsRef<OsStr>>(&self, options: &[&str], verb: &[S], input: &[u8]) -> Run {
        let log = self.log_dir();
        let mut all = vec!["--log", log.to_str().unwrap()];
        all.extend(options);
        self.fs_with(&all, verb, input)
    }
}

pub fn made(level: &str) -> (Scratch, String) {
    let scratch = Scratch::new();
    let run = scratch.log("init", &["--level", level]);
    let key = run.ok()["key"].as_str().unwrap().to_owned();
    (scratch, key)
}

pub fn events(run: &Run) -> Vec<Value> {
    run.json()["events"].as_array().unwrap().clone()
}

#[test]
fn every_verb_of_fs_is_in_the_log_and_the_log_is_good() {
    for backend in backends("fs --log") {
        for level in ["strict", "ordered"] {
            let (scratch, key) = made(level);
            scratch.link("/etc", "etc");
            let with = ["--agent", "bot", "--backend", backend];
            scratch.logged(&with, &["write", "a"], b"one").ok();
            scratch.logged(&with, &["read", "a"], b"").ok();
            scratch.logged(&with, &["mv", "a", "b"], b"").ok();
            scratch
                .logged(&with, &["read", "etc/passwd"], b"")
                .refused("Link");
            let all = events(&scratch.log("show", &[]));
            let shape: Vec<_> = all
                .iter()
                .map(|event| {
                    let event = &event["event"];
                    let text = |key: &str| event[key].as_str().unwrap().to_owned();
                    (text("type"), text("phase"))
                })
                .collect();
            let expected = [
                ("log.start", "single"),
                ("write", "intent"),
                ("write", "result"),
                ("read", "single"),
                ("rename", "intent"),
                ("rename", "result"),
                ("read", "single"),
            ];
            let shape: Vec<_> = shape.iter().map(|(a, b)| (&**a, &**b)).collect();
            assert_eq!(shape, expected, "{backend} {level}");
            assert_eq!(all[6]["event"]["decision"]["allow"], false);
            assert_eq!(all[6]["event"]["assure"]["resolve"], backend);
            let report = scratch.log("verify", &["--key", &key]).ok();
            assert_eq!(report["verdict"], "good");
            let missing = report["logs"][0]["not_checked"].as_array().unwrap();
            assert!(
                missing
                    .iter()
                    .any(|what| what.as_str().unwrap().starts_with("rollback"))
            );
        }
    }
}

#[test]
fn what_was_forbidden_and_what_failed_are_told_apart() {
    let (scratch, _) = made("ordered");
    scratch.link("/etc", "etc");
    scratch
        .logged(&[], &["read", "etc/passwd"], b"")
        .refused("Link");
    scratch
        .logged(&[], &["read", "gone"], b"")
        .refused("NotFound");
    let paths = |more: &[&str]| -> Vec<String> {
        let found = events(&scratch.log("grep", more));
        let path = |event: &Value| event["event"]["req"]["path"].as_str().unwrap().to_owned();
        found.iter().map(path).collect()
    };
    assert_eq!(paths(&["--denied"]), ["etc/passwd"]);
    assert_eq!(paths(&["--failed"]), ["gone"]);
    assert_eq!(paths(&["--denied", "--failed"]), ["etc/passwd", "gone"]);
    let shown = scratch.log_words("show", &[]);
    let line = |word: &str| {
        let text = shown.text();
        let found = text.lines().find(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("{word}: {text}")).to_owned()
    };
    assert!(line("etc/passwd").contains("  DENIED   "));
    assert!(line("gone").contains("  failed   "));
    let counts = scratch.log("stat", &[]).ok();
    let decisions = counts["decisions"].as_array().unwrap();
    assert!(
        decisions.iter().all(|row| row["count"] == 1),
        "{decisions:?}"
    );
    // A time that is none is not compared as if it were one.
    assert_eq!(scratch.log_words("grep", &["--since", "yesterday"]).code, 2);
}

#[test]
fn without_its_log_a_command_does_nothing() {
    let scratch = Scratch::new();
    let file = scratch.file("a", "one");
    let error = scratch
        .logged(&[], &["write", "a"], b"two")
        .failed("NotFound", 2);
    assert_eq!(error["path"], "<log>");
    assert_eq!(std::fs::read(&file).unwrap(), b"one");
    // The same by the environment.
    let root = scratch.inside();
    let mut command = handfast(&[
        OsStr::new("fs"),
        "--root".as_ref(),
        root.as_ref(),
        "rm".as_ref(),
        "a".as_ref(),
    ]);
    command.env("HANDFAST_LOG", scratch.log_dir());
    assert_eq!(Run::wait(command.spawn().unwrap(), PATIENCE).code, 2);
    assert!(file.exists());
    // And where the key is gone.
    let (scratch, _) = made("ordered");
    std::fs::remove_dir_all(scratch.path.join("log.keys")).unwrap();
    scratch
        .logged(&[], &["write", "a"], b"two")
        .failed("Denied", 2);
    assert!(!scratch.at("a").exists());
}

#[test]
fn the_environment_names_a_log_for_every_command() {
    let (scratch, _) = made("ordered");
    scratch.file("a", "one");
    let root = scratch.inside();
    let mut command = handfast(&[
        OsStr::new("fs"),
        "--root".as_ref(),
        root.as_ref(),
        "rm".as_ref(),
        "a".as_ref(),
    ]);
    command.env("HANDFAST_LOG", scratch.log_dir());
    assert_eq!(Run::wait(command.spawn().unwrap(), PATIENCE).code, 0);
    assert_eq!(
        events(&scratch.log("grep", &["--verb", "remove-file"])).len(),
        2
    );
}

#[test]
fn a_log_below_the_root_cannot_be_reached_through_it() {
    let scratch = Scratch::new();
    let log = scratch.at("log");
    let init = ["log", "init", log.to_str().unwrap()];
    assert_eq!(Run::of(&init, b"", PATIENCE).code, 0);
    let with = ["--log", log.to_str().unwrap()];
    scratch
        .fs(&with, &["read", "log/checkpoint"])
        .refused("Denied");
    scratch
        .fs(&with, &["rm", "-r", "log.keys"])
        .refused("Denied");
    assert!(log.join("checkpoint").exists());
    let inside = [
        "fs",
        "--json",
        "--root",
        log.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
        "ls",
        ".",
    ];
    Run::of(&inside, b"", PATIENCE).failed("Invalid", 2);
}

#[test]
fn filters_find_what_they_name_and_one_object_under_all_its_names() {
    let (scratch, _) = made("ordered");
    for agent in ["one", "two"] {
        let with = ["--agent", agent];
        scratch
            .logged(&with, &["write", &format!("d-{agent}")], b"x")
            .ok();
    }
    scratch.logged(&[], &["chmod", "600", "d-one"], b"").ok();
    scratch.logged(&[], &["mv", "d-one", "other"], b"").ok();
    scratch.logged(&[], &["read", "other"], b"").ok();
    scratch
        .logged(&[], &["read", "none"], b"")
        .refused("NotFound");
    let count = |args: &[&str]| events(&scratch.log("grep", args)).len();
    assert_eq!(count(&["--agent", "two"]), 2);
    assert_eq!(count(&["--path", "other"]), 3);
    assert_eq!(count(&["--denied"]), 0);
    assert_eq!(count(&["--failed"]), 1);
    assert_eq!(count(&["--verb", "rename"]), 2);
    assert_eq!(count(&["--since", "2020"]), 11);
    let read = events(&scratch.log("grep", &["--verb", "read", "--path", "other"]));
    let object = &read[0]["event"]["obj"];
    let number = |key: &str| object[key].as_str().unwrap().parse::<u64>().unwrap();
    let handle = format!("{:x}:{}", number("dev"), number("ino"));
    let history = events(&scratch.log("grep", &["--handle", &handle]));
    let paths: Vec<_> = history
        .iter()
        .map(|event| event["event"]["req"]["path"].as_str().unwrap())
        .collect();
    assert!(
        paths.contains(&"d-one") && paths.contains(&"other"),
        "{paths:?}"
    );
    let nothing = scratch.log("grep", &["--agent", "nobody"]);
    assert_eq!(nothing.code, 1);
    assert_eq!(scratch.log("grep", &[]).code, 2);
    let stat = scratch.log("stat", &[]).ok();
    assert_eq!(stat["events"], 11);
    assert_eq!(scratch.log("show", &["99"]).code, 2);
}

#[test]
fn names_are_shown_escaped_and_exported_whole() {
    let (scratch, _) = made("ordered");
    let names: [&[u8]; 5] = [
        b"a\nb",
        b"\x1b[2J",
        b"\xff",
        "\u{202e}x".as_bytes(),
        b"</script><script>alert(1)//",
    ];
    for name in names {
        let verb = [OsStr::new("read"), os(name)];
        assert_eq!(scratch.logged(&[], &verb, b"").code, 1);
    }
    let shown = scratch.log_words("show", &[]);
    assert_eq!(shown.text().lines().count(), 6);
    for bad in ['\x1b', '\u{202e}', '\r'] {
        assert!(!shown.text().contains(bad));
    }
    assert!(shown.text().contains("`a\\nb`") && shown.text().contains("`\\xff`"));
    let page = scratch.log_words("export", &["--format", "html"]);
    assert!(!page.text().contains("<script>alert"));
    let lines = scratch.log_words("export", &["--format", "jsonl"]);
    let last: Value = serde_json::from_str(lines.text().lines().nth(3).unwrap()).unwrap();
    assert_eq!(last["event"]["req"]["path_b64"], "/w==");
    assert_eq!(last["index"], "3");
    assert_eq!(
        scratch
            .log_words("export", &["--format", "ocsf"])
            .text()
            .lines()
            .count(),
        5
    );
    assert_eq!(
        scratch
            .log_words("export", &["--format", "dsse"])
            .text()
            .lines()
            .count(),
        1
    );
    assert_eq!(scratch.log_words("export", &["--format", "xml"]).code, 2);
}

#[test]
fn a_tampered_log_is_one_a_foreign_key_too_and_memory_is_asked_for() {
    let (scratch, key) = made("strict");
    for number in 0..5 {
        scratch
            .logged(&[], &["write", &format!("f{number}")], b"x")
            .ok();
    }
    let memory = scratch.path.join("memory");
    std::fs::copy(scratch.log_dir().join("checkpoint"), &memory).unwrap();
    let since = [
        "--key",
        &key,
        "--since-checkpoint",
        memory.to_str().unwrap(),
    ];
    assert_eq!(
        scratch.log("verify", &since).ok()["logs"][0]["not_checked"],
        serde_json::json!([])
    );
    assert_eq!(scratch.log("verify", &["--require-memory"]).code, 3);
    assert_eq!(
        scratch
            .log("verify", &[&since[..], &["--require-memory"]].concat())
            .code,
        0
    );
    let (_other, foreign) = made("strict");
    assert_eq!(scratch.log("verify", &["--key", &foreign]).code, 1);
    assert_eq!(scratch.log("verify", &["--key", "nonsense"]).code, 2);
    assert_eq!(
        scratch
            .log("verify", &["--since-checkpoint", "no-such-file"])
            .code,
        2
    );
    // One byte of one entry.
    let bundle = scratch.log_dir().join("tile/entries/000.p/11");
    let good = std::fs::read(&bundle).unwrap();
    let at = good.windows(4).position(|name| name == b"\"f2\"").unwrap() + 1;
    let mut bad = good.clone();
    bad[at] = b'g';
    std::fs::write(&bundle, &bad).unwrap();
    let report = scratch.log("verify", &[]);
    assert_eq!(report.code, 1);
    assert_eq!(report.json()["first_bad_index"], "5");
    std::fs::write(&bundle, &good).unwrap();
    scratch.log("verify", &[]).ok();
    assert_eq!(
        Run::of(&["log", "verify", "no-such-log"], b"", PATIENCE).code,
        2
    );
}

#[test]
fn receipts_and_statements_are_checked_without_the_log() {
    let (scratch, key) = made("strict");
    scratch.logged(&[], &["write", "f"], b"x").ok();
    let receipt = scratch.path.join("receipt");
    std::fs::write(&receipt, scratch.log_words("prove", &["1"]).text()).unwrap();
    let check = |more: &[&str]| {
        let mut args = vec!["log", "check-proof", receipt.to_str().unwrap(), "--json"];
        args.extend(more);
        Run::of(&args, b"", PATIENCE)
    };
    let found = check(&["--key", &key]).ok();
    assert_eq!(
        (&found["index"], &found["size"]),
        (&"1".into(), &"3".into())
    );
    assert!(
        found["event"]
            .as_str()
            .unwrap()
            .contains("\"type\":\"write\"")
    );
    assert_eq!(check(&[]).code, 3, "nobody says whose key");
    let (_other, foreign) = made("strict");
    assert_eq!(check(&["--key", &foreign]).code, 1);
    assert_eq!(scratch.log("prove", &["77"]).code, 2);
    let text = std::fs::read_to_string(&receipt).unwrap();
    std::fs::write(&receipt, text.replace("index 1", "index 2")).unwrap();
    assert_eq!(check(&["--key", &key]).code, 1);
    let statement = scratch.path.join("statement");
    let text = scratch.log_words("attest", &["1", "--audience", "you"]);
    std::fs::write(&statement, text.text()).unwrap();
    let check = |key: &str, audience: &str| {
        let path = statement.to_str().unwrap();
        let args = [
            "log",
            "check-attestation",
            path,
            "--json",
            "--key",
            key,
            "--audience",
            audience,
        ];
        Run::of(&args, b"", PATIENCE)
    };
    assert_eq!(check(&key, "you").ok()["sequence"], "1");
    assert_eq!(check(&key, "me").code, 1);
    assert_eq!(check(&foreign, "you").code, 1);
}

#[test]
fn tail_follows_until_the_reader_goes_away() {
    let (scratch, _) = made("ordered");
    let log = scratch.log_dir();
    let args = [
        OsStr::new("log"),
        "tail".as_ref(),
        log.as_ref(),
        "-f".as_ref(),
    ];
    let mut child = handfast(&args).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("log.start"));
    scratch.logged(&[], &["write", "later"], b"x").ok();
    assert!(lines.next().unwrap().unwrap().contains("`later`"));
    drop(lines);
    scratch.logged(&[], &["write", "more"], b"x").ok();
    assert_eq!(Run::wait(child, PATIENCE).code, 0);
}

#[test]
fn a_log_is_made_once_and_its_keys_never_lie_in_it() {
    let (scratch, _) = made("ordered");
    scratch.log("init", &[]).failed("Exists", 1);
    let inside = scratch.outside().join("log");
    let keys = inside.join("keys");
    let args = [
        "log",
        "init",
        inside.to_str().unwrap(),
        "--keys",
        keys.to_str().unwrap(),
    ];
    assert_eq!(Run::of(&args, b"", PATIENCE).code, 2);
    let other = scratch.outside().join("other");
    let args = ["log", "init", other.to_str().unwrap(), "--name", "a b"];
    assert_eq!(Run::of(&args, b"", PATIENCE).code, 2);
}
