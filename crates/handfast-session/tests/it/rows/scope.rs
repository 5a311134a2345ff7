//! A caller's scope holds for every verb, by path and by handle, at both ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast::files::{At, Attributes, Files, Put, WhatToRemove};
use handfast::{ErrorKind, RenameMode, WriteOptions};
use handfast_session::{
    Access, Caller, Changed, CommitOptions, DiffKind, Error, Mode, OpenOptions, Protect, Scope,
    Session, VirtualPath,
};

use super::{name, node};
use crate::support::*;

/// `/mine` and what is in it, until it ends.
#[derive(Default)]
struct Mine(AtomicBool);

impl Scope for Mine {
    fn check(&self, path: &VirtualPath, _: Access) -> Result<(), Error> {
        match path.starts_with(&v("/mine")) && !self.0.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(Error::refused(ErrorKind::Denied, "not in the lease")),
        }
    }
}

fn scene(mode: Mode) -> (Scratch, Session, Session) {
    let s = Scratch::new();
    s.file("mine/a", "a")
        .file("theirs/b", "b")
        .link("../theirs/b", "mine/to-b");
    let whole = s.session(mode);
    let scoped = whole.for_caller(Caller::new("scoped").scope(Arc::new(Mine::default())));
    (s, whole, scoped)
}

#[test]
fn a_scope_holds_for_every_verb_by_path() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let (s, _, scoped) = scene(mode);
        let before = s.tree();
        let how = OpenOptions::new().write(true).create(true);
        let b = "/theirs/b";
        let no = RenameMode::NoReplace;
        let answers = [
            scoped.read(b).map(drop),
            scoped.read("/mine/to-b").map(drop),
            scoped.read("/mine/../theirs/b").map(drop),
            scoped.read_versioned(b).map(drop),
            scoped.version(b).map(drop),
            scoped.metadata(b).map(drop),
            scoped.metadata("/mine/to-b").map(drop),
            scoped.read_dir("/theirs").map(drop),
            scoped.read_dir("/").map(drop),
            scoped
                .walk("/theirs", handfast::TreeLimits::new())
                .map(drop),
            scoped.write(b, "x").map(drop),
            scoped.write("/mine/to-b", "x").map(drop),
            scoped.append(b, "x").map(drop),
            scoped.open_with("/theirs/new", how).map(drop),
            scoped.create_dir("/theirs/d"),
            scoped.create_dir_all("/theirs/d/e"),
            scoped.symlink("b", "/theirs/l"),
            scoped.remove_file(b),
            scoped.remove_dir("/theirs"),
            scoped.remove_tree("/theirs"),
            scoped.rename("/mine/a", "/theirs/a", no),
            scoped.rename(b, "/mine/b", no),
            scoped.rename("/mine/a", b, RenameMode::Exchange),
            scoped.copy(b, "/mine/b").map(drop),
            scoped.copy("/mine/a", "/theirs/a").map(drop),
            scoped.copy("/mine/to-b", "/mine/b").map(drop),
            scoped.copy_tree("/theirs", "/mine/t"),
            scoped.copy_tree("/mine", "/theirs/t"),
            scoped.chmod(b, 0o600),
            scoped.chmod("/mine/to-b", 0o600),
            scoped.temp_file("/theirs").map(drop),
            scoped.temp_dir("/theirs").map(drop),
            scoped.stage("/theirs/s").map(drop),
            scoped.get_xattr(b, "user.a").map(drop),
        ];
        for (number, answer) in answers.into_iter().enumerate() {
            assert_eq!(kind(answer), ErrorKind::Denied, "{mode} {number}");
        }
        if mode == Mode::ReadWrite {
            assert_eq!(kind(scoped.hard_link(b, "/mine/b")), ErrorKind::Denied);
            assert_eq!(
                kind(scoped.hard_link("/mine/a", "/theirs/a")),
                ErrorKind::Denied
            );
        }
        assert_eq!(s.tree(), before);
        scoped.write("/mine/a", "mine").unwrap();
    }
}

#[test]
fn a_scope_holds_for_handles_and_when_it_ends() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let (_s, whole, scoped) = scene(mode);
        let ends = Arc::new(Mine::default());
        let ending = whole.for_caller(Caller::new("ending").scope(ends.clone()));
        // Handles that somebody else looked up, and handles of a scope that has ended since.
        let theirs = (
            node(&whole, "theirs").unwrap(),
            node(&whole, "theirs/b").unwrap(),
        );
        let mine = whole.for_caller(me());
        let own = (node(&mine, "mine").unwrap(), node(&mine, "mine/a").unwrap());
        ends.0.store(true, Ordering::Relaxed);
        for (files, (dir, file)) in [(&scoped, &theirs), (&ending, &own)] {
            let (new, b, a) = (name("new"), name("b"), name("a"));
            let old = if std::ptr::eq(dir, &theirs.0) { &b } else { &a };
            let options = WriteOptions::new();
            let how = OpenOptions::new();
            let at = At::new(dir, &new);
            let answers = [
                files.lookup(dir, old.as_ref()).map(drop),
                files.metadata_of(file).map(drop),
                files.entries_of(dir).map(drop),
                files.open_node(file, how).map(drop),
                files.open_node(file, how.write(true)).map(drop),
                files.set_attributes_of(file, &Attributes::new().mode(0o600)),
                files.create_at(at, how.write(true).create(true)).map(drop),
                files.put_at(at, b"x", Put::New, options).map(drop),
                files.stage_at(at, options).map(drop),
                files.append_at(at, b"x", options).map(drop),
                files.create_dir_at(at, 0o777).map(drop),
                files.symlink_at(b"b", at),
                files.rename_at(At::new(dir, old), at, RenameMode::NoReplace),
                files.remove_at(At::new(dir, old), WhatToRemove::File),
            ];
            for (number, answer) in answers.into_iter().enumerate() {
                assert_eq!(kind(answer), ErrorKind::Denied, "{mode} {number}");
            }
        }
    }
}

