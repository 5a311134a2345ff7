//! Taking commits back: the base is as it was, and the session shows what it showed.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{CommitOptions, Committed, Mode, OnConflict, PastCommit, Quota, Session};

use crate::review::{Random, furnish};
use crate::support::*;

fn commit(session: &Session, paths: &[&str]) -> Committed {
    let options = CommitOptions {
        paths: paths.iter().map(|path| v(path)).collect(),
        ..CommitOptions::default()
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.conflicts, []);
    report
}

fn last(session: &Session) -> PastCommit {
    session.past_commits().unwrap().remove(0)
}

fn undo(session: &Session) -> Committed {
    session.undo(last(session).id).unwrap()
}

fn undone(session: &Session) {
    assert_eq!(undo(session).conflicts, []);
}

#[test]
fn a_new_directory_that_waits_in_a_committed_one_stays_where_it_is() {
    let scratch = Scratch::new();
    let session = scratch.session(Mode::Overlay);
    session.create_dir_with("/n", 0o755).unwrap();
    session.write("/n/f", "f").unwrap();
    session.create_dir_with("/n/waits", 0o750).unwrap();
    session.write("/n/waits/hook", "h").unwrap();
    commit(&session, &["/n/f"]);
    assert!(scratch.at("n/f").exists() && !scratch.at("n/waits").exists());
    undone(&session);
    assert!(!scratch.at("n").exists());
    assert_eq!(session.read("/n/f").unwrap(), b"f");
    assert_eq!(session.read("/n/waits/hook").unwrap(), b"h");
    let mode = session.metadata("/n/waits").unwrap().mode & 0o777;
    assert_eq!(mode, 0o750);
    commit(&session, &[]);
    assert_eq!(scratch.read("n/waits/hook"), "h");
    let mode = std::fs::metadata(scratch.at("n/waits")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o750);
}

/// Every kind of change, and some on top of each other.
fn change_much(session: &Session) {
    let mv = |from: &str, to: &str| session.rename(from, to, RenameMode::Replace).unwrap();
    session.write("/added", "new").unwrap();
    session.write("/changed", "2").unwrap();
    session.remove_file("/deleted").unwrap();
    session.create_dir_all("/n/m").unwrap();
    mv("/moved", "/n/m/moved");
    mv("/onto", "/over");
    mv("/dir", "/n/dir");
    session.write("/n/dir/sub/two", "22").unwrap();
    session.remove_file("/n/dir/one").unwrap();
    session.write("/n/dir/fresh", "f").unwrap();
    session.write("/dir", "a file now").unwrap();
    session.remove_tree("/gone").unwrap();
    for (one, other) in [("/swap-a", "/swap-b"), ("/sd-a", "/sd-b")] {
        session.rename(one, other, RenameMode::Exchange).unwrap();
    }
    mv("/out/of/here", "/here");
    session.remove_tree("/out").unwrap();
    session.remove_file("/link").unwrap();
    session.symlink("n/dir", "/link").unwrap();
    session.chmod("/added", 0o600).unwrap();
    session.chmod("/n/m", 0o700).unwrap();
    session.chmod("/mode", 0o500).unwrap();
    mv("/x", "/y");
    session.write("/x", "another x").unwrap();
}

fn furnished() -> Scratch {
    let scratch = Scratch::new();
    for (path, content) in [
        ("changed", "1"),
        ("deleted", "1"),
        ("moved", "1"),
        ("over", "old"),
        ("onto", "new"),
        ("dir/one", "1"),
        ("dir/sub/two", "2"),
        ("gone/sub/f", "1"),
        ("swap-a", "a"),
        ("swap-b", "b"),
        ("sd-a/a", "a"),
        ("sd-b/b", "b"),
        ("out/of/here", "h"),
        ("mode/f", "f"),
        ("x", "x"),
    ] {
        scratch.file(path, content);
    }
    scratch.link("changed", "link").link("nowhere", "gone/link");
    for (path, mode) in [("changed", 0o640), ("gone", 0o750), ("mode", 0o711)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(scratch.at(path), mode).unwrap();
    }
    scratch
}

