//! Compare-and-swap: an agent that resumes on a stale assumption is stopped.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]

mod support;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use handfast::{
    Durability, Effect, ErrorKind, LockKind, RelPath, RenameMode, Timestamp, Version, WriteOptions,
};
use support::*;

fn fast() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

/// Makes a file look old, so that its version carries no digest.
fn age(scratch: &Scratch, path: &str) {
    // Only the modification time can be set; the change time is now. So wait for neither: tests
    // that need an old file sleep once for all.
    let root = scratch.open(handfast::RootOptions::new());
    root.set_times(
        &rel(path),
        None,
        Some(Timestamp {
            seconds: 1_000_000_000,
            nanoseconds: 0,
        }),
    )
    .unwrap();
}

#[test]
fn an_unchanged_file_is_replaced_and_the_new_version_chains() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "one");
        let root = scratch.open(options);
        let (data, version) = root.read_versioned(&rel("f")).unwrap();
        assert_eq!(data, b"one");
        assert!(version.digest().is_some(), "a young file is digested");
        assert_eq!(version, root.version(&rel("f")).unwrap());
        let written = root.write_if(&rel("f"), &version, "two").unwrap();
        assert_eq!(scratch.read("root/f"), "two");
        let second = written.version().unwrap();
        assert_eq!(second.to_string().parse::<Version>().unwrap(), second);
        root.write_if(&rel("f"), &second, "three").unwrap();
        assert_eq!(scratch.read("root/f"), "three");
        assert_kind(root.write_if(&rel("f"), &second, "four"), ErrorKind::Stale);
        assert_kind(root.write_if(&rel("f"), &version, "four"), ErrorKind::Stale);
        assert_eq!(scratch.read("root/f"), "three");
        scratch.assert_no_leftovers();
    });
}

#[test]
fn every_kind_of_change_is_noticed() {
    each_policy(|options, _| {
        let changes: &[(&str, fn(&Scratch))] = &[
            ("content, same length", |s| {
                std::fs::write(s.path("root/f"), "two").unwrap()
            }),
            ("longer", |s| {
                std::fs::write(s.path("root/f"), "longer").unwrap()
            }),
            ("appended", |s| {
                let mut file = std::fs::OpenOptions::new()
                    .append(true)
                    .open(s.path("root/f"))
                    .unwrap();
                file.write_all(b"x").unwrap();
            }),
            ("replaced", |s| {
                std::fs::write(s.path("root/g"), "one").unwrap();
                std::fs::rename(s.path("root/g"), s.path("root/f")).unwrap();
            }),
            ("removed", |s| {
                std::fs::remove_file(s.path("root/f")).unwrap()
            }),
            ("a directory now", |s| {
                std::fs::remove_file(s.path("root/f")).unwrap();
                std::fs::create_dir(s.path("root/f")).unwrap();
            }),
            ("mode", |s| {
                use std::os::unix::fs::PermissionsExt;
                std::fs::set_permissions(s.path("root/f"), std::fs::Permissions::from_mode(0o600))
                    .unwrap();
            }),
            ("times put back", |s| {
                let path = s.path("root/f");
                let meta = std::fs::metadata(&path).unwrap();
                std::fs::write(&path, "two").unwrap();
                let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.set_modified(meta.modified().unwrap()).unwrap();
            }),
        ];
        for (what, change) in changes {
            let scratch = Scratch::new();
            scratch.file("f", "one");
            let root = scratch.open(options.clone());
            let version = root.version(&rel("f")).unwrap();
            change(&scratch);
            let before = scratch.snapshot("root");
            let error = root.write_if(&rel("f"), &version, "mine").unwrap_err();
            let expected = if *what == "a directory now" {
                ErrorKind::IsADirectory
            } else {
                ErrorKind::Stale
            };
            assert_eq!(error.kind(), expected, "{what}: {error}");
            assert_eq!(error.effect(), Effect::None);
            assert_eq!(scratch.snapshot("root"), before, "{what}");
            assert_kind(root.remove_if(&rel("f"), &version), ErrorKind::Stale);
            assert_eq!(scratch.snapshot("root"), before, "{what}");
        }
    });
}

#[test]
fn remove_if_removes_only_that_version() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "one");
        let root = scratch.open(options);
        let version = root.version(&rel("f")).unwrap();
        root.remove_if(&rel("f"), &version).unwrap();
        assert!(!scratch.path("root/f").exists());
        assert_kind(root.remove_if(&rel("f"), &version), ErrorKind::Stale);
        scratch.assert_no_leftovers();
    });
}

