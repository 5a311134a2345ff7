//! `recover`, run by one user over what others planted for it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::Instant;

use handfast::{RecoveryOutcome, RelPath, RootOptions};
use rustix::fs::XattrFlags;

use crate::others::*;
use crate::support::*;

const RANDOM: u64 = 0x1234_5678_9abc_def0;

/// A directory under the staging name made for it, with the mark of its maker: a user who may write
/// the directory can set that.
fn forge(dir: &Path) -> PathBuf {
    let status = rustix::fs::statx(
        rustix::fs::CWD,
        dir,
        rustix::fs::AtFlags::empty(),
        rustix::fs::StatxFlags::ALL,
    )
    .unwrap();
    let born =
        i128::from(status.stx_btime.tv_sec) * 1_000_000_000 + i128::from(status.stx_btime.tv_nsec);
    let name = format!(".handfast-t-{:x}-{born:x}-{RANDOM:016x}", status.stx_ino);
    rustix::fs::setxattr(
        dir,
        "user.handfast.staging",
        &RANDOM.to_be_bytes(),
        XattrFlags::empty(),
    )
    .unwrap();
    let forged = dir.with_file_name(name);
    fs::rename(dir, &forged).unwrap();
    forged
}

fn kept(found: &[handfast::Recovered]) -> usize {
    found
        .iter()
        .filter(|found| matches!(found.outcome, RecoveryOutcome::Kept(_)))
        .count()
}

#[test]
fn l5_recover_by_root_removes_nobody_elses_tree() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        // Mallory's directory, everybody's to write, holds a private directory of Bob's.
        scratch
            .file("mallory/bob/data", "bob's")
            .file("mallory/own", "");
        let dir = scratch.path("root/mallory");
        for (path, uid) in [
            ("", MALLORY),
            ("bob", BOB),
            ("bob/data", BOB),
            ("own", MALLORY),
        ] {
            chown(dir.join(path), Some(uid), Some(uid)).unwrap();
        }
        share(&dir);
        share(&scratch.root_path());
        set_mode(&dir.join("bob"), 0o700);
        let forged = as_user(MALLORY, || forge(&dir));
        let found = scratch
            .open(options(backend))
            .recover(&RelPath::root())
            .unwrap();
        assert!(forged.join("bob/data").exists(), "Bob's data is gone");
        assert_eq!(kept(&found), 1, "{found:?}");
    });
}

/// A directory of root's own that holds somebody else's: what is not root's stays.
#[test]
fn l5_what_belongs_to_others_deeper_down_is_kept() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        for foreign in ["sub", "sub/deep", "sub/deep/data", "file"] {
            let scratch = Scratch::new();
            scratch.file("t/sub/deep/data", "x").file("t/file", "y");
            let dir = scratch.path("root/t");
            chown(dir.join(foreign), Some(BOB), Some(BOB)).unwrap();
            let forged = forge(&dir);
            let found = scratch
                .open(options(backend))
                .recover(&RelPath::root())
                .unwrap();
            assert!(forged.join(foreign).exists(), "{foreign} is gone");
            assert_eq!(kept(&found), 1, "{foreign}: {found:?}");
        }
        // And without anything of others it goes.
        let scratch = Scratch::new();
        scratch.file("t/sub/deep/data", "x").file("t/file", "y");
        let forged = forge(&scratch.path("root/t"));
        let found = scratch
            .open(options(backend))
            .recover(&RelPath::root())
            .unwrap();
        assert_eq!(found[0].outcome, RecoveryOutcome::Removed, "{found:?}");
        assert!(!forged.exists());
    });
}

#[test]
fn l5_a_leftover_file_of_somebody_else_is_kept() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        let file = scratch.path(&format!("root/.handfast-s-0-0-{RANDOM:016x}"));
        fs::write(&file, "").unwrap();
        chown(&file, Some(BOB), Some(BOB)).unwrap();
        let found = scratch
            .open(options(backend))
            .recover(&RelPath::root())
            .unwrap();
        assert_eq!(kept(&found), 1, "{found:?}");
        assert!(file.exists());
    });
}

/// Planted names that ask for digests: what is read is bounded in all, not only for each.
#[test]
fn l5_what_is_hashed_is_bounded_in_all() {
    const MIB: u64 = 1 << 20;
    each_backend(|backend| {
        let scratch = Scratch::new();
        let big = scratch.path("root/big");
        fs::File::create(&big).unwrap().set_len(32 * MIB).unwrap();
        let meta = fs::metadata(&big).unwrap();
        let born = born(&big);
        let modified = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
        // A removal that expects exactly this file, with a digest that has to be computed.
        for number in 0..40 {
            let ino = meta.ino();
            let name = format!(
                ".handfast-d-{ino:x}-{born:x}-{number:016x}-{ino:x}-{born:x}-{:x}-{modified:x}-{:016x}",
                32 * MIB,
                0xdead_u64
            );
            fs::hard_link(&big, scratch.path("root").join(name)).unwrap();
        }
        let before = read_bytes();
        let begun = Instant::now();
        let root = scratch.open(RootOptions::new().backend(backend));
        let found = root.recover(&RelPath::root()).unwrap();
        let read = read_bytes() - before;
        println!(
            "{}: {} MiB read in {:?}",
            backend_name(backend),
            read / MIB,
            begun.elapsed()
        );
        assert_eq!(kept(&found), 40, "{found:?}");
        assert!(read < 200 * MIB, "{} MiB were read", read / MIB);
    });
}

fn born(path: &Path) -> i128 {
    let flags = (rustix::fs::AtFlags::empty(), rustix::fs::StatxFlags::ALL);
    let status = rustix::fs::statx(rustix::fs::CWD, path, flags.0, flags.1).unwrap();
    i128::from(status.stx_btime.tv_sec) * 1_000_000_000 + i128::from(status.stx_btime.tv_nsec)
}

/// What this thread has read so far.
fn read_bytes() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("rchar:"))
        .unwrap();
    line["rchar:".len()..].trim().parse().unwrap()
}
