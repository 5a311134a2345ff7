//! Copies of logs that somebody else wrote: whatever they say, reading them ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests damage files on purpose"
)]

mod support;

use std::ops::ControlFlow;
use std::path::Path;

use handfast_ledger::{ErrorKind, Level, LogReader};
use support::{Scratch, log_of};

/// A log without its segments: checkpoint, keys and tiles.
fn copy_of(size: u64) -> Scratch {
    let scratch = Scratch::new();
    let _key = log_of(&scratch.log(), Level::Ordered, size);
    std::fs::remove_dir_all(scratch.log().join("segments")).unwrap();
    scratch
}

/// Indices that are told, and how it ended.
fn indices(log: &Path) -> (Vec<u64>, Option<ErrorKind>) {
    let mut found = Vec::new();
    let read = LogReader::open(log).unwrap().for_each(0, |index, _| {
        found.push(index);
        Ok(ControlFlow::Continue(()))
    });
    (found, read.err().map(|error| error.kind()))
}

#[test]
fn a_bundle_with_too_few_entries_is_damage_and_no_endless_loop() {
    let scratch = copy_of(600);
    assert_eq!(indices(&scratch.log()).0.len(), 600);
    let bundle = scratch.log().join("tile/entries/001");
    let bytes = std::fs::read(&bundle).unwrap();
    // The first ten entries, cut where the eleventh begins.
    let mut end = 0;
    for _ in 0..10 {
        end += 2 + usize::from(u16::from_be_bytes([bytes[end], bytes[end + 1]]));
    }
    std::fs::write(&bundle, &bytes[..end]).unwrap();
    let (found, how) = indices(&scratch.log());
    // All but the 246 that were cut off.
    assert_eq!((found.len(), how), (354, Some(ErrorKind::Corrupt)));
}

#[test]
fn a_checkpoint_of_more_events_than_there_are_is_not_counted_through() {
    let scratch = copy_of(600);
    let path = scratch.log().join("checkpoint");
    let text = std::fs::read_to_string(&path).unwrap();
    for size in ["9223372036854775807", "18446744073709551615"] {
        std::fs::write(&path, text.replacen("\n600\n", &format!("\n{size}\n"), 1)).unwrap();
        // The answer has what is there, and says that something is missing.
        let (found, how) = indices(&scratch.log());
        assert_eq!((found.len(), how), (600, Some(ErrorKind::Corrupt)));
    }
    // What is gone, by no rule of the log, is stepped over and told.
    std::fs::write(&path, &text).unwrap();
    std::fs::remove_file(scratch.log().join("tile/entries/000")).unwrap();
    let (found, how) = indices(&scratch.log());
    let damaged = Some(ErrorKind::Corrupt);
    assert_eq!(
        (found.first(), found.len(), how),
        (Some(&256), 344, damaged)
    );
}

#[test]
fn files_longer_than_they_can_be_are_not_read() {
    let scratch = copy_of(600);
    // As long as a sparse file likes to be, and with nothing on the disk.
    for (name, told) in [
        ("checkpoint", "checkpoint"),
        ("tile/entries/001", "entries"),
        ("tile/0/001", "tile"),
    ] {
        let path = scratch.log().join(name);
        let before = std::fs::read(&path).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(3 << 30).unwrap();
        let report = support::check(&scratch.log());
        assert!(!report.problems.is_empty(), "{told}");
        std::fs::write(&path, before).unwrap();
    }
    assert!(support::check(&scratch.log()).problems.is_empty());
    assert!(peak_memory() < 1 << 30, "{}", peak_memory());
}

/// The most memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    1024 * kilobytes.unwrap().parse::<u64>().unwrap()
}
