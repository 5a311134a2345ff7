//! Ways around the rules of a session that were tried once and must stay closed.

use std::sync::{Arc, Mutex};

use handfast::{ErrorKind, Event, RecordError, Recorder, RenameMode, Verb};
use handfast_session::{
    Catalogue, CommitOptions, Mode, MountSpec, OpenOptions, Protect, Session, SessionSpec,
};

use crate::support::{Scratch, kind, me, v};

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
    let caller = me().recorder(Arc::new(Hook(Mutex::new(hook))));
    Session::new(&s.spec(Mode::ReadWrite), caller).unwrap()
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
            let written = session.write(path, "../evil");
            match mode {
                Mode::ReadWrite => assert_eq!(kind(written), ErrorKind::Denied, "{path}"),
                // In an overlay it waits until a commit names it.
                _ => drop(written.unwrap()),
            }
        }
        session
            .commit(&handfast_session::CommitOptions::default(), &mut |_, _| {})
            .unwrap();
        for path in [".git/commondir", ".git/gitdir", "sub/.git/commondir"] {
            assert!(!s.at(path).exists(), "{mode}: {path}");
        }
        for path in [".git/worktrees/x", ".git/modules/x"] {
            assert!(!s.at(path).join("commondir").exists(), "{mode}: {path}");
        }
        assert_eq!(session.read("/.git/config").unwrap(), b"[core]\n");
        session.write("/.git/description", "fine").unwrap();
    }
}

