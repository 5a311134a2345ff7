//! Several names of one file in a session become several names of one file in the base.

use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use handfast_session::change::Flag;
use handfast_session::{CommitOptions, Mode, Session};

use crate::review;
use crate::support::{Scratch, kind, me, tree_of, v};

/// A file with three names: one is new, one replaces a file, one is in a new directory.
fn scene() -> (Scratch, Session) {
    let s = Scratch::new();
    s.file("old", "of the base").file("other", "apart");
    let session = s.session(Mode::Overlay);
    session.write("/a", "one file").unwrap();
    session.remove_file("/old").unwrap();
    session.hard_link("/a", "/old").unwrap();
    session.create_dir("/d").unwrap();
    session.hard_link("/a", "/d/c").unwrap();
    (s, session)
}

const NAMES: [&str; 3] = ["a", "old", "d/c"];

fn commit(session: &Session) -> handfast_session::Committed {
    let report = session.commit(&CommitOptions::default(), &mut |_, _| {});
    report.unwrap()
}

fn undo(session: &Session) -> handfast_session::Committed {
    let last = session.past_commits().unwrap().remove(0);
    session.undo(last.id).unwrap()
}

fn number(s: &Scratch, path: &str) -> (u64, u64) {
    let status = std::fs::symlink_metadata(s.at(path)).unwrap();
    (status.ino(), status.nlink())
}

fn assert_joined(s: &Scratch, how: &str) {
    let (one, _) = number(s, "a");
    for name in NAMES {
        assert_eq!(s.read(name), "one file", "{how}: {name}");
        assert_eq!(number(s, name), (one, 3), "{how}: {name}");
    }
    let left = std::fs::read_dir(s.base()).unwrap();
    for entry in left {
        let name = entry.unwrap().file_name();
        assert!(!name.as_encoded_bytes().starts_with(b".handfast"), "{how}");
    }
}

#[test]
fn names_of_one_file_are_committed_as_names_of_one_file() {
    let (s, session) = scene();
    for name in NAMES {
        let change = review::of(&session, &format!("/{name}"));
        assert!(change.flags.contains(&Flag::LinkedName), "{change:?}");
        assert_eq!(change.after.unwrap().names, 3);
    }
    let report = commit(&session);
    assert!(report.conflicts.is_empty(), "{report:?}");
    assert!(report.apart.is_empty(), "{report:?}");
    assert_joined(&s, "committed");
    assert!(session.diff().unwrap().is_empty());
}

#[test]
fn undo_takes_the_names_back() {
    let (s, session) = scene();
    let before = tree_of(&s.base());
    commit(&session);
    let undone = undo(&session);
    assert!(undone.conflicts.is_empty(), "{undone:?}");
    assert_eq!(tree_of(&s.base()), before);
    for name in NAMES {
        let text = session.read(format!("/{name}")).unwrap();
        assert_eq!(text, b"one file", "{name}");
    }
    // And once more.
    let report = commit(&session);
    assert!(report.conflicts.is_empty(), "{report:?}");
    assert_eq!(s.read("d/c"), "one file");
}

/// An undo loses nothing: what others wrote through one of the names is a conflict.
#[test]
fn undo_refuses_a_file_that_others_changed_by_one_of_its_names() {
    let (s, session) = scene();
    commit(&session);
    std::fs::write(s.at("d/c"), "of others").unwrap();
    let undone = undo(&session);
    assert!(!undone.conflicts.is_empty(), "{undone:?}");
    assert_eq!(s.read("a"), "of others");
}

