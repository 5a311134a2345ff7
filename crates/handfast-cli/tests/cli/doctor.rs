//! `doctor`: the verdict follows from the findings, and nothing is left behind.

use std::ffi::OsStr;

use serde_json::Value;

use crate::support::{IMPATIENCE, Run, Scratch, backends, handfast};

fn doctor(scratch: &Scratch, options: &[&str], tmp: &OsStr) -> Run {
    let mut command = handfast(&["doctor", "--root"]);
    command
        .arg(scratch.inside())
        .args(options)
        .env("TMPDIR", tmp);
    Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE)
}

fn states(value: &Value, key: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    value[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (text(&check["id"]), text(&check["state"])))
        .collect()
}

/// The exit code and `ok` say what the findings say.
fn check(run: &Run) -> Value {
    let value = run.json();
    let all_yes = states(&value, "guarantees")
        .iter()
        .all(|(_, state)| state == "yes");
    let attempts = value["attempts"].as_array().unwrap();
    for attempt in attempts {
        let found = &attempt["found"];
        assert!(
            *found == attempt["expected"] || *found == "skipped",
            "{attempt}"
        );
    }
    assert_eq!(value["ok"], all_yes, "{value}");
    assert_eq!(run.code, if all_yes { 0 } else { 3 }, "{value}");
    assert_eq!(run.stderr, "");
    value
}

#[test]
fn the_verdict_follows_from_the_findings() {
    let scratch = Scratch::new();
    let run = doctor(&scratch, &["--json"], scratch.outside().as_os_str());
    let value = check(&run);
    let guarantees = states(&value, "guarantees");
    let ids: Vec<_> = guarantees.iter().map(|(id, _)| id.as_str()).collect();
    for id in [
        "confinement",
        "specials",
        "mounts",
        "hard-links",
        "atomic-write",
        "locks",
    ] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    let offers = states(&value, "offers");
    let ids: Vec<_> = offers.iter().map(|(id, _)| id.as_str()).collect();
    for id in [
        "openat2",
        "mount-ids",
        "birth-times",
        "unnamed-files",
        "chmod-by-descriptor",
        "landlock",
    ] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    assert!(value["kernel"].is_string());
    assert!(value["root"]["filesystem"].is_string());
    assert_eq!(value["tried_in"], "temporary-directory");
}

#[test]
fn six_ways_out_are_tried_on_each_backend_that_is_there() {
    let scratch = Scratch::new();
    let value = check(&doctor(
        &scratch,
        &["--json"],
        scratch.outside().as_os_str(),
    ));
    let there = backends("doctor's ways out");
    let attempts = value["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 6 * 2 * there.len());
    let kernel = there.contains(&"kernel");
    let (backend, state) = if kernel {
        ("kernel", "yes")
    } else {
        ("walk", "no")
    };
    assert_eq!(value["root"]["backend"], backend);
    let openat2 = ("openat2".to_owned(), state.to_owned());
    assert!(states(&value, "offers").contains(&openat2));
    for attempt in attempts {
        // procfs and, elsewhere, kinds of files may be missing; links and FIFOs are not here.
        if attempt["way"] != "magic-link" {
            assert_eq!(attempt["found"], attempt["expected"], "{attempt}");
        }
    }
}

#[test]
fn nothing_is_left_behind() {
    let scratch = Scratch::new();
    let before = scratch.snapshot();
    check(&doctor(
        &scratch,
        &["--json"],
        scratch.outside().as_os_str(),
    ));
    assert_eq!(before, scratch.snapshot());
    // Without a temporary directory things are tried in the root.
    let missing = scratch.path.join("missing");
    let value = check(&doctor(&scratch, &["--json"], missing.as_os_str()));
    assert_eq!(value["tried_in"], "root");
    assert_eq!(before, scratch.snapshot());
}

#[test]
fn a_temporary_directory_may_be_a_link() {
    let scratch = Scratch::new();
    let link = scratch.path.join("tmp");
    std::os::unix::fs::symlink("outside", &link).unwrap();
    let value = check(&doctor(&scratch, &["--json"], link.as_os_str()));
    assert_eq!(value["tried_in"], "temporary-directory");
}

#[test]
fn people_get_one_line_each_and_a_verdict() {
    let scratch = Scratch::new();
    let tmp = scratch.outside();
    let run = doctor(&scratch, &[], tmp.as_os_str());
    let text = run.text();
    assert!(
        text.contains("\n  yes      nothing leaves the root "),
        "{text}"
    );
    let verdict = text.lines().last().unwrap();
    assert!(verdict.starts_with("verdict: "), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    let quiet = doctor(&scratch, &["--quiet"], tmp.as_os_str());
    assert_eq!(quiet.text(), format!("{verdict}\n"));
    assert_eq!(quiet.code, run.code);
}

#[test]
fn a_root_that_cannot_be_opened_is_a_configuration_error() {
    let scratch = Scratch::new();
    scratch.file("file", "");
    for (name, kind) in [("missing", "NotFound"), ("file", "NotADirectory")] {
        let path = scratch.at(name);
        let root = path.to_str().unwrap();
        let run = Run::of(&["doctor", "--json", "--root", root], b"", 10 * IMPATIENCE);
        let error = run.failed(kind, 2);
        assert_eq!(error["verb"], "doctor");
        let words = Run::of(&["doctor", "--root", root], b"", 10 * IMPATIENCE);
        assert_eq!(words.code, 2);
        assert!(
            words.stderr.starts_with("error: cannot open the root `"),
            "{words:?}"
        );
    }
}
