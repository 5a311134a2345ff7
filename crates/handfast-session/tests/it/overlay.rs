//! Overlays: what they keep, what they show, what becomes of them.

use handfast::{ErrorKind, RenameMode};
use handfast_session::{Mode, OpenOptions, Session};

use crate::support::*;

fn mv(session: &Session, from: &str, to: &str) {
    session.rename(from, to, RenameMode::Replace).unwrap();
}

#[test]
fn diff_names_every_kind_of_change() {
    let scratch = Scratch::new();
    scratch
        .file("changed", "1")
        .file("deleted", "1")
        .file("moved", "1")
        .file("edited-and-moved", "1")
        .file("mode", "1")
        .file("same", "1")
        .file("linked", "1")
        .file("dir/one", "1")
        .file("dir/two", "2")
        .file("gone/sub/f", "1")
        .link("same", "link");
    std::fs::hard_link(scratch.at("linked"), scratch.at("other-name")).unwrap();
    let session = scratch.session(Mode::Overlay);
    assert_eq!(diff(&session), [] as [&str; 0]);
    session.write("/added", "new").unwrap();
    session.create_dir("/new-dir").unwrap();
    session.write("/changed", "2").unwrap();
    session.remove_file("/deleted").unwrap();
    mv(&session, "/moved", "/new-dir/moved");
    session.write("/edited-and-moved", "2").unwrap();
    mv(&session, "/edited-and-moved", "/em");
    session.chmod("/mode", 0o600).unwrap();
    session.write("/same", "1").unwrap();
    // The same bytes, and the other name keeps the old file: a commit changes something.
    session.write("/linked", "1").unwrap();
    mv(&session, "/dir", "/dir2");
    session.write("/dir2/one", "changed").unwrap();
    session.remove_tree("/gone").unwrap();
    session.remove_file("/link").unwrap();
    session.symlink("changed", "/link").unwrap();
    let expected = [
        "added /added",
        "changed /changed",
        "deleted /deleted",
        "renamed /dir2 < /dir",
        "changed /dir2/one",
        "renamed /em < /edited-and-moved",
        "deleted /gone",
        "deleted /gone/sub",
        "deleted /gone/sub/f",
        "changed /link",
        "changed /linked",
        "mode /mode",
        "added /new-dir",
        "renamed /new-dir/moved < /moved",
    ];
    assert_eq!(diff(&session), expected);
    let change = |path: &str| {
        let all = session.diff().unwrap();
        all.into_iter()
            .find(|change| change.path == v(path))
            .unwrap()
    };
    let text = session.text_diff(&change("/changed")).unwrap().unwrap();
    assert!(text.contains("--- a/changed\n+++ b/changed\n"), "{text}");
    assert!(text.contains("-1\n") && text.contains("+2\n"), "{text}");
    let text = session.text_diff(&change("/em")).unwrap().unwrap();
    assert!(
        text.contains("--- a/edited-and-moved\n+++ b/em\n"),
        "{text}"
    );
    // The same after the process is gone.
    drop(session);
    let session = scratch.catalogue().open("s", me()).unwrap();
    assert_eq!(diff(&session), expected);
    session.discard(&[]).unwrap();
    assert_eq!(diff(&session), [] as [&str; 0]);
    assert_eq!(tree_in(&session), scratch.tree());
}

#[test]
fn back_and_forth_is_no_change() {
    let scratch = Scratch::new();
    scratch.file("a", "1").file("d/f", "1").file("e/g", "2");
    let session = scratch.session(Mode::Memory);
    mv(&session, "/a", "/b");
    mv(&session, "/b", "/a");
    mv(&session, "/d", "/x");
    mv(&session, "/x", "/d");
    session.rename("/d", "/e", RenameMode::Exchange).unwrap();
    assert_eq!(session.read("/d/g").unwrap(), b"2");
    assert_eq!(diff(&session), ["renamed /d < /e", "renamed /e < /d"]);
    session.rename("/d", "/e", RenameMode::Exchange).unwrap();
    session.write("/n", "x").unwrap();
    session.remove_file("/n").unwrap();
    assert_eq!(diff(&session), [] as [&str; 0]);
}

#[test]
fn names_that_look_like_markers_are_names() {
    let scratch = Scratch::new();
    scratch
        .file(".wh.a", "whiteout of others")
        .file("a", "still here")
        .file(".wh..wh..opq", "opaque of others")
        .file("journal", "j")
        .file("objects/0000000000000001", "o");
    rustix_mknod_whiteout(&scratch);
    let session = scratch.session(Mode::Overlay);
    assert_eq!(session.read("/a").unwrap(), b"still here");
    assert_eq!(session.read("/.wh.a").unwrap(), b"whiteout of others");
    for name in [
        "/.wh.b",
        "/.wh..wh..opq",
        "/objects/x",
        "/journal",
        "/snapshots",
        "/spec",
    ] {
        session.write(name, name).unwrap();
        assert_eq!(session.read(name).unwrap(), name.as_bytes());
    }
    session.write("/b", "b").unwrap();
    assert_eq!(session.read("/b").unwrap(), b"b");
    assert_eq!(session.read("/a").unwrap(), b"still here");
}

/// A real whiteout of the kernel's overlay, where we may make one: it is a device, and nothing
/// else to us.
fn rustix_mknod_whiteout(scratch: &Scratch) {
    let made = std::process::Command::new("mknod")
        .arg(scratch.at("planted"))
        .args(["c", "0", "0"])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("a planted whiteout", "devices cannot be made here");
        return;
    }
    let session = scratch.session(Mode::Memory);
    assert_eq!(kind(session.read("/planted")), ErrorKind::Kind);
    assert_eq!(kind(session.write("/planted", "x")), ErrorKind::Kind);
}