#[test]
fn a_scope_holds_for_what_is_reviewed_committed_and_dropped() {
    let (s, whole, scoped) = scene(Mode::Overlay);
    whole.write("/theirs/b", "theirs").unwrap();
    whole.write("/theirs/c", "theirs").unwrap();
    whole.snapshot("label").unwrap();
    scoped.write("/mine/a", "mine").unwrap();
    assert_eq!(
        diff(&scoped),
        ["changed /mine/a"],
        "it sees what is its own"
    );
    for change in whole.diff().unwrap() {
        let text = scoped.text_diff(&change);
        assert_eq!(
            text.is_ok(),
            change.path.starts_with(&v("/mine")),
            "{change:?}"
        );
    }
    assert_eq!(kind(scoped.discard(&[])), ErrorKind::Denied);
    assert_eq!(kind(scoped.discard(&[v("/theirs/c")])), ErrorKind::Denied);
    assert_eq!(kind(scoped.rollback("label")), ErrorKind::Denied);
    assert_eq!(kind(scoped.snapshot("another")), ErrorKind::Denied);
    assert_eq!(diff(&whole).len(), 3, "nothing was dropped");
    // A commit of everything is refused; one of its own is done.
    let report = scoped
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert!(
        report.committed.is_empty() && report.conflicts.len() == 2,
        "{report:?}"
    );
    let options = CommitOptions {
        paths: vec![v("/mine")],
        ..CommitOptions::default()
    };
    let report = scoped.commit(&options, &mut |_, _| {}).unwrap();
    assert_eq!(report.committed, [v("/mine/a")]);
    assert_eq!(
        (s.read("mine/a"), s.read("theirs/b")),
        ("mine".into(), "b".into())
    );
    scoped.write("/mine/a", "again").unwrap();
    assert_eq!(scoped.discard(&[v("/mine")]).unwrap(), [v("/mine/a")]);
}

#[test]
fn a_made_up_change_does_not_show_a_denied_file() {
    let s = Scratch::new();
    s.file(".env", "SECRET").file("plain", "plain");
    let session = s.protected(Mode::Overlay, Protect::new().with_deny(".env"));
    session.write("/plain", "new").unwrap();
    let made_up = |path: &str, from: Option<&str>| Changed {
        path: v(path),
        kind: DiffKind::Changed,
        from: from.map(v),
        is_dir: false,
        mode: None,
    };
    for change in [made_up("/.env", None), made_up("/plain", Some("/.env"))] {
        assert_eq!(kind(session.text_diff(&change)), ErrorKind::Denied);
    }
    let real = session
        .text_diff(&session.diff().unwrap()[0])
        .unwrap()
        .unwrap();
    assert!(real.contains("+new"), "{real}");
}

/// An overlay asks again under its lock, about the path that the directory has then.
#[test]
fn a_handle_whose_directory_left_the_scope_changes_nothing() {
    let (s, whole, scoped) = scene(Mode::Overlay);
    s.dir("mine/d");
    let files: &dyn Files = &scoped;
    // The top itself is outside the scope, so somebody else looks it up.
    let dir = node(&whole, "mine/d").unwrap();
    let (first, second) = (name("first"), name("second"));
    let put = |name| files.put_at(At::new(&dir, name), b"x", Put::New, WriteOptions::new());
    put(&first).unwrap();
    whole
        .rename("/mine/d", "/theirs/d", RenameMode::NoReplace)
        .unwrap();
    assert_eq!(kind(put(&second)), ErrorKind::Denied);
    let made = files.create_dir_at(At::new(&dir, &second), 0o777);
    assert_eq!(kind(made), ErrorKind::Denied);
    let removed = files.remove_at(At::new(&dir, &first), WhatToRemove::File);
    assert_eq!(kind(removed), ErrorKind::Denied);
    assert_eq!(whole.read_dir("/theirs/d").unwrap().len(), 1);
}

#[test]
fn a_handle_whose_directory_left_the_scope_reads_nothing() {
    let (s, whole, scoped) = scene(Mode::Overlay);
    s.file("mine/d/file", "content");
    let files: &dyn Files = &scoped;
    let dir = node(&whole, "mine/d").unwrap();
    let file = node(&whole, "mine/d/file").unwrap();
    let open = || files.open_node(&file, OpenOptions::new()).map(drop);
    open().unwrap();
    assert_eq!(files.entries_of(&dir).unwrap().count(), 1);
    whole
        .rename("/mine/d", "/theirs/d", RenameMode::NoReplace)
        .unwrap();
    assert_eq!(kind(open()), ErrorKind::Denied);
    assert_eq!(kind(files.entries_of(&dir).map(drop)), ErrorKind::Denied);
    assert_eq!(kind(files.metadata_of(&dir).map(drop)), ErrorKind::Denied);
    assert_eq!(kind(files.metadata_of(&file).map(drop)), ErrorKind::Denied);
    // Who may see both places still reads by the same handles.
    assert_eq!(whole.entries_of(&dir).unwrap().count(), 1);
}