#[test]
fn writers_that_take_turns_wait_and_then_do_without() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "one");
        let root = scratch.open(options(backend));
        let version = root.version(&rel("f")).unwrap();
        let guard = root
            .lock_dir(&RelPath::root(), LockKind::Exclusive, Duration::ZERO)
            .unwrap();
        let begun = std::time::Instant::now();
        let written = root.write_if(&rel("f"), &version, "two").unwrap();
        assert!(
            begun.elapsed() >= Duration::from_secs(2),
            "it waits its turn"
        );
        assert_kind(root.remove_if(&rel("f"), &version), ErrorKind::Stale);
        drop(guard);
        let begun = std::time::Instant::now();
        root.remove_if(&rel("f"), &written.version().unwrap())
            .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2));
    });
}

#[test]
fn a_file_that_is_old_enough_needs_no_digest_and_a_changed_clock_is_no_trick() {
    let scratch = Scratch::new();
    scratch.file("f", "one");
    age(&scratch, "f");
    std::thread::sleep(Duration::from_millis(2100));
    each_backend(|backend| {
        let root = scratch.open(options(backend));
        let version = root.version(&rel("f")).unwrap();
        assert!(version.digest().is_none());
        assert!(
            root.version_with_digest(&rel("f"))
                .unwrap()
                .digest()
                .is_some()
        );
    });
    let root = scratch.open(handfast::RootOptions::new());
    let version = root.version(&rel("f")).unwrap();
    // The same length, and the modification time put back: the change time still tells.
    std::fs::write(scratch.path("root/f"), "two").unwrap();
    age(&scratch, "f");
    assert_kind(root.write_if(&rel("f"), &version, "mine"), ErrorKind::Stale);
    let version = root.version(&rel("f")).unwrap();
    root.write_if(&rel("f"), &version, "mine").unwrap();
    assert_eq!(scratch.read("root/f"), "mine");
}

#[test]
fn of_many_writers_on_one_version_exactly_one_wins() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "start");
        let root = scratch.open(options(backend));
        for round in 0..20 {
            let version = root.version(&rel("f")).unwrap();
            let wins = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for writer in 0..8 {
                    let (root, version, wins) = (&root, &version, &wins);
                    scope.spawn(move || {
                        let text = format!("{round} {writer}");
                        match root.write_if_with(&rel("f"), version, &text, fast()) {
                            Ok(_) => drop(wins.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Stale, "{error}"),
                        }
                    });
                }
            });
            assert_eq!(wins.into_inner(), 1);
        }
        scratch.assert_no_leftovers();
    });
}

/// A counter that many increment by read and conditional write loses no increment, even while
/// somebody else replaces the file without taking turns: what that one wrote is never lost.
#[test]
fn increments_are_not_lost_and_foreign_files_survive() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "0");
        let root = scratch.open(options(backend));
        let done = AtomicBool::new(false);
        let mine = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let foreign = scope.spawn(|| {
                // Replaces the file by rename, adding a thousand each time, without the lock: it
                // reads the newest content by the same conditional write? No: it exchanges its own
                // file in and gives back what it displaced by adding to it.
                let mut added = 0_u32;
                while !done.load(Ordering::Relaxed) {
                    std::fs::write(scratch.path("root/foreign"), "F").unwrap();
                    let root = &root;
                    if root
                        .rename(&rel("foreign"), &rel("f"), RenameMode::Exchange)
                        .is_ok()
                    {
                        // Whatever was displaced is a whole file of somebody.
                        let text = scratch.read("root/foreign");
                        assert!(text == "F" || text.parse::<u32>().is_ok(), "{text:?}");
                        added += 1;
                    }
                    std::thread::sleep(Duration::from_micros(300));
                }
                added
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..150 {
                        let Ok((data, version)) = root.read_versioned(&rel("f")) else {
                            continue;
                        };
                        let number = String::from_utf8(data).unwrap().parse::<u32>().unwrap_or(0);
                        match root.write_if_with(
                            &rel("f"),
                            &version,
                            (number + 1).to_string(),
                            fast(),
                        ) {
                            Ok(_) => drop(mine.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => assert!(
                                matches!(error.kind(), ErrorKind::Stale | ErrorKind::Raced),
                                "{error}"
                            ),
                        }
                    }
                });
            }
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(300));
                done.store(true, Ordering::Relaxed);
            }
            assert!(foreign.join().unwrap() > 0);
        });
        assert!(
            mine.into_inner() > 20,
            "conditional writes succeed under attack"
        );
        let text = scratch.read("root/f");
        assert!(text == "F" || text.parse::<u32>().is_ok(), "{text:?}");
        // Leftovers, if any, are whole files that recover settles or keeps and reports.
        for found in root.recover(&RelPath::root()).unwrap() {
            println!("recovered: {found:?}");
        }
    });
}

#[test]
fn a_version_of_another_file_is_stale() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "one").file("g", "one");
        let root = scratch.open(options(backend));
        let version = root.version(&rel("g")).unwrap();
        let error = assert_kind(root.write_if(&rel("f"), &version, "x"), ErrorKind::Stale);
        assert!(error.to_string().contains("another file"), "{error}");
    });
}
