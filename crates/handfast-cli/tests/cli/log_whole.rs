//! The log of sessions, of text that is no path, and what is done to a log as a whole.

use serde_json::Value;

use crate::log::{events, made};

#[test]
fn what_is_done_in_a_session_is_logged_or_not_done() {
    let (scratch, _) = made("ordered");
    scratch.file("a", "one");
    scratch.new_session(&[]);
    let log = scratch.log_dir();
    let log = log.to_str().unwrap();
    let logged = |verb: &[&str]| scratch.inside_session(&[&["--log", log], verb].concat(), b"two");
    logged(&["write", "/b"]).ok();
    logged(&["read", "/nothing"]).refused("NotFound");
    let told: Vec<_> = events(&scratch.log("show", &[]))
        .iter()
        .map(Value::to_string)
        .collect();
    // The start of the log, the file that is filled, the write that publishes it, and the refusal.
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(told[1..5].iter().all(|event| event.contains("\"b\"")));
    assert!(told[3..5].iter().all(|event| event.contains("\"write\"")));
    assert!(told[5].contains("\"nothing\""));
    // A log that cannot be opened: nothing is done.
    std::fs::remove_dir_all(scratch.log_dir()).unwrap();
    assert_ne!(logged(&["write", "/c"]).code, 0);
    scratch
        .inside_session(&["stat", "/c"], b"")
        .refused("NotFound");
}

/// `type phase path` of every event but those about the log.
fn told(all: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    all.iter()
        .map(|event| &event["event"])
        .filter(|event| !text(&event["type"]).starts_with("log."))
        .map(|event| {
            let (kind, phase) = (text(&event["type"]), text(&event["phase"]));
            format!("{kind} {phase} {}", text(&event["req"]["path"]))
        })
        .collect()
}

#[test]
fn what_is_done_to_a_session_is_logged_or_not_done() {
    let (scratch, key) = made("ordered");
    scratch.file("a", "one");
    scratch.new_session(&[]);
    scratch.inside_session(&["write", "/a"], b"two").ok();
    let log = scratch.log_dir();
    let with = ["--log", log.to_str().unwrap(), "--agent", "ann"];
    let logged = |command: &[&str]| scratch.session(&[command, &with].concat());
    logged(&["snapshot", "s", "one"]).ok();
    logged(&["fork", "s@one", "t"]).ok();
    logged(&["discard", "--yes", "--remove", "t"]).ok();
    logged(&["commit", "--yes", "s"]).ok();
    let all = events(&scratch.log("show", &[]));
    assert_eq!(
        told(&all),
        [
            "snapshot intent .",
            "snapshot result .",
            "fork intent .",
            "fork result .",
            "discard intent .",
            "discard entries .",
            "discard result .",
            "commit intent .",
            "commit entries .",
            "commit result ."
        ]
    );
    let commit = all
        .iter()
        .find(|event| event["event"]["phase"] == "entries");
    assert_eq!(commit.unwrap()["event"]["entries"][0]["path"], "a");
    assert_eq!(all[1]["event"]["wl"]["agent_id"], "ann");
    assert_eq!(all[1]["event"]["dst"]["path"], "one");
    scratch.log("verify", &["--key", &key]).ok();
    // Without its log it is not done.
    std::fs::remove_dir_all(scratch.log_dir()).unwrap();
    scratch.inside_session(&["write", "/b"], b"two").ok();
    assert_ne!(logged(&["commit", "--yes", "s"]).code, 0);
    assert!(!scratch.at("b").exists());
}

