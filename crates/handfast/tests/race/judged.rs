//! A judge that refuses one file stops every verb that would read or change it in place.

use crate::attacker::*;
use crate::cell::*;
use crate::control::*;
use crate::support::*;
use crate::victims::fast;
use handfast::files::{Attributes, LastLink, Put};
use handfast::{
    Effect, Error, ErrorKind, Files, LockKind, Metadata, ObjectJudge, OpenOptions, Root, Timestamp,
    TreeLimits, WriteOptions,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Refuses one inode.
struct Refuses(u64);

impl ObjectJudge for Refuses {
    fn judge(&self, file: &Metadata, _change: bool) -> Result<(), Error> {
        match file.identity.inode == self.0 {
            true => Err(Error::refused(ErrorKind::Denied, "this file is not yours")),
            false => Ok(()),
        }
    }
}

/// One verb on `d/data`. What it saw is given back; nothing of the refused file may be in it.
type Attempt = fn(&Root) -> Result<Vec<u8>, Error>;

const NINE: Timestamp = Timestamp {
    seconds: 9,
    nanoseconds: 9,
};

fn data() -> handfast::RelPath {
    rel("d/data")
}

fn none<T>(_: T) -> Vec<u8> {
    Vec::new()
}

const VERBS: &[(&str, Attempt)] = &[
    ("open", |r| {
        let file = Files::open(r, &data(), OpenOptions::new())?;
        let mut seen = vec![0; 16];
        file.read_at(&mut seen, 0)?;
        Ok(seen)
    }),
    ("open-write", |r| {
        let how = OpenOptions::new().write(true).truncate(true);
        r.open_with(&data(), how).map(none)
    }),
    ("read", |r| r.read(&data())),
    ("read-versioned", |r| {
        r.read_versioned(&data()).map(|(seen, _)| seen)
    }),
    ("version", |r| r.version_with_digest(&data()).map(none)),
    ("append", |r| r.append(&data(), "x").map(none)),
    ("chmod", |r| r.chmod(&data(), 0o640).map(none)),
    ("chown", |r| {
        r.chown(&data(), Some(rustix::process::geteuid().as_raw()), None)
            .map(none)
    }),
    ("times", |r| {
        r.set_times(&data(), None, Some(NINE)).map(none)
    }),
    ("get-xattr", |r| r.get_xattr(&data(), "user.x").map(none)),
    ("list-xattr", |r| r.list_xattrs(&data()).map(none)),
    ("set-xattr", |r| {
        r.set_xattr(&data(), "user.x", b"x").map(none)
    }),
    ("remove-xattr", |r| {
        match r.remove_xattr(&data(), "user.none") {
            // The file that may be touched does not have it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            done => done.map(none),
        }
    }),
    ("hard-link", |r| {
        r.hard_link(&data(), &rel("linked"))?;
        let seen = r.read(&rel("linked"));
        r.remove_file(&rel("linked"))?;
        seen
    }),
    ("copy", |r| {
        r.copy_with(&data(), &rel("copied"), fast())?;
        r.read(&rel("copied"))
    }),
    ("copy by handles", |r| {
        Files::copy(r, &data(), &rel("copied-new"), Put::New)?;
        let seen = r.read(&rel("copied-new"));
        r.remove_file(&rel("copied-new"))?;
        seen
    }),
    ("copy-tree", |r| {
        r.copy_tree(&rel("d"), &rel("tree"))?;
        let seen = r.read(&rel("tree/data"));
        r.remove_tree(&rel("tree"))?;
        seen
    }),
    ("lock", |r| {
        r.lock(&data(), LockKind::Exclusive, Duration::ZERO)
            .map(none)
    }),
    ("node open", |r| {
        let node = r.node(&data(), LastLink::Follow)?;
        let mut seen = vec![0; 16];
        r.open_node(&node, OpenOptions::new())?
            .read_at(&mut seen, 0)?;
        Ok(seen)
    }),
    ("node attributes", |r| {
        let node = r.node(&data(), LastLink::Follow)?;
        let all = Attributes::new().times(None, Some(NINE)).mode(0o600);
        r.set_attributes_of(&node, &all).map(none)
    }),
    ("node xattr", |r| {
        let node = r.node(&data(), LastLink::Follow)?;
        r.set_xattr_of(&node, "user.x", Some(b"x")).map(none)
    }),
    ("append by handles", |r| {
        Files::append(r, &data(), b"x", WriteOptions::new()).map(none)
    }),
];

/// The refused file as it must stay; renames change its change time.
fn facts(path: &Path) -> (u64, u32, u32, i64, u64, Vec<u8>, bool) {
    let meta = std::fs::metadata(path).unwrap();
    let mut value = [0; 8];
    let has_xattr = rustix::fs::getxattr(path, "user.x", &mut value[..]).is_ok();
    let content = std::fs::read(path).unwrap();
    let (mode, mtime) = (meta.mode(), meta.mtime());
    (
        meta.ino(),
        mode,
        meta.uid(),
        mtime,
        meta.nlink(),
        content,
        has_xattr,
    )
}

fn scene() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("d/data", "mine").file("e/secret", "refused");
    scratch
}

