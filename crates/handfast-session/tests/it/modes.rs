//! The same verbs in every mode, and what each mode does to the base.

use std::io::{Read, Seek, SeekFrom, Write};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{Mode, OpenOptions, Quota, Reason, Session, SessionError as _, SessionSpec};

use crate::support::*;

const WRITABLE: [Mode; 3] = [Mode::ReadWrite, Mode::Overlay, Mode::Memory];

#[test]
fn a_read_only_mount_is_read_and_never_changed() {
    let scratch = Scratch::new();
    scratch.file("d/a", "1");
    let before = scratch.tree();
    let session = scratch.session(Mode::ReadOnly);
    assert_eq!(session.read("/d/a").unwrap(), b"1");
    let refusals: Vec<handfast_session::Error> = vec![
        session.write("/d/a", "2").map(drop).unwrap_err(),
        session.write_new("/n", "2").map(drop).unwrap_err(),
        session.append("/d/a", "2").map(drop).unwrap_err(),
        session.create_dir("/n").unwrap_err(),
        session.remove_file("/d/a").unwrap_err(),
        session.remove_tree("/d").unwrap_err(),
        session.rename("/d", "/e", RenameMode::Replace).unwrap_err(),
        session.symlink("a", "/l").unwrap_err(),
        session.chmod("/d/a", 0o600).unwrap_err(),
        session.copy("/d/a", "/n").map(drop).unwrap_err(),
        session
            .open_with("/d/a", OpenOptions::new().write(true))
            .map(drop)
            .unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!(error.reason(), Some(Reason::ReadOnlyMount), "{error}");
    }
    assert_eq!(scratch.tree(), before);
}

/// What every writable mode answers to the same calls.
fn exercise(session: &Session) {
    session.write("/d/a", "22").unwrap();
    assert_eq!(session.read("/d/a").unwrap(), b"22");
    assert_eq!(kind(session.write_new("/d/a", "")), ErrorKind::Exists);
    session.write_new("/d/n", "new").unwrap();
    session.append("/d/n", "er").unwrap();
    assert_eq!(session.read("/d/n").unwrap(), b"newer");
    session.append("/d/fresh", "f").unwrap();
    assert_eq!(kind(session.write("/none/x", "")), ErrorKind::NotFound);
    assert_eq!(kind(session.write("/d/a/x", "")), ErrorKind::NotADirectory);
    assert_eq!(kind(session.write("/d", "")), ErrorKind::IsADirectory);
    assert_eq!(kind(session.read("/d")), ErrorKind::IsADirectory);
    assert_eq!(kind(session.create_dir("/d")), ErrorKind::Exists);
    session.create_dir_all("/p/q/r").unwrap();
    session.create_dir_all("/p/q/r").unwrap();
    assert_eq!(
        kind(session.create_dir_all("/d/a/x")),
        ErrorKind::NotADirectory
    );
    session.write("/p/q/r/f", "deep").unwrap();
    assert_eq!(kind(session.remove_dir("/p/q")), ErrorKind::NotEmpty);
    assert_eq!(kind(session.remove_file("/p/q")), ErrorKind::IsADirectory);
    session.rename("/p", "/moved", RenameMode::Replace).unwrap();
    assert_eq!(session.read("/moved/q/r/f").unwrap(), b"deep");
    assert_eq!(kind(session.read("/p/q/r/f")), ErrorKind::NotFound);
    assert_eq!(
        kind(session.rename("/moved", "/moved/q/x", RenameMode::Replace)),
        ErrorKind::Invalid
    );
    assert_eq!(
        kind(session.rename("/d/a", "/d/n", RenameMode::NoReplace)),
        ErrorKind::Exists
    );
    session
        .rename("/d/a", "/d/n", RenameMode::Exchange)
        .unwrap();
    assert_eq!(session.read("/d/a").unwrap(), b"newer");
    assert_eq!(session.read("/d/n").unwrap(), b"22");
    session.rename("/d/a", "/d/n", RenameMode::Replace).unwrap();
    assert_eq!(session.read("/d/n").unwrap(), b"newer");
    session.symlink("n", "/d/l").unwrap();
    assert_eq!(session.read_link("/d/l").unwrap().as_bytes(), b"n");
    assert_eq!(session.read("/d/l").unwrap(), b"newer");
    session.write("/d/l", "through").unwrap();
    assert_eq!(session.read("/d/n").unwrap(), b"through");
    assert_eq!(
        session.read_link("/d/l").unwrap().as_bytes(),
        b"n",
        "the link stays"
    );
    for target in ["/etc/passwd", "../../x"] {
        // An overlay keeps the target as data. Nobody follows it.
        match session.symlink(target, "/d/x") {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Escape),
            Ok(()) => {
                assert_eq!(
                    session.read_link("/d/x").unwrap().as_bytes(),
                    target.as_bytes()
                );
                assert_eq!(kind(session.read("/d/x")), ErrorKind::Escape);
                session.remove_file("/d/x").unwrap();
            }
        }
    }
    session.symlink("nothing", "/d/dangling").unwrap();
    assert_eq!(kind(session.write("/d/dangling", "x")), ErrorKind::Link);
    assert_eq!(kind(session.read("/d/dangling")), ErrorKind::NotFound);
    assert_eq!(kind(session.read("/d/nothing")), ErrorKind::NotFound);
    session.remove_file("/d/dangling").unwrap();
    session.chmod("/d/n", 0o640).unwrap();
    assert_eq!(session.metadata("/d/n").unwrap().mode & 0o777, 0o640);
    session.copy("/d/n", "/d/copy").unwrap();
    assert_eq!(session.metadata("/d/copy").unwrap().mode & 0o777, 0o640);
    session.copy_tree("/moved", "/copied").unwrap();
    assert_eq!(session.read("/copied/q/r/f").unwrap(), b"deep");
    session.remove_tree("/moved").unwrap();
    assert_eq!(kind(session.metadata("/moved")), ErrorKind::NotFound);
    let (data, version) = session.read_versioned("/d/n").unwrap();
    assert_eq!(data, b"through");
    session.write_if("/d/n", &version, "cas").unwrap();
    assert_eq!(
        kind(session.write_if("/d/n", &version, "lost")),
        ErrorKind::Stale
    );
    assert_eq!(kind(session.remove_if("/d/n", &version)), ErrorKind::Stale);
    let version = session.version("/d/n").unwrap();
    session.remove_if("/d/n", &version).unwrap();
    assert_eq!(kind(session.read("/d/n")), ErrorKind::NotFound);
    for bad in ["", "rel", "/a\0b"] {
        assert_eq!(kind(session.read(bad)), ErrorKind::Invalid);
    }
}

