//! A person changes files of the base while programs read them. What is opened afterwards is what the
//! person left: whole, of one version, whatever the kernel had cached.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use handfast_session::Protect;

use crate::support::{Mounted, in_namespace};

/// How long each race lasts.
const RACE: Duration = Duration::from_secs(3);

const RECORD: usize = 16;

/// A version of a file: its number in every record, and a length of its own.
fn version(number: u64) -> Vec<u8> {
    let records = 1 + (number * 577) % 900;
    let record = |at: u64| format!("{number:09} {at:05}\n");
    (0..records).map(record).collect::<String>().into_bytes()
}

/// Whether a text is one version, and all of it. The number of the version.
fn is_whole(text: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(text.get(..9)?).ok()?.parse().ok()?;
    (text == version(number)).then_some(number)
}

/// What the readers of a race found.
#[derive(Debug, Default)]
struct Found {
    read: AtomicU64,
    /// Cut, mixed of two versions, or older than what was there before the file was opened.
    wrong: AtomicU64,
    refused: AtomicU64,
    /// The same, for those who trust what they looked at before.
    naive: AtomicU64,
}

impl Found {
    fn count(counter: &AtomicU64, by: bool) {
        counter.fetch_add(u64::from(by), Ordering::Relaxed);
    }

    /// A race in which the naive reader was never wrong was none.
    fn judge(&self, what: &str, changes: u64) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (read, naive) = (get(&self.read), get(&self.naive));
        println!(
            "{what}: {changes} changes, {read} reads, {} wrong, {} refused, {naive} wrong by who is naive",
            get(&self.wrong),
            get(&self.refused),
        );
        assert!(changes > 0 && read > 0, "{what}: nothing happened");
        assert_eq!((get(&self.wrong), get(&self.refused)), (0, 0), "{what}");
        if naive == 0 {
            println!("starved: {what}: nothing changed between a look and a read");
        }
    }
}

fn until(end: Instant, stop: &AtomicBool, mut act: impl FnMut()) {
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        act();
    }
    stop.store(true, Ordering::Relaxed);
}

/// Two programs read while a person works. What the person did last, before the read, is passed to each.
fn race(
    what: &str,
    mounted: &Mounted,
    mut person: impl FnMut(u64) + Send,
    read: impl Fn(u64, &Found) + Sync,
) {
    let (found, done, stop) = (Found::default(), AtomicU64::new(0), AtomicBool::new(false));
    let end = Instant::now() + RACE;
    std::thread::scope(|scope| {
        let (found, done, stop, read) = (&found, &done, &stop, &read);
        for _ in 0..2 {
            scope.spawn(move || until(end, stop, || read(done.load(Ordering::SeqCst), found)));
        }
        scope.spawn(move || {
            let mut number = 0;
            until(end, stop, || {
                number += 1;
                person(number);
                done.store(number, Ordering::SeqCst);
                // Some changes follow at once, others after the kernel has heard of the last.
                std::thread::sleep(Duration::from_micros(number % 7 * 300));
            });
        });
    });
    found.judge(what, done.load(Ordering::SeqCst));
    drop(std::fs::read_dir(&mounted.view));
}

fn whole(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.read_to_end(&mut text)?;
    Ok(text)
}

#[test]
fn a_file_that_a_person_replaces_is_read_whole() {
    in_namespace(
        "replaced::a_file_that_a_person_replaces_is_read_whole",
        || {
            let mounted = Mounted::watched(Protect::new(), |base| {
                std::fs::write(base.join("f"), version(0)).unwrap();
            });
            let (file, next) = (mounted.base.join("f"), mounted.base.join("next"));
            let view = mounted.view.join("f");
            let person = |number| {
                std::fs::write(&next, version(number)).unwrap();
                std::fs::rename(&next, &file).unwrap();
            };
            race("replaced", &mounted, person, |before, found| {
                let len = std::fs::metadata(&view).map_or(0, |facts| facts.len());
                match whole(&view) {
                    Ok(text) => {
                        Found::count(&found.read, true);
                        let number = is_whole(&text);
                        Found::count(&found.wrong, number.is_none_or(|number| number < before));
                        Found::count(&found.naive, len != text.len() as u64);
                    }
                    Err(_) => Found::count(&found.refused, true),
                }
            });
        },
    );
}

#[test]
fn a_file_that_is_open_keeps_its_content_when_a_person_replaces_it() {
    in_namespace(
        "replaced::a_file_that_is_open_keeps_its_content_when_a_person_replaces_it",
        || {
            let mounted = Mounted::watched(Protect::new(), |base| {
                std::fs::write(base.join("f"), version(0)).unwrap();
            });
            let (file, next) = (mounted.base.join("f"), mounted.base.join("next"));
            let view = mounted.view.join("f");
            let person = |number| {
                std::fs::write(&next, version(number)).unwrap();
                std::fs::rename(&next, &file).unwrap();
            };
            race("held", &mounted, person, |before, found| {
                let Ok(mut held) = File::open(&view) else {
                    return Found::count(&found.refused, true);
                };
                let mut first = [0; RECORD];
                let begins = held.read(&mut first);
                std::thread::sleep(Duration::from_micros(before % 5 * 700));
                let again = whole(&view);
                let mut rest = Vec::new();
                let ends = held.read_to_end(&mut rest);
                let (Ok(_), Ok(_), Ok(again)) = (begins, ends, again) else {
                    return Found::count(&found.refused, true);
                };
                let held: Vec<u8> = first.into_iter().chain(rest).collect();
                Found::count(&found.read, true);
                for text in [&held, &again] {
                    Found::count(&found.wrong, is_whole(text).is_none());
                }
                Found::count(&found.naive, held != again);
            });
        },
    );
}