#[test]
fn only_a_directory_is_made_under_the_name_of_git() {
    let mode = Mode::ReadWrite;
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
    let linked = session.hard_link("/gitfile", "/sub/.git");
    assert_eq!(kind(linked), ErrorKind::Denied);
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

#[test]
fn a_file_that_leads_git_elsewhere_waits_in_an_overlay_until_it_is_named() {
    type Way = fn(&Session) -> Result<(), handfast_session::Error>;
    let ways: &[Way] = &[
        |session| session.write("/sub/.git", "gitdir: ../evil\n").map(drop),
        |session| session.write("/linked/.git", "gitdir: ../evil\n").map(drop),
        |session| session.append("/linked/.git", "x").map(drop),
        |session| session.copy("/gitfile", "/sub/.git").map(drop),
        |session| session.rename("/gitfile", "/sub/.git", RenameMode::NoReplace),
        |session| session.rename("/gitfile", "/linked/.git", RenameMode::Replace),
        |session| session.hard_link("/gitfile", "/sub/.git"),
        |session| session.rename("/linked/.git", "/other/.git", RenameMode::NoReplace),
    ];
    for (number, way) in ways.iter().enumerate() {
        let s = Scratch::new();
        s.file("gitfile", "gitdir: ../evil\n").dir("sub");
        s.file("linked/.git", "gitdir: ../elsewhere\n").dir("other");
        let session = s.protected(Mode::Overlay, workspace());
        // A link is never made there: what it leads to can change after the commit.
        assert_eq!(
            kind(session.symlink("../evil", "/sub/.git")),
            ErrorKind::Denied
        );
        if let Err(error) = way(&session) {
            assert_eq!(error.kind(), ErrorKind::Denied, "{number}: {error}");
            continue;
        }
        session.write("/fine", "fine").unwrap();
        let report = session
            .commit(&CommitOptions::default(), &mut |_, _| {})
            .unwrap();
        assert!(s.at("fine").exists(), "{number}: {report:?}");
        assert!(!report.held_back.is_empty(), "{number}: {report:?}");
        for name in ["sub/.git", "other/.git"] {
            assert!(!s.at(name).exists(), "{number}: {name}");
        }
        let linked = std::fs::read(s.at("linked/.git")).unwrap();
        assert_eq!(linked, b"gitdir: ../elsewhere\n", "{number}");
    }
    // The first of them is allowed, so that git can make worktrees and submodules.
    let s = Scratch::new();
    s.dir("sub");
    let session = s.protected(Mode::Overlay, workspace());
    session.write("/sub/.git", "gitdir: ../evil\n").unwrap();
    let named = CommitOptions {
        paths: vec![v("/sub/.git")],
        ..CommitOptions::default()
    };
    session.commit(&named, &mut |_, _| {}).unwrap();
    assert!(s.at("sub/.git").exists());
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

#[test]
fn a_link_does_not_lead_below_a_mount_point() {
    let s = Scratch::new();
    s.file("vendor/hidden", "hidden below the mount");
    s.file("deep/vendor/hidden", "")
        .link("../top", "vendor/link")
        .file("top", "top");
    for lib in ["lib", "low"] {
        std::fs::create_dir(s.top.join(lib)).unwrap();
        std::fs::write(s.top.join(lib).join("x"), "read-only").unwrap();
    }
    let inner = |lib: &str, at| MountSpec::new(s.top.join(lib), v(at)).mode(Mode::ReadOnly);
    let spec = SessionSpec::new()
        .mount(s.mount(Mode::Overlay))
        .mount(inner("lib", "/vendor"))
        .mount(inner("low", "/deep/vendor"));
    let session = s.session_of(&spec);
    session.symlink(".", "/l").unwrap();
    assert_eq!(session.read("/l/top").unwrap(), b"top");
    assert_eq!(session.read("/vendor/x").unwrap(), b"read-only");
    // A link means what the path means: the mount is seen, and not what it covers.
    assert_eq!(session.read("/l/vendor/x").unwrap(), b"read-only");
    assert_eq!(kind(session.read("/l/vendor/hidden")), ErrorKind::NotFound);
    assert_eq!(kind(session.read("/l/vendor/link")), ErrorKind::NotFound);
    assert_eq!(
        kind(session.write("/l/vendor/evil", "evil")),
        ErrorKind::Denied
    );
    assert_eq!(session.read_dir("/l/vendor").unwrap().len(), 1);
    assert_eq!(
        kind(session.create_dir("/l/vendor/evil")),
        ErrorKind::Denied
    );
    assert_eq!(kind(session.remove_tree("/l/vendor")), ErrorKind::Busy);
    let away = session.rename("/l/vendor", "/gone", RenameMode::NoReplace);
    assert_eq!(kind(away), ErrorKind::Denied);
    // What lies above a mount point is not moved or removed either, by whatever name.
    let away = session.rename("/l/deep", "/gone", RenameMode::NoReplace);
    assert_eq!(kind(away), ErrorKind::Busy);
    assert_eq!(kind(session.remove_tree("/l/deep")), ErrorKind::Busy);
    assert_eq!(kind(session.remove_dir("/l/deep")), ErrorKind::Busy);
    assert_eq!(session.diff().unwrap().len(), 1, "only the link was made");
}

#[test]
fn removing_a_tree_follows_no_link_that_appears() {
    let s = Scratch::new();
    s.file("top/d/x", "in the tree").file("other/x", "precious");
    s.link(".", "here");
    let (d, keep) = (s.at("top/d"), s.at("moved"));
    let mut swapped = false;
    let session = hooked(&s, move |event| {
        if !swapped && event.verb == Verb::ReadDir && event.path.as_bytes().ends_with(b"top/d") {
            swapped = true;
            std::fs::rename(&d, &keep).unwrap();
            std::os::unix::fs::symlink("../other", &d).unwrap();
        }
    });
    session.remove_tree("/top").unwrap();
    assert_eq!(s.read("other/x"), "precious", "the link itself was removed");
    assert_eq!(s.read("moved/x"), "in the tree");
    // The way to the tree may still be a link.
    s.file("plain/d/x", "");
    session.remove_tree("/here/plain").unwrap();
    assert!(!s.at("plain").exists());
}

#[test]
fn a_copy_that_fails_takes_back_only_what_it_made() {
    let s = Scratch::new();
    s.file("from/a", "a")
        .file("from/b", "b")
        .file("from/c/d", "d");
    let (taken, foreign, mine) = (s.at("to/c"), s.at("to/foreign"), s.at("to/a"));
    let session = hooked(&s, move |event| {
        if event.verb == Verb::Copy && event.path.as_bytes() == b"from/b" && !taken.exists() {
            std::fs::write(&taken, "in the way").unwrap();
            std::fs::write(&foreign, "precious").unwrap();
            std::fs::write(&mine, "changed by somebody").unwrap();
        }
    });
    assert_eq!(kind(session.copy_tree("/from", "/to")), ErrorKind::Exists);
    assert_eq!(s.read("to/foreign"), "precious");
    assert_eq!(s.read("to/a"), "changed by somebody");
    assert_eq!(s.read("to/c"), "in the way");
    assert!(!s.at("to/b").exists(), "{:?}", s.tree());
}

#[test]
fn names_of_unfinished_work_are_not_for_agents() {
    for mode in CHANGING {
        let s = Scratch::new();
        s.file("a", "a")
            .file(".handfast-old/x", "x")
            .dir("sub")
            .file("sub/.env", "SECRET");
        let session = s.protected(mode, workspace());
        let refused = [
            session.write("/.handfast-s-1-2-3", "evil").map(drop),
            session.write("/.handfast-old/x", "evil").map(drop),
            session.create_dir("/.handfast-t"),
            session.symlink("a", "/sub/.handfast-l"),
            session.rename("/sub", "/.handfast-t-1-2-3", RenameMode::NoReplace),
            session.rename("/.handfast-old", "/mine", RenameMode::NoReplace),
            session.copy("/a", "/.handfast-c").map(drop),
            session.remove_file("/.handfast-old/x"),
        ];
        for (number, result) in refused.into_iter().enumerate() {
            assert_eq!(kind(result), ErrorKind::Denied, "{mode} {number}");
        }
        assert_eq!(session.read("/.handfast-old/x").unwrap(), b"x");
        session
            .write("/.handfast", "a name like any other")
            .unwrap();
    }
}

#[test]
fn the_state_is_not_moved_from_above() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = Scratch::new();
        s.dir(".local/state").dir("empty").dir("free");
        let here = s.at(".local/state/handfast");
        let catalogue = Catalogue::open_ambient(&here).unwrap();
        catalogue.create("review", &s.spec(mode)).unwrap();
        let session = catalogue.open("review", me()).unwrap();
        for path in ["/.local", "/.local/state", "/.local/state/handfast"] {
            for (from, to, how) in [
                (path, "/x", RenameMode::NoReplace),
                (path, "/empty", RenameMode::Replace),
                (path, "/empty", RenameMode::Exchange),
                ("/empty", path, RenameMode::Exchange),
            ] {
                let moved = session.rename(from, to, how);
                assert_eq!(kind(moved), ErrorKind::Denied, "{mode} {from} {to}");
            }
        }
        session
            .rename("/free", "/.local/free", RenameMode::NoReplace)
            .unwrap();
        session.write("/.local/notes", "fine").unwrap();
    }
}
