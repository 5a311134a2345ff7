//! Crashes, damage and a disk that fails, looked at from inside.
#![allow(clippy::disallowed_methods, reason = "tests damage files on purpose")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::error::ErrorKind;
use crate::event::{EventKind, Record};
use crate::{Level, LogReader, Verdict, VerifyOptions, verify};

const LEVELS: [Level; 3] = [Level::Strict, Level::Ordered, Level::Buffered];

pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "handfast-writer-{}-{}-{:?}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_nanos()
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(super) fn leaf(number: u64) -> Vec<u8> {
    format!("{{\"v\":1,\"type\":\"read\",\"phase\":\"single\",\"t_wall\":\"2026-01-01T00:00:00.000000000Z\",\"t_mono_ns\":\"{number}\"}}").into_bytes()
}

pub(super) fn make(dir: &Path, level: Level) -> Ledger {
    CreateOptions::new().level(level).create(dir).unwrap();
    open(dir).unwrap()
}

pub(super) fn open(dir: &Path) -> Result<Ledger, crate::Error> {
    // Never by itself: tests decide what has been published.
    Ledger::open(
        dir,
        OpenOptions::new().publish_every(Duration::from_secs(3600)),
    )
}

/// The process dies here: nothing is synced, signed or published any more.
pub(super) fn die(ledger: Ledger) {
    drop(ledger.keeper.lock().unwrap().take());
    drop(ledger);
}