#[test]
fn a_file_that_grows_is_read_to_its_end() {
    in_namespace("replaced::a_file_that_grows_is_read_to_its_end", || {
        let mounted = Mounted::watched(Protect::new(), |base| {
            std::fs::write(base.join("f"), "").unwrap();
        });
        let mut growing = File::options()
            .append(true)
            .open(mounted.base.join("f"))
            .unwrap();
        let view = mounted.view.join("f");
        let person = |number| {
            growing
                .write_all(format!("{number:015}\n").as_bytes())
                .unwrap()
        };
        race("grown", &mounted, person, |before, found| {
            // Facts that are looked at without opening may be older for a moment.
            let looked = std::fs::metadata(&view).map_or(0, |facts| facts.len());
            Found::count(&found.naive, looked < before * RECORD as u64);
            let Ok(text) = whole(&view) else {
                return Found::count(&found.refused, true);
            };
            Found::count(&found.read, true);
            let is_whole =
                text.iter().filter(|byte| **byte == b'\n').count() * RECORD == text.len();
            let records = (text.len() / RECORD) as u64;
            Found::count(&found.wrong, records < before || !is_whole);
        });
    });
}

#[test]
fn a_file_that_a_person_cuts_off_is_not_read_beyond_its_end() {
    in_namespace(
        "replaced::a_file_that_a_person_cuts_off_is_not_read_beyond_its_end",
        || {
            let mounted = Mounted::watched(Protect::new(), |base| {
                std::fs::write(base.join("f"), vec![b'x'; 64 << 10]).unwrap();
            });
            let file = File::options()
                .write(true)
                .open(mounted.base.join("f"))
                .unwrap();
            let view = mounted.view.join("f");
            // Shorter with every change, and never longer.
            let len = |number: u64| (64_u64 << 10).saturating_sub(number * 7).max(16 << 10);
            let person = |number| file.set_len(len(number)).unwrap();
            race("cut off", &mounted, person, |before, found| {
                let looked = std::fs::metadata(&view).map_or(0, |facts| facts.len());
                Found::count(&found.naive, looked > len(before));
                let Ok(text) = whole(&view) else {
                    return Found::count(&found.refused, true);
                };
                Found::count(&found.read, true);
                // What is cut off while it is read may be zeros, as on any filesystem.
                let stays = &text[..text.len().min(16 << 10)];
                let is_sound = !stays.is_empty() && stays.iter().all(|byte| *byte == b'x');
                Found::count(&found.wrong, text.len() as u64 > len(before) || !is_sound);
            });
        },
    );
}

/// A program has a file open, and the kernel has cached a part of it. A person puts another file of the
/// same length under the name. Each goes on with its own, also when the change is long ago.
#[test]
fn the_old_file_and_the_new_one_are_never_mixed() {
    in_namespace(
        "replaced::the_old_file_and_the_new_one_are_never_mixed",
        || {
            const LEN: usize = 1 << 20;
            let mounted = Mounted::watched(Protect::new(), |base| {
                std::fs::write(base.join("f"), vec![b'a'; LEN]).unwrap();
            });
            let settle = || std::thread::sleep(Duration::from_millis(2300));
            settle();
            let view = mounted.view.join("f");
            let mut held = File::open(&view).unwrap();
            let mut first = [0; RECORD];
            held.read_exact(&mut first).unwrap();
            std::fs::write(mounted.base.join("next"), vec![b'b'; LEN]).unwrap();
            std::fs::rename(mounted.base.join("next"), mounted.base.join("f")).unwrap();
            let is_all = |text: &[u8], of: u8| text.iter().all(|byte| *byte == of);
            assert!(
                is_all(&whole(&view).unwrap(), b'b'),
                "right after the change"
            );
            settle();
            let mut fresh = File::open(&view).unwrap();
            let mut begin = vec![0; LEN / 4];
            fresh.read_exact(&mut begin).unwrap();
            let mut rest = Vec::new();
            held.read_to_end(&mut rest).unwrap();
            assert_eq!((rest.len(), is_all(&rest, b'a')), (LEN - RECORD, true));
            fresh.read_to_end(&mut begin).unwrap();
            assert_eq!((begin.len(), is_all(&begin, b'b')), (LEN, true));
            // Lengths are told apart too.
            std::fs::write(mounted.base.join("f"), "short").unwrap();
            settle();
            assert_eq!(whole(&view).unwrap(), b"short");
            assert_eq!(held.metadata().unwrap().len(), LEN as u64);
            assert_eq!(fresh.metadata().unwrap().len(), 5);
        },
    );
}
