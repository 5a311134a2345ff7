//! What is planted, moved out or removed meanwhile.

use crate::attacker::*;
use crate::canary::*;
use crate::cell::*;
use crate::control::*;
use crate::support::*;
use crate::victims::*;
use handfast::{Error, ErrorKind, OpenOptions, RelPath, Root, RootOptions};
use rustix::fs::{Mode, OFlags};

/// Catalogue 3: a directory leaves the root while the `..` in a link's target are walked.
#[test]
fn directory_moved_out_while_dotdot_is_walked() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let scene = || {
        let scratch = Scratch::new();
        scratch
            .file("data", "inside")
            .dir("x/y/z")
            .link("x/y/z/../../../data", "via");
        std::fs::write(scratch.path("data"), "outside").unwrap();
        std::fs::write(scratch.path("outside/data"), "outside").unwrap();
        scratch
    };
    let attack = |scratch: &Scratch| {
        let (inside, outside) = (scratch.path("root/x/y"), scratch.path("outside/y"));
        let mut out = false;
        Attacker::start(move || {
            let (from, to) = if out {
                (&outside, &inside)
            } else {
                (&inside, &outside)
            };
            std::fs::rename(from, to).unwrap();
            out = !out;
        })
    };
    each_backend(|backend| {
        let scratch = scene();
        let root = scratch.open(beneath(backend));
        let attacker = attack(&scratch);
        let tally = calmer(&attacker, || {
            let rounds = Rounds::start();
            let mut tally = Tally::default();
            while rounds.go_on(tally.attempts) {
                attacker.wait_for_swap();
                tally.good += u64::from(scratch.path("root/x/y").is_dir());
                tally.attempts += 1;
                match root.read(&rel("via")) {
                    Ok(seen) => {
                        assert_eq!(seen, b"inside");
                        tally.succeeded += 1;
                    }
                    Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
                }
            }
            let is_enough = tally.is_enough(2);
            (tally, is_enough)
        });
        let allowed = [ErrorKind::NotFound, ErrorKind::Raced, ErrorKind::Escape];
        judge(
            &format!("dotdot {}", backend_name(backend)),
            &tally,
            &allowed,
            2,
        );
    });
    // The control walks by descriptor, but asks the kernel for `..`.
    let scratch = scene();
    let _attacker = attack(&scratch);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    control("dotdot", |_| {
        let mut here = rustix::fs::open(scratch.root_path(), flags, Mode::empty()).unwrap();
        for step in ["x", "y", "z", "..", "..", ".."] {
            lose_the_core();
            match rustix::fs::openat(&here, step, flags, Mode::empty()) {
                Ok(fd) => here = fd,
                Err(_) => return false,
            }
        }
        let mut text = [0; 7];
        rustix::fs::openat(
            &here,
            "data",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .is_ok_and(|fd| rustix::io::read(fd, &mut text).is_ok() && &text == b"outside")
    });
}