#[test]
fn every_writable_mode_answers_alike() {
    let mut trees = Vec::new();
    for mode in WRITABLE {
        let scratch = Scratch::new();
        scratch.file("d/a", "1").file("untouched", "u");
        let before = scratch.tree();
        let session = scratch.session(mode);
        exercise(&session);
        let shown = tree_in(&session);
        assert_eq!(shown["untouched"].split(' ').next_back(), Some("u"));
        if mode == Mode::ReadWrite {
            assert_eq!(scratch.tree(), shown);
        } else {
            assert_eq!(scratch.tree(), before, "{mode}: the base is as it was");
        }
        assert_eq!(scratch.outside().len(), 1);
        trees.push(shown);
    }
    assert_eq!(trees[0], trees[1]);
    assert_eq!(trees[1], trees[2]);
}

#[test]
fn handles_stay_handles() {
    for mode in WRITABLE {
        let scratch = Scratch::new();
        scratch.file("a", "old content");
        let session = scratch.session(mode);
        let how = OpenOptions::new().read(true).write(true);
        let mut file = session.open_with("/a", how).unwrap();
        let mut reader = session.open("/a").unwrap();
        session.rename("/a", "/b", RenameMode::Replace).unwrap();
        session.write("/a", "another").unwrap();
        file.write_all(b"NEW").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "NEW content", "{mode}");
        assert_eq!(session.read("/b").unwrap(), b"NEW content", "{mode}");
        assert_eq!(session.read("/a").unwrap(), b"another", "{mode}");
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "NEW content", "{mode}: the same file");
        let mut new = session
            .open_with("/new", OpenOptions::new().append(true).create(true))
            .unwrap();
        new.write_all(b"1").unwrap();
        new.write_all(b"2").unwrap();
        assert_eq!(session.read("/new").unwrap(), b"12", "{mode}");
        let how = OpenOptions::new().write(true).truncate(true);
        drop(session.open_with("/new", how).unwrap());
        assert_eq!(session.read("/new").unwrap(), b"", "{mode}");
        let how = OpenOptions::new().write(true).create_new(true);
        assert_eq!(kind(session.open_with("/new", how)), ErrorKind::Exists);
    }
}

