//! A commit moves the session's own files into place. Nobody may have them open, and nothing of it is
//! seen: the same content, modes, names and attributes as with a copy.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use handfast_session::{CommitOptions, Mode, OnConflict, Session};

use crate::support::*;

fn commit(session: &Session) {
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert_eq!(report.conflicts, []);
}

fn undo(session: &Session) {
    let id = session.past_commits().unwrap().pop().unwrap().id;
    assert_eq!(session.undo(id).unwrap().conflicts, []);
}

fn inode(path: PathBuf) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// The files of the store: inode, mode and content.
fn store(scratch: &Scratch) -> Vec<(u64, u32, String)> {
    let mut found = Vec::new();
    let mut pending = vec![scratch.top.join("state")];
    while let Some(dir) = pending.pop() {
        let is_store = dir.file_name().is_some_and(|name| name == "objects");
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let status = std::fs::symlink_metadata(&path).unwrap();
            if status.is_dir() {
                pending.push(path);
            } else if is_store {
                let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                found.push((status.ino(), status.mode() & 0o7777, content));
            }
        }
    }
    found
}

#[test]
fn files_change_places_at_a_commit_and_at_its_undo() {
    let scratch = Scratch::new();
    scratch.file("a", "old").dir("d");
    let old = inode(scratch.at("a"));
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "new").unwrap();
    session.write("/d/n", "added").unwrap();
    let objects = store(&scratch);
    commit(&session);
    for name in ["a", "d/n"] {
        let now = inode(scratch.at(name));
        assert!(
            objects.iter().any(|(inode, ..)| *inode == now),
            "{name} is the session's own file"
        );
        assert_eq!(std::fs::metadata(scratch.at(name)).unwrap().nlink(), 1);
    }
    assert_eq!(store(&scratch), [(old, 0o600, "old".to_owned())]);
    assert_eq!(session.read("/a").unwrap(), b"new");
    undo(&session);
    assert_eq!(inode(scratch.at("a")), old, "the same file came back");
    assert_eq!(scratch.tree()["a"], "file 644 old");
    assert!(!scratch.at("d/n").exists());
    assert_eq!(diff(&session), ["changed /a", "added /d/n"]);
    commit(&session);
    undo(&session);
    assert_eq!(scratch.read("a"), "old");
    assert_eq!(session.read("/a").unwrap(), b"new");
}

#[test]
fn a_file_that_is_open_in_the_session_is_copied() {
    let scratch = Scratch::new();
    scratch.file("read", "old").file("written", "old");
    let session = scratch.session(Mode::Overlay);
    session.write("/read", "new").unwrap();
    session.write("/written", "new").unwrap();
    let objects = store(&scratch);
    let mut reader = session.open("/read").unwrap();
    let how = handfast::OpenOptions::new().write(true);
    let mut writer = session.open_with("/written", how).unwrap();
    commit(&session);
    for name in ["read", "written"] {
        let now = inode(scratch.at(name));
        assert!(objects.iter().all(|(inode, ..)| *inode != now), "{name}");
    }
    writer.write_all(b"unseen").unwrap();
    assert_eq!(
        scratch.read("written"),
        "new",
        "what comes later is not committed"
    );
    std::fs::write(scratch.at("read"), "theirs").unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "new", "a handle is the file that was opened");
}

#[test]
fn a_file_of_a_snapshot_is_copied() {
    let scratch = Scratch::new();
    scratch.file("a", "old");
    let session = scratch.session(Mode::Overlay);
    session.write("/a", "new").unwrap();
    session.snapshot("before").unwrap();
    commit(&session);
    std::fs::write(scratch.at("a"), "others wrote in place").unwrap();
    session.rollback("before").unwrap();
    assert_eq!(session.read("/a").unwrap(), b"new");
}

#[test]
fn what_is_kept_does_not_change_with_files_that_others_have_open() {
    let scratch = Scratch::new();
    scratch.file("open", "old").file("linked", "old");
    std::fs::hard_link(scratch.at("linked"), scratch.top.join("outside/other")).unwrap();
    let session = scratch.session(Mode::Overlay);
    session.write("/open", "new").unwrap();
    session.write("/linked", "new").unwrap();
    let mut theirs = std::fs::File::options()
        .write(true)
        .open(scratch.at("open"))
        .unwrap();
    commit(&session);
    theirs.write_all(b"late").unwrap();
    std::fs::write(scratch.top.join("outside/other"), "late").unwrap();
    undo(&session);
    assert_eq!(scratch.read("open"), "old");
    assert_eq!(scratch.read("linked"), "old");
}

