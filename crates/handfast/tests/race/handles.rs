//! Handles: what was looked up is what is used, or nothing is.

use crate::attacker::*;
use crate::cell::*;
use crate::control::*;
use crate::support::turns::Turns;
use crate::support::*;
use handfast::files::{At, Attributes, LastLink};
use handfast::{Error, ErrorKind, Files, Name, Node, OpenOptions, Root, Timestamp};
use rustix::fs::{Mode, OFlags};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// One verb on a node. It gives back which object it used, if it can tell.
type Use = fn(&Root, &Node, u64) -> Result<Option<u64>, Error>;

const USES: &[(&str, Use)] = &[
    ("open", |root, node, _| {
        let file = root.open_node(node, OpenOptions::new())?;
        Ok(Some(file.opened_metadata().identity.inode))
    }),
    ("open-write", |root, node, _| {
        let file = root.open_node(node, OpenOptions::new().write(true))?;
        file.write_at(b"x", 0)?;
        Ok(Some(file.opened_metadata().identity.inode))
    }),
    ("chmod", |root, node, round| {
        let mode = 0o600 | u32::try_from(round % 8).unwrap();
        root.set_attributes_of(node, &Attributes::new().mode(mode))
            .map(|()| None)
    }),
    ("times and mode", |root, node, _| {
        let nine = Timestamp {
            seconds: 9,
            nanoseconds: 9,
        };
        let both = Attributes::new().times(None, Some(nine)).mode(0o640);
        root.set_attributes_of(node, &both).map(|()| None)
    }),
    ("set-xattr", |root, node, _| {
        root.set_xattr_of(node, "user.x", Some(b"mine"))
            .map(|()| None)
    }),
    ("hard-link", |root, node, round| {
        let top = root.top()?;
        let new = Name::parse(format!("linked{round}")).unwrap();
        let at = At::new(&top, &new);
        root.hard_link_at(node, at)?;
        let made = root.lookup(&top, new.as_ref())?;
        root.remove_at(at, handfast::files::WhatToRemove::File)?;
        Ok(Some(made.metadata().identity.inode))
    }),
    ("metadata", |root, node, _| {
        Ok(Some(root.metadata_of(node)?.identity.inode))
    }),
];

/// What a verb may change of a file, with its inode: names come and go by the attacker's hand.
fn facts(path: &Path) -> (u64, u32, i64, Vec<u8>, bool) {
    let meta = std::fs::metadata(path).unwrap();
    let mut value = [0; 8];
    let has_xattr = rustix::fs::getxattr(path, "user.x", &mut value[..]).is_ok();
    let content = std::fs::read(path).unwrap();
    (meta.ino(), meta.mode(), meta.mtime(), content, has_xattr)
}

/// The name of a node is exchanged with another file between lookup and use.
#[test]
fn name_swapped_between_lookup_and_use() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    for (backend, links) in policies() {
        for (verb, act) in USES {
            let scratch = Scratch::new();
            scratch.file("d/data", "mine").file("d/other", "theirs");
            let root = scratch.open(options(backend).links(links));
            let mine = std::fs::metadata(scratch.path("root/d/data"))
                .unwrap()
                .ino();
            // A second name outside the attacker's reach shows what became of the other file.
            let other = scratch.path("root/d/other");
            let theirs = facts(&other);
            let (one, two) = (scratch.path("root/d/data"), other.clone());
            let attacker = Attacker::start(move || assert!(exchange(&one, &two)));
            let tally = calmer(&attacker, || {
                let rounds = Rounds::start();
                let mut tally = Tally::default();
                while rounds.go_on(tally.attempts) {
                    attacker.wait_for_swap();
                    let Ok(node) = root.node(&rel("d/data"), LastLink::Itself) else {
                        continue;
                    };
                    if node.metadata().identity.inode != mine {
                        continue;
                    }
                    tally.attempts += 1;
                    match act(&root, &node, tally.attempts) {
                        Ok(used) => {
                            assert!(
                                used.is_none_or(|inode| inode == mine),
                                "{verb}: another file"
                            );
                            tally.succeeded += 1;
                        }
                        Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
                    }
                }
                let is_enough = tally.attempts > 20 && tally.succeeded * 4 >= tally.attempts;
                (tally, is_enough)
            });
            drop(attacker);
            let what = format!("node {verb} {} {links:?}", backend_name(backend));
            println!(
                "{what}: {} of {}, refused {:?}",
                tally.succeeded, tally.attempts, tally.refused
            );
            let after = [facts(&scratch.path("root/d/data")), facts(&other)];
            assert!(
                after.contains(&theirs),
                "{what}: the other file was changed"
            );
            let allowed = [ErrorKind::Raced, ErrorKind::HardLink].map(ErrorKind::name);
            assert!(
                tally.refused.keys().all(|kind| allowed.contains(kind)),
                "{what}: {:?}",
                tally.refused
            );
            if tally.attempts <= 20 || tally.succeeded * 4 < tally.attempts {
                tally.settle(&what);
            }
        }
    }
    // Code that looks first and opens the name afterwards gets the other file.
    let scratch = Scratch::new();
    scratch.file("d/data", "mine").file("d/other", "theirs");
    let (one, two) = (scratch.path("root/d/data"), scratch.path("root/d/other"));
    let data = one.clone();
    let mine = std::fs::metadata(&data).unwrap().ino();
    let _attacker = Attacker::start(move || assert!(exchange(&one, &two)));
    control("node", |_| {
        let is_mine = std::fs::metadata(&data).is_ok_and(|meta| meta.ino() == mine);
        lose_the_core();
        is_mine && std::fs::read(&data).is_ok_and(|seen| seen == b"theirs")
    });
}