#[test]
fn links_are_followed_inside_and_never_out() {
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let scratch = Scratch::new();
        scratch.file("d/f", "inside").dir("deep/er");
        scratch
            .link("d/f", "to-file")
            .link("d", "to-dir")
            .link("../d/f", "deep/up")
            .link("../../outside/secret", "deep/out")
            .link("../outside", "out-dir")
            .link("/etc/passwd", "absolute")
            .link("loop-b", "loop-a")
            .link("loop-a", "loop-b")
            .link("er/../../to-dir/f", "deep/zigzag");
        let session = scratch.session(mode);
        for path in [
            "/to-file",
            "/to-dir/f",
            "/deep/up",
            "/to-dir/../d/f",
            "/deep/zigzag",
        ] {
            assert_eq!(session.read(path).unwrap(), b"inside", "{mode} {path}");
        }
        for path in ["/deep/out", "/out-dir/secret", "/absolute"] {
            assert_eq!(kind(session.read(path)), ErrorKind::Escape, "{mode} {path}");
            assert!(session.symlink_metadata(path).is_ok() || path == "/out-dir/secret");
        }
        assert_eq!(kind(session.read("/loop-a")), ErrorKind::Link, "{mode}");
        if mode != Mode::ReadOnly {
            for path in ["/deep/out", "/out-dir/new", "/absolute"] {
                assert_eq!(
                    kind(session.write(path, "x")),
                    ErrorKind::Escape,
                    "{mode} {path}"
                );
            }
            session.write("/to-dir/new", "n").unwrap();
            assert_eq!(session.read("/d/new").unwrap(), b"n");
        }
        assert_eq!(scratch.outside().len(), 1);
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "inside").link("d/f", "to-file");
    let mount = scratch.mount(Mode::Memory).links(handfast::Links::Refuse);
    let session = Session::new(&SessionSpec::new().mount(mount), me()).unwrap();
    assert_eq!(kind(session.read("/to-file")), ErrorKind::Link);
}

#[test]
fn an_absolute_link_into_the_directory_itself_is_taken_from_its_top() {
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let scratch = Scratch::new();
        scratch.file("d/f", "inside").dir("deep");
        let base = scratch.base();
        let own = |rest: &str| format!("{}{rest}", base.display());
        scratch
            .link(own("/d/f"), "deep/to-file")
            .link(own("/d/"), "deep/to-dir")
            .link(own(""), "deep/to-top")
            .link(own("/../outside/secret"), "deep/climbs")
            .link(own("-beside/f"), "deep/beside");
        let session = scratch.session(mode);
        for path in ["/deep/to-file", "/deep/to-dir/f", "/deep/to-top/d/f"] {
            assert_eq!(session.read(path).unwrap(), b"inside", "{mode} {path}");
        }
        for path in ["/deep/climbs", "/deep/beside"] {
            assert_eq!(kind(session.read(path)), ErrorKind::Escape, "{mode} {path}");
        }
    }
}

#[test]
fn lengths_that_no_file_has_are_counted_too() {
    for mode in WRITABLE {
        for (bytes, expected) in [
            (Some(2000), ErrorKind::Quota),
            // Without a limit on bytes it is the system that says no.
            (None, ErrorKind::Invalid),
        ] {
            let scratch = Scratch::new();
            scratch.file("old", "old");
            let quota = Quota {
                bytes,
                inodes: Some(3),
                ..Quota::new()
            };
            let mount = scratch.mount(mode).quota(quota);
            let session = scratch.session_of(&SessionSpec::new().mount(mount));
            session.write("/new", vec![b'x'; 1000]).unwrap();
            let how = OpenOptions::new().write(true);
            let file = session.open_with("/old", how).unwrap();
            let before = session.usage().unwrap()[0].used.bytes;
            for len in [1 << 63, u64::MAX - 1000, u64::MAX] {
                let error = file.set_len(len).unwrap_err();
                assert_eq!(error.kind(), expected, "{mode} {len}");
                assert_eq!(session.usage().unwrap()[0].used.bytes, before, "{mode}");
            }
        }
    }
}