pub(super) fn segment(dir: &Path) -> PathBuf {
    let mut names: Vec<_> = std::fs::read_dir(dir.join("segments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    names.pop().unwrap()
}

pub(super) fn events(dir: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    LogReader::open(dir)
        .unwrap()
        .for_each(0, |_, leaf| {
            found.push(leaf.to_vec());
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    found
}

fn kind_at(dir: &Path, index: usize) -> EventKind {
    Record::parse(&events(dir)[index]).unwrap().kind
}

pub(super) fn verdict(dir: &Path) -> Verdict {
    let log = LogReader::open(dir).unwrap();
    verify(&log, &VerifyOptions::new()).unwrap().verdict()
}

#[test]
fn a_sync_that_fails_is_final() {
    for level in LEVELS {
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), level);
        let _first = ledger.append_leaf(&leaf(1)).unwrap();
        ledger.publish().unwrap();
        ledger.shared.disk.fail_sync.store(true, Ordering::Relaxed);
        match level {
            Level::Strict => {
                let error = ledger.append_leaf(&leaf(2)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
            }
            Level::Ordered | Level::Buffered => {
                let _second = ledger.append_leaf(&leaf(2)).unwrap();
                assert!(ledger.publish().is_err());
            }
        }
        // The disk is well again, and the log stays closed: a second sync proves nothing.
        ledger.shared.disk.fail_sync.store(false, Ordering::Relaxed);
        for _ in 0..3 {
            let error = ledger.append_leaf(&leaf(3)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Poisoned);
        }
        assert!(ledger.publish().is_err());
        die(ledger);
        // What is there decides, when it is opened again.
        open(&scratch.log()).unwrap().close().unwrap();
        assert_eq!(verdict(&scratch.log()), Verdict::Good);
        let all = events(&scratch.log());
        assert!(all.contains(&leaf(1)) && !all.contains(&leaf(3)));
    }
}

#[test]
fn a_full_disk_leaves_room_for_the_last_event() {
    for level in LEVELS {
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), level);
        ledger.shared.disk.full.store(true, Ordering::Relaxed);
        let mut taken = 0;
        let error = loop {
            match ledger.append_leaf(&leaf(taken)) {
                Ok(_) => taken += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        assert!(
            taken > 0,
            "what fits into the space that was taken is written"
        );
        assert_eq!(
            ledger.append_leaf(&leaf(0)).unwrap_err().kind(),
            ErrorKind::Full
        );
        assert!(
            !scratch.log().join("reserve").exists(),
            "the reserve was given up"
        );
        drop(ledger.close());
        assert_eq!(verdict(&scratch.log()), Verdict::Good);
        let all = events(&scratch.log());
        assert_eq!(all.len() as u64, taken + 2);
        let last = Record::parse(all.last().unwrap()).unwrap();
        assert_eq!(last.stop.unwrap().reason, "no-space");
        // With space again it goes on.
        let ledger = open(&scratch.log()).unwrap();
        let _more = ledger.append_leaf(&leaf(1)).unwrap();
        ledger.close().unwrap();
        assert_eq!(verdict(&scratch.log()), Verdict::Good);
        assert!(scratch.log().join("reserve").exists());
    }
}

#[test]
fn what_ordered_wrote_survives_the_process_and_is_signed_by_the_next() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Ordered);
    ledger.publish().unwrap();
    drop(ledger.keeper.lock().unwrap().take());
    for number in 0..10 {
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
    }
    die(ledger);
    let report = verify(
        &LogReader::open(scratch.log()).unwrap(),
        &VerifyOptions::new(),
    )
    .unwrap();
    assert_eq!((report.verdict(), report.unsigned), (Verdict::Good, 10));
    open(&scratch.log()).unwrap().close().unwrap();
    let all = events(&scratch.log());
    assert_eq!(all.len(), 12);
    assert_eq!(all[1..11], (0..10).map(leaf).collect::<Vec<_>>());
    let record = Record::parse(&all[11]).unwrap();
    assert_eq!(record.kind, EventKind::Recovered);
    assert_eq!(record.recovery.unwrap().unsigned_events.0, 10);
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}

/// A small log of three published events and, behind them, two batches that were not published.
fn half_published(dir: &Path) -> (Vec<u8>, usize) {
    let ledger = make(dir, Level::Strict);
    for number in 0..3 {
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
    }
    ledger.publish().unwrap();
    let synced = ledger.shared.core.lock().unwrap().segment.offset;
    for number in 3..5 {
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
    }
    let end = ledger.shared.core.lock().unwrap().segment.offset;
    die(ledger);
    let mut bytes = std::fs::read(segment(dir)).unwrap();
    bytes.truncate(usize::try_from(end).unwrap());
    (bytes, usize::try_from(synced).unwrap())
}

fn reset(dir: &Path, good: &Path) {
    drop(std::fs::remove_dir_all(dir));
    copy(good, dir);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every cut of the segment, with and without the state file: before what was published the log
/// is refused, behind it only unanswered or later batches go, and it says so.
#[test]
fn every_truncation_gets_the_right_verdict() {
    let scratch = Scratch::new();
    let good = scratch.0.join("good");
    let (bytes, synced) = half_published(&good);
    let dir = scratch.log();
    copy(&scratch.0.join("good.keys"), &scratch.0.join("log.keys"));
    for cut in 0..=bytes.len() {
        for state in [true, false] {
            // Every place is tried once; both ways at some.
            if !state && cut % 7 != 0 {
                continue;
            }
            reset(&dir, &good);
            if !state {
                std::fs::remove_file(dir.join("state.json")).unwrap();
            }
            std::fs::write(segment(&dir), &bytes[..cut]).unwrap();
            let log = LogReader::open(&dir).unwrap();
            let report = verify(&log, &VerifyOptions::new()).unwrap();
            // Opening syncs, and a disk takes its time: a writer looks at every fifth.
            let opens = cut % 5 == 0 || cut.abs_diff(synced) < 3 || !state;
            if cut < synced {
                assert_eq!(report.verdict(), Verdict::Tampered, "cut {cut}");
                assert!(
                    report.first_bad().is_some_and(|index| index <= 4),
                    "cut {cut}"
                );
                if !opens {
                    continue;
                }
                let error = open(&dir).unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Rollback),
                    "cut {cut}: {error}"
                );
            } else {
                assert_eq!(report.verdict(), Verdict::Good, "cut {cut} {report:?}");
                if !opens {
                    continue;
                }
                open(&dir).unwrap().close().unwrap();
                assert_eq!(verdict(&dir), Verdict::Good, "cut {cut}");
                let all = events(&dir);
                assert_eq!(all[1..4], [leaf(0), leaf(1), leaf(2)], "cut {cut}");
                if all.len() > 6 {
                    continue;
                }
                let last = Record::parse(all.last().unwrap()).unwrap();
                if cut != synced && cut != bytes.len() {
                    let torn = last.kind == EventKind::Recovered;
                    let boundary = last.kind == EventKind::Verb(handfast::Verb::Read);
                    assert!(torn || boundary, "cut {cut}: {:?}", last.kind);
                }
            }
        }
    }
}