/// A link is exchanged with another while it is looked up and read: its text is its own.
#[test]
fn link_swapped_between_lookup_and_reading() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.link("inside", "l").link("../outside", "evil");
        let mine = std::fs::symlink_metadata(scratch.path("root/l"))
            .unwrap()
            .ino();
        let root = scratch.open(beneath(backend));
        let (one, two) = (scratch.path("root/l"), scratch.path("root/evil"));
        let attacker = Attacker::start(move || assert!(exchange(&one, &two)));
        let (turns, rounds) = (Turns::start(), Rounds::start());
        let (mut attempts, mut seen_mine) = (0, 0);
        while rounds.go_on(attempts) {
            attacker.wait_for_swap();
            attempts += 1;
            let node = root.node(&rel("l"), LastLink::Itself).unwrap();
            let is_mine = node.metadata().identity.inode == mine;
            seen_mine += u64::from(is_mine);
            let text = root.link_of(&node).unwrap();
            let wanted: &[u8] = if is_mine { b"inside" } else { b"../outside" };
            assert_eq!(text.as_bytes(), wanted);
        }
        println!("link {}: {seen_mine} of {attempts}", backend_name(backend));
        if attempts <= 20 || !(1..attempts).contains(&seen_mine) {
            let why = format!("the attacker's link was met {seen_mine} times of {attempts}");
            turns.settle("link", &why);
        }
    });
    let scratch = Scratch::new();
    scratch.link("inside", "l").link("../outside", "evil");
    let link = scratch.path("root/l");
    let mine = std::fs::symlink_metadata(&link).unwrap().ino();
    let (one, two) = (link.clone(), scratch.path("root/evil"));
    let _attacker = Attacker::start(move || assert!(exchange(&one, &two)));
    control("link", |_| {
        let is_mine = std::fs::symlink_metadata(&link).is_ok_and(|meta| meta.ino() == mine);
        lose_the_core();
        is_mine && std::fs::read_link(&link).is_ok_and(|text| text == Path::new("../outside"))
    });
}

/// A directory leaves the root while the walk over handles answers the `..` of a link.
#[test]
fn directory_moved_out_while_handles_walk_dotdot() {
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
            let (from, to) = match out {
                true => (&outside, &inside),
                false => (&inside, &outside),
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
                let seen = root
                    .node(&rel("via"), LastLink::Follow)
                    .and_then(|node| root.open_node(&node, OpenOptions::new()));
                match seen {
                    Ok(file) => {
                        let mut text = [0; 7];
                        let got = file.read_at(&mut text, 0).unwrap();
                        assert_eq!(&text[..got], b"inside");
                        tally.succeeded += 1;
                    }
                    Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
                }
            }
            let is_enough = tally.is_enough(2);
            (tally, is_enough)
        });
        let what = format!("dotdot by handles {}", backend_name(backend));
        judge(&what, &tally, &[ErrorKind::NotFound, ErrorKind::Raced], 2);
    });
    let scratch = scene();
    let _attacker = attack(&scratch);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    control("dotdot by handles", |_| {
        let mut here = rustix::fs::open(scratch.root_path(), flags, Mode::empty()).unwrap();
        for step in ["x", "y", "z", "..", "..", ".."] {
            lose_the_core();
            match rustix::fs::openat(&here, step, flags, Mode::empty()) {
                Ok(fd) => here = fd,
                Err(_) => return false,
            }
        }
        let mut text = [0; 7];
        let read = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&here, "data", read, Mode::empty())
            .is_ok_and(|fd| rustix::io::read(fd, &mut text).is_ok() && &text == b"outside")
    });
}
