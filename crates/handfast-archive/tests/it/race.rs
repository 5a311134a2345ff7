//! A process that exchanges names while archives are extracted, and a second extraction into the same
//! place.
//!
//! The attacker finds whatever is being extracted, goes into it, and exchanges its directories with links
//! that lead outside, as fast as it can. An extraction may win or be refused; nothing may ever appear
//! outside. A naive extractor of our own, which works by path, has to lose against the same attacker:
//! otherwise the attacker is too weak to show anything.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast::{BackendChoice, Error, ErrorKind, RelPath};
use handfast_archive::{Input, Overwrite, Report, Rule, Target, extract};
use handfast_session::{
    Caller, Catalogue, CommitOptions, Mode, MountSpec, SessionSpec, VirtualPath,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Place, verdict, with_links};
use crate::tar_bytes::Bytes;
use crate::turns::Turns;

/// How long one case is attacked, unless `HANDFAST_RACE_ROUNDS` says how many extractions are made.
const TIME: Duration = Duration::from_secs(3);

fn rounds() -> Option<u64> {
    let asked = std::env::var("HANDFAST_RACE_ROUNDS").ok()?;
    Some(asked.parse().unwrap())
}

/// How long the naive one is attacked before the attacker counts as too weak, and a case goes on in
/// which one side never won.
const PATIENCE: Duration = Duration::from_secs(60);

fn archive() -> Vec<u8> {
    without_hard_links().hard_link("d/e/hard", "d/file1").end()
}

fn without_hard_links() -> Bytes {
    let mut bytes = Bytes::new().dir("d").dir("d/e");
    for number in 0..6 {
        bytes = bytes.file(&format!("d/e/file{number}"), b"content");
        bytes = bytes.file(&format!("d/file{number}"), b"content");
    }
    bytes.symlink("d/link", "file0")
}

/// The attacker, as the test sees it.
#[derive(Default)]
struct Attack {
    stop: AtomicBool,
    exchanged: AtomicU64,
    /// Held by the attacker from an exchange to its end, and by the test while it works by path itself:
    /// what the test puts back must not land outside.
    turn: Mutex<()>,
}