/// Every flipped bit of the segment: before what was published it is damage; behind it, in the
/// batch that nothing vouches for yet, it is a torn write; nothing else is ever changed.
#[test]
fn every_flipped_bit_gets_the_right_verdict() {
    let scratch = Scratch::new();
    let good = scratch.0.join("good");
    let (bytes, synced) = half_published(&good);
    let dir = scratch.log();
    copy(&scratch.0.join("good.keys"), &scratch.0.join("log.keys"));
    let whole = std::fs::read(segment(&good)).unwrap();
    // The last batch is what no later batch vouches for.
    let last_batch = (bytes.len() - synced) / 2 + synced;
    reset(&dir, &good);
    for bit in 0..bytes.len() * 8 {
        let at = bit / 8;
        let mut broken = whole.clone();
        broken[at] ^= 1 << (bit % 8);
        std::fs::write(segment(&dir), &broken).unwrap();
        let log = LogReader::open(&dir).unwrap();
        let report = verify(&log, &VerifyOptions::new()).unwrap();
        if at < last_batch {
            assert_eq!(report.verdict(), Verdict::Tampered, "bit {bit}");
            let index = report
                .first_bad()
                .unwrap_or_else(|| panic!("bit {bit} {report:?}"));
            assert!(index <= 5, "bit {bit}");
        } else {
            assert_eq!(report.verdict(), Verdict::Good, "bit {bit} {report:?}");
            assert!(report.torn > 0, "bit {bit}");
        }
        // A writer reads behind what was published; once for every fourth byte.
        if at < synced || bit % 8 != at % 8 || at % 4 != 0 {
            continue;
        }
        let opened = open(&dir);
        if at < last_batch {
            let error = opened.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "bit {bit}: {error}");
            assert!(matches!(error.index(), Some(4 | 5)), "bit {bit}");
        } else {
            opened.unwrap().close().unwrap();
            assert_eq!(events(&dir).len(), 6, "bit {bit}");
            assert_eq!(kind_at(&dir, 5), EventKind::Recovered);
            assert_eq!(verdict(&dir), Verdict::Good, "bit {bit}");
            reset(&dir, &good);
        }
    }
}

/// Without the quick way, damage before what was published is found by the writer too.
#[test]
fn a_writer_without_state_refuses_damage() {
    let scratch = Scratch::new();
    let good = scratch.0.join("good");
    let (bytes, synced) = half_published(&good);
    let dir = scratch.log();
    copy(&scratch.0.join("good.keys"), &scratch.0.join("log.keys"));
    let whole = std::fs::read(segment(&good)).unwrap();
    std::fs::remove_file(good.join("state.json")).unwrap();
    for at in (0..synced).step_by(3) {
        reset(&dir, &good);
        let mut broken = whole.clone();
        broken[at] ^= 1 << (at % 8);
        std::fs::write(segment(&dir), &broken).unwrap();
        let error = open(&dir).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
    }
    assert!(bytes.len() > synced);
}