#[test]
fn attributes_come_back_with_an_undo() {
    let scratch = Scratch::new();
    scratch
        .file("moved", "old")
        .file("packed", "old")
        .file("gone", "old");
    std::fs::hard_link(scratch.at("packed"), scratch.top.join("outside/other")).unwrap();
    let root = handfast::Root::open_ambient(scratch.base()).unwrap();
    let value = |name: &str| {
        let path = handfast::RelPath::parse(name).unwrap();
        root.get_xattr(&path, "user.note").unwrap()
    };
    for name in ["moved", "packed", "gone"] {
        let path = scratch.at(name);
        let file = std::fs::File::open(path).unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::fsetxattr(&file, "user.note", b"kept", flags).unwrap();
    }
    let session = scratch.session(Mode::Overlay);
    session.write("/moved", "new").unwrap();
    session.write("/packed", "new").unwrap();
    session.remove_file("/gone").unwrap();
    commit(&session);
    assert_eq!(
        value("moved"),
        None,
        "a file that is written again has none"
    );
    undo(&session);
    for name in ["moved", "packed", "gone"] {
        assert_eq!(value(name).as_deref(), Some(b"kept".as_slice()), "{name}");
    }
}

#[test]
fn a_commit_of_some_lines_keeps_the_attributes_of_the_file() {
    let scratch = Scratch::new();
    let lines = |changed: &[u32]| -> String {
        let line = |n| match changed.contains(&n) {
            true => format!("new {n}\n"),
            false => format!("{n}\n"),
        };
        (0..40).map(line).collect()
    };
    scratch.file("f", lines(&[]));
    let file = std::fs::File::open(scratch.at("f")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::fsetxattr(&file, "user.note", b"kept", flags).unwrap();
    let session = scratch.session(Mode::Overlay);
    session.write("/f", lines(&[3, 30])).unwrap();
    let mut ids = Vec::new();
    session
        .review(&handfast_session::ReviewOptions::default(), &mut |change| {
            ids.extend(change.hunks().iter().map(|hunk| hunk.id.clone()));
            Ok(())
        })
        .unwrap();
    let report = session.commit_hunks(&ids[1..], None).unwrap();
    assert_eq!(report.conflicts, []);
    assert_eq!(scratch.read("f"), lines(&[30]));
    let root = handfast::Root::open_ambient(scratch.base()).unwrap();
    let path = handfast::RelPath::parse("f").unwrap();
    let value = || root.get_xattr(&path, "user.note").unwrap();
    assert_eq!(value().as_deref(), Some(b"kept".as_slice()));
    undo(&session);
    assert_eq!(scratch.read("f"), lines(&[]));
    assert_eq!(value().as_deref(), Some(b"kept".as_slice()));
}

/// What an agent writes while it is committed comes into the base only as it was shown; what others put
/// there is not lost, and nothing comes outside.
#[test]
fn writers_inside_and_a_swapper_outside_get_nothing_past_a_commit() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let rounds = std::env::var("HANDFAST_MOVE_ROUNDS").map_or(20, |text| text.parse().unwrap());
    let (committed, refused, swaps) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for round in 0..rounds {
        let scratch = Scratch::new();
        scratch
            .dir("d")
            .dir("other")
            .link(scratch.top.join("outside"), "way");
        for number in 0..8 {
            scratch.file(&format!("d/f{number}"), "old");
        }
        let session = scratch.session(Mode::Overlay);
        for number in 0..8 {
            session.write(format!("/d/f{number}"), "shown").unwrap();
        }
        let outside = scratch.outside();
        let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let how = handfast::OpenOptions::new().write(true);
        let inside = || scratch.catalogue().open("s", me()).unwrap();
        std::thread::scope(|scope| {
            // One has files open already, the other opens them meanwhile.
            let (one, other) = (inside(), inside());
            let open = |number| one.open_with(format!("/d/f{number}"), how).unwrap();
            let mut held: Vec<_> = (0..8).step_by(2).map(open).collect();
            let (begun, stop) = (&begun, &stop);
            let stopped = move || stop.load(Ordering::SeqCst);
            let is_begun = move || begun.load(Ordering::SeqCst);
            scope.spawn(move || {
                while !is_begun() {
                    std::hint::spin_loop();
                }
                while !stopped() {
                    held.iter_mut()
                        .for_each(|file| drop(file.write_all(b"UNSEEN")));
                }
            });
            scope.spawn(move || {
                while !is_begun() {
                    std::hint::spin_loop();
                }
                while !stopped() {
                    for number in 0..8 {
                        if let Ok(mut file) = other.open_with(format!("/d/f{number}"), how) {
                            drop(file.write_all(b"UNSEEN"));
                        }
                    }
                }
            });
            let (base, swaps) = (scratch.base(), &swaps);
            scope.spawn(move || {
                while !is_begun() {
                    std::hint::spin_loop();
                }
                let here = std::fs::File::open(&base).unwrap();
                let swap = |one: &str, other: &str| {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let done = rustix::fs::renameat_with(&here, one, &here, other, flags);
                    swaps.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                };
                let mut turn = 0;
                while !stopped() {
                    turn += 1;
                    swap("d", "way");
                    swap("d", "way");
                    std::fs::write(base.join("theirs"), "theirs").unwrap();
                    swap("theirs", &format!("d/f{}", turn % 8));
                    swap("theirs", &format!("d/f{}", turn % 8));
                }
            });
            // What is shown, and what may be committed: nothing else.
            let mut shown = session.chosen(&[], &[]).unwrap().1;
            let mut seen = Vec::new();
            session
                .review(&handfast_session::ReviewOptions::default(), &mut |change| {
                    shown.note(&change);
                    seen.push(change);
                    Ok(())
                })
                .unwrap();
            let options = CommitOptions {
                on_conflict: OnConflict::Skip,
                shown: Some(shown),
                ..CommitOptions::default()
            };
            let started = &mut |_, _| begun.store(true, Ordering::SeqCst);
            match session.commit(&options, started) {
                Ok(report) => {
                    committed.fetch_add(report.committed.len() as u64, Ordering::Relaxed);
                    refused.fetch_add(report.conflicts.len() as u64, Ordering::Relaxed);
                }
                Err(_) => {
                    refused.fetch_add(8, Ordering::Relaxed);
                }
            }
            begun.store(true, Ordering::SeqCst);
            stop.store(true, Ordering::SeqCst);
            for change in seen {
                let name = change.path.to_string();
                let digest = change.after.and_then(|side| side.digest);
                let now = std::fs::read(scratch.at(name.trim_start_matches('/')));
                let Ok(now) = now else { continue };
                let now_digest = handfast_session_digest(&now);
                let known = now == b"old" || now == b"theirs" || Some(now_digest) == digest;
                assert!(
                    known,
                    "round {round}: {name} has {:?}",
                    handfast::escape(&now)
                );
            }
        });
        assert_eq!(scratch.outside(), outside, "round {round}");
        // A handle that was open while it was committed must not reach the base now.
        for number in 0..8 {
            let path = format!("/d/f{number}");
            let before = std::fs::read(scratch.at(&path[1..])).ok();
            drop(session.append(&path, b"LATER"));
            assert_eq!(
                std::fs::read(scratch.at(&path[1..])).ok(),
                before,
                "round {round}"
            );
        }
    }
    println!("{committed:?} committed, {refused:?} refused, {swaps:?} swaps");
    assert!(swaps.into_inner() > 0, "broken: nothing was exchanged");
    if committed.into_inner() == 0 {
        crate::turns::starved("moved files", "no file was committed");
    }
}

fn handfast_session_digest(data: &[u8]) -> String {
    let scratch = handfast::Root::open_ambient(std::env::temp_dir()).unwrap();
    let dir = scratch.temp_dir(&handfast::RelPath::root()).unwrap();
    let path = handfast::RelPath::parse("f").unwrap();
    dir.root().write(&path, data).unwrap();
    let version = dir.root().version_with_digest(&path).unwrap();
    let digest = version.digest().unwrap();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
