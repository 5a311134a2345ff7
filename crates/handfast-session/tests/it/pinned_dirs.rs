//! Directories of the base that others exchange while a commit runs: it moves and changes only those
//! that it has judged.

use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use handfast::RenameMode;
use handfast_session::{CommitOptions, Mode, Session};
use rustix::fs::{CWD, RenameFlags};

use crate::support::{Scratch, me};

/// Two directories: the one that the session knows, and one that somebody puts in its place.
fn scene() -> Scratch {
    let s = Scratch::new();
    s.file("d/f", "judged").file("other/f", "theirs").dir("c");
    s
}

fn exchange(s: &Scratch, one: &str, other: &str) {
    let (one, other) = (s.at(one), s.at(other));
    rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// Commits; somebody acts when everything is judged and nothing is done.
fn commit_while(session: &Session, mut act: impl FnMut()) -> Vec<String> {
    let mut first = true;
    let mut progress = |_, _| {
        if std::mem::take(&mut first) {
            act();
        }
    };
    let report = session.commit(&CommitOptions::default(), &mut progress);
    let conflicts = report.unwrap().conflicts;
    conflicts.iter().map(|one| one.0.to_string()).collect()
}

fn mode_of(s: &Scratch, path: &str) -> u32 {
    let status = std::fs::metadata(s.at(path)).unwrap();
    status.permissions().mode() & 0o777
}

#[test]
fn a_commit_moves_the_directory_that_it_judged_and_no_other() {
    for (to, how) in [("/e", RenameMode::NoReplace), ("/c", RenameMode::Exchange)] {
        let s = scene();
        let session = s.session(Mode::Overlay);
        session.rename("/d", to, how).unwrap();
        let conflicts = commit_while(&session, || exchange(&s, "d", "other"));
        assert!(conflicts.contains(&to.to_owned()), "{conflicts:?}");
        assert_eq!(s.read("d/f"), "theirs", "it stays where somebody put it");
        assert_eq!(s.read("other/f"), "judged");
        assert!(!s.at("e").exists());
        assert!(s.at("c").read_dir().unwrap().next().is_none());
    }
}

#[test]
fn a_resumed_commit_moves_the_directory_that_was_judged_and_no_other() {
    for (to, how) in [("/e", RenameMode::NoReplace), ("/c", RenameMode::Exchange)] {
        let s = scene();
        let session = s.session(Mode::Overlay);
        session.rename("/d", to, how).unwrap();
        let died = catch_unwind(AssertUnwindSafe(|| {
            session.commit(&CommitOptions::default(), &mut |_, _| panic!("killed"))
        }));
        assert!(died.is_err());
        drop(session);
        exchange(&s, "d", "other");
        let session = s.catalogue().open("s", me()).unwrap();
        session.write("/later", "finishes the commit").unwrap();
        assert_eq!(s.read("d/f"), "theirs");
        assert_eq!(s.read("other/f"), "judged");
    }
}

/// Where the commit has moved the directory and was killed, it finds it in its new place.
#[test]
fn a_resumed_commit_knows_the_directory_that_it_has_moved() {
    for steps in 0..4 {
        let s = scene();
        let session = s.session(Mode::Overlay);
        session.rename("/d", "/e", RenameMode::NoReplace).unwrap();
        session.chmod("/e", 0o711).unwrap();
        session.write("/z", "z").unwrap();
        let died = catch_unwind(AssertUnwindSafe(|| {
            session.commit(&CommitOptions::default(), &mut |done, _| {
                assert!(done <= steps, "killed");
            })
        }));
        drop(session);
        let session = s.catalogue().open("s", me()).unwrap();
        session.write("/later", "finishes the commit").unwrap();
        assert_eq!(s.read("e/f"), "judged", "{died:?}");
        assert_eq!(mode_of(&s, "e"), 0o711);
        assert_eq!(s.read("z"), "z");
    }
}

#[test]
fn a_commit_gives_a_mode_to_the_directory_that_it_judged_and_no_other() {
    let s = scene();
    let session = s.session(Mode::Overlay);
    let before = mode_of(&s, "other");
    session.chmod("/d", 0o711).unwrap();
    session.write("/z", "z").unwrap();
    let conflicts = commit_while(&session, || exchange(&s, "d", "other"));
    assert_eq!(mode_of(&s, "d"), before, "the other directory is as it was");
    assert_eq!(conflicts, ["/d"]);
    // A link leads to a directory as well.
    let s = scene();
    let session = s.session(Mode::Overlay);
    session.chmod("/d", 0o711).unwrap();
    session.write("/z", "z").unwrap();
    let conflicts = commit_while(&session, || {
        std::fs::rename(s.at("d"), s.at("aside")).unwrap();
        s.link("other", "d");
    });
    assert_eq!(mode_of(&s, "other"), before);
    assert_eq!(conflicts, ["/d"]);
}
