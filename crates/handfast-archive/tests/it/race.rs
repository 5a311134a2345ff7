//! A process that exchanges names while archives are extracted, and a second extraction into the same
//! place.
//!
//! The attacker finds whatever is being extracted, goes into it, and exchanges its directories with links
//! that lead outside, as fast as it can. An extraction may win or be refused; nothing may ever appear
//! outside. A naive extractor of our own, which works by path, has to lose against the same attacker:
//! otherwise the attacker is too weak to show anything.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast::{BackendChoice, ErrorKind, RelPath};
use handfast_archive::{Input, Target, extract};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Place, with_links};
use crate::tar_bytes::Bytes;

/// How many pairs of extractions are made.
const ROUNDS: u64 = 1_000;

/// For how long at most; `HANDFAST_RACE_SECONDS` sets another time.
fn at_most() -> Duration {
    let asked = std::env::var("HANDFAST_RACE_SECONDS").ok();
    Duration::from_secs(asked.and_then(|text| text.parse().ok()).unwrap_or(8))
}

/// How long the naive one is attacked before the attacker counts as too weak.
const NAIVE_PATIENCE: Duration = Duration::from_secs(60);

fn archive() -> Vec<u8> {
    let mut bytes = Bytes::new().dir("d").dir("d/e");
    for number in 0..6 {
        bytes = bytes.file(&format!("d/e/file{number}"), b"content");
        bytes = bytes.file(&format!("d/file{number}"), b"content");
    }
    bytes
        .symlink("d/link", "file0")
        .hard_link("d/e/hard", "d/file1")
        .end()
}

/// Exchanges directories that are being filled with links to the outside, until the test stops it.
fn attack(inside: &Path, outside: &Path, stop: &AtomicBool, exchanged: &AtomicU64) {
    // As long as it is needed, the link lies where only the attacker looks.
    let links: Vec<PathBuf> = (0..4)
        .map(|number| inside.join(format!("evil{number}")))
        .collect();
    for link in &links {
        symlink(outside, link).unwrap();
    }
    let mut turn = 0;
    while !stop.load(Ordering::Relaxed) {
        let Ok(entries) = std::fs::read_dir(inside) else {
            continue;
        };
        for entry in entries.flatten() {
            let top = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            for below in ["tree", "tree/d", "tree/d/e", "d", "d/e"] {
                turn += 1;
                let link = &links[turn % links.len()];
                let victim = top.join(below);
                let swap = || renameat_with(CWD, &victim, CWD, link, RenameFlags::EXCHANGE);
                if swap().is_err() {
                    continue;
                }
                exchanged.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
                if swap().is_err() {
                    // The victim took the link away: another one is needed.
                    drop(std::fs::remove_dir_all(link));
                    drop(symlink(outside, link));
                }
            }
        }
    }
}

/// What a careful program by path does: it looks at every directory, and then writes by path.
fn naive(top: &Path) -> std::io::Result<()> {
    std::fs::create_dir(top)?;
    for dir in ["d", "d/e"] {
        std::fs::create_dir(top.join(dir))?;
    }
    for number in 0..6 {
        for dir in ["d/e", "d"] {
            let path = top.join(dir);
            if path.symlink_metadata()?.is_symlink()
                || top.join("d").symlink_metadata()?.is_symlink()
            {
                return Err(std::io::ErrorKind::PermissionDenied.into());
            }
            std::fs::write(path.join(format!("file{number}")), "content")?;
        }
    }
    Ok(())
}

/// What appeared outside.
fn escaped(outside: &Path) -> Vec<String> {
    let names = crate::support::tree(outside).into_keys();
    names.filter(|name| name != "secret").collect()
}

struct Attacked {
    exchanged: u64,
}

/// Runs work under attack.
fn under_attack(place: &Place, work: impl FnOnce()) -> Attacked {
    let (stop, exchanged) = (AtomicBool::new(false), AtomicU64::new(0));
    let (inside, outside) = (place.inside(), place.dir.path().join("outside"));
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| attack(&inside, &outside, &stop, &exchanged));
        work();
        stop.store(true, Ordering::Relaxed);
        attacker.join().unwrap();
    });
    Attacked {
        exchanged: exchanged.load(Ordering::Relaxed),
    }
}

#[test]
fn a_naive_extractor_escapes_under_the_attack() {
    let place = Place::new();
    let outside = place.dir.path().join("outside");
    let begun = Instant::now();
    let mut rounds = 0;
    let attacked = under_attack(&place, || {
        while escaped(&outside).is_empty() && begun.elapsed() < NAIVE_PATIENCE {
            rounds += 1;
            let top = place.inside().join("naive");
            drop(naive(&top));
            drop(std::fs::remove_dir_all(&top));
        }
    });
    println!(
        "the naive one: {rounds} rounds, {} exchanges",
        attacked.exchanged
    );
    assert!(
        !escaped(&outside).is_empty(),
        "the attacker is too weak to show anything"
    );
}