#[test]
fn quotas_count_growth_before_it_happens() {
    for mode in WRITABLE {
        let scratch = Scratch::new();
        scratch.file("old", vec![b'o'; 1000]);
        let quota = Quota {
            bytes: Some(2000),
            inodes: Some(3),
            file_bytes: Some(1500),
            handles: Some(2),
        };
        let mount = scratch.mount(mode).quota(quota);
        let session = scratch.session_of(&SessionSpec::new().mount(mount));
        let big = vec![b'x'; 1501];
        let error = session.write("/big", &big).unwrap_err();
        assert_eq!(
            (error.kind(), error.reason()),
            (ErrorKind::Quota, Some(Reason::Quota))
        );
        assert_eq!(kind(session.read("/big")), ErrorKind::NotFound, "{mode}");
        session.write("/a", vec![b'x'; 1200]).unwrap();
        assert_eq!(
            kind(session.write("/b", vec![b'x'; 900])),
            ErrorKind::Quota,
            "{mode}"
        );
        session.write("/b", vec![b'x'; 700]).unwrap();
        assert_eq!(
            kind(session.append("/b", vec![b'x'; 200])),
            ErrorKind::Quota,
            "{mode}"
        );
        assert_eq!(session.read("/b").unwrap().len(), 700, "nothing was added");
        // Replacing needs only the difference.
        session.write("/a", vec![b'y'; 1300]).unwrap();
        let used = session.usage().unwrap()[0].used;
        assert_eq!((used.bytes, used.inodes), (2000, 2), "{mode}");
        let how = OpenOptions::new().append(true);
        let mut handle = session.open_with("/b", how).unwrap();
        let error = handle.write(b"z").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{mode}");
        session.remove_file("/a").unwrap();
        assert_eq!(handle.write(&[b'z'; 100]).unwrap(), 100);
        let used = session.usage().unwrap()[0].used;
        assert_eq!(
            (used.bytes, used.inodes, used.handles),
            (800, 1, 1),
            "{mode}"
        );
        let second = session.open("/b").unwrap();
        assert_eq!(
            kind(session.open("/b")),
            ErrorKind::Quota,
            "{mode}: handles"
        );
        drop((handle, second));
        session.open("/b").unwrap();
        session.create_dir("/d1").unwrap();
        session.create_dir("/d2").unwrap();
        assert_eq!(
            kind(session.create_dir("/d3")),
            ErrorKind::Quota,
            "{mode}: inodes"
        );
        session.remove_dir("/d1").unwrap();
        session.symlink("b", "/l").unwrap();
        if mode == Mode::ReadWrite {
            // A file that was there is not charged for what it had.
            session.write("/old", vec![b'n'; 1100]).unwrap();
            assert_eq!(session.usage().unwrap()[0].used.bytes, 900);
            session.remove_file("/old").unwrap();
            assert_eq!(session.usage().unwrap()[0].used.bytes, 800);
        }
        if mode != Mode::Memory {
            let before = session.usage().unwrap()[0].used;
            drop(session);
            if mode == Mode::Overlay {
                let session = scratch.catalogue().open("s", me()).unwrap();
                session.mend().unwrap();
                assert_eq!(session.usage().unwrap()[0].used, before, "{mode}");
            }
        }
    }
}

#[test]
fn a_file_too_large_to_be_read_is_refused_before_it_is_digested() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = Scratch::new();
        // A terabyte of nothing: a digest would take an hour.
        let file = std::fs::File::create(s.at("sparse")).unwrap();
        if let Err(error) = file.set_len(1 << 40) {
            println!("skipped: no file of a terabyte here: {error}");
            return;
        }
        let session = s.session(mode);
        let refused = session.read_versioned("/sparse");
        assert_eq!(kind(refused), ErrorKind::Limit, "{mode:?}");
    }
}