/// The diff, but for files that were moved over others: they come back as what they replaced.
fn kinds(session: &Session) -> Vec<String> {
    let moved = ["/onto", "/over", "/x", "/y"];
    let mut all = diff(session);
    all.retain(|line| !moved.iter().any(|path| line.contains(path)));
    all
}

#[test]
fn the_base_is_as_it_was_and_the_session_shows_what_it_showed() {
    let scratch = furnished();
    let time = std::fs::metadata(scratch.at("changed")).unwrap().mtime();
    let session = scratch.session(Mode::Overlay);
    let before = scratch.tree();
    change_much(&session);
    let (shown, changes) = (tree_in(&session), kinds(&session));
    for round in 0..3 {
        commit(&session, &[]);
        assert_eq!(scratch.tree(), shown, "{round}");
        assert_eq!(diff(&session), [] as [&str; 0]);
        undone(&session);
        assert_eq!(scratch.tree(), before, "{round}");
        assert_eq!(tree_in(&session), shown, "{round}");
        assert_eq!(kinds(&session), changes, "{round}");
        assert!(session.past_commits().unwrap().is_empty());
    }
    assert_eq!(
        std::fs::metadata(scratch.at("changed")).unwrap().mtime(),
        time
    );
    session.discard(&[]).unwrap();
    assert_eq!(tree_in(&session), before);
    let used = session.usage().unwrap()[0].used;
    assert_eq!((used.bytes, used.inodes), (0, 0), "nothing is left");
}

#[test]
fn random_commits_are_taken_back_one_after_the_other() {
    let (mut commits, mut kinds) = (0, std::collections::BTreeSet::new());
    for seed in 0..40 {
        let mut random = Random(seed);
        let s = Scratch::new();
        furnish(&s, &mut random);
        let session = s.session(Mode::Overlay);
        let mut bases = vec![s.tree()];
        for _ in 0..1 + random.below(3) {
            for _ in 0..1 + random.below(9) {
                random.change(&session);
            }
            let report = commit(&session, &[]);
            if !report.committed.is_empty() {
                assert_eq!(report.not_undoable, None, "{seed}");
                kinds.extend(last(&session).changes.into_iter().map(|(_, kind)| kind));
                bases.push(s.tree());
            }
        }
        for _ in 0..random.below(4) {
            random.change(&session);
        }
        let shown = tree_in(&session);
        commits += bases.len() - 1;
        bases.pop();
        for base in bases.into_iter().rev() {
            let report = undo(&session);
            if !report.conflicts.is_empty() {
                // What the session moved since is in the way; then nothing else is.
                let why = &report.conflicts[0].1;
                assert!(
                    why.contains("the session moved it since"),
                    "{seed} {report:?}"
                );
                assert_eq!(report.committed, []);
                session.discard(&[]).unwrap();
                undone(&session);
                assert_eq!(s.tree(), base, "{seed}");
                session.discard(&[]).unwrap();
                continue;
            }
            assert_eq!(s.tree(), base, "{seed}");
        }
        if !diff(&session).is_empty() && commits % 2 == 0 {
            // It is the same view, and can be committed again.
            let now = tree_in(&session);
            commit(&session, &[]);
            assert_eq!(s.tree(), now, "{seed} {shown:?}");
        }
    }
    assert!(commits > 40 && kinds.len() >= 4, "{commits} {kinds:?}");
}