#[test]
fn a_commit_that_is_killed_at_any_step_ends_with_one_file() {
    let mut lived = 0;
    for steps in 0..16 {
        let (s, session) = scene();
        let mut told = 0;
        let died = catch_unwind(AssertUnwindSafe(|| {
            session.commit(&CommitOptions::default(), &mut |_, _| {
                told += 1;
                assert!(told <= steps, "killed");
            })
        }));
        lived += u32::from(died.is_ok());
        drop(session);
        let session = s.catalogue().open("s", me()).unwrap();
        session.write("/later", "finishes the commit").unwrap();
        assert_joined(&s, &format!("killed after {steps}: {}", died.is_err()));
        session.discard(&[v("/later")]).unwrap();
        assert!(session.diff().unwrap().is_empty());
        // What a killed process left can be taken back too.
        let undone = undo(&session);
        assert!(undone.conflicts.is_empty(), "{steps}: {undone:?}");
        assert_eq!(s.read("old"), "of the base");
        assert!(!s.at("a").exists() && !s.at("d").exists());
    }
    // Three files and a directory are written, and two names joined in three steps each.
    assert!((1..=6).contains(&lived), "{lived} were not killed");
}

/// What others put under one of the names while the commit runs stays, and is no name of the file.
#[test]
fn what_others_put_under_a_name_meanwhile_is_not_linked_over() {
    let mut apart = 0;
    for step in 5..=10 {
        let (s, session) = scene();
        let mut told = 0;
        let report = session.commit(&CommitOptions::default(), &mut |_, _| {
            told += 1;
            if told == step {
                drop(std::fs::remove_file(s.at("d/c")));
                std::fs::write(s.at("d/c"), "of others").unwrap();
            }
        });
        let report = report.unwrap();
        assert_eq!(s.read("d/c"), "of others", "{step}");
        assert_eq!(number(&s, "d/c").1, 1, "{step}");
        assert_eq!(number(&s, "a"), number(&s, "old"), "{step}");
        apart += u32::from(report.apart == [v("/d/c")]);
    }
    assert!(apart >= 4, "{apart}");
}

/// Where a name cannot be given, each name is a file of its own, and the report says so.
#[test]
fn where_nothing_can_be_linked_each_name_is_a_file_of_its_own_and_that_is_said() {
    let (s, session) = scene();
    let report = session.commit(&CommitOptions::default(), &mut |_, _| {
        for entry in std::fs::read_dir(s.base()).unwrap() {
            let dir = entry.unwrap().path();
            if dir.to_string_lossy().contains(".handfast-commit-") {
                // Nothing is linked to where something is.
                for number in 0..8 {
                    drop(std::fs::create_dir(dir.join(format!("name-{number}"))));
                }
            }
        }
    });
    let report = report.unwrap();
    assert!(report.conflicts.is_empty(), "{report:?}");
    assert_eq!(report.apart.len(), 2, "{report:?}");
    for name in NAMES {
        assert_eq!((s.read(name).as_str(), number(&s, name).1), ("one file", 1));
    }
}

/// Some of the names are committed now, and the rest later: then each time is a file of its own.
#[test]
fn names_that_are_committed_one_by_one_are_files_of_their_own() {
    let (s, session) = scene();
    for name in ["/a", "/old", "/d"] {
        let options = CommitOptions {
            paths: vec![v(name)],
            ..CommitOptions::default()
        };
        let report = session.commit(&options, &mut |_, _| {}).unwrap();
        assert!(report.conflicts.is_empty(), "{report:?}");
    }
    for name in NAMES {
        assert_eq!((s.read(name).as_str(), number(&s, name).1), ("one file", 1));
    }
}

/// Two names of one file of the base go in one commit: the first one that goes changes the change time
/// of the other.
#[test]
fn both_names_of_a_file_of_the_base_are_removed_or_replaced_in_one_commit() {
    for replace in [false, true] {
        let s = Scratch::new();
        s.file("x", "two names");
        std::fs::hard_link(s.at("x"), s.at("y")).unwrap();
        let session = s.session(Mode::Overlay);
        for name in ["/x", "/y"] {
            match replace {
                true => drop(session.write(name, "new").unwrap()),
                false => session.remove_file(name).unwrap(),
            }
        }
        let report = commit(&session);
        assert!(report.conflicts.is_empty(), "{report:?}");
        assert_eq!(s.at("x").exists(), replace);
        assert!(undo(&session).conflicts.is_empty());
        assert_eq!(
            (s.read("x"), s.read("y")),
            ("two names".into(), "two names".into())
        );
        assert_eq!(kind(session.read("/z")), handfast::ErrorKind::NotFound);
    }
}
