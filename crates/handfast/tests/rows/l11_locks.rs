//! Locks that outlive their guard, and locks of those who may only read.

use std::fs;
use std::time::{Duration, Instant};

use handfast::{LockKind, RelPath, RootOptions, WriteOptions};
use rustix::fs::FlockOperation;

use crate::others::*;
use crate::support::*;
use crate::sys::Forked;

fn can_lock(path: &std::path::Path) -> bool {
    let file = fs::File::open(path).unwrap();
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[test]
fn l11_a_dropped_guard_unlocks_though_a_child_was_forked() {
    let scratch = Scratch::new();
    scratch.file("lock", "").dir("d");
    let root = scratch.open(RootOptions::new());
    let wait = Duration::from_millis(10);
    let file = root.lock(&rel("lock"), LockKind::Exclusive, wait).unwrap();
    let dir = root.lock_dir(&rel("d"), LockKind::Exclusive, wait).unwrap();
    let child = Forked::new();
    drop((file, dir));
    assert!(
        can_lock(&scratch.path("root/lock")),
        "the child holds the file's lock"
    );
    assert!(
        can_lock(&scratch.path("root/d")),
        "the child holds the directory's lock"
    );
    drop(child);
}

#[test]
fn l11_what_is_published_is_not_locked() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        let mut temp = root.temp_file(&RelPath::root()).unwrap();
        let written = temp.persist_new(&rel("f"), WriteOptions::new()).unwrap();
        assert!(
            can_lock(&scratch.path("root/f")),
            "the published file is locked"
        );
        let mut temp_dir = root.temp_dir(&RelPath::root()).unwrap();
        temp_dir.persist_new(&root, &rel("d")).unwrap();
        assert!(
            can_lock(&scratch.path("root/d")),
            "the published directory is locked"
        );
        drop((temp, written, temp_dir));
        // With a child that was forked while it was written.
        let staged = root.stage(&rel("g"), WriteOptions::new()).unwrap();
        let child = Forked::new();
        let written = staged.commit().unwrap();
        assert!(can_lock(&scratch.path("root/g")));
        drop((written, child));
    });
}

/// Somebody who may only read the directory holds a lock on it and never lets go.
#[test]
fn l11_a_reader_cannot_stop_conditional_writes() {
    for operation in [
        FlockOperation::NonBlockingLockShared,
        FlockOperation::NonBlockingLockExclusive,
    ] {
        let scratch = Scratch::new();
        scratch.file("d/f", "one").file("d/g", "one");
        let root = scratch.open(RootOptions::new());
        let (f, g) = (rel("d/f"), rel("d/g"));
        let versions = (root.version(&f).unwrap(), root.version(&g).unwrap());
        let dir = scratch.path("root/d");
        let hold = || {
            let held = fs::File::open(&dir).unwrap();
            rustix::fs::flock(&held, operation).unwrap();
            held
        };
        let held = if am_root() {
            as_user(MALLORY, hold)
        } else {
            hold()
        };
        let begun = Instant::now();
        let written = root.write_if(&f, &versions.0, "two").unwrap();
        root.remove_if(&g, &versions.1).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10));
        // The version still decides.
        let stale = root.write_if(&f, &versions.0, "three");
        assert_kind(stale, handfast::ErrorKind::Stale);
        assert_eq!(scratch.read("root/d/f"), "two");
        scratch.assert_no_leftovers();
        drop((written, held));
    }
}

/// Without the lock, of many writers on one version still exactly one wins.
#[test]
fn l11_without_the_lock_one_writer_wins() {
    let scratch = Scratch::new();
    scratch.file("d/f", "start");
    let root = scratch.open(RootOptions::new());
    let held = fs::File::open(scratch.path("root/d")).unwrap();
    rustix::fs::flock(&held, FlockOperation::NonBlockingLockShared).unwrap();
    for _ in 0..3 {
        let version = root.version_with_digest(&rel("d/f")).unwrap();
        let wins: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|number| {
                    let (root, version) = (&root, &version);
                    scope.spawn(move || {
                        let text = format!("writer {number}");
                        usize::from(root.write_if(&rel("d/f"), version, text).is_ok())
                    })
                })
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .sum()
        });
        assert!(wins <= 1, "{wins} writers were told that they won");
        println!("{wins} won");
    }
    drop(held);
}
