//! A damaged log reads as a damaged one, never as a short one.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use handfast_ledger::{ErrorKind, Ledger, Level, LogReader, OpenOptions};

use crate::support::{Scratch, copy_dir, create, leaf, open};

/// A log of so many events, every one a batch of its own, closed.
fn log_of_batches(dir: &Path, level: Level, size: u64) {
    let _key = create(dir, level);
    let ledger = open(dir);
    for number in ledger.size()..size {
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
    }
    ledger.close().unwrap();
}

/// Indices that are told, and how it ended.
fn told(log: &Path) -> (Vec<u64>, Option<ErrorKind>) {
    let mut found = Vec::new();
    let read = LogReader::open(log).unwrap().for_each(0, |index, bytes| {
        assert!(
            index == 0 || bytes == leaf(index),
            "event {index} is intact"
        );
        found.push(index);
        Ok(ControlFlow::Continue(()))
    });
    (found, read.err().map(|error| error.kind()))
}

fn last_segment(log: &Path) -> PathBuf {
    let all = std::fs::read_dir(log.join("segments")).unwrap();
    all.map(|entry| entry.unwrap().path()).max().unwrap()
}

/// Flips one bit in the text of an event, wherever in the file that is.
fn flip(path: &Path, number: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    let text = leaf(number);
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    bytes[at + 8] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn g1_published_events_behind_a_flipped_bit_are_read_and_the_damage_is_told() {
    for level in [Level::Strict, Level::Ordered] {
        let scratch = Scratch::new();
        log_of_batches(&scratch.log(), level, 40);
        let all: Vec<u64> = (0..40).collect();
        assert_eq!(told(&scratch.log()), (all.clone(), None));
        flip(&last_segment(&scratch.log()), 20);
        assert_eq!(told(&scratch.log()), (all, Some(ErrorKind::Corrupt)));
    }
}

#[test]
fn g1_events_behind_a_flipped_bit_are_read_without_any_tile() {
    let scratch = Scratch::new();
    log_of_batches(&scratch.log(), Level::Strict, 40);
    std::fs::remove_dir_all(scratch.log().join("tile")).unwrap();
    flip(&last_segment(&scratch.log()), 20);
    let intact: Vec<u64> = (0..40).filter(|number| *number != 20).collect();
    assert_eq!(told(&scratch.log()), (intact, Some(ErrorKind::Corrupt)));
    // The header of the segment too.
    let path = last_segment(&scratch.log());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[12] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(told(&scratch.log()).0.len(), 39);
}

#[test]
fn g1_a_flipped_bit_in_a_bundle_is_told_and_the_others_are_read() {
    let scratch = Scratch::new();
    log_of_batches(&scratch.log(), Level::Ordered, 600);
    std::fs::remove_dir_all(scratch.log().join("segments")).unwrap();
    flip(&scratch.log().join("tile/entries/001"), 300);
    let intact: Vec<u64> = (0..600).filter(|number| *number != 300).collect();
    assert_eq!(told(&scratch.log()), (intact, Some(ErrorKind::Corrupt)));
    // A bundle that nobody pruned, gone.
    std::fs::remove_file(scratch.log().join("tile/entries/001")).unwrap();
    let (found, how) = told(&scratch.log());
    assert_eq!((found.len(), how), (344, Some(ErrorKind::Corrupt)));
}

#[test]
fn g1_a_damaged_checkpoint_or_log_json_hides_nothing() {
    let scratch = Scratch::new();
    log_of_batches(&scratch.log(), Level::Ordered, 300);
    for name in ["checkpoint", "log.json"] {
        let copy = scratch.path.join(name);
        copy_dir(&scratch.log(), &copy);
        let mut bytes = std::fs::read(copy.join(name)).unwrap();
        bytes[2] ^= 0x40;
        bytes.truncate(bytes.len() / 2);
        std::fs::write(copy.join(name), bytes).unwrap();
        let (found, how) = told(&copy);
        assert_eq!(
            (found.len(), how),
            (300, Some(ErrorKind::Corrupt)),
            "{name}"
        );
    }
}

#[test]
fn g1_a_writer_refuses_to_go_on_behind_damage() {
    for level in [Level::Strict, Level::Ordered] {
        let scratch = Scratch::new();
        log_of_batches(&scratch.log(), level, 40);
        flip(&last_segment(&scratch.log()), 20);
        let error = Ledger::open(scratch.log(), OpenOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(error.index(), Some(20), "{error}");
    }
}
