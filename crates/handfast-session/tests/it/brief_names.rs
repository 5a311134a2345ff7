//! A process outside gives a denied file a second name that no rule speaks of, and takes it away again.
//! Whoever opens the second name in that moment holds a denied file that has one name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast_session::{Mode, Protect, Session};

use crate::support::*;
use crate::turns::Turns;

/// Each side gets so long.
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
