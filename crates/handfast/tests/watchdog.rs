//! Nothing that is in a tree can make a call hang: each has a second.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast::{ErrorKind, LockKind, OpenOptions, RelPath, Root, TreeLimits};
use support::*;

fn try_everything(root: Root, path: &'static str) -> Vec<(&'static str, ErrorKind)> {
    within_a_second(path, move || {
        let path = rel(path);
        let calls: Vec<(&'static str, Result<(), handfast::Error>)> = vec![
            ("open", root.open(&path).map(drop)),
            ("read", root.read(&path).map(drop)),
            ("read_versioned", root.read_versioned(&path).map(drop)),
            ("version", root.version(&path).map(drop)),
            ("write", root.write(&path, "x").map(drop)),
            ("append", root.append(&path, "x").map(drop)),
            (
                "open rw",
                root.open_with(&path, OpenOptions::new().write(true))
                    .map(drop),
            ),
            (
                "open w",
                root.open_with(&path, OpenOptions::new().read(false).write(true))
                    .map(drop),
            ),
            (
                "truncate",
                root.open_with(&path, OpenOptions::new().write(true).truncate(true))
                    .map(drop),
            ),
            ("copy", root.copy(&path, &rel("copy")).map(drop)),
            ("chmod", root.chmod(&path, 0o600)),
            ("xattr", root.set_xattr(&path, "user.x", b"x")),
            (
                "lock",
                root.lock(&path, LockKind::Exclusive, Duration::from_millis(10))
                    .map(drop),
            ),
            ("hard_link", root.hard_link(&path, &rel("linked"))),
        ];
        calls
            .into_iter()
            .filter_map(|(name, result)| result.err().map(|error| (name, error.kind())))
            .collect()
    })
}

#[test]
fn a_fifo_never_hangs_a_call() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.fifo("fifo");
        let refused = try_everything(scratch.open(options), "fifo");
        assert_eq!(refused.len(), 14, "{refused:?}");
        assert!(
            refused.iter().all(|(_, kind)| *kind == ErrorKind::Kind),
            "{refused:?}"
        );
    });
}

#[test]
fn a_fifo_in_a_tree_never_hangs_a_call() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("t/a", "").fifo("t/fifo");
        let root = scratch.open(options);
        within_a_second("walk, copy and remove", move || {
            let mut walk = root.walk(&rel("t")).unwrap();
            while let Some(entry) = walk.next_entry().unwrap() {
                entry.metadata().unwrap();
            }
            assert_kind(root.copy_tree(&rel("t"), &rel("u")), ErrorKind::Kind);
            root.remove_tree(&rel("t")).unwrap();
        });
    });
}

#[test]
fn a_leased_file_is_busy_and_never_waited_for() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "content").link("f", "link");
        let holder = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(scratch.path("root/f"))
            .unwrap();
        // SAFETY: F_SETLEASE takes two integers and touches no memory.
        #[allow(unsafe_code)]
        let leased = unsafe { libc::fcntl(holder.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
        if leased != 0 {
            skip("no lease can be taken here");
            return;
        }
        // The holder gets SIGIO when the lease is broken; nobody must die of it.
        // SAFETY: SIG_IGN is a valid disposition and no handler of ours is replaced.
        #[allow(unsafe_code)]
        unsafe {
            libc::signal(libc::SIGIO, libc::SIG_IGN);
        }
        let root = scratch.open(options.clone());
        within_a_second("reading a leased file", move || {
            assert_kind(root.read(&rel("f")), ErrorKind::Busy);
            assert_kind(root.append(&rel("f"), "x"), ErrorKind::Busy);
            if options_follow(&root) {
                assert_kind(root.read(&rel("link")), ErrorKind::Busy);
            }
            // Pinning breaks no lease.
            root.metadata(&rel("f")).unwrap();
        });
        drop(holder);
    });
}

fn options_follow(root: &Root) -> bool {
    root.enforcement().links == handfast::Links::Beneath
}

