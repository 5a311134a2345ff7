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
const FIGHT: Duration = Duration::from_secs(3);

/// How often a second name comes and goes, and the secret is read by it.
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

    /// Reads until the time is over: how often at all, and how often the secret. Ends early once it
    /// was read `enough` times.
    fn fight(&self, base: &Path, enough: u64, read: impl Fn() -> Option<Vec<u8>>) -> (u64, u64) {
        let (mut reads, mut secrets) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| self.attack(base));
            let end = Instant::now() + FIGHT;
            while Instant::now() < end && secrets < enough {
                let Some(content) = read() else {
                    continue;
                };
                reads += 1;
                secrets += u64::from(content == b"SECRET");
            }
            self.stop.store(true, Ordering::Relaxed);
        });
        (reads, secrets)
    }
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
    let (reads, secrets) = race.fight(&scratch.base(), u64::MAX, || read(&session));
    let turns = race.turns.load(Ordering::Relaxed);
    println!("{mode} {what}: {secrets} secrets in {reads} reads, {turns} turns");
    assert_eq!(secrets, 0, "{mode} {what}: of {reads} reads");
    if reads < 10 || turns < 100 {
        let counts = [("reads", reads), ("turns of the attacker", turns)];
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
    let (reads, secrets) = race.fight(&scratch.base(), 1, || naive(&path));
    if secrets == 0 {
        let turns = race.turns.load(Ordering::Relaxed);
        let why = format!("nothing leaked in {reads} reads and {turns} turns");
        turned.settle("a name that comes and goes, by counting names", &why);
    }
}