/// Exchanges directories that are being filled with links to the outside, until the test stops it.
fn attack(inside: &Path, outside: &Path, state: &Attack) {
    let Attack {
        stop,
        exchanged,
        turn: turns,
    } = state;
    // As long as it is needed, the link lies where only the attacker looks.
    let links: Vec<PathBuf> = (0..4)
        .map(|number| inside.join(format!("evil{number}")))
        .collect();
    for link in &links {
        symlink(outside, link).unwrap();
    }
    let mut turn = 0;
    while !stop.load(Ordering::Relaxed) {
        for top in dirs(inside).into_iter().chain(dirs(&inside.join("d"))) {
            for below in ["tree", "tree/d", "tree/d/e", "d", "d/e", ""] {
                turn += 1;
                let link = &links[turn % links.len()];
                let victim = top.join(below);
                let _turn = turns.lock().unwrap();
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

/// The directories in a directory.
fn dirs(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
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

/// Stops the attacker when it is dropped.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work under attack.
fn under_attack(place: &Place, work: impl FnOnce(&Attack)) -> Attacked {
    let state = Attack::default();
    let (inside, outside) = (place.inside(), place.dir.path().join("outside"));
    std::thread::scope(|scope| {
        let attacker = scope.spawn(|| attack(&inside, &outside, &state));
        // The attacker stops also if the work panics: the scope waits for it.
        let stopped = Stopped(&state.stop);
        work(&state);
        drop(stopped);
        attacker.join().unwrap();
    });
    Attacked {
        exchanged: state.exchanged.load(Ordering::Relaxed),
    }
}

#[test]
fn a_naive_extractor_escapes_under_the_attack() {
    let place = Place::new();
    let outside = place.dir.path().join("outside");
    let turns = Turns::start();
    let begun = Instant::now();
    let mut rounds = 0;
    let attacked = under_attack(&place, |_| {
        while escaped(&outside).is_empty() && begun.elapsed() < PATIENCE {
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
    if escaped(&outside).is_empty() {
        turns.settle("the naive extractor", "it never wrote outside");
    }
}

/// Extracts under attack, always two at a time into one place, and cleans up behind both.
fn contend(
    what: &str,
    place: &Place,
    run: impl Fn() -> Result<Report, Error> + Sync,
    clean: impl Fn(),
) {
    let outside = place.dir.path().join("outside");
    let turns = Turns::start();
    let begun = Instant::now();
    let (mut made, mut done, mut refused) = (0, 0, 0);
    let attacked = under_attack(place, |state| {
        let is_short = |made| rounds().map_or(begun.elapsed() < TIME, |rounds| made < rounds);
        // A case shows something once both sides won now and then.
        let met = |done| done > 0 && state.exchanged.load(Ordering::Relaxed) > 0;
        while is_short(made) || !met(done) && begun.elapsed() < PATIENCE {
            let both = std::thread::scope(|scope| {
                let second = scope.spawn(&run);
                [run(), second.join().unwrap()]
            });
            for result in both {
                made += 1;
                match is_fair(&result) {
                    Some(true) => done += 1,
                    Some(false) => refused += 1,
                    None => panic!("{what}: {result:?}"),
                }
            }
            let _turn = state.turn.lock().unwrap();
            clean();
        }
    });
    println!(
        "{what}: {made} extractions, {done} done, {refused} refused, {} exchanges",
        attacked.exchanged
    );
    assert_eq!(escaped(&outside), Vec::<String>::new(), "{what}");
    assert_eq!(std::fs::read(outside.join("secret")).unwrap(), b"secret");
    if attacked.exchanged == 0 || done == 0 {
        let exchanged = attacked.exchanged;
        let why = format!("{done} of {made} extractions done, {exchanged} exchanges");
        turns.settle(&format!("the race of {what}"), &why);
    }
}

/// Whether it was extracted, or refused because of what the attacker or the other one did; `None` if
/// neither can be the reason.
fn is_fair(result: &Result<Report, Error>) -> Option<bool> {
    match result {
        Ok(report) if report.extracted => Some(true),
        // What a merge found in the place of a directory; the links to what is refused follow.
        Ok(report) if verdict(report) == Some(Rule::Exists) => Some(false),
        // What it could not look at, because a directory on the way was exchanged.
        Ok(report) if is_refused_by_a_move(report) => Some(false),
        Ok(_) => None,
        Err(error) => matches!(
            error.kind(),
            ErrorKind::Raced
                | ErrorKind::Link
                | ErrorKind::NotADirectory
                | ErrorKind::NotFound
                | ErrorKind::Exists
                | ErrorKind::Escape
                | ErrorKind::Busy
                | ErrorKind::NotEmpty
                | ErrorKind::Stale
        )
        .then_some(false),
    }
}

/// What the resolver says about a directory that was exchanged. It may add the failed call in brackets
/// at the end. A refusal that says anything else has another reason.
const MOVED: [&str; 3] = [
    "a directory left the root",
    "a symbolic link is in the way",
    "the tree kept changing underneath; trying again is sound",
];

/// Whether the first refusal is that of the resolver, about a directory that was moved away.
fn is_refused_by_a_move(report: &Report) -> bool {
    let first = report.refused().next();
    first.is_some_and(|(_, refusal)| {
        let detail = &*refusal.detail;
        let said = detail.split_once(" (").map_or(detail, |(said, _)| said);
        refusal.rule == Rule::Policy && MOVED.contains(&said)
    })
}

fn contend_in_root(backend: BackendChoice) {
    let place = Place::on(backend);
    let archive = archive();
    contend(
        &format!("a new directory, {backend:?}"),
        &place,
        || place.extract(&archive, with_links()),
        || drop(std::fs::remove_dir_all(place.inside().join("out"))),
    );
    let place = Place::on(backend);
    let out = place.inside().join("out");
    let clean = || {
        drop(std::fs::remove_dir_all(&out));
        drop(std::fs::remove_file(&out));
        // The attacker may have put something there again.
        drop(std::fs::create_dir_all(out.join("d/e")));
        drop(std::fs::write(out.join("d/file0"), "old"));
    };
    clean();
    let path = RelPath::parse("out").unwrap();
    let merge = || {
        let mut options = with_links();
        options.overwrite = Overwrite::Replace;
        let target = Target::new_dir(&place.root, &path).merged();
        extract(Input::new(&archive[..], &place.scratch), &target, options)
    };
    contend(&format!("a merge, {backend:?}"), &place, merge, clean);
}

#[test]
fn extraction_stays_inside_under_the_attack_by_the_kernel() {
    contend_in_root(BackendChoice::Auto);
}

#[test]
fn extraction_stays_inside_under_the_attack_by_the_walk() {
    contend_in_root(BackendChoice::Walk);
}

/// The target lies in a directory of the base, which the attacker exchanges too.
fn contend_in_session(mode: Mode) {
    let place = Place::new();
    // An overlay keeps no hard links.
    let archive = match mode {
        Mode::Overlay => without_hard_links().end(),
        _ => archive(),
    };
    std::fs::create_dir(place.inside().join("d")).unwrap();
    let state = place.dir.path().join("state");
    let catalogue = Catalogue::open_ambient(state).unwrap();
    let mount = MountSpec::new(place.inside(), VirtualPath::parse("/").unwrap()).mode(mode);
    let spec = SessionSpec::new().mount(mount);
    catalogue.create("s", &spec).unwrap();
    let session = catalogue.open("s", Caller::new("test")).unwrap();
    let path = RelPath::parse("d/out").unwrap();
    let committed = std::cell::Cell::new(0);
    contend(
        &format!("a session, {mode:?}"),
        &place,
        || {
            let target = Target::new_dir_in(&session, &path);
            extract(
                Input::new(&archive[..], &place.scratch),
                &target,
                with_links(),
            )
        },
        || {
            if mode == Mode::Overlay {
                // What the overlay holds reaches the base under the same attack.
                let report = session.commit(&CommitOptions::default(), &mut |_, _| {});
                let is_whole = report.is_ok_and(|it| it.conflicts.is_empty());
                committed.set(committed.get() + u64::from(is_whole));
                drop(session.discard(&[]));
            }
            let dir = place.inside().join("d");
            drop(std::fs::remove_dir_all(dir.join("out")));
            drop(std::fs::remove_dir_all(&dir));
            drop(std::fs::create_dir(&dir));
        },
    );
    if mode == Mode::Overlay {
        println!("{} commits without a conflict", committed.get());
    }
}

#[test]
fn extraction_stays_inside_under_the_attack_in_a_session() {
    contend_in_session(Mode::ReadWrite);
}

#[test]
fn extraction_stays_inside_under_the_attack_in_an_overlay() {
    contend_in_session(Mode::Overlay);
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
