//! A commit that was killed is finished by the next command, which says so.

use std::process::Command;

use crate::session_faults::{
    base, calls_between, inject_into, kill_points, scene, strace_is_there,
};
use crate::support::{Scratch, binary};

const COMMIT: &str = "a commit that was interrupted was finished first";
const UNDO: &str = "an undo that was interrupted was finished first";

fn args(scratch: &Scratch, verb: &str) -> Vec<String> {
    let state = scratch.path.join("state").display().to_string();
    ["session", "--json", "--state", &state, verb, "--yes", "s"]
        .map(str::to_owned)
        .to_vec()
}

/// What a verb says on standard error, and whether it succeeds.
fn told(scratch: &Scratch, verb: &str) -> (String, bool) {
    let args = args(scratch, verb);
    let args = args.iter().filter(|arg| *arg != "--json");
    let output = Command::new(binary()).args(args).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    (words, output.status.success())
}

#[test]
fn whoever_finishes_an_interrupted_commit_says_so() {
    if !strace_is_there() {
        return;
    }
    let (scratch, _) = scene();
    let words = ("journal", "committed");
    let calls = kill_points(&calls_between(
        &scratch,
        &args(&scratch, "commit"),
        words,
        100,
    ));
    let (mut finished, mut other) = (Vec::new(), 0);
    for call in calls.iter().step_by(3) {
        let (scratch, _) = scene();
        let before = base(&scratch);
        inject_into(&args(&scratch, "commit"), call, "signal=SIGKILL");
        let killed = base(&scratch);
        let (words, is_done) = told(&scratch, "discard");
        assert!(is_done, "{call:?}: {words}");
        let after = base(&scratch);
        let is_told = words.contains(COMMIT);
        // A discard changes nothing in the base: whatever changed was the end of the commit.
        assert!(is_told || after == killed, "{call:?}: {words}");
        assert!(!is_told || after != before, "{call:?}: {words}");
        match is_told {
            true => finished.push(call),
            false => other += 1,
        }
    }
    assert!(finished.len() > 3 && other > 3, "{finished:?} {other}");
    for verb in ["commit", "undo"] {
        let (scratch, view) = scene();
        let before = base(&scratch);
        inject_into(&args(&scratch, "commit"), finished[1], "signal=SIGKILL");
        let (words, is_done) = told(&scratch, verb);
        assert!(is_done && words.contains(COMMIT), "{verb}: {words}");
        let expected = if verb == "undo" { before } else { view };
        assert_eq!(base(&scratch), expected, "{verb}");
        // Once.
        assert!(!told(&scratch, "discard").0.contains(COMMIT), "{verb}");
    }
}

#[test]
fn whoever_finishes_an_interrupted_undo_says_so() {
    if !strace_is_there() {
        return;
    }
    let committed = || {
        let (scratch, _) = scene();
        assert!(told(&scratch, "commit").1);
        scratch
    };
    let scratch = committed();
    let words = ("journal", "undone");
    let calls = kill_points(&calls_between(
        &scratch,
        &args(&scratch, "undo"),
        words,
        100,
    ));
    let mut finished = 0;
    for call in calls.iter().step_by(9) {
        let scratch = committed();
        inject_into(&args(&scratch, "undo"), call, "signal=SIGKILL");
        let killed = base(&scratch);
        let (words, is_done) = told(&scratch, "discard");
        assert!(is_done, "{call:?}: {words}");
        let is_told = words.contains(UNDO);
        assert!(is_told || base(&scratch) == killed, "{call:?}: {words}");
        finished += usize::from(is_told);
    }
    assert!(finished > 0, "{}", calls.len());
}