#[test]
fn a_device_is_refused_and_never_written() {
    if !am_root() {
        skip("making a device needs privileges");
        return;
    }
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let zero = scratch.path("root/zero");
        let device = rustix::fs::makedev(1, 5);
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &zero,
            rustix::fs::FileType::CharacterDevice,
            rustix::fs::Mode::from_raw_mode(0o666),
            device,
        );
        if made.is_err() {
            skip("no device can be made here");
            return;
        }
        let refused = try_everything(scratch.open(options), "zero");
        assert_eq!(refused.len(), 14, "{refused:?}");
        // EACCES on a filesystem mounted without devices.
        assert!(
            refused
                .iter()
                .all(|(_, kind)| matches!(kind, ErrorKind::Kind | ErrorKind::Denied)),
            "{refused:?}"
        );
    });
}

#[test]
fn a_sparse_file_of_any_size_is_a_limit() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let file = std::fs::File::create(scratch.path("root/huge")).unwrap();
        // As large as the filesystem takes.
        let sizes = [1 << 62, 1 << 50, 1 << 43, 1 << 40];
        assert!(sizes.iter().any(|size| file.set_len(*size).is_ok()));
        let root = scratch.open(options);
        within_a_second("reading a huge file", move || {
            assert_kind(root.read(&rel("huge")), ErrorKind::Limit);
            assert_kind(root.read_versioned(&rel("huge")), ErrorKind::Limit);
            assert_kind(root.version(&rel("huge")), ErrorKind::Limit);
        });
    });
}

/// Somebody who adds entries for ever: listing ends, removing ends or says `Busy`.
#[test]
fn a_directory_that_never_stops_growing() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.dir("t/sub");
        let done = Arc::new(AtomicBool::new(false));
        let grower = std::thread::spawn({
            let (done, dir) = (Arc::clone(&done), scratch.path("root/t/sub"));
            move || {
                let mut number = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    drop(std::fs::create_dir_all(&dir));
                    for _ in 0..50 {
                        drop(std::fs::File::create(dir.join(format!("f{number}"))));
                        number += 1;
                    }
                }
            }
        });
        std::thread::sleep(Duration::from_millis(5));
        let root = scratch.open(options);
        let begun = Instant::now();
        let limits = TreeLimits::new().with_time(Duration::from_millis(300));
        for _ in 0..5 {
            match root.remove_tree_with(&rel("t"), limits) {
                Ok(()) => {}
                Err(error) => assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Busy | ErrorKind::Limit | ErrorKind::NotFound
                    ),
                    "{error}"
                ),
            }
            if let Ok(mut walk) = root.walk_with(&RelPath::root(), limits) {
                while let Ok(Some(_)) = walk.next_entry() {}
            }
        }
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
        done.store(true, Ordering::Relaxed);
        grower.join().unwrap();
        drop(root.remove_tree(&rel("t")));
        assert!(!scratch.path("root/t").exists());
    });
}

/// Signals interrupt calls again and again; no call fails because of it.
#[test]
fn a_storm_of_signals_changes_nothing() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("a/f", "old");
        let root = scratch.open(options(backend));
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: the handler does nothing, and is installed without SA_RESTART so that calls are
        // really interrupted. The structure is zeroed, which is a valid empty mask and no flags.
        #[allow(unsafe_code)]
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        }
        let done = Arc::new(AtomicBool::new(false));
        // SAFETY: asks for the calling thread's own id.
        #[allow(unsafe_code)]
        let victim = unsafe { libc::pthread_self() } as usize;
        let storm = std::thread::spawn({
            let done = Arc::clone(&done);
            move || {
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: the victim thread outlives this one, which it joins.
                    #[allow(unsafe_code)]
                    unsafe {
                        libc::pthread_kill(victim as libc::pthread_t, libc::SIGUSR1);
                    }
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
        });
        let begun = Instant::now();
        let mut rounds = 0;
        while begun.elapsed() < Duration::from_millis(300) {
            root.write(&rel("a/f"), "new").unwrap();
            assert_eq!(root.read(&rel("a/f")).unwrap(), b"new");
            root.create_dir_all(&rel("p/q")).unwrap();
            root.remove_tree(&rel("p")).unwrap();
            rounds += 1;
        }
        done.store(true, Ordering::Relaxed);
        storm.join().unwrap();
        assert!(rounds > 3, "{rounds}");
    });
}
