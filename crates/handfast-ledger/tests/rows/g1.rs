//! A damaged log reads as a damaged one, never as a short one.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use handfast_ledger::{
    ErrorKind, Ledger, Level, LogReader, OpenOptions, Verdict, VerifyOptions, verify,
};

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

#[test]
fn g1_a_log_that_lost_its_checkpoint_is_damaged_and_read_as_far_as_anything_reaches() {
    for (level, size, lost) in [
        (Level::Strict, 40, &["checkpoint"][..]),
        (Level::Ordered, 40, &["checkpoint", "segments"]),
        (Level::Ordered, 600, &["checkpoint", "segments"]),
        (Level::Ordered, 40, &["checkpoint", "log.json"]),
        (Level::Ordered, 40, &["checkpoint", "log.json", "segments"]),
    ] {
        let scratch = Scratch::new();
        log_of_batches(&scratch.log(), level, size);
        for name in lost {
            let path = scratch.log().join(name);
            match path.is_dir() {
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        let all: Vec<u64> = (0..size).collect();
        assert_eq!(
            told(&scratch.log()),
            (all, Some(ErrorKind::Corrupt)),
            "{lost:?}"
        );
        // Beside a log that is whole, too.
        log_of_batches(&scratch.path.join("other"), level, 3);
        let both = LogReader::open_all(&scratch.path).unwrap();
        assert_eq!(both.len(), 2, "{lost:?}");
        let verdict = |log: &LogReader| verify(log, &VerifyOptions::new()).unwrap().verdict();
        let bad = both.iter().filter(|log| verdict(log) == Verdict::Tampered);
        assert_eq!(bad.count(), 1, "{lost:?}");
    }
}

#[test]
fn g1_a_log_behind_a_link_is_read_with_the_others() {
    let scratch = Scratch::new();
    let logs = scratch.path.join("logs");
    std::fs::create_dir(&logs).unwrap();
    log_of_batches(&logs.join("here"), Level::Ordered, 3);
    log_of_batches(&scratch.path.join("elsewhere"), Level::Ordered, 3);
    std::os::unix::fs::symlink("../elsewhere", logs.join("there")).unwrap();
    assert_eq!(LogReader::open_all(&logs).unwrap().len(), 2);
}

#[test]
fn g1_a_configuration_that_cannot_be_read_is_no_good_log() {
    let scratch = Scratch::new();
    log_of_batches(&scratch.log(), Level::Ordered, 3);
    let path = scratch.log().join("log.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "x").unwrap();
    let log = LogReader::open(scratch.log()).unwrap();
    let report = verify(&log, &VerifyOptions::new()).unwrap();
    assert_eq!(report.verdict(), Verdict::Tampered, "{report:?}");
}
