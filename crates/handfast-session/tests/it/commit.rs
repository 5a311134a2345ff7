//! Commit: what it does, what it refuses, what it leaves.

use handfast::RenameMode;
use handfast_session::{CommitOptions, Committed, Mode, OnConflict, Session};

use crate::support::*;

fn commit(session: &Session, on_conflict: OnConflict, paths: &[&str]) -> Committed {
    let options = CommitOptions {
        paths: paths.iter().map(|path| v(path)).collect(),
        on_conflict,
        ..CommitOptions::default()
    };
    session.commit(&options, &mut |_, _| {}).unwrap()
}

fn mv(session: &Session, from: &str, to: &str) {
    session.rename(from, to, RenameMode::Replace).unwrap();
}

fn conflicts(report: &Committed) -> Vec<String> {
    report
        .conflicts
        .iter()
        .map(|(path, _)| path.to_string())
        .collect()
}

#[test]
fn a_commit_makes_the_base_what_the_session_shows() {
    let scratch = Scratch::new();
    scratch
        .file("changed", "1")
        .file("deleted", "1")
        .file("moved", "1")
        .file("over", "old")
        .file("onto", "new")
        .file("dir/one", "1")
        .file("dir/sub/two", "2")
        .file("gone/sub/f", "1")
        .file("swap-a", "a")
        .file("swap-b", "b")
        .file("sd-a/a", "a")
        .file("sd-b/b", "b")
        .file("out/of/here", "h")
        .link("changed", "link");
    let session = scratch.session(Mode::Overlay);
    session.write("/added", "new").unwrap();
    session.write("/changed", "2").unwrap();
    session.remove_file("/deleted").unwrap();
    session.create_dir_all("/n/m").unwrap();
    mv(&session, "/moved", "/n/m/moved");
    mv(&session, "/onto", "/over");
    mv(&session, "/dir", "/n/dir");
    session.write("/n/dir/sub/two", "22").unwrap();
    session.remove_file("/n/dir/one").unwrap();
    session.write("/dir", "a file now").unwrap();
    session.remove_tree("/gone").unwrap();
    session
        .rename("/swap-a", "/swap-b", RenameMode::Exchange)
        .unwrap();
    session
        .rename("/sd-a", "/sd-b", RenameMode::Exchange)
        .unwrap();
    mv(&session, "/out/of/here", "/here");
    session.remove_tree("/out").unwrap();
    session.remove_file("/link").unwrap();
    session.symlink("n/dir", "/link").unwrap();
    session.chmod("/added", 0o600).unwrap();
    session.chmod("/n/m", 0o700).unwrap();
    let shown = tree_in(&session);
    let before = scratch.tree();
    assert_ne!(shown, before);
    let report = commit(&session, OnConflict::Refuse, &[]);
    assert_eq!(report.conflicts, []);
    let umask_free = |tree: std::collections::BTreeMap<String, String>| tree;
    assert_eq!(umask_free(scratch.tree()), shown);
    assert_eq!(diff(&session), [] as [&str; 0]);
    assert_eq!(tree_in(&session), shown);
    let again = commit(&session, OnConflict::Refuse, &[]);
    assert_eq!(again, Committed::default());
}

#[test]
fn a_conflict_commits_nothing_unless_told() {
    let scratch = Scratch::new();
    scratch
        .file("a", "1")
        .file("b", "1")
        .file("c", "1")
        .file("d/x", "1")
        .file("e/x", "1");
    let session = scratch.session(Mode::Overlay);
    for name in ["/a", "/b"] {
        session.write(name, "ours").unwrap();
    }
    session.remove_file("/c").unwrap();
    session.remove_tree("/d").unwrap();
    mv(&session, "/e", "/moved");
    session.write("/new", "ours").unwrap();
    session.create_dir("/new-dir").unwrap();
    session.write("/new-dir/f", "ours").unwrap();
    session.write("/fine", "ours").unwrap();
    scratch
        .file("a", "theirs")
        .file("c", "theirs")
        .file("d/y", "theirs");
    scratch.file("new", "theirs").file("new-dir/g", "theirs");
    std::fs::rename(scratch.at("e"), scratch.at("e2")).unwrap();
    let before = scratch.tree();
    let report = commit(&session, OnConflict::Refuse, &[]);
    assert_eq!(report.committed, []);
    let expected = ["/a", "/c", "/d", "/moved", "/new", "/new-dir"];
    assert_eq!(conflicts(&report), expected);
    assert_eq!(scratch.tree(), before, "nothing was changed");
    let report = commit(&session, OnConflict::Skip, &[]);
    assert_eq!(report.committed, [v("/b"), v("/fine")]);
    assert_eq!(
        conflicts(&report),
        ["/a", "/c", "/d", "/moved", "/new", "/new-dir", "/new-dir/f"]
    );
    assert_eq!(scratch.read("a"), "theirs");
    assert_eq!(scratch.read("d/y"), "theirs");
    assert_eq!(scratch.read("d/x"), "1");
    assert_eq!(scratch.read("b"), "ours");
    assert_eq!(
        session.read("/a").unwrap(),
        b"ours",
        "ours is still in the overlay"
    );
    let report = commit(
        &session,
        OnConflict::Overwrite,
        &["/a", "/c", "/new", "/new-dir"],
    );
    assert_eq!(report.conflicts, []);
    assert_eq!(scratch.read("a"), "ours");
    assert_eq!(scratch.read("new"), "ours");
    assert_eq!(scratch.read("new-dir/f"), "ours");
    assert_eq!(
        scratch.read("new-dir/g"),
        "theirs",
        "nobody asked for it to go"
    );
    assert!(!scratch.at("c").exists());
}