#[test]
fn what_others_changed_since_is_a_conflict_and_nothing_is_changed() {
    type Act = fn(&Scratch);
    let acts: [(&str, Act); 6] = [
        ("content", |s| {
            s.file("changed", "theirs");
        }),
        ("mode", |s| {
            let mode = std::fs::Permissions::from_mode(0o604);
            std::fs::set_permissions(s.at("changed"), mode).unwrap();
        }),
        ("gone", |s| std::fs::remove_file(s.at("changed")).unwrap()),
        ("back again", |s| {
            s.file("deleted", "1");
        }),
        ("in a new directory", |s| {
            s.file("n/theirs", "1");
        }),
        ("the link", |s| {
            std::fs::remove_file(s.at("link")).unwrap();
            s.link("theirs", "link");
        }),
    ];
    for (what, act) in acts {
        let scratch = furnished();
        let session = scratch.session(Mode::Overlay);
        change_much(&session);
        commit(&session, &[]);
        act(&scratch);
        let before = scratch.tree();
        let report = undo(&session);
        assert_eq!(report.conflicts.len(), 1, "{what}: {report:?}");
        assert_eq!(report.committed, [], "{what}");
        assert_eq!(scratch.tree(), before, "{what}");
        assert_eq!(diff(&session), [] as [&str; 0], "{what}");
        assert_eq!(session.past_commits().unwrap().len(), 1, "{what}");
    }
}

#[test]
fn what_the_session_changed_since_stays_its_change() {
    let scratch = Scratch::new();
    scratch.file("f", "0").file("d", "0");
    let session = scratch.session(Mode::Overlay);
    session.write("/f", "1").unwrap();
    session.remove_file("/d").unwrap();
    session.create_dir("/n").unwrap();
    session.write("/n/a", "1").unwrap();
    session.write("/gone", "1").unwrap();
    let before = scratch.tree();
    commit(&session, &[]);
    session.write("/f", "2").unwrap();
    session.write("/d", "2").unwrap();
    session.write("/n/a", "2").unwrap();
    session.write("/n/b", "2").unwrap();
    session.remove_file("/gone").unwrap();
    let shown = tree_in(&session);
    undone(&session);
    assert_eq!(scratch.tree(), before);
    assert_eq!(tree_in(&session), shown);
    assert_eq!(
        diff(&session),
        [
            "changed /d",
            "changed /f",
            "added /n",
            "added /n/a",
            "added /n/b"
        ]
    );
    commit(&session, &[]);
    assert_eq!(scratch.tree(), shown);
    undone(&session);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn only_the_last_commit_is_taken_back_and_as_many_as_are_kept() {
    let scratch = Scratch::new();
    scratch.file("f", "0").file("other", "0");
    let session = scratch.session(Mode::Overlay);
    for round in 1..=25 {
        session.write("/f", format!("{round}")).unwrap();
        let options = CommitOptions {
            message: Some(format!("number {round}")),
            ..CommitOptions::default()
        };
        session.commit(&options, &mut |_, _| {}).unwrap();
    }
    let past = session.past_commits().unwrap();
    assert_eq!(past.len(), 20);
    assert_eq!(past[0].message.as_deref(), Some("number 25"));
    assert_eq!(kind(session.undo(past[1].id)), ErrorKind::NotFound);
    assert_eq!(kind(session.undo(7)), ErrorKind::NotFound);
    for round in (5..25).rev() {
        undone(&session);
        assert_eq!(scratch.read("f"), format!("{round}"));
        assert_eq!(session.read("/f").unwrap(), b"25");
    }
    assert!(session.past_commits().unwrap().is_empty());
    let undo = scratch.top.join("state/sessions/s/mount-0/undo");
    assert_eq!(std::fs::read_dir(undo).unwrap().count(), 0);
}

#[test]
fn what_is_kept_is_private_and_counted() {
    let scratch = Scratch::new();
    scratch
        .file("f", "secret")
        .file("g", "0123456789".repeat(10));
    let limit = Quota {
        bytes: Some(40),
        ..Quota::default()
    };
    let spec = scratch.spec(Mode::Overlay).quota(limit);
    let session = scratch.session_of(&spec);
    session.write("/f", "public").unwrap();
    commit(&session, &[]);
    let used = || session.usage().unwrap()[0].used;
    assert_eq!((used().bytes, used().inodes), (6, 1));
    assert_eq!(last(&session).bytes, 6);
    let state = scratch.top.join("state/sessions/s/mount-0");
    for dir in ["objects", "undo"] {
        let mut any = false;
        for entry in std::fs::read_dir(state.join(dir)).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            any = true;
        }
        assert!(any, "{dir}");
    }
    // Where the quota leaves no room the commit is made all the same, and says so.
    session.write("/g", [b'x'; 30]).unwrap();
    let report = commit(&session, &[]);
    assert!(report.not_undoable.unwrap().contains("limit of 40 bytes"));
    assert_eq!(used().bytes, 6);
    assert_eq!(
        kind(session.undo(last(&session).id)),
        ErrorKind::Unsupported
    );
    assert_eq!(scratch.read("g"), "x".repeat(30));
}

