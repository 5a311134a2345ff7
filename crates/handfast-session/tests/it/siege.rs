//! Many sessions on one directory, with others at work in it from outside.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use handfast::ErrorKind;
use handfast_session::{Mode, MountSpec, Protect, Quota, Session, SessionSpec};

use crate::support::*;
use crate::turns::Turns;

/// Plants a link at the target when it is told of the intent: after everything was validated and
/// decided, and before anything is done.
struct Planter {
    target: std::path::PathBuf,
    outside: std::path::PathBuf,
    planted: AtomicBool,
}

impl handfast::Recorder for Planter {
    fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
        if event.phase == handfast::Phase::Intent && !self.planted.swap(true, Ordering::SeqCst) {
            drop(std::fs::remove_file(&self.target));
            symlink(&self.outside, &self.target).unwrap();
        }
        Ok(())
    }
}

/// The regression that started it all: `results.json` is validated, then becomes a link to a file
/// outside, then is written.
#[test]
fn write_fails_or_lands_inside_when_the_target_is_a_symlink_created_after_validation() {
    type Verb = fn(&Session) -> Result<(), handfast_session::Error>;
    let verbs: [(&str, Verb); 6] = [
        ("write", |session| {
            session.write("/data/results.json", "malicious").map(drop)
        }),
        ("write-new", |session| {
            session
                .write_new("/data/results.json", "malicious")
                .map(drop)
        }),
        ("append", |session| {
            session.append("/data/results.json", "malicious").map(drop)
        }),
        ("mkdir", |session| session.create_dir("/data/results.json")),
        ("rename", |session| {
            session.rename(
                "/data/source",
                "/data/results.json",
                handfast::RenameMode::Replace,
            )
        }),
        ("open", |session| {
            let how = handfast_session::OpenOptions::new()
                .write(true)
                .create(true);
            let mut file = session.open_with("/data/results.json", how)?;
            std::io::Write::write_all(&mut file, b"malicious").unwrap();
            Ok(())
        }),
    ];
    for mode in [Mode::ReadWrite, Mode::Memory] {
        for (name, verb) in verbs {
            let scratch = Scratch::new();
            scratch.file("source", "source");
            let before = scratch.outside();
            let planter = Arc::new(Planter {
                target: scratch.at("results.json"),
                outside: scratch.top.join("outside/secret"),
                planted: AtomicBool::new(false),
            });
            let mount = MountSpec::new(scratch.base(), v("/data")).mode(mode);
            let caller = me().recorder(planter.clone());
            let spec = SessionSpec::new().mount(mount);
            let session = Session::new(&spec, caller).unwrap();
            let answer = verb(&session);
            assert!(planter.planted.load(Ordering::SeqCst));
            assert_eq!(scratch.outside(), before, "{mode} {name} wrote outside");
            if let Err(error) = &answer {
                let kinds = [ErrorKind::Escape, ErrorKind::Link, ErrorKind::Exists];
                assert!(kinds.contains(&error.kind()), "{mode} {name}: {error}");
            } else {
                // It landed inside: the link itself was replaced, as a rename does.
                assert_eq!(name, "rename", "{mode} {name}");
            }
        }
    }
    // The control: check, then use.
    let scratch = Scratch::new();
    let target = scratch.at("results.json");
    assert!(!target.exists() && target.parent().unwrap().starts_with(scratch.base()));
    symlink(scratch.top.join("outside/secret"), &target).unwrap();
    std::fs::write(&target, "malicious").unwrap();
    assert_eq!(
        std::fs::read(scratch.top.join("outside/secret")).unwrap(),
        b"malicious"
    );
}

const SESSIONS: usize = 150;
const ROUNDS: u64 = 12;

/// A content that shows when it is mixed or cut.
fn whole(writer: u64) -> Vec<u8> {
    let byte = b'A' + (writer % 26) as u8;
    vec![byte; 512 + (writer % 26) as usize]
}

fn is_whole(content: &[u8]) -> bool {
    let Some(first) = content.first() else {
        return false;
    };
    content.iter().all(|byte| byte == first)
        && content.len() == 512 + usize::from(first.wrapping_sub(b'A'))
}