/// Pages that were not synced reach the disk in any order: a later one may be there and an
/// earlier one not.
#[test]
fn unsynced_pages_in_any_order_are_a_torn_tail() {
    let scratch = Scratch::new();
    let good = scratch.0.join("good");
    let ledger = make(&good, Level::Ordered);
    ledger.publish().unwrap();
    drop(ledger.keeper.lock().unwrap().take());
    let from = usize::try_from(ledger.shared.core.lock().unwrap().segment.offset).unwrap();
    for number in 0..12 {
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
    }
    let end = usize::try_from(ledger.shared.core.lock().unwrap().segment.offset).unwrap();
    die(ledger);
    let dir = scratch.log();
    copy(&scratch.0.join("good.keys"), &scratch.0.join("log.keys"));
    let whole = std::fs::read(segment(&good)).unwrap();
    // Pieces of 256 bytes stand for pages; every set of them may be missing.
    let pieces: Vec<_> = (from..end).step_by(256).collect();
    for missing in 0..1_u32 << pieces.len().min(8) {
        let mut torn = whole.clone();
        for (number, start) in pieces.iter().enumerate() {
            if missing >> number & 1 == 1 {
                torn[*start..(start + 256).min(end)].fill(0);
            }
        }
        reset(&dir, &good);
        std::fs::write(segment(&dir), &torn).unwrap();
        let ledger = open(&dir).unwrap_or_else(|error| panic!("{missing:b}: {error}"));
        let _more = ledger.append_leaf(&leaf(99)).unwrap();
        ledger.close().unwrap();
        assert_eq!(verdict(&dir), Verdict::Good, "{missing:b}");
        let all = events(&dir);
        let kept = all
            .iter()
            .skip(1)
            .take_while(|event| Record::parse(event).unwrap().kind != EventKind::Recovered);
        // A beginning of what was written, never a selection.
        for (number, event) in kept.enumerate().take(12) {
            if *event != leaf(99) {
                assert_eq!(*event, leaf(number as u64), "{missing:b}");
            }
        }
        assert!(all.contains(&leaf(99)));
    }
}

#[test]
fn an_older_copy_under_a_newer_checkpoint_is_not_continued() {
    let scratch = Scratch::new();
    let good = scratch.0.join("good");
    let ledger = make(&good, Level::Strict);
    let _one = ledger.append_leaf(&leaf(1)).unwrap();
    ledger.publish().unwrap();
    copy(&good, &scratch.log());
    copy(&scratch.0.join("good.keys"), &scratch.0.join("log.keys"));
    let _two = ledger.append_leaf(&leaf(2)).unwrap();
    ledger.close().unwrap();
    std::fs::copy(good.join("checkpoint"), scratch.log().join("checkpoint")).unwrap();
    let error = open(&scratch.log()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rollback, "{error}");
    // A new log takes its place and says what is missing.
    let next = scratch.0.join("next");
    CreateOptions::new()
        .after(scratch.log())
        .create(&next)
        .unwrap();
    open(&next).unwrap().close().unwrap();
    let all = events(&next);
    let start = Record::parse(&all[0]).unwrap().start.unwrap();
    assert!(start.previous.unwrap().contains("\n3\n"));
    assert_eq!(Record::parse(&all[1]).unwrap().kind, EventKind::Gap);
}

/// A change of keys may be cut off anywhere; it is finished or taken back.
#[test]
fn a_change_of_keys_that_was_cut_off_is_finished_or_taken_back() {
    for level in LEVELS {
        // Before the log named the next key.
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), level);
        let key = ledger.vkey();
        let keydir = ledger.shared.keydir.clone().unwrap();
        let (id, origin) = (
            ledger.shared.log_id.clone(),
            ledger.shared.core.lock().unwrap().origin.clone(),
        );
        drop(keydir.prepare_next(&id, &origin).unwrap());
        die(ledger);
        let ledger = open(&scratch.log()).unwrap();
        assert_eq!(ledger.vkey(), key);
        assert!(keydir.load_next(&id).unwrap().is_none());
        // After.
        let next = keydir.prepare_next(&id, &origin).unwrap();
        let mut record = Record::about_log(EventKind::KeyRotate);
        let named = next.public().to_string();
        record.rotate = Some(crate::event::Rotation {
            next_vkey: named.clone().into(),
        });
        let _receipt = ledger.append(&record).unwrap();
        drop(next);
        die(ledger);
        let ledger = open(&scratch.log()).unwrap();
        assert_eq!(ledger.vkey(), named);
        let _more = ledger.append_leaf(&leaf(1)).unwrap();
        ledger.close().unwrap();
        let first = crate::note::VerifierKey::parse(&key).unwrap();
        let log = LogReader::open(scratch.log()).unwrap();
        let report = verify(&log, &VerifyOptions::new().key(first)).unwrap();
        assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
    }
}
