//! `session undo`: what people are shown, and what a kill or a fault leaves.

use std::collections::BTreeMap;

use handfast_session::{CommitOptions, Session};

use crate::session_faults::{
    base, calls_between, hunk_scene, inject_into, kill_points, numbered, open, scene, shown,
    strace_is_there,
};
use crate::support::Scratch;

type Tree = BTreeMap<String, String>;

fn undo_args(scratch: &Scratch) -> Vec<String> {
    let state = scratch.path.join("state").display().to_string();
    ["session", "--json", "--state", &state, "undo", "--yes", "s"]
        .map(str::to_owned)
        .to_vec()
}

fn commit(session: &Session) {
    let report = session.commit(&CommitOptions::default(), &mut |_, _| {});
    assert_eq!(report.unwrap().conflicts, []);
}

/// A session that committed every kind of change and went on with one of them: the base before and
/// after the commit, and what the session shows.
fn committed_scene() -> (Scratch, Tree, Tree, Tree) {
    let (scratch, _) = scene();
    let before = base(&scratch);
    let session = open(&scratch, false);
    commit(&session);
    let after = base(&scratch);
    session.write("/changed", "newest").unwrap();
    let shown = shown(&session);
    (scratch, before, after, shown)
}

/// Whether the undo was made, from what is there; and that all of it fits together.
fn judge(scratch: &Scratch, trees: (&Tree, &Tree, &Tree), what: &str) -> bool {
    let (before, after, view) = trees;
    let session = open(scratch, false);
    session
        .mend()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(&shown(&session), view, "{what}: what the session shows");
    let now = base(scratch);
    let past = session.past_commits().unwrap().len();
    let done = past == 0;
    assert_eq!(&now, if done { before } else { after }, "{what}: {past}");
    // In either case the work goes on.
    commit(&session);
    assert_eq!(&base(scratch), view, "{what}: the next commit");
    done
}

#[test]
fn an_undo_that_dies_anywhere_is_finished_or_never_began() {
    if !strace_is_there() {
        return;
    }
    let (mut never, mut finished) = (0, 0);
    let (scratch, ..) = committed_scene();
    let calls = kill_points(&calls_between(
        &scratch,
        &undo_args(&scratch),
        ("journal", "undone"),
        100,
    ));
    for call in &calls {
        let (scratch, before, after, view) = committed_scene();
        let (_, said) = inject_into(&undo_args(&scratch), call, "signal=SIGKILL");
        let what = format!("killed at {call:?}");
        assert!(said.is_empty(), "the kill was felt: {what} {said}");
        match judge(&scratch, (&before, &after, &view), &what) {
            true => finished += 1,
            false => never += 1,
        }
    }
    println!(
        "{} calls: {never} never began, {finished} finished",
        calls.len()
    );
    assert!(never > 10 && finished > 10, "{never} {finished}");
}

#[test]
fn an_undo_that_fails_anywhere_loses_nothing() {
    if !strace_is_there() {
        return;
    }
    let mut felt = 0;
    let (scratch, ..) = committed_scene();
    let calls = calls_between(&scratch, &undo_args(&scratch), ("journal", "undone"), 100);
    for (index, call) in calls.iter().enumerate().step_by(2) {
        let fault = ["error=ENOSPC", "error=EIO", "error=EMFILE"][index / 2 % 3];
        let (scratch, _, _, view) = committed_scene();
        let (code, said) = inject_into(&undo_args(&scratch), call, fault);
        let what = format!("{fault} at {call:?}: {code:?} {said}");
        assert!(code.is_some_and(|code| code <= 3), "{what}");
        felt += usize::from(code != Some(0));
        let session = open(&scratch, false);
        session
            .mend()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(shown(&session), view, "{what}: what the session shows");
        let mut options = CommitOptions::default();
        let report = session.commit(&options, &mut |_, _| {}).unwrap();
        if !report.conflicts.is_empty() {
            // What was moved aside and put back counts as changed until somebody says otherwise.
            options.on_conflict = handfast_session::OnConflict::Overwrite;
            let report = session.commit(&options, &mut |_, _| {}).unwrap();
            assert_eq!(report.conflicts, [], "{what}");
        }
        assert_eq!(base(&scratch), view, "{what}: the base");
    }
    println!("{} calls, {felt} faults felt", calls.len() / 2);
    assert!(felt * 6 > calls.len(), "{felt} of {}", calls.len() / 2);
}

