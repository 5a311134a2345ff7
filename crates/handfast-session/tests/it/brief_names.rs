//! A process outside gives a denied file a second name that no rule speaks of, and takes it away again.
//! A program that opens the second name in that moment holds a denied file with one name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use handfast_session::{Mode, Protect, Session};

use crate::support::*;
use crate::turns::Turns;

/// How long each race takes.
const FIGHT: Duration = Duration::from_secs(2);

/// An attacker, until he is told to stop.
#[derive(Default)]
struct Race {
    stop: AtomicBool,
    turns: AtomicU64,
}

impl Race {
    /// Gives the secret a second name, and takes it away: sometimes at once, sometimes by another
    /// file, so that the name is always there.
    fn attack(&self, base: &Path) {
        let (secret, name) = (base.join("conf/.env"), base.join("open/x"));
        let (plain, spare) = (base.join("open/plain"), base.join("open/spare"));
        while !self.stop.load(Ordering::Relaxed) {
            drop(std::fs::hard_link(&secret, &name));
            std::thread::yield_now();
            drop(std::fs::remove_file(&name));
            drop(std::fs::hard_link(&secret, &name));
            drop(std::fs::copy(&plain, &spare));
            drop(std::fs::rename(&spare, &name));
            drop(std::fs::remove_file(&name));
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads until the time is over, or until the secret was read `enough` times.
    fn fight(&self, base: &Path, enough: u64, read: impl Fn() -> Option<Vec<u8>>) -> Fought {
        let mut fought = Fought::default();
        std::thread::scope(|scope| {
            scope.spawn(|| self.attack(base));
            let end = Instant::now() + FIGHT;
            while Instant::now() < end && fought.secrets < enough {
                fought.tries += 1;
                if let Some(content) = read() {
                    fought.reads += 1;
                    fought.secrets += u64::from(content == b"SECRET");
                }
            }
            self.stop.store(true, Ordering::Relaxed);
        });
        fought.turns = self.turns.load(Ordering::Relaxed);
        fought
    }
}

/// What came of it.
#[derive(Debug, Default)]
struct Fought {
    tries: u64,
    /// How many of them gave content, and how many that of the secret.
    reads: u64,
    secrets: u64,
    turns: u64,
}

fn scene() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .file("conf/.env", "SECRET")
        .file("open/plain", "plain");
    scratch
}

/// Opens, then judges the open file by the number of its names.
fn naive(path: &Path) -> Option<Vec<u8>> {
    let mut file = std::fs::File::open(path).ok()?;
    // The others get a turn in between, on any machine.
    std::thread::yield_now();
    if file.metadata().ok()?.nlink() > 1 {
        return None;
    }
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut content).ok()?;
    Some(content)
}

fn fought_over(mode: Mode, what: &str, read: impl Fn(&Session) -> Option<Vec<u8>>) {
    let scratch = scene();
    let session = scratch.protected(mode, Protect::new().with_deny(".env"));
    let (race, turned) = (Race::default(), Turns::start());
    let fought = race.fight(&scratch.base(), u64::MAX, || read(&session));
    println!("{mode} {what}: {fought:?}");
    assert_eq!(fought.secrets, 0, "{mode} {what}: {fought:?}");
    if fought.tries < 100 || fought.turns < 100 {
        let counts = [("tries", fought.tries), ("turns", fought.turns)];
        turned.settle_counts(&format!("{mode} {what}"), &counts);
    }
}

#[test]
fn a_denied_file_is_not_read_by_a_name_that_comes_and_goes() {
    for mode in [Mode::Overlay, Mode::Memory, Mode::ReadWrite, Mode::ReadOnly] {
        fought_over(mode, "read", |session| session.read("/open/x").ok());
    }
}

/// A change copies the file first: what was copied is read at leisure.
#[test]
fn a_denied_file_is_not_copied_up_by_a_name_that_comes_and_goes() {
    fought_over(Mode::Overlay, "append", |session| {
        session.append("/open/x", "").ok()?;
        let content = session.read("/open/x").ok();
        drop(session.discard(&[v("/open/x")]));
        content
    });
}