/// Three attackers at three kinds of work, until they are told to stop.
fn attackers<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    base: &Path,
    outside: &Path,
    stop: &'scope AtomicBool,
    turns: &'scope AtomicU64,
) {
    let (base, outside) = (base.to_owned(), outside.to_owned());
    let (dir, out) = (base.clone(), outside.clone());
    // Links that come and go at the names that are written.
    scope.spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            drop(symlink(
                out.join("secret"),
                dir.join("shared/results.json.tmp"),
            ));
            let from = dir.join("shared/results.json.tmp");
            drop(std::fs::rename(from, dir.join("shared/results.json")));
            drop(std::fs::remove_file(dir.join("shared/results.json")));
            turns.fetch_add(1, Ordering::Relaxed);
            std::thread::yield_now();
        }
    });
    let (dir, out) = (base.clone(), outside.clone());
    // A directory on the way that turns into a link to the outside and back.
    scope.spawn(move || {
        let (real, link) = (dir.join("swap"), dir.join("swap-link"));
        symlink(&out, &link).unwrap();
        while !stop.load(Ordering::Relaxed) {
            let flags = rustix_exchange(&real, &link);
            turns.fetch_add(u64::from(flags), Ordering::Relaxed);
            std::thread::yield_now();
        }
    });
    // Secrets that change places with what may be read.
    scope.spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            drop(std::fs::hard_link(
                outside.join("secret"),
                base.join("shared/planted"),
            ));
            drop(std::fs::remove_file(base.join("shared/planted")));
            drop(symlink("../.env", base.join("shared/innocent")));
            drop(std::fs::remove_file(base.join("shared/innocent")));
            turns.fetch_add(1, Ordering::Relaxed);
            std::thread::yield_now();
        }
    });
}

fn rustix_exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags};
    rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// Validates, then uses: what the report describes.
fn naive_write(base: &Path, path: &Path, content: &[u8]) {
    let target = base.join(path);
    let Some(Ok(parent)) = target.parent().map(std::fs::canonicalize) else {
        return;
    };
    if !parent.starts_with(base) || std::fs::symlink_metadata(&target).is_ok_and(|t| t.is_symlink())
    {
        return;
    }
    drop(std::fs::write(&target, content));
}

#[derive(Default)]
struct Tally {
    ok: AtomicU64,
    refused: AtomicU64,
    torn: AtomicU64,
    secrets: AtomicU64,
}