#[test]
fn a_refused_file_is_refused_by_every_verb() {
    each_backend(|backend| {
        for (verb, attempt) in VERBS {
            let scratch = scene();
            let (one, two) = (scratch.path("root/d/data"), scratch.path("root/e/secret"));
            assert!(exchange(&one, &two));
            let before = facts(&one);
            let judge = Arc::new(Refuses(before.0));
            let root = scratch.open(options(backend).judge(judge));
            let error = assert_kind(attempt(&root), ErrorKind::Denied);
            assert_eq!(error.effect(), Effect::None, "{verb}");
            assert_eq!(facts(&one), before, "{verb}");
            scratch.assert_no_leftovers();
            let names = scratch.snapshot("root").len();
            assert_eq!(names, 4, "{verb}: nothing was made");
        }
        // A tree by handles as well: what was made of it goes again.
        let scratch = scene();
        let before = facts(&scratch.path("root/e/secret"));
        let root = scratch.open(options(backend).judge(Arc::new(Refuses(before.0))));
        let tree = root.copy_tree_with(&rel("e"), &rel("tree"), TreeLimits::new());
        assert_eq!(assert_kind(tree, ErrorKind::Denied).effect(), Effect::None);
        assert_eq!(scratch.snapshot("root").len(), 4);
    });
}

#[test]
fn a_refused_file_is_refused_under_a_name_that_is_swapped() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    each_backend(|backend| {
        for (verb, attempt) in VERBS {
            let scratch = scene();
            let (one, two) = (scratch.path("root/d/data"), scratch.path("root/e/secret"));
            let before = facts(&two);
            let root = scratch.open(options(backend).judge(Arc::new(Refuses(before.0))));
            let attacker = Attacker::start({
                let (one, two) = (one.clone(), two.clone());
                move || assert!(exchange(&one, &two))
            });
            let tally = calmer(&attacker, || {
                let rounds = Rounds::start();
                let mut tally = Tally::default();
                while rounds.go_on(tally.attempts) {
                    attacker.wait_for_swap();
                    tally.attempts += 1;
                    match attempt(&root) {
                        Ok(seen) => {
                            let leak = seen.windows(7).any(|window| window == b"refused");
                            assert!(!leak, "{verb}: saw the refused file");
                            tally.succeeded += 1;
                        }
                        Err(error) => {
                            // Several attributes are several calls: the first of them may have
                            // been made, to the file that may be changed, when the name is lost.
                            let is_halfway =
                                *verb == "node attributes" && error.kind() == ErrorKind::Raced;
                            assert!(
                                is_halfway || error.effect() == Effect::None,
                                "{verb}: {error}"
                            );
                            *tally.refused.entry(error.kind().name()).or_default() += 1;
                        }
                    }
                }
                let denied = tally.refused.get("Denied").copied().unwrap_or(0);
                let is_enough = tally.succeeded > 0 && denied > 0;
                (tally, is_enough)
            });
            drop(attacker);
            let what = format!("judged {verb} {}", backend_name(backend));
            println!(
                "{what}: {} of {}, refused {:?}",
                tally.succeeded, tally.attempts, tally.refused
            );
            let allowed = ["Denied", "Raced", "HardLink"];
            assert!(
                tally.refused.keys().all(|kind| allowed.contains(kind)),
                "{what}: {:?}",
                tally.refused
            );
            if tally.succeeded == 0 || !tally.refused.contains_key("Denied") {
                tally.settle(&what);
            }
            let after = [facts(&one), facts(&two)];
            assert!(
                after.contains(&before),
                "{what}: the refused file was touched"
            );
        }
    });
    // Code that judges the name and uses it afterwards reads the refused file.
    let scratch = scene();
    let (one, two) = (scratch.path("root/d/data"), scratch.path("root/e/secret"));
    let refused = facts(&two).0;
    let _attacker = Attacker::start({
        let one = one.clone();
        move || assert!(exchange(&one, &two))
    });
    control("judged", |_| {
        let is_allowed = std::fs::metadata(&one).is_ok_and(|meta| meta.ino() != refused);
        lose_the_core();
        is_allowed && std::fs::read(&one).is_ok_and(|seen| seen == b"refused")
    });
}
