//! A concurrent attacker against every verb, on both backends and under both policies for links.
//!
//! Each cell: an attacker thread swaps something, with jitter; the victim waits for a fresh swap,
//! makes one call, and then the effect outside is checked, whatever the call returned. A naive
//! control in the same scene must escape, or the scene proves nothing. Successes are counted: a
//! library that refuses everything escapes never.
//!
//! A cell makes 1,000 attempts or takes half a second; `HANDFAST_RACE_ROUNDS=20000` makes it that
//! many.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use handfast::{
    BackendChoice, Durability, Error, ErrorKind, Links, LockKind, OpenOptions, RelPath, RenameMode,
    Root, RootOptions, Timestamp, WriteOptions,
};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use support::*;

/// Attackers need a core of their own: one scene at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn rounds() -> (u64, Duration) {
    match std::env::var("HANDFAST_RACE_ROUNDS") {
        Ok(rounds) => (rounds.parse().expect("a number"), Duration::from_secs(600)),
        Err(_) => (1000, Duration::from_millis(500)),
    }
}

/// A thread that swaps, and counts.
struct Attacker {
    done: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Attacker {
    fn start(mut swap: impl FnMut() + Send + 'static) -> Self {
        let (done, swaps) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let thread = std::thread::spawn({
            let (done, swaps) = (Arc::clone(&done), Arc::clone(&swaps));
            move || {
                let mut random = 0x9e37_79b9_7f4a_7c15_u64;
                while !done.load(Ordering::Relaxed) {
                    swap();
                    swaps.fetch_add(1, Ordering::Release);
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let until = Instant::now() + Duration::from_micros(20 + random % 60);
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                }
            }
        });
        Self {
            done,
            swaps,
            thread: Some(thread),
        }
    }

    /// Waits until something was swapped just now, but not for ever.
    fn wait_for_swap(&self) {
        let seen = self.swaps.load(Ordering::Acquire);
        let begun = Instant::now();
        while self.swaps.load(Ordering::Acquire) == seen {
            match begun.elapsed().as_micros() {
                0..100 => std::hint::spin_loop(),
                // The attacker has no core of its own: let it have ours.
                100..5000 => std::thread::yield_now(),
                _ => return,
            }
        }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(
            ended.is_ok() || std::thread::panicking(),
            "the attacker died"
        );
    }
}

fn exchange(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// The outside, as it must stay: cheap to compare after every attempt.
struct Canary {
    dir: PathBuf,
    seen: Vec<(String, u64, u32, i64, i64, u64, Vec<u8>)>,
}

impl Canary {
    fn plant(dir: &Path) -> Self {
        for name in ["data", "leaf", "f", "g", "lock"] {
            std::fs::write(dir.join(name), "outside").unwrap();
        }
        std::fs::create_dir_all(dir.join("tree/sub")).unwrap();
        std::fs::create_dir_all(dir.join("empty")).unwrap();
        std::fs::write(dir.join("tree/sub/outside-file"), "outside").unwrap();
        std::os::unix::fs::symlink("outside-target", dir.join("link")).unwrap();
        let mut canary = Self {
            dir: dir.to_owned(),
            seen: Vec::new(),
        };
        canary.seen = canary.look();
        canary
    }

    fn look(&self) -> Vec<(String, u64, u32, i64, i64, u64, Vec<u8>)> {
        let mut seen = Vec::new();
        let mut dirs = vec![self.dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let meta = entry.metadata().unwrap();
                let content = if meta.is_file() {
                    std::fs::read(entry.path()).unwrap()
                } else {
                    Vec::new()
                };
                if meta.is_dir() {
                    dirs.push(entry.path());
                }
                // Access times change when we look; change times show every touch.
                seen.push((
                    entry.path().to_string_lossy().into_owned(),
                    meta.ino(),
                    meta.permissions().mode(),
                    meta.mtime_nsec(),
                    meta.ctime_nsec(),
                    meta.nlink(),
                    content,
                ));
            }
        }
        seen.sort();
        seen
    }

    fn is_untouched(&self) -> bool {
        self.look() == self.seen
    }
}

/// What a cell found.
#[derive(Default)]
struct Tally {
    attempts: u64,
    swaps: u64,
    good: u64,
    succeeded: u64,
    refused: BTreeMap<&'static str, u64>,
}

fn fast() -> WriteOptions {
    WriteOptions::new().durability(Durability::None)
}

type Prepare = fn(&Root);
type Attempt = fn(&Root, &dyn Fn(&str) -> RelPath, u64) -> Result<Vec<u8>, Error>;

/// A verb as an attacker's target: what must be there, and one call. What the call saw is given
/// back; nothing of the outside may be in it.
struct Victim {
    verb: &'static str,
    prepare: Prepare,
    attempt: Attempt,
    /// How many lookups of the swapped directory one call makes: each may meet the other state.
    lookups: u32,
}

fn keep(_: &Root) {}

fn with_f(inside: &Root) {
    drop(inside.write_with(&rel("f"), "inside", fast()));
}

fn listing(root: &Root, path: &RelPath) -> Result<Vec<u8>, Error> {
    let mut seen = Vec::new();
    let mut list = root.read_dir(path)?;
    while let Some(entry) = list.next_entry()? {
        seen.extend_from_slice(entry.name().as_bytes());
    }
    Ok(seen)
}

const NONE: Vec<u8> = Vec::new();

/// Every verb, on names in a directory that is swapped.
const VICTIMS: &[Victim] = &[
    Victim {
        verb: "read",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.read(&p("data")),
    },
    Victim {
        verb: "open",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            use std::io::Read;
            let mut seen = Vec::new();
            drop(r.open(&p("data"))?.read_to_end(&mut seen));
            Ok(seen)
        },
    },
    Victim {
        verb: "open-write",
        prepare: with_f,
        lookups: 1,
        attempt: |r, p, _| {
            use std::io::Write;
            let how = OpenOptions::new().write(true).create(true).truncate(true);
            drop(r.open_with(&p("f"), how)?.write_all(b"inside"));
            Ok(NONE)
        },
    },
    Victim {
        verb: "create-new",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.open_with(
                &p(&format!("n{i}")),
                OpenOptions::new().write(true).create_new(true),
            )
            .map(|_| NONE)
        },
    },
    Victim {
        verb: "write",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.write_with(&p("f"), "inside", fast()).map(|_| NONE),
    },
    Victim {
        verb: "write-new",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.write_new_with(&p(&format!("w{i}")), "x", fast())
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "append",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.append(&p("g"), "i").map(|_| NONE),
    },
    Victim {
        verb: "create-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.create_dir(&p(&format!("d{i}"))).map(|_| NONE),
    },
    Victim {
        verb: "create-dir-all",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.create_dir_all(&p(&format!("e{i}/x/y"))).map(|_| NONE),
    },
    Victim {
        verb: "open-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.open_dir(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "resolve",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.slot(&p("data")).map(|_| NONE),
    },
    Victim {
        verb: "read-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| listing(r, &p("tree/sub")),
    },
    Victim {
        verb: "walk",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            let mut seen = Vec::new();
            let mut walk = r.walk(&p("tree"))?;
            while let Some(entry) = walk.next_entry()? {
                seen.extend(entry.path());
            }
            Ok(seen)
        },
    },
    Victim {
        verb: "copy",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, _| {
            r.copy_with(&p("data"), &p("copied"), fast())?;
            Ok(NONE)
        },
    },
    Victim {
        verb: "copy-tree",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, i| r.copy_tree(&p("tree"), &p(&format!("t{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "rename",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            r.rename(&p("f"), &p("renamed"), RenameMode::Replace)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "exchange",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            r.rename(&p("f"), &p("data"), RenameMode::Exchange)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "remove-file",
        prepare: with_f,
        lookups: 1,
        attempt: |r, p, _| r.remove_file(&p("f")).map(|()| NONE),
    },
    Victim {
        verb: "remove-dir",
        prepare: |inside| drop(inside.create_dir(&rel("empty"))),
        lookups: 1,
        attempt: |r, p, _| r.remove_dir(&p("empty")).map(|()| NONE),
    },
    Victim {
        verb: "remove-tree",
        prepare: |inside| drop(inside.create_dir_all(&rel("gone/a/b"))),
        lookups: 1,
        attempt: |r, p, _| r.remove_tree(&p("gone")).map(|()| NONE),
    },
    Victim {
        verb: "metadata",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.metadata(&p("data")).map(|_| NONE),
    },
    Victim {
        verb: "read-link",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.read_link(&p("link")).map(|text| text.as_bytes().to_vec()),
    },
    Victim {
        verb: "symlink",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| r.symlink("data", &p(&format!("l{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "hard-link",
        prepare: keep,
        lookups: 2,
        attempt: |r, p, i| r.hard_link(&p("data"), &p(&format!("h{i}"))).map(|()| NONE),
    },
    Victim {
        verb: "chmod",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, i| {
            r.chmod(&p("g"), 0o600 | u32::try_from(i % 8).unwrap())
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "chown",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.chown(&p("g"), Some(rustix::process::geteuid().as_raw()), None)
                .map(|()| NONE)
        },
    },
    Victim {
        verb: "set-times",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.set_times(
                &p("g"),
                None,
                Some(Timestamp {
                    seconds: 7,
                    nanoseconds: 7,
                }),
            )
            .map(|()| NONE)
        },
    },
    Victim {
        verb: "get-xattr",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.get_xattr(&p("g"), "user.x").map(|_| NONE),
    },
    Victim {
        verb: "set-xattr",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| match r.set_xattr(&p("g"), "user.x", b"inside") {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(NONE),
            done => done.map(|()| NONE),
        },
    },
    Victim {
        verb: "temp-file",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.temp_file(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "temp-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.temp_dir(&p("tree")).map(|_| NONE),
    },
    Victim {
        verb: "lock",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.lock(&p("lock"), LockKind::Exclusive, Duration::ZERO)
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "lock-dir",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| {
            r.lock_dir(&p("tree"), LockKind::Exclusive, Duration::ZERO)
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "version",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.version(&p("data")).map(|_| NONE),
    },
    Victim {
        verb: "write-if",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            let version = r.version(&p("f"))?;
            r.write_if_with(&p("f"), &version, "inside", fast())
                .map(|_| NONE)
        },
    },
    Victim {
        verb: "remove-if",
        prepare: with_f,
        lookups: 2,
        attempt: |r, p, _| {
            let version = r.version(&p("f"))?;
            r.remove_if(&p("f"), &version).map(|()| NONE)
        },
    },
    Victim {
        verb: "recover",
        prepare: keep,
        lookups: 1,
        attempt: |r, p, _| r.recover(&p("tree")).map(|_| NONE),
    },
];

/// What the swapped directory holds inside: the same names as outside.
fn furnish(inside: &Path) {
    for name in ["data", "f", "g", "lock"] {
        std::fs::write(inside.join(name), "inside").unwrap();
    }
    std::fs::create_dir_all(inside.join("tree/sub")).unwrap();
    std::fs::write(inside.join("tree/sub/file"), "inside").unwrap();
    std::os::unix::fs::symlink("target", inside.join("link")).unwrap();
}

fn run_cell(
    victim: &Victim,
    root: &Root,
    inside: &Root,
    prefix: &str,
    attacker: &Attacker,
    is_good: &dyn Fn() -> bool,
    canary: &Canary,
) -> Tally {
    let (limit, time) = rounds();
    let begun = Instant::now();
    let mut tally = Tally::default();
    let swaps = attacker.swaps.load(Ordering::Acquire);
    let path = |name: &str| rel(format!("{prefix}{name}"));
    while tally.attempts < limit && begun.elapsed() < time {
        (victim.prepare)(inside);
        attacker.wait_for_swap();
        let good = is_good();
        let result = (victim.attempt)(root, &path, tally.attempts);
        tally.attempts += 1;
        tally.good += u64::from(good);
        assert!(
            canary.is_untouched(),
            "{}: an effect outside after {result:?}",
            victim.verb
        );
        match result {
            Ok(seen) => {
                let leak = seen.windows(7).any(|window| window == b"outside");
                assert!(!leak, "{}: saw the outside", victim.verb);
                tally.succeeded += 1;
            }
            Err(error) => *tally.refused.entry(error.kind().name()).or_default() += 1,
        }
    }
    tally.swaps = attacker.swaps.load(Ordering::Acquire) - swaps;
    assert!(
        tally.swaps >= tally.attempts / 2,
        "{}: {} swaps in {} attempts",
        victim.verb,
        tally.swaps,
        tally.attempts
    );
    tally
}

/// Every error must be one of these; successes must come as often as the tree allows.
fn judge(what: &str, tally: &Tally, allowed: &[ErrorKind], lookups: u32) {
    let Tally {
        attempts,
        good,
        succeeded,
        refused,
        ..
    } = tally;
    println!(
        "{what}: {attempts} attempts, {good} good, {succeeded} succeeded, refused {refused:?}"
    );
    let names: Vec<_> = allowed.iter().map(|kind| kind.name()).collect();
    assert!(
        refused.keys().all(|kind| names.contains(kind)),
        "{what}: {refused:?}"
    );
    assert!(*attempts > 20, "{what}: {attempts} attempts");
    // A call of two lookups that lasts as long as a state of the tree may well meet both.
    let needed = if lookups > 1 {
        good * 4 / 10
    } else {
        good * 8 / 10
    };
    assert!(
        *succeeded >= needed,
        "{what}: {succeeded} of {attempts} with {good} good"
    );
    assert!(
        *good <= attempts * 95 / 100,
        "{what}: hardly ever bad: {good} of {attempts}"
    );
    assert!(
        attempts / 10 <= *good,
        "{what}: the attacker left the tree bad: {good} of {attempts}"
    );
}

/// Runs until something escapes, at most five seconds.
fn control(what: &str, mut escapes: impl FnMut(u64) -> bool) {
    let begun = Instant::now();
    let mut attempts = 0;
    while begun.elapsed() < Duration::from_secs(5) {
        attempts += 1;
        if escapes(attempts) {
            println!("control {what}: escaped after {attempts} attempts");
            return;
        }
    }
    panic!("control {what}: no escape in {attempts} attempts; the attack proves nothing");
}

/// The check that everybody writes first.
fn naive_check(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.parent()?.canonicalize().ok()?;
    real.starts_with(root.canonicalize().ok()?)
        .then(|| real.join(path.file_name().unwrap()))?;
    lose_the_core();
    Some(path.to_owned())
}

/// A program may lose its core between check and use at any time; where attacker and victim share
/// one, it has to.
fn lose_the_core() {
    std::thread::yield_now();
}

fn policies() -> Vec<(BackendChoice, Links)> {
    let mut policies = Vec::new();
    each_backend(|backend| {
        policies.push((backend, Links::Refuse));
        policies.push((backend, Links::Beneath));
    });
    policies
}

fn refusal(links: Links) -> ErrorKind {
    match links {
        Links::Refuse => ErrorKind::Link,
        Links::Beneath => ErrorKind::Escape,
    }
}

/// Catalogue 2: a directory on the way is exchanged with a link to the outside.
#[test]
fn directory_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    for (backend, links) in policies() {
        let scratch = Scratch::new();
        let canary = Canary::plant(&scratch.path("outside"));
        scratch.dir("a").link("../outside", "evil");
        let (real, evil) = (scratch.path("root/a"), scratch.path("root/evil"));
        furnish(&real);
        let root = scratch.open(options(backend).links(links));
        let inside = root.open_dir(&rel("a")).unwrap().into_root().unwrap();
        let attacker = Attacker::start({
            let (real, evil) = (real.clone(), evil.clone());
            move || assert!(exchange(&real, &evil))
        });
        let is_good = || std::fs::symlink_metadata(&real).is_ok_and(|meta| meta.is_dir());
        for victim in VICTIMS {
            let tally = run_cell(victim, &root, &inside, "a/", &attacker, &is_good, &canary);
            let what = format!(
                "directory-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            judge(
                &what,
                &tally,
                &[refusal(links), ErrorKind::Raced],
                victim.lookups,
            );
        }
        drop(attacker);
        scratch.assert_no_leftovers();
    }
    // The naive reader and writer in the same scene.
    let scratch = Scratch::new();
    scratch.dir("a").link("../outside", "evil");
    let (real, evil) = (scratch.path("root/a"), scratch.path("root/evil"));
    std::fs::write(real.join("data"), "inside").unwrap();
    std::fs::write(scratch.path("outside/data"), "outside").unwrap();
    let _attacker = Attacker::start({
        let (real, evil) = (real.clone(), evil);
        move || assert!(exchange(&real, &evil))
    });
    let root = scratch.root_path();
    control("read", |_| {
        naive_check(&root, &real.join("data"))
            .and_then(|path| std::fs::read(path).ok())
            .is_some_and(|seen| seen == b"outside")
    });
    control("write", |attempt| {
        let name = format!("new{attempt}");
        if let Some(path) = naive_check(&root, &real.join(&name)) {
            drop(std::fs::write(path, "x"));
        }
        scratch.path("outside").join(name).exists()
    });
}

/// Catalogue 1: the last component is exchanged with a link to an outside file.
#[test]
fn leaf_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    let verbs = [
        "read",
        "open",
        "open-write",
        "write",
        "append",
        "chmod",
        "chown",
        "set-times",
        "set-xattr",
        "version",
        "write-if",
        "lock",
        "metadata",
        "hard-link",
        "rename",
        "remove-file",
        "copy",
    ];
    for (backend, links) in policies() {
        for victim in VICTIMS.iter().filter(|victim| verbs.contains(&victim.verb)) {
            let scratch = Scratch::new();
            let canary = Canary::plant(&scratch.path("outside"));
            scratch.dir("d");
            furnish(&scratch.path("root/d"));
            let root = scratch.open(options(backend).links(links));
            let inside = root.open_dir(&rel("d")).unwrap().into_root().unwrap();
            // Every name the verb uses is swapped: the file, and a link to its outside twin.
            let names = ["data", "f", "g", "lock"];
            for name in names {
                scratch.link(format!("../../outside/{name}"), &format!("d/{name}.link"));
            }
            let dir = scratch.path("root/d");
            let attacker = Attacker::start({
                let dir = dir.clone();
                move || {
                    for name in names {
                        let (leaf, link) = (dir.join(name), dir.join(format!("{name}.link")));
                        if !exchange(&leaf, &link) {
                            // The victim removed or renamed one of them.
                            let target = format!("../../outside/{name}");
                            drop(
                                std::fs::OpenOptions::new()
                                    .write(true)
                                    .create_new(true)
                                    .open(&leaf),
                            );
                            drop(std::os::unix::fs::symlink(target, &link));
                        }
                    }
                }
            });
            let watched = match victim.verb {
                "read" | "open" | "version" | "metadata" | "hard-link" | "copy" => "data",
                "open-write" | "write" | "write-if" | "rename" | "remove-file" => "f",
                "lock" => "lock",
                _ => "g",
            };
            let is_good =
                || std::fs::symlink_metadata(dir.join(watched)).is_ok_and(|meta| meta.is_file());
            let tally = run_cell(victim, &root, &inside, "d/", &attacker, &is_good, &canary);
            let what = format!(
                "leaf-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            println!(
                "{what}: {} attempts, {} good, {} succeeded, refused {:?}",
                tally.attempts, tally.good, tally.succeeded, tally.refused
            );
            let allowed = [
                refusal(links),
                ErrorKind::Link,
                ErrorKind::Raced,
                ErrorKind::NotFound,
                ErrorKind::Stale,
                ErrorKind::Kind,
            ]
            .map(ErrorKind::name);
            assert!(
                tally.refused.keys().all(|kind| allowed.contains(kind)),
                "{what}: {:?}",
                tally.refused
            );
            let needed = match victim.verb {
                // The attacker's own renames change the file's version faster than it can be used.
                "write-if" => 0,
                _ if victim.lookups > 1 => tally.good / 10,
                _ => tally.good / 2,
            };
            assert!(
                tally.succeeded >= needed,
                "{what}: {} with {} good",
                tally.succeeded,
                tally.good
            );
            drop(attacker);
            assert!(canary.is_untouched());
        }
    }
    let scratch = Scratch::new();
    scratch
        .file("leaf", "inside")
        .link("../outside/secret", "link");
    let (leaf, link) = (scratch.path("root/leaf"), scratch.path("root/link"));
    let _attacker = Attacker::start({
        let leaf = leaf.clone();
        move || assert!(exchange(&leaf, &link))
    });
    control("leaf read", |_| {
        let is_file = std::fs::symlink_metadata(&leaf).is_ok_and(|meta| meta.is_file());
        lose_the_core();
        is_file && std::fs::read(&leaf).is_ok_and(|seen| seen == b"outside")
    });
    control("leaf write", |_| {
        let is_file = std::fs::symlink_metadata(&leaf).is_ok_and(|meta| meta.is_file());
        lose_the_core();
        if is_file {
            drop(std::fs::write(&leaf, "escaped"));
        }
        scratch.read("outside/secret") == "escaped"
    });
}

/// Catalogue 5: the root's own name is exchanged with a link to the outside. A pinned root does not
/// notice: every call succeeds.
#[test]
fn root_name_swapped_with_a_link() {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poison| poison.into_inner());
    for (backend, links) in policies() {
        let scratch = Scratch::new();
        let canary = Canary::plant(&scratch.path("outside"));
        scratch.dir("a");
        furnish(&scratch.path("root/a"));
        std::os::unix::fs::symlink("outside", scratch.path("evil")).unwrap();
        let root = scratch.open(options(backend).links(links));
        let inside = root.open_dir(&rel("a")).unwrap().into_root().unwrap();
        let attacker = Attacker::start({
            let (real, evil) = (scratch.path("root"), scratch.path("evil"));
            move || assert!(exchange(&real, &evil))
        });
        for victim in VICTIMS {
            let tally = run_cell(victim, &root, &inside, "a/", &attacker, &|| true, &canary);
            let what = format!(
                "root-swap {} {} {links:?}",
                victim.verb,
                backend_name(backend)
            );
            println!("{what}: {} of {}", tally.succeeded, tally.attempts);
            assert_eq!(
                tally.succeeded, tally.attempts,
                "{what}: {:?}",
                tally.refused
            );
        }
    }
    let scratch = Scratch::new();
    std::fs::write(scratch.path("root/secret"), "inside").unwrap();
    std::os::unix::fs::symlink("outside", scratch.path("evil")).unwrap();
    let top = scratch.top.clone();
    let _attacker = Attacker::start({
        let (real, evil) = (scratch.path("root"), scratch.path("evil"));
        move || assert!(exchange(&real, &evil))
    });
    control("root", |_| {
        let is_dir = std::fs::symlink_metadata(top.join("root")).is_ok_and(|meta| meta.is_dir());
        lose_the_core();
        is_dir && std::fs::read(top.join("root/secret")).is_ok_and(|seen| seen == b"outside")
    });
}

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
        let (limit, time) = rounds();
        let begun = Instant::now();
        let mut tally = Tally::default();
        while tally.attempts < limit && begun.elapsed() < time {
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
            let (limit, time) = rounds();
            let begun = Instant::now();
            let mut tally = Tally::default();
            while tally.attempts < limit && begun.elapsed() < time {
                drop(root.remove_tree(&rel("results.json")));
                attacker.wait_for_swap();
                tally.attempts += 1;
                let free = std::fs::symlink_metadata(scratch.path("root/results.json")).is_err();
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
            // A new name is mostly taken again before the content is there: one success is one.
            let needed = if verb == "write-new" {
                1
            } else {
                tally.good / 8
            };
            assert!(
                tally.succeeded >= needed.max(1),
                "{what}: {} with {} good",
                tally.succeeded,
                tally.good
            );
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
        let (limit, time) = rounds();
        let begun = Instant::now();
        let (mut attempts, mut succeeded) = (0, 0);
        let (dir, link) = (scratch.path("root/t/a"), scratch.path("root/t/evil"));
        let attacker = Attacker::start({
            let (dir, link) = (dir.clone(), link.clone());
            move || {
                exchange(&dir, &link);
            }
        });
        while attempts < limit / 4 && begun.elapsed() < time {
            drop(std::fs::create_dir_all(scratch.path("root/t/a/sub")));
            drop(std::fs::write(scratch.path("root/t/a/sub/f"), ""));
            drop(std::os::unix::fs::symlink(
                scratch.path("outside/tree"),
                &link,
            ));
            attacker.wait_for_swap();
            attempts += 1;
            match root.remove_tree(&rel("t")) {
                Ok(()) => succeeded += 1,
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
        println!("tree {}: {succeeded} of {attempts}", backend_name(backend));
        assert!(succeeded * 10 >= attempts * 4, "{succeeded} of {attempts}");
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