#[test]
fn a_commit_that_takes_the_sessions_side_says_that_it_is_final() {
    let scratch = Scratch::new();
    scratch.file("f", "0");
    let session = scratch.session(Mode::Overlay);
    session.write("/f", "ours").unwrap();
    scratch.file("f", "theirs");
    let options = CommitOptions {
        on_conflict: OnConflict::Overwrite,
        ..CommitOptions::default()
    };
    let report = session.commit(&options, &mut |_, _| {}).unwrap();
    assert!(report.not_undoable.is_some());
    assert_eq!(
        kind(session.undo(last(&session).id)),
        ErrorKind::Unsupported
    );
    assert_eq!(scratch.read("f"), "ours");
}

#[test]
fn snapshots_discards_and_restarts_leave_the_past_alone() {
    let scratch = furnished();
    let session = scratch.session(Mode::Overlay);
    let before = scratch.tree();
    session.snapshot("early").unwrap();
    change_much(&session);
    commit(&session, &[]);
    session.write("/later", "1").unwrap();
    session.snapshot("late").unwrap();
    session.discard(&[]).unwrap();
    session.rollback("late").unwrap();
    scratch.catalogue().fork("s", None, "fork", me()).unwrap();
    drop(session);
    let session = scratch.session(Mode::Overlay);
    session.mend().unwrap();
    let fork = scratch.catalogue().open("fork", me()).unwrap();
    assert!(fork.past_commits().unwrap().is_empty());
    undone(&session);
    assert_eq!(scratch.tree(), before);
    assert_eq!(session.read("/later").unwrap(), b"1");
}

#[test]
fn two_mounts_are_taken_back_together_or_not_at_all() {
    let scratch = Scratch::new();
    scratch.file("a/f", "0").file("b/f", "0");
    let mount = |name: &str| {
        handfast_session::MountSpec::new(scratch.at(name), v(&format!("/{name}")))
            .mode(Mode::Overlay)
    };
    let spec = handfast_session::SessionSpec::new()
        .mount(mount("a"))
        .mount(mount("b"));
    let session = scratch.session_of(&spec);
    let write = |text: &str| {
        for path in ["/a/f", "/b/f"] {
            session.write(path, text).unwrap();
        }
        commit(&session, &[]);
    };
    write("1");
    write("2");
    scratch.file("b/f", "theirs");
    let report = undo(&session);
    assert_eq!((report.conflicts.len(), report.committed.len()), (1, 0));
    assert_eq!(scratch.read("a/f"), "2");
    std::fs::remove_file(scratch.at("b/f")).unwrap();
    session.write("/a/f", "3").unwrap();
    commit(&session, &["/a/f"]);
    undone(&session);
    assert_eq!(scratch.read("a/f"), "2");
    let past: BTreeMap<u64, usize> = session
        .past_commits()
        .unwrap()
        .into_iter()
        .map(|past| (past.id, past.changes.len()))
        .collect();
    assert_eq!(past.into_values().collect::<Vec<_>>(), [2, 2]);
}