fn work(session: &Session, number: u64, tally: &Tally) {
    let note = |result: Result<(), handfast_session::Error>| match result {
        Ok(()) => tally.ok.fetch_add(1, Ordering::Relaxed),
        Err(_) => tally.refused.fetch_add(1, Ordering::Relaxed),
    };
    note(
        session
            .write("/shared/results.json", whole(number))
            .map(drop),
    );
    note(
        session
            .write(format!("/shared/own-{}", number % 7), whole(number))
            .map(drop),
    );
    note(session.write("/swap/file", whole(number)).map(drop));
    for path in ["/shared/results.json", "/swap/file", "/shared/own-3"] {
        if let Ok(content) = session.read(path) {
            tally.ok.fetch_add(1, Ordering::Relaxed);
            if content == b"outside" || content == b"SECRET" {
                tally.secrets.fetch_add(1, Ordering::Relaxed);
            } else if !is_whole(&content) {
                tally.torn.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    for path in ["/.env", "/shared/innocent", "/swap/secret", "/swap/.env"] {
        if let Ok(content) = session.read(path)
            && (content == b"SECRET" || content == b"outside")
        {
            tally.secrets.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_hundred_and_fifty_sessions_on_one_directory_under_attack() {
    let scratch = Scratch::new();
    scratch
        .file(".env", "SECRET")
        .file("shared/own-3", whole(3))
        .file("swap/file", whole(1))
        .dir("shared");
    let before = scratch.outside();
    let protect = Protect::new().with_deny(".env");
    let quota = Quota {
        bytes: Some(20_000),
        ..Quota::new()
    };
    let catalogue = scratch.catalogue();
    let mut sessions = Vec::new();
    let mode_of = |number: usize| Mode::ALL[number % 4];
    for number in 0..SESSIONS {
        let mode = mode_of(number);
        let mount = scratch.mount(mode).protect(protect.clone()).quota(quota);
        let spec = SessionSpec::new().mount(mount);
        sessions.push(if mode == Mode::Overlay {
            let name = format!("s{number}");
            catalogue.create(&name, &spec).unwrap();
            catalogue.open(&name, me()).unwrap()
        } else {
            Session::new(&spec, me()).unwrap()
        });
    }
    let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let turned = Turns::start();
    let tally = Tally::default();
    std::thread::scope(|scope| {
        let outside = scratch.top.join("outside");
        attackers(scope, &scratch.base(), &outside, &stop, &turns);
        let workers: Vec<_> = sessions
            .chunks(SESSIONS / 3)
            .map(|part| {
                let tally = &tally;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        for (index, session) in part.iter().enumerate() {
                            work(session, round * 31 + index as u64, tally);
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{} ok, {} refused, {} turns of attackers",
        count(&tally.ok),
        count(&tally.refused),
        count(&turns)
    );
    assert_eq!(scratch.outside(), before, "nothing left the mount");
    assert_eq!(count(&tally.secrets), 0, "nothing denied was read");
    assert_eq!(count(&tally.torn), 0, "every read saw a whole version");
    assert!(count(&tally.ok) > SESSIONS as u64 * ROUNDS, "work was done");
    if count(&turns) <= 100 {
        let counts = [("turns of the attackers", count(&turns))];
        turned.settle_counts("many sessions under attack", &counts);
    }
    // Quotas: what is charged is at least what is there.
    for (number, session) in sessions.iter().enumerate() {
        let used = session.usage().unwrap()[0].used;
        assert!(used.bytes <= 20_000, "{}", mode_of(number));
        match mode_of(number) {
            Mode::ReadOnly => {
                assert_eq!((used.bytes, used.inodes), (0, 0));
                assert_eq!(kind(session.write("/shared/x", "")), ErrorKind::Denied);
            }
            Mode::ReadWrite | Mode::Memory | Mode::Overlay => {}
        }
        if mode_of(number) != Mode::Overlay {
            continue;
        }
        let home = scratch
            .top
            .join(format!("state/sessions/s{number}/mount-0/objects"));
        let there: u64 = std::fs::read_dir(home)
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(used.bytes >= there, "{} charged, {there} there", used.bytes);
    }
}

#[test]
fn the_same_attack_beats_a_naive_writer() {
    let scratch = Scratch::new();
    scratch.file("swap/file", "x").dir("shared");
    let base = std::fs::canonicalize(scratch.base()).unwrap();
    let before = scratch.outside();
    let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let escaped = Mutex::new(0);
    let turned = Turns::start();
    std::thread::scope(|scope| {
        let outside = scratch.top.join("outside");
        attackers(scope, &base, &outside, &stop, &turns);
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline && *escaped.lock().unwrap() == 0 {
            for path in ["shared/results.json", "swap/file"] {
                naive_write(&base, Path::new(path), b"naive");
            }
            if scratch.outside() != before {
                *escaped.lock().unwrap() += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    if *escaped.lock().unwrap() == 0 {
        turned.settle("naive writer beside sessions", "nobody escaped");
    }
}

#[test]
fn quotas_hold_between_threads() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let scratch = Scratch::new();
        let quota = Quota {
            bytes: Some(10_000),
            ..Quota::new()
        };
        let mount = scratch.mount(mode).quota(quota);
        let session = scratch.session_of(&SessionSpec::new().mount(mount));
        session.write("/log", "").unwrap();
        let refused = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (session, refused) = (&session, &refused);
                scope.spawn(move || {
                    let how = handfast_session::OpenOptions::new().append(true);
                    let mut handle = session.open_with("/log", how).unwrap();
                    for number in 0..100 {
                        let wrote = std::io::Write::write(&mut handle, &[b'x'; 40]).is_ok()
                            && session
                                .write(format!("/f{thread}"), vec![b'y'; number])
                                .is_ok();
                        refused.fetch_add(u64::from(!wrote), Ordering::Relaxed);
                    }
                });
            }
        });
        let there: usize = session
            .read_dir("/")
            .unwrap()
            .iter()
            .map(|entry| session.read(format!("/{}", entry.name)).unwrap().len())
            .sum();
        let used = session.usage().unwrap()[0].used.bytes;
        assert!(
            there <= 10_000 && used >= there as u64,
            "{mode}: {there} there, {used} charged"
        );
        assert!(
            refused.load(Ordering::Relaxed) > 0,
            "{mode}: the limit was reached"
        );
    }
}
