//! Locks by virtual path.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use handfast::{ErrorKind, LockKind};
use handfast_session::{Mode, Session};

use crate::support::{Scratch, kind};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(60);

/// Two views of one session, as two processes have them; of one, where it is in memory.
fn views(s: &Scratch, mode: Mode) -> (Session, Option<Session>) {
    let first = s.session(mode);
    let second = (mode != Mode::Memory).then(|| s.session(mode));
    (first, second)
}

#[test]
fn a_lock_keeps_others_out_until_it_is_dropped() {
    for mode in [Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let s = Scratch::new();
        s.file("there", "content").dir("d");
        let (one, other) = views(&s, mode);
        let other = other.as_ref().unwrap_or(&one);
        for path in ["/there", "/new"] {
            let lock = one.lock(path, LockKind::Exclusive, NOW).unwrap();
            assert!(lock.verify().unwrap());
            let shared = other.lock(path, LockKind::Shared, NOW);
            assert_eq!(kind(shared), ErrorKind::Busy, "{mode:?}");
            // Other paths are free, and so is reading and writing: locks are for who asks.
            drop(other.lock("/else", LockKind::Exclusive, NOW).unwrap());
            drop(other.lock_dir("/d", LockKind::Exclusive, NOW).unwrap());
            other.read(path).unwrap();
            drop(lock);
            let first = other.lock(path, LockKind::Shared, NOW).unwrap();
            let second = one.lock(path, LockKind::Shared, NOW).unwrap();
            let refused = one.lock(path, LockKind::Exclusive, NOW);
            assert_eq!(kind(refused), ErrorKind::Busy, "{mode:?}");
            drop((first, second));
            drop(one.lock(path, LockKind::Exclusive, NOW).unwrap());
        }
        assert_eq!(one.read("/there").unwrap(), b"content");
        assert_eq!(one.read("/new").unwrap(), b"");
        let dir = one.lock_dir("/d", LockKind::Exclusive, NOW).unwrap();
        let refused = other.lock_dir("/d", LockKind::Exclusive, NOW);
        assert_eq!(kind(refused), ErrorKind::Busy, "{mode:?}");
        drop(dir);
        if mode == Mode::Overlay {
            let left = std::process::Command::new("find")
                .arg(s.top.join("state"))
                .args(["-path", "*/locks/*"])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&left.stdout), "", "no file stays");
        }
    }
}

#[test]
fn what_is_no_file_is_not_locked() {
    for mode in [Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let s = Scratch::new();
        s.dir("d").file("f", "").link("f", "link");
        s.link(s.top.join("outside/secret"), "out");
        let session = s.session(mode);
        let lock = |path| kind(session.lock(path, LockKind::Exclusive, NOW));
        assert_eq!(lock("/d"), ErrorKind::IsADirectory, "{mode:?}");
        assert_eq!(lock("/link"), ErrorKind::Link, "{mode:?}");
        assert_eq!(lock("/out"), ErrorKind::Link, "{mode:?}");
        assert_eq!(lock("/none/f"), ErrorKind::NotFound, "{mode:?}");
        let dir = |path| kind(session.lock_dir(path, LockKind::Exclusive, NOW));
        assert_eq!(dir("/f"), ErrorKind::NotADirectory, "{mode:?}");
        assert_eq!(dir("/none"), ErrorKind::NotFound, "{mode:?}");
    }
    let s = Scratch::new();
    s.file("f", "");
    let session = s.session(Mode::ReadOnly);
    let refused = session.lock("/f", LockKind::Shared, NOW);
    assert_eq!(kind(refused), ErrorKind::Denied);
}

#[test]
fn nobody_gets_in_while_many_take_turns() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let s = Scratch::new();
        drop(s.session(mode));
        let (inside, turns) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let session = s.session(mode);
                    for _ in 0..25 {
                        let lock = session.lock("/turn", LockKind::Exclusive, LONG).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{mode:?}");
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        turns.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(turns.load(Ordering::SeqCst), 100);
    }
}