#[test]
fn an_overlay_edited_behind_our_back_is_noticed() {
    let scratch = Scratch::new();
    scratch.file("a", "1");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "2").unwrap();
    session.write("/b", "3").unwrap();
    drop(session);
    let home = scratch.top.join("state/sessions/s");
    let journal = home.join("mount-0/journal");
    let good = std::fs::read(&journal).unwrap();
    let open = || scratch.catalogue().open("s", me());
    // A byte changed in the middle.
    let mut bad = good.clone();
    bad[60] ^= 1;
    std::fs::write(&journal, &bad).unwrap();
    let told = match open() {
        Ok(session) => session.write("/c", "x").map(drop),
        Err(error) => Err(error),
    };
    assert_eq!(kind(told), ErrorKind::Stale);
    // Gone, or something else.
    std::fs::write(&journal, "what?").unwrap();
    assert_eq!(kind(open()), ErrorKind::Stale);
    std::fs::remove_file(&journal).unwrap();
    assert_eq!(kind(open()), ErrorKind::Stale);
    // A cut record is a killed writer: everything before it stands.
    std::fs::write(&journal, &good[..good.len() - 1]).unwrap();
    let session = open().unwrap();
    assert_eq!(session.read("/a").unwrap(), b"2");
    assert_eq!(kind(session.read("/b")), ErrorKind::NotFound);
    session.write("/c", "4").unwrap();
    assert_eq!(diff(&session), ["changed /a", "added /c"]);
    // Content taken away.
    for entry in std::fs::read_dir(home.join("mount-0/objects")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(kind(session.read("/a")), ErrorKind::Stale);
    assert_eq!(scratch.read("a"), "1");
    // What it is made of.
    let spec = home.join("spec");
    let mut bytes = std::fs::read(&spec).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&spec, bytes).unwrap();
    assert_eq!(kind(open()), ErrorKind::Stale);
}

#[test]
fn snapshots_go_back_and_forks_go_on() {
    use std::io::Write;
    let scratch = Scratch::new();
    scratch.file("a", "base").file("d/f", "f");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "one").unwrap();
    session.write("/log", "1").unwrap();
    let how = OpenOptions::new().append(true);
    let mut handle = session.open_with("/log", how).unwrap();
    session.snapshot("first").unwrap();
    assert_eq!(kind(session.snapshot("first")), ErrorKind::Exists);
    assert_eq!(kind(session.snapshot("../x")), ErrorKind::Invalid);
    let at_first = tree_in(&session);
    // A handle that was open writes on, and the snapshot keeps what it had.
    handle.write_all(b"2").unwrap();
    assert_eq!(session.read("/log").unwrap(), b"12");
    session.append("/a", "+").unwrap();
    session.chmod("/a", 0o600).unwrap();
    mv(&session, "/d", "/e");
    session.snapshot("second").unwrap();
    let at_second = tree_in(&session);
    session.remove_tree("/e").unwrap();
    assert_eq!(kind(session.rollback("none")), ErrorKind::NotFound);
    session.rollback("first").unwrap();
    assert_eq!(tree_in(&session), at_first);
    session.append("/a", "again").unwrap();
    session.rollback("second").unwrap();
    assert_eq!(tree_in(&session), at_second);
    session.rollback("first").unwrap();
    assert_eq!(tree_in(&session), at_first, "snapshots are never changed");
    assert_eq!(session.labels().unwrap(), ["first", "second"]);
    let catalogue = scratch.catalogue();
    catalogue.fork("s", Some("second"), "t", me()).unwrap();
    catalogue.fork("s", None, "u", me()).unwrap();
    assert_eq!(
        kind(catalogue.fork("s", None, "u", me())),
        ErrorKind::Exists
    );
    assert_eq!(
        kind(catalogue.fork("s", Some("x"), "w", me())),
        ErrorKind::NotFound
    );
    let (fork, now) = (
        catalogue.open("t", me()).unwrap(),
        catalogue.open("u", me()).unwrap(),
    );
    assert_eq!(tree_in(&fork), at_second);
    assert_eq!(tree_in(&now), at_first);
    fork.write("/a", "fork").unwrap();
    now.append("/log", "now").unwrap();
    assert_eq!(
        tree_in(&session),
        at_first,
        "forks share nothing that changes"
    );
    assert_eq!(catalogue.list().unwrap(), ["s", "t", "u"]);
    catalogue.remove("s", me()).unwrap();
    assert_eq!(fork.read("/a").unwrap(), b"fork");
    assert_eq!(catalogue.list().unwrap(), ["t", "u"]);
    assert_eq!(scratch.read("a"), "base");
}

#[test]
fn some_paths_can_be_discarded() {
    let scratch = Scratch::new();
    scratch
        .file("a", "1")
        .file("d/f", "1")
        .file("d/g", "1")
        .file("m", "1");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "2").unwrap();
    session.write("/d/f", "2").unwrap();
    session.remove_file("/d/g").unwrap();
    session.write("/d/n", "2").unwrap();
    mv(&session, "/m", "/moved");
    session.discard(&[v("/d/f"), v("/d/g")]).unwrap();
    assert_eq!(
        diff(&session),
        ["changed /a", "added /d/n", "renamed /moved < /m"]
    );
    session.discard(&[v("/m")]).unwrap();
    assert_eq!(diff(&session), ["changed /a", "added /d/n"]);
    assert_eq!(session.read("/m").unwrap(), b"1");
    session.discard(&[v("/d")]).unwrap();
    assert_eq!(diff(&session), ["changed /a"]);
    let nothing = session.discard(&[v("/x")]);
    assert_eq!(nothing.unwrap_err().kind(), handfast::ErrorKind::NotFound);
}