#[test]
fn an_undo_of_a_hunk_that_dies_anywhere_is_finished_or_never_began() {
    if !strace_is_there() {
        return;
    }
    let hunk_committed = || {
        let (scratch, args) = hunk_scene();
        let output = std::process::Command::new(crate::support::binary())
            .args(&args)
            .output();
        assert!(output.unwrap().status.success());
        scratch
    };
    let (mut never, mut finished) = (0, 0);
    let scratch = hunk_committed();
    let calls = kill_points(&calls_between(
        &scratch,
        &undo_args(&scratch),
        ("journal", "undone"),
        40,
    ));
    for call in &calls {
        let scratch = hunk_committed();
        inject_into(&undo_args(&scratch), call, "signal=SIGKILL");
        let what = format!("killed at {call:?}");
        let session = open(&scratch, false);
        session
            .mend()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let now = std::fs::read_to_string(scratch.at("f")).unwrap();
        match session.past_commits().unwrap().len() {
            0 => {
                assert_eq!(now, numbered(&[]), "{what}");
                finished += 1;
            }
            _ => {
                assert_eq!(now, numbered(&[30]), "{what}");
                never += 1;
            }
        }
        let view = session.read("/f").unwrap();
        assert_eq!(view, numbered(&[3, 30]).as_bytes(), "{what}: the view");
        commit(&session);
        let left = std::fs::read_dir(scratch.inside()).unwrap().count();
        assert_eq!(left, 1, "{what}: nothing is left behind");
    }
    println!(
        "{} calls: {never} never began, {finished} finished",
        calls.len()
    );
    assert!(never > 5 && finished > 5, "{never} {finished}");
}

#[test]
fn a_commit_is_shown_and_taken_back() {
    let s = Scratch::in_memory();
    s.file("a", "one\n");
    s.new_session(&[]);
    s.session(&["undo", "--yes", "s"]).refused("NotFound");
    s.inside_session(&["write", "/a"], b"two\n").ok();
    s.inside_session(&["write", "/b"], b"new\n").ok();
    let args = ["commit", "--yes", "-m", "two files", "s"];
    assert!(s.session(&args).ok()["not_undoable"].is_null());
    let shown = s.session(&["show", "s"]).ok();
    let commit = &shown["commits"][0];
    assert_eq!(
        (&commit["message"], &commit["bytes"]),
        (&"two files".into(), &"4".into())
    );
    assert_eq!(commit["undo"][0]["kind"], "changed");
    assert_eq!(commit["undo"][1]["path"], "/b");
    assert_eq!(commit["undo"][1]["kind"], "deleted");
    let words = s.hand(&["session", "show", "s"], b"");
    assert!(
        words.text().contains("2 paths, 4 bytes kept: two files\n"),
        "{words:?}"
    );
    // Nobody to ask is a reason not to do it; what it would do is shown.
    let words = s.hand(&["session", "undo", "s"], b"");
    assert_eq!(words.code, 2);
    assert!(
        words.stderr.contains("  changed  /a\n  deleted  /b\n"),
        "{words:?}"
    );
    s.session(&["undo", "--yes", "--commits", "2", "s"])
        .refused("NotFound");
    let undone = s.session(&["undo", "--yes", "s"]).ok();
    assert_eq!(undone["undone"][0]["path"], "/a");
    assert_eq!(std::fs::read(s.at("a")).unwrap(), b"one\n");
    assert!(!s.at("b").exists());
    let names = s.hand(&["session", "diff", "--name-only", "s"], b"");
    assert_eq!(names.text(), "/a\n/b\n");
    // What others changed since is a conflict.
    s.session(&["commit", "--yes", "s"]).ok();
    s.file("a", "theirs\n");
    let run = s.session(&["undo", "--yes", "s"]);
    assert_eq!(
        (run.code, &run.json()["conflicts"][0]["path"]),
        (1, &"/a".into())
    );
    assert!(s.at("b").exists());
}