/// Seed of it all: a link is planted at the target after it was validated. The write fails, or
/// lands inside.
#[test]
fn link_planted_at_the_target_after_validation() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let attack = |scratch: &Scratch| {
        let place = scratch.path("root/results.json");
        let target = scratch.path("outside/planted");
        let mut there = false;
        Attacker::start(move || {
            if there {
                drop(std::fs::remove_file(&place));
            } else {
                drop(std::os::unix::fs::symlink(&target, &place));
            }
            there = !there;
        })
    };
    for (backend, links) in policies() {
        type Write = fn(&Root, &RelPath) -> Result<(), Error>;
        let writes: [(&str, Write); 6] = [
            ("write", |root, path| {
                root.write_with(path, "inside", fast()).map(drop)
            }),
            ("write-new", |root, path| {
                root.write_new_with(path, "inside", fast()).map(drop)
            }),
            ("append", |root, path| root.append(path, "inside").map(drop)),
            ("create", |root, path| {
                root.open_with(path, OpenOptions::new().write(true).create(true))
                    .map(drop)
            }),
            ("create-dir-all", |root, path| {
                root.create_dir_all(path).map(drop)
            }),
            ("copy", |root, path| {
                root.copy_with(&rel("source"), path, fast()).map(drop)
            }),
        ];
        for (verb, write) in writes {
            let scratch = Scratch::new();
            scratch.file("source", "inside");
            let outside = scratch.outside();
            let root = scratch.open(options(backend).links(links));
            let attacker = attack(&scratch);
            // A new name is mostly taken again before the content is there: one success is one.
            let needed = |tally: &Tally| match verb {
                "write-new" => 1,
                _ => (tally.good / 8).max(1),
            };
            let tally = calmer(&attacker, || {
                let rounds = Rounds::start();
                let mut tally = Tally::default();
                while rounds.go_on(tally.attempts) {
                    drop(root.remove_tree(&rel("results.json")));
                    attacker.wait_for_swap();
                    tally.attempts += 1;
                    let free =
                        std::fs::symlink_metadata(scratch.path("root/results.json")).is_err();
                    tally.good += u64::from(free);
                    match write(&root, &rel("results.json")) {
                        Ok(()) => tally.succeeded += 1,
                        Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
                    }
                    assert!(
                        !scratch.path("outside/planted").exists(),
                        "{verb} wrote outside"
                    );
                }
                let is_enough = tally.succeeded >= needed(&tally);
                (tally, is_enough)
            });
            drop(attacker);
            let what = format!("plant {verb} {} {links:?}", backend_name(backend));
            println!(
                "{what}: {} of {}, refused {:?}",
                tally.succeeded, tally.attempts, tally.refused
            );
            let allowed = [
                ErrorKind::Link,
                ErrorKind::Escape,
                ErrorKind::Exists,
                ErrorKind::Raced,
                ErrorKind::NotFound,
            ]
            .map(ErrorKind::name);
            assert!(
                tally.refused.keys().all(|kind| allowed.contains(kind)),
                "{what}: {:?}",
                tally.refused
            );
            if tally.succeeded < needed(&tally) {
                tally.settle(&what);
            }
            assert_eq!(scratch.outside(), outside);
        }
    }
    let scratch = Scratch::new();
    let attacker = attack(&scratch);
    let (root, place) = (scratch.root_path(), scratch.path("root/results.json"));
    control("plant", |_| {
        if std::fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_file()) {
            drop(std::fs::remove_file(&place));
        }
        attacker.wait_for_swap();
        let is_free = std::fs::symlink_metadata(&place).is_err();
        if is_free && let Some(checked) = naive_check(&root, &place) {
            drop(std::fs::write(checked, "x"));
        }
        scratch.path("outside/planted").exists()
    });
}

/// Catalogue 21: a directory inside a tree that is removed turns into a link to the outside.
#[test]
fn tree_swapped_while_it_is_removed() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    each_backend(|backend| {
        let scratch = Scratch::new();
        let canary = Canary::plant(&scratch.path("outside"));
        let root = scratch.open(options(backend));
        let (dir, link) = (scratch.path("root/t/a"), scratch.path("root/t/evil"));
        let attacker = Attacker::start({
            let (dir, link) = (dir.clone(), link.clone());
            move || {
                exchange(&dir, &link);
            }
        });
        let tally = calmer(&attacker, || {
            let rounds = Rounds::start();
            let mut tally = Tally::default();
            while rounds.go_on(tally.attempts * 4) {
                drop(std::fs::create_dir_all(scratch.path("root/t/a/sub")));
                drop(std::fs::write(scratch.path("root/t/a/sub/f"), ""));
                drop(std::os::unix::fs::symlink(
                    scratch.path("outside/tree"),
                    &link,
                ));
                attacker.wait_for_swap();
                tally.attempts += 1;
                match root.remove_tree(&rel("t")) {
                    Ok(()) => tally.succeeded += 1,
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::Raced | ErrorKind::Busy | ErrorKind::NotFound
                        ),
                        "{error}"
                    ),
                }
                assert!(canary.is_untouched(), "the outside lost something");
            }
            let is_enough = tally.succeeded * 10 >= tally.attempts * 4;
            (tally, is_enough)
        });
        let what = format!("tree {}", backend_name(backend));
        println!("{what}: {} of {}", tally.succeeded, tally.attempts);
        if tally.attempts <= 5 || tally.succeeded * 10 < tally.attempts * 4 {
            tally.settle(&what);
        }
    });
    // A removal that looks first and descends by name afterwards, as many did before their fix.
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("outside/tree")).unwrap();
    let (dir, link) = (scratch.path("root/a"), scratch.path("root/evil"));
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(scratch.path("outside/tree"), &link).unwrap();
    let _attacker = Attacker::start({
        let dir = dir.clone();
        move || {
            exchange(&dir, &link);
        }
    });
    control("tree", |_| {
        std::fs::write(scratch.path("outside/tree/file"), "").unwrap();
        if std::fs::symlink_metadata(&dir).is_ok_and(|meta| meta.is_dir()) {
            lose_the_core();
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                drop(std::fs::remove_file(entry.path()));
            }
        }
        !scratch.path("outside/tree/file").exists()
    });
}

/// Options are what the cells say they are.
#[test]
fn the_scenes_open_the_backend_they_name() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(RootOptions::new().backend(backend));
        assert_eq!(root.enforcement().backend.name(), backend_name(backend));
    });
}
