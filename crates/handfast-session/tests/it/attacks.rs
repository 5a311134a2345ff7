//! Ways around the rules of a session that were tried once and must stay closed.

use std::sync::{Arc, Mutex};

use handfast::{ErrorKind, Event, RecordError, Recorder, RenameMode, Verb};
use handfast_session::{
    Catalogue, CommitOptions, Mode, MountSpec, OpenOptions, Protect, Session, SessionOptions,
    SessionSpec,
};

use crate::support::{Scratch, kind, v};

const CHANGING: [Mode; 3] = [Mode::ReadWrite, Mode::Overlay, Mode::Memory];

fn workspace() -> Protect {
    Protect::preset("workspace").unwrap()
}

/// Does something while the session tells what it is about to do.
struct Hook<F>(Mutex<F>);

impl<F: FnMut(&Event<'_>) + Send> Recorder for Hook<F> {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        (self.0.lock().unwrap())(event);
        Ok(())
    }
}

fn hooked(s: &Scratch, hook: impl FnMut(&Event<'_>) + Send + 'static) -> Session {
    let options = SessionOptions::new().recorder(Arc::new(Hook(Mutex::new(hook))));
    Session::with_options(&s.spec(Mode::ReadWrite), options).unwrap()
}

#[test]
fn git_is_not_led_to_another_configuration() {
    for mode in CHANGING {
        let s = Scratch::new();
        s.file(".git/config", "[core]\n").dir("sub");
        let session = s.protected(mode, workspace());
        for path in [
            "/.git/commondir",
            "/.git/gitdir",
            "/.git/worktrees/x/commondir",
            "/.git/modules/x/commondir",
            "/sub/.git/commondir",
        ] {
            drop(session.create_dir_all(path.rsplit_once('/').unwrap().0));
            assert_eq!(
                kind(session.write(path, "../evil")),
                ErrorKind::Denied,
                "{path}"
            );
        }
        assert_eq!(session.read("/.git/config").unwrap(), b"[core]\n");
        session.write("/.git/description", "fine").unwrap();
    }
}

#[test]
fn only_a_directory_is_made_under_the_name_of_git() {
    for mode in CHANGING {
        let s = Scratch::new();
        s.file("gitfile", "gitdir: ../evil\n").dir("a").dir("sub");
        s.file("linked/.git", "gitdir: ../elsewhere\n").dir("other");
        let session = s.protected(mode, workspace());
        let text = "gitdir: ../evil\n";
        let new = OpenOptions::new().write(true).create(true);
        let refused = [
            session.write("/sub/.git", text).map(drop),
            session.write_new("/sub/.git", text).map(drop),
            session.append("/sub/.git", text).map(drop),
            session.append("/linked/.git", text).map(drop),
            session.write("/linked/.git", text).map(drop),
            session.copy("/gitfile", "/sub/.git").map(drop),
            session.open_with("/sub/.git", new).map(drop),
            session
                .open_with("/linked/.git", OpenOptions::new().write(true))
                .map(drop),
            session.rename("/gitfile", "/sub/.git", RenameMode::NoReplace),
            session.rename("/gitfile", "/linked/.git", RenameMode::Replace),
            session.rename("/linked/.git", "/gitfile", RenameMode::Exchange),
            session.rename("/linked/.git", "/other/.git", RenameMode::NoReplace),
            session.symlink("../evil", "/sub/.git"),
        ];
        for (number, result) in refused.into_iter().enumerate() {
            assert_eq!(kind(result), ErrorKind::Denied, "{mode} {number}");
        }
        if mode == Mode::ReadWrite {
            let linked = session.hard_link("/gitfile", "/sub/.git");
            assert_eq!(kind(linked), ErrorKind::Denied);
        }
        // A repository of its own may begin here, and others may have such files.
        session.create_dir("/a/.git").unwrap();
        session
            .write("/a/.git/HEAD", "ref: refs/heads/main\n")
            .unwrap();
        assert_eq!(
            session.read("/linked/.git").unwrap(),
            b"gitdir: ../elsewhere\n"
        );
        // Without the preset it is a name like any other.
        let plain = s.protected(Mode::ReadWrite, Protect::new().with_deny(".env"));
        plain.write("/sub/.git", text).unwrap();
    }
}

#[test]
fn a_refused_commit_copies_nothing_that_is_denied() {
    let s = Scratch::new();
    s.file(".env", "SECRET").file("y", "y").file("z", "z");
    std::fs::hard_link(s.at(".env"), s.at("x")).unwrap();
    let session = s.protected(Mode::Overlay, Protect::new().with_deny(".env"));
    assert_eq!(kind(session.read("/x")), ErrorKind::Denied);
    for (from, to, how) in [
        ("/x", "/y", RenameMode::Replace),
        ("/x", "/new", RenameMode::NoReplace),
        ("/x", "/y", RenameMode::Exchange),
        ("/y", "/x", RenameMode::Exchange),
    ] {
        assert_eq!(
            kind(session.rename(from, to, how)),
            ErrorKind::Denied,
            "{from} {to}"
        );
    }
    session.rename("/z", "/y", RenameMode::Replace).unwrap();
    s.file("y", "foreign");
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(report.committed.is_empty() && !report.conflicts.is_empty());
    assert_eq!(
        session.usage().unwrap()[0].used.bytes,
        0,
        "nothing was copied up"
    );
    assert_eq!(session.read("/y").unwrap(), b"z");
    s.file("y", "y");
}

#[test]
fn a_file_that_a_rule_came_to_cover_is_not_copied_by_a_commit() {
    let s = Scratch::new();
    s.file("x", "not a secret yet")
        .file("y", "y")
        .file("z", "z");
    let session = s.protected(Mode::Overlay, Protect::new().with_deny(".env"));
    session.rename("/x", "/y", RenameMode::Replace).unwrap();
    session.write("/z", "changed").unwrap();
    std::fs::hard_link(s.at("x"), s.at(".env")).unwrap();
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(report.committed.is_empty(), "{report:?}");
    assert_eq!(report.conflicts[0].0, v("/y"), "{report:?}");
    assert_eq!(
        (s.read("x"), s.read("y")),
        ("not a secret yet".into(), "y".into())
    );
    assert_eq!(kind(session.read("/y")), ErrorKind::Denied);
}