fn contend(backend: BackendChoice) {
    let place = Place::on(backend);
    let outside = place.dir.path().join("outside");
    let archive = archive();
    let begun = Instant::now();
    let (mut done, mut refused) = (0, 0);
    let attacked = under_attack(&place, || {
        for round in 0..ROUNDS {
            if begun.elapsed() > at_most() {
                break;
            }
            // Two extractions into one place: one of them at most has it.
            let (one, other) = std::thread::scope(|scope| {
                let run = || place.extract(&archive, with_links());
                let second = scope.spawn(run);
                (run(), second.join().unwrap())
            });
            for result in [one, other] {
                match result {
                    Ok(report) if report.extracted => done += 1,
                    Ok(report) => panic!("round {round}: refused {report:?}"),
                    // What the attacker's exchanges lead to, and a name that is taken.
                    Err(error) => {
                        let kind = error.kind();
                        let allowed = matches!(
                            kind,
                            ErrorKind::Raced
                                | ErrorKind::Link
                                | ErrorKind::NotADirectory
                                | ErrorKind::NotFound
                                | ErrorKind::Exists
                                | ErrorKind::Escape
                                | ErrorKind::Busy
                                | ErrorKind::NotEmpty
                        );
                        assert!(allowed, "round {round}: {error}");
                        refused += 1;
                    }
                }
            }
            drop(std::fs::remove_dir_all(place.inside().join("out")));
        }
    });
    println!(
        "{backend:?}: {done} extracted, {refused} refused, {} exchanges",
        attacked.exchanged
    );
    assert_eq!(escaped(&outside), Vec::<String>::new());
    assert_eq!(std::fs::read(outside.join("secret")).unwrap(), b"secret");
    if attacked.exchanged == 0 || done == 0 {
        println!(
            "starved: {done} extracted, {} exchanges",
            attacked.exchanged
        );
    }
}

#[test]
fn extraction_stays_inside_under_the_attack_by_the_kernel() {
    contend(BackendChoice::Auto);
}

#[test]
fn extraction_stays_inside_under_the_attack_by_the_walk() {
    contend(BackendChoice::Walk);
}

#[test]
fn what_is_published_is_whole_or_absent_for_every_observer() {
    let place = Place::new();
    let archive = archive();
    let out = place.inside().join("out");
    let stop = AtomicBool::new(false);
    let (mut looks, mut seen) = (0_u64, 0_u64);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let (mut looks, mut seen) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                looks += 1;
                if let Some(count) = published(&out) {
                    seen += 1;
                    assert_eq!(count, 16, "half an archive is visible");
                }
            }
            (looks, seen)
        });
        let moved = place.inside().join("moved");
        for _ in 0..100 {
            assert!(place.extract(&archive, with_links()).unwrap().extracted);
            // Taken away whole, so that the watcher never sees it go.
            std::fs::rename(&out, &moved).unwrap();
            std::fs::remove_dir_all(&moved).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        (looks, seen) = watcher.join().unwrap();
    });
    println!("{looks} looks, {seen} of them at a whole tree");
    assert!(looks > 0);
}

/// How many entries the tree of this name has; nothing if it lost the name while it was looked at.
fn published(top: &Path) -> Option<usize> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let held = std::fs::File::open(top).ok()?;
    let mut dirs = vec![PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))];
    let mut count = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            count += 1;
            if entry.file_type().ok()?.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    let still = top.symlink_metadata().ok()?.ino() == held.metadata().ok()?.ino();
    still.then_some(count)
}

#[test]
fn a_target_that_appears_meanwhile_is_left_alone() {
    let place = Place::new();
    let out = RelPath::parse("out").unwrap();
    let archive = archive();
    // The stream itself makes the target, when its last byte is read: after everything was judged.
    let made = place.inside().join("out");
    let stream = Late {
        bytes: &archive,
        made: &made,
    };
    let error = extract(
        Input::new(stream, &place.scratch),
        &Target::new_dir(&place.root, &out),
        with_links(),
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Exists);
    let tree = place.tree();
    assert_eq!(tree.len(), 2, "{tree:?}");
    assert_eq!(tree["out/theirs"], "file 644 theirs");
}

struct Late<'a> {
    bytes: &'a [u8],
    made: &'a Path,
}

impl std::io::Read for Late<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() && !self.made.exists() {
            std::fs::create_dir(self.made)?;
            std::fs::write(self.made.join("theirs"), "theirs")?;
        }
        self.bytes.read(buffer)
    }
}
