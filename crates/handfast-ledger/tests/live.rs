//! A log that is read while it is written: what the writer moves is not damage.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the log's files from outside"
)]

mod support;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use handfast_ledger::{CreateOptions, Error, ErrorKind, Ledger, Level, LogReader, OpenOptions};
use support::*;

/// How long a reader and a writer are at it.
const TIME: Duration = Duration::from_secs(4);

/// So many at once, and each of such a length that nearly every publication begins another segment.
const EVENTS: u64 = 37;
const LENGTH: usize = 4000;

fn long_leaf(number: u64) -> Vec<u8> {
    let mut leaf = leaf(number);
    leaf.truncate(leaf.len() - 1);
    leaf.extend_from_slice(b",\"path\":\"");
    leaf.resize(LENGTH, b'x');
    leaf.extend_from_slice(b"\"}");
    leaf
}

/// A writer that publishes as often as it can, and makes place for the next one now and then: one
/// that goes removes more than one that stays.
struct Busy {
    stop: Arc<AtomicBool>,
    /// Events that have been answered.
    size: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Busy {
    fn start(dir: &Path, level: Level) -> Self {
        CreateOptions::new()
            .level(level)
            .segment_bytes(1)
            .create(dir)
            .unwrap();
        idle(dir).close().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let size = Arc::new(AtomicU64::new(1));
        let (dir, ended, told) = (dir.to_owned(), Arc::clone(&stop), Arc::clone(&size));
        let thread = std::thread::spawn(move || {
            for stay in (1..8).cycle() {
                let every = Duration::from_micros(100);
                let options = OpenOptions::new().publish_every(every);
                let ledger = Ledger::open(&dir, options).unwrap();
                for _ in 0..stay {
                    append(&ledger);
                    told.store(ledger.size(), Ordering::Relaxed);
                    ledger.publish().unwrap();
                }
                ledger.close().unwrap();
                if ended.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        Self { stop, size, thread }
    }

    fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// Reads once, in order and nothing twice: the indices, and the answer. A slow reader prints, or
/// waits for a person.
fn read(log: &LogReader, from: u64, slow: bool) -> (Vec<u64>, Result<(), Error>) {
    let mut told: Vec<u64> = Vec::new();
    let read = log.for_each(from, |index, leaf| {
        assert!(
            told.last().is_none_or(|last| *last < index),
            "{index} after {:?}",
            told.last()
        );
        assert!(leaf.starts_with(b"{"), "event {index}");
        told.push(index);
        if slow && index.is_multiple_of(EVENTS) {
            std::thread::sleep(Duration::from_millis(3));
        }
        Ok(ControlFlow::Continue(()))
    });
    (told, read)
}

#[test]
fn a_log_that_is_written_to_is_not_taken_for_a_damaged_one() {
    for level in [Level::Ordered, Level::Strict] {
        let scratch = Scratch::new();
        let busy = Busy::start(&scratch.log(), level);
        let (mut reads, mut wrong) = (0_u64, Vec::new());
        let begun = Instant::now();
        while begun.elapsed() < TIME {
            let size = busy.size();
            // Nearly all begin near the end: the sooner a read is over, the more of them there are,
            // and each has its moment between the checkpoint and the list of segments.
            let from = match reads % 20 {
                0 => 0,
                1 => size.saturating_sub(600),
                _ => size.saturating_sub(300),
            };
            let log = LogReader::open(scratch.log()).unwrap();
            let (told, answer) = read(&log, from, reads % 20 == 1);
            reads += 1;
            if let Err(error) = answer {
                wrong.push(error.to_string());
            } else if told.first() != Some(&from)
                || told.len() as u64 != told.last().unwrap() - from + 1
                || told.last().unwrap() + 1 < size
            {
                let ends = (told.first(), told.last(), told.len());
                wrong.push(format!("{ends:?} of {from} to {size}, and no word"));
            }
        }
        let size = busy.size();
        busy.end();
        println!(
            "{level:?}: {reads} reads, {size} events, {} wrong",
            wrong.len()
        );
        wrong.truncate(5);
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(size > 2000, "starved: {size} events");
        assert!(reads > 3, "starved: {reads} reads");
    }
}

/// A log at work with events in bundles and in segments. It publishes when it is told.
fn at_work(dir: &Path, level: Level) -> Ledger {
    create(dir, level);
    let ledger = idle(dir);
    for _ in 0..30 {
        write(&ledger);
    }
    ledger
}

fn idle(dir: &Path) -> Ledger {
    let never = OpenOptions::new().publish_every(Duration::from_secs(3600));
    Ledger::open(dir, never).unwrap()
}

fn write(ledger: &Ledger) {
    append(ledger);
    ledger.publish().unwrap();
}

fn append(ledger: &Ledger) {
    let first = ledger.size();
    let leaves: Vec<_> = (first..first + EVENTS).map(long_leaf).collect();
    let _receipt = ledger.append_leaves(&leaves).unwrap();
}

#[test]
fn segments_that_go_while_an_event_is_told_are_read_from_bundles() {
    for level in [Level::Ordered, Level::Strict] {
        let scratch = Scratch::new();
        let ledger = at_work(&scratch.log(), level);
        let log = LogReader::open(scratch.log()).unwrap();
        // Behind the last publication, so that only a segment has them when the read begins.
        let more: Vec<_> = (0..EVENTS).map(long_leaf).collect();
        let _receipt = ledger.append_leaves(&more).unwrap();
        let size = ledger.size();
        for busy_at in [0, size - size % 256, size - 2 * EVENTS, size - 1] {
            let size = ledger.size();
            let mut told = Vec::new();
            log.for_each(0, |index, _| {
                if index == busy_at {
                    (0..20).for_each(|_| write(&ledger));
                }
                told.push(index);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            assert!(told.len() as u64 >= size, "{} of {size}", told.len());
            assert!(told.iter().copied().eq(0..told.len() as u64), "{busy_at}");
        }
        ledger.close().unwrap();
    }
}

#[test]
fn events_that_are_pruned_while_others_are_told_are_not_lost() {
    let scratch = Scratch::new();
    let ledger = at_work(&scratch.log(), Level::Ordered);
    // The segment is in use, so that the rule comes into another one, which no list has yet.
    let _receipt = ledger.append_leaf(&leaf(0)).unwrap();
    let log = LogReader::open(scratch.log()).unwrap();
    let mut told = Vec::new();
    log.for_each(0, |index, _| {
        if index == 10 {
            ledger.prune(768, "of the test").unwrap();
            write(&ledger);
        }
        told.push(index);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    let rest = told.iter().position(|index| *index >= 768).unwrap();
    assert_eq!(told[rest], 768);
    assert!(
        told[rest..]
            .iter()
            .copied()
            .eq(768..768 + (told.len() - rest) as u64)
    );
    // One that breaks off is told the same, although the rule is behind what it wanted.
    log.for_each(0, |index, _| {
        assert_eq!(index, 768);
        Ok(ControlFlow::Break(()))
    })
    .unwrap();
    let error = log.event(5).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    ledger.close().unwrap();
}

#[test]
fn a_busy_writer_hides_no_damage() {
    let scratch = Scratch::new();
    let entries = scratch.log().join("tile/entries");
    let busy = Busy::start(&scratch.log(), Level::Ordered);
    let begun = Instant::now();
    // Until segments of the first bundles are gone.
    while busy.size() < 2000 {
        assert!(begun.elapsed() < 20 * TIME, "starved: {}", busy.size());
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut bytes = std::fs::read(entries.join("001")).unwrap();
    bytes[3 * LENGTH + LENGTH / 2] ^= 1;
    std::fs::write(entries.join("001"), bytes).unwrap();
    std::fs::remove_file(entries.join("002")).unwrap();
    for _ in 0..20 {
        let log = LogReader::open(scratch.log()).unwrap();
        let (told, answer) = read(&log, 0, false);
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(
            error.to_string().contains("257 events cannot be read"),
            "{error}"
        );
        assert_eq!(told.len() as u64, told.last().unwrap() + 1 - 257);
    }
    busy.end();
}

#[test]
fn damage_in_the_segment_that_is_written_to_is_said() {
    let scratch = Scratch::new();
    create(&scratch.log(), Level::Strict);
    let ledger = idle(&scratch.log());
    let sure: Vec<_> = (1..20)
        .map(|number| ledger.append_leaf(&leaf(number)).unwrap().index)
        .collect();
    let name = scratch.log().join("segments/seg-00000000000000000000.wal");
    let mut bytes = std::fs::read(&name).unwrap();
    let wanted = leaf(7);
    let at = bytes
        .windows(wanted.len())
        .position(|part| part == wanted)
        .unwrap();
    bytes[at + 20] ^= 1;
    std::fs::write(&name, bytes).unwrap();
    let log = LogReader::open(scratch.log()).unwrap();
    for _ in 0..3 {
        let (told, answer) = read(&log, 0, false);
        let error = answer.unwrap_err();
        assert_eq!(
            (error.kind(), error.index()),
            (ErrorKind::Corrupt, Some(7)),
            "{error}"
        );
        assert!(!told.contains(&7));
        assert_eq!(told.len(), sure.len());
    }
}