#[test]
fn text_that_is_no_path_is_in_the_log_as_a_refusal() {
    let (scratch, _) = made("ordered");
    scratch.file("a", "one");
    let escape = ["read", "../../etc/passwd"];
    scratch
        .logged(&["--agent", "bot"], &escape, b"")
        .refused("Invalid");
    scratch
        .logged(&[], &["mv", "a", "/abs"], b"")
        .refused("Invalid");
    let long = "x/".repeat(60_000);
    scratch
        .logged(&[], &["read", &long], b"")
        .refused("TooLong");
    let all = events(&scratch.log("grep", &["--denied"]));
    let told = told(&all);
    assert_eq!(
        told[..2],
        ["parse single ../../etc/passwd", "parse single /abs"]
    );
    assert_eq!(told.len(), 3);
    assert_eq!(all[0]["event"]["wl"]["agent_id"], "bot");
    assert_eq!(all[2]["event"]["decision"]["kind"], "TooLong");
}

#[test]
fn another_key_signs_and_the_first_still_verifies() {
    let (scratch, first) = made("ordered");
    scratch.logged(&[], &["write", "a"], b"one").ok();
    let second = scratch.log("rotate-key", &[]).ok()["key"].clone();
    assert_ne!(second, first.as_str());
    scratch.logged(&[], &["write", "a"], b"two").ok();
    scratch.log("verify", &["--key", &first]).ok();
    let all = events(&scratch.log("show", &[]));
    let rotated = all
        .iter()
        .find(|event| event["event"]["type"] == "key.rotate");
    assert_eq!(rotated.unwrap()["event"]["rotate"]["next_vkey"], second);
}

#[test]
fn old_events_go_by_a_rule_and_the_rest_verifies() {
    let (scratch, key) = made("ordered");
    for _ in 0..130 {
        scratch.logged(&[], &["write", "a"], b"one").ok();
    }
    let beyond = ["--before", "100000", "--policy", "too much"];
    assert_eq!(scratch.log("prune", &beyond).code, 2);
    let some = ["--before", "260", "--policy", "a week is kept"];
    assert_eq!(scratch.log("prune", &some).ok()["first"], "256");
    scratch.log("verify", &["--key", &key]).ok();
    // The segment that was begun shares nothing with what goes now.
    for _ in 0..130 {
        scratch.logged(&[], &["write", "a"], b"one").ok();
    }
    let more = ["--before", "512", "--policy", "a day is kept"];
    assert_eq!(scratch.log("prune", &more).ok()["first"], "512");
    scratch.log("verify", &["--key", &key]).ok();
    let kept = events(&scratch.log("show", &[]));
    let first: u64 = kept[0]["index"].as_str().unwrap().parse().unwrap();
    assert!((256..=512).contains(&first), "{first}");
    let mut rules = kept
        .iter()
        .filter(|event| event["event"]["type"] == "retention.set");
    assert_eq!(
        rules.next_back().unwrap()["event"]["retention"]["policy"],
        "a day is kept"
    );
}

#[test]
fn an_archive_is_one_operation_in_the_log_with_its_digest() {
    let (scratch, _key) = made("ordered");
    scratch.file("d/a", "one");
    let log = scratch.log_dir();
    let root = scratch.inside().display().to_string();
    let run = |args: &[&str]| {
        let with = ["--log", log.to_str().unwrap(), "--agent", "ann"];
        let args = [&["fs", "--root", &root], args, &with].concat();
        let output = crate::support::handfast(&args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&["archive", "d", "d.tar"]);
    run(&["extract", "d.tar", "out"]);
    let all = events(&scratch.log("show", &[]));
    let about: Vec<&Value> = all.iter().map(|event| &event["event"]).collect();
    let about: Vec<_> = about
        .into_iter()
        .filter(|event| event["type"] == "extract")
        .collect();
    let phases: Vec<_> = about.iter().map(|event| &event["phase"]).collect();
    assert_eq!(phases, ["intent", "entries", "result"]);
    assert_eq!(about[1]["entries"][0]["path"], "a", "{}", about[1]);
    for event in &about {
        assert_eq!(event["req"]["path"], "out");
        assert_eq!(event["op_id"], about[0]["op_id"]);
        let digest = event["dst"]["path"].as_str().unwrap_or_default();
        assert!(
            digest.starts_with("sha256:") && digest.len() == 71,
            "{event}"
        );
    }
}