#[test]
fn a_directory_that_others_put_something_into_stays_whole_whoever_wins() {
    let scratch = Scratch::new();
    scratch.file("d/x", "1").file("d/sub/y", "1").file("a", "1");
    let session = scratch.session(Mode::Overlay);
    session.remove_tree("/d").unwrap();
    session.write("/a", "ours").unwrap();
    scratch.file("d/sub/mine", "theirs");
    let before = scratch.tree();
    let report = commit(&session, OnConflict::Overwrite, &["/d"]);
    assert_eq!(report.committed, []);
    assert_eq!(conflicts(&report), ["/d"]);
    assert_eq!(scratch.tree(), before, "nothing was changed");
    // The rest is committed, and can be taken back: nobody else's change was overwritten.
    let report = commit(&session, OnConflict::Overwrite, &[]);
    assert_eq!(report.committed, [v("/a")]);
    assert_eq!(conflicts(&report), ["/d"]);
    assert_eq!(report.not_undoable, None);
    assert_eq!(scratch.read("a"), "ours");
    assert_eq!(scratch.read("d/x"), "1");
    // What was there and was only changed goes.
    std::fs::remove_file(scratch.at("d/sub/mine")).unwrap();
    scratch.file("d/sub/y", "theirs");
    let report = commit(&session, OnConflict::Overwrite, &[]);
    assert_eq!(report.conflicts, []);
    assert!(!scratch.at("d").exists());
}

#[test]
fn some_paths_can_be_committed() {
    let scratch = Scratch::new();
    scratch
        .file("a", "1")
        .file("b", "1")
        .file("d/f", "1")
        .file("d/g", "1")
        .file("d/m", "m");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "2").unwrap();
    session.write("/b", "2").unwrap();
    session.create_dir_all("/n/m").unwrap();
    session.write("/n/m/x", "x").unwrap();
    session.write("/n/y", "y").unwrap();
    mv(&session, "/d", "/e");
    session.write("/e/f", "2").unwrap();
    session.write("/e/g", "2").unwrap();
    mv(&session, "/e/m", "/m");
    let report = commit(&session, OnConflict::Refuse, &["/a", "/n/m/x"]);
    assert_eq!(report.conflicts, []);
    assert_eq!(scratch.read("n/m/x"), "x");
    assert_eq!(scratch.read("b"), "1");
    assert!(!scratch.at("n/y").exists());
    assert_eq!(
        diff(&session),
        [
            "changed /b",
            "renamed /e < /d",
            "changed /e/f",
            "changed /e/g",
            "renamed /m < /d/m",
            "added /n/y"
        ]
    );
    let shown = tree_in(&session);
    let report = commit(&session, OnConflict::Refuse, &["/e/f"]);
    assert_eq!(report.conflicts, []);
    assert_eq!(scratch.read("e/f"), "2");
    assert_eq!(scratch.read("e/g"), "1");
    assert_eq!(
        diff(&session),
        [
            "changed /b",
            "changed /e/g",
            "renamed /m < /e/m",
            "added /n/y"
        ]
    );
    assert_eq!(
        tree_in(&session),
        shown,
        "what the session shows does not change"
    );
    assert_eq!(commit(&session, OnConflict::Refuse, &[]).conflicts, []);
    assert_eq!(scratch.tree(), shown);
}

#[test]
fn a_file_that_is_still_written_to_is_not_lost() {
    use std::io::Write;
    let scratch = Scratch::new();
    scratch.file("log", "0");
    let session = scratch.session(Mode::Overlay);
    let how = handfast_session::OpenOptions::new().append(true);
    let mut handle = session.open_with("/log", how).unwrap();
    handle.write_all(b"1").unwrap();
    commit(&session, OnConflict::Refuse, &[]);
    assert_eq!(scratch.read("log"), "01");
    handle.write_all(b"2").unwrap();
    assert_eq!(session.read("/log").unwrap(), b"012");
    assert_eq!(diff(&session), ["changed /log"]);
    drop(handle);
    commit(&session, OnConflict::Refuse, &[]);
    assert_eq!(scratch.read("log"), "012");
    assert_eq!(diff(&session), [] as [&str; 0]);
}

#[test]
fn the_objects_of_what_was_committed_are_gone() {
    let scratch = Scratch::new();
    let session = scratch.session(Mode::Overlay);
    for number in 0..20 {
        session.write(format!("/f{number}"), "x").unwrap();
    }
    session.create_dir("/d").unwrap();
    commit(&session, OnConflict::Refuse, &[]);
    let objects = scratch.top.join("state/sessions/s/mount-0/objects");
    assert_eq!(std::fs::read_dir(objects).unwrap().count(), 0);
    assert_eq!(
        session.usage().unwrap()[0].used,
        handfast_session::Used::default()
    );
}

#[test]
fn a_committed_file_keeps_the_time_of_its_last_change() {
    let scratch = Scratch::new();
    scratch.file("a", "old");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "new").unwrap();
    session.write("/b", "new").unwrap();
    let long_ago = handfast::Timestamp {
        seconds: 1_000_000_000,
        nanoseconds: 5,
    };
    session.set_times("/b", None, Some(long_ago)).unwrap();
    let wanted = |path: &str| session.metadata(path).unwrap().modified;
    let (a, b) = (wanted("/a"), wanted("/b"));
    assert_eq!(b, long_ago);
    std::thread::sleep(std::time::Duration::from_millis(20));
    session
        .commit(&handfast_session::CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    let there = |path: &str| {
        use std::os::unix::fs::MetadataExt;
        let status = std::fs::metadata(scratch.at(path)).unwrap();
        (status.mtime(), status.mtime_nsec())
    };
    assert_eq!(there("a"), (a.seconds, a.nanoseconds.into()));
    assert_eq!(there("b"), (1_000_000_000, 5));
}