#[test]
fn counting_names_alone_loses() {
    let scratch = scene();
    let (race, turned) = (Race::default(), Turns::start());
    let path = scratch.at("open/x");
    let fought = race.fight(&scratch.base(), 1, || naive(&path));
    if fought.secrets == 0 {
        let why = format!("nothing leaked: {fought:?}");
        turned.settle("a name that comes and goes, by counting names", &why);
    }
}

/// Denied files that have had a second name for long, each of which is taken away once.
const PAIRS: usize = 2000;

fn old_pairs() -> Scratch {
    let scratch = Scratch::new();
    scratch.dir("open");
    for number in 0..PAIRS {
        let secret = format!("conf/{number}/.env");
        scratch.file(&secret, "SECRET");
        std::fs::hard_link(scratch.at(&secret), scratch.at(&format!("open/{number}"))).unwrap();
    }
    // Their names are older than what counts as a change in this moment.
    std::thread::sleep(Duration::from_millis(2200));
    scratch
}

/// One takes the second names away, another reads by them, each name at the same time. `read` says, where
/// it got nothing, whether the name was there; that is counted as a turn.
fn taken_away(scratch: &Scratch, read: impl Fn(usize) -> Result<Vec<u8>, bool>) -> Fought {
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wait_until = |counter: &AtomicUsize, count| {
        while counter.load(Ordering::Acquire) < count {
            std::thread::yield_now();
        }
    };
    let spin = |times: usize| (0..times).for_each(|_| std::hint::spin_loop());
    let mut fought = Fought::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..PAIRS {
                wait_until(&begun, number + 1);
                spin(number % 60 * 20);
                std::fs::remove_file(scratch.at(&format!("open/{number}"))).unwrap();
                ended.store(number + 1, Ordering::Release);
            }
        });
        for number in 0..PAIRS {
            begun.store(number + 1, Ordering::Release);
            spin(number % 7 * 60);
            fought.tries += 1;
            match read(number) {
                Ok(content) => {
                    fought.reads += 1;
                    fought.secrets += u64::from(content == b"SECRET");
                }
                Err(was_there) => fought.turns += u64::from(was_there),
            }
            wait_until(&ended, number + 1);
        }
    });
    fought
}

#[test]
fn a_denied_file_is_not_read_by_an_old_name_that_goes() {
    for mode in [Mode::Overlay, Mode::ReadWrite] {
        let scratch = old_pairs();
        let session = scratch.protected(mode, Protect::new().with_deny(".env"));
        let fought = taken_away(&scratch, |number| {
            let read = session.read(format!("/open/{number}"));
            read.map_err(|error| error.kind() != handfast::ErrorKind::NotFound)
        });
        println!("{mode} old names: {fought:?}");
        assert_eq!(fought.secrets, 0, "{mode}: {fought:?}");
    }
}

#[test]
fn counting_names_alone_loses_to_an_old_name_that_goes() {
    let scratch = old_pairs();
    let turned = Turns::start();
    let fought = taken_away(&scratch, |number| {
        naive(&scratch.at(&format!("open/{number}"))).ok_or(true)
    });
    println!("naive, old names: {fought:?}");
    if fought.secrets == 0 {
        let why = format!("nothing leaked: {fought:?}");
        turned.settle("an old name that goes, by counting names", &why);
    }
}

/// A file that begins with a hole is read from its beginning.
#[test]
fn looking_at_names_does_not_move_the_place_where_a_file_is_read() {
    let scratch = Scratch::new();
    let file = std::fs::File::create(scratch.at("sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", 1 << 20).unwrap();
    drop(file);
    std::thread::sleep(Duration::from_millis(2200));
    for mode in [Mode::Overlay, Mode::ReadOnly] {
        let session = scratch.protected(mode, Protect::new().with_deny(".env"));
        let mut content = Vec::new();
        let mut file = session.open("/sparse").unwrap();
        std::io::Read::read_to_end(&mut file, &mut content).unwrap();
        assert_eq!(content.len(), (1 << 20) + 3, "{mode}");
    }
}
