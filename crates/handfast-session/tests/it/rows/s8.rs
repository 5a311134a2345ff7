//! After a rollback, what a commit refuses is what the diff shows.

use handfast_session::{CommitOptions, Mode, Session};

use crate::support::*;

fn commit(session: &Session) -> handfast_session::Committed {
    session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap()
}

#[test]
fn s8_a_commit_after_a_rollback_refuses_nothing_that_the_diff_does_not_list() {
    let s = Scratch::new();
    s.file("changed", "old")
        .file("later", "old")
        .file("kept", "kept");
    let session = s.session(Mode::Overlay);
    session.write("/changed", "new").unwrap();
    session.write("/added", "new").unwrap();
    session.snapshot("before").unwrap();
    session.write("/later", "new").unwrap();
    assert_eq!(commit(&session).conflicts, []);
    session.rollback("before").unwrap();
    // What the snapshot has is in the base already.
    assert_eq!(diff(&session), [] as [&str; 0]);
    let report = commit(&session);
    assert_eq!(report.conflicts, []);
    assert_eq!(s.read("changed"), "new");
    assert_eq!(s.read("added"), "new");
    session.write("/kept", "mine").unwrap();
    session.write("/changed", "newer").unwrap();
    assert_eq!(commit(&session).conflicts, []);
    assert_eq!(s.read("changed"), "newer");
    assert_eq!(s.read("kept"), "mine");
    assert_eq!(diff(&session), [] as [&str; 0]);
}

#[test]
fn s8_what_others_changed_is_still_a_conflict_after_a_rollback() {
    let s = Scratch::new();
    s.file("changed", "old");
    let session = s.session(Mode::Overlay);
    session.write("/changed", "new").unwrap();
    session.write("/added", "new").unwrap();
    session.snapshot("before").unwrap();
    assert_eq!(commit(&session).conflicts, []);
    s.file("changed", "theirs").file("added", "theirs");
    session.rollback("before").unwrap();
    assert_eq!(diff(&session), ["added /added", "changed /changed"]);
    let report = commit(&session);
    let refused: Vec<String> = report
        .conflicts
        .iter()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(refused, ["/added", "/changed"]);
    assert_eq!(s.read("changed"), "theirs");
}

#[test]
fn s8_neither_does_it_where_names_were_removed_or_linked() {
    let s = Scratch::new();
    s.file("gone", "old").file("tree/a", "a");
    let session = s.session(Mode::Overlay);
    session.remove_file("/gone").unwrap();
    session.remove_tree("/tree").unwrap();
    session.symlink("gone", "/link").unwrap();
    session.snapshot("before").unwrap();
    assert_eq!(commit(&session).conflicts, []);
    session.rollback("before").unwrap();
    assert_eq!(diff(&session), [] as [&str; 0]);
    assert_eq!(commit(&session).conflicts, []);
}
