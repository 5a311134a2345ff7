//! Reads that are answered before they are written, and a level that changes.
#![allow(
    clippy::disallowed_methods,
    reason = "tests look at what the system has"
)]

use std::time::{Duration, Instant};

use super::tests::{Scratch, die, events, leaf, make, open, segment, verdict};
use super::{Ledger, OpenOptions};
use crate::error::ErrorKind;
use crate::event::Record;
use crate::{Level, LogReader, Verdict, VerifyOptions, verify};

/// Whether the operating system has an event.
fn is_written(scratch: &Scratch, number: u64) -> bool {
    let bytes = std::fs::read(segment(&scratch.log())).unwrap();
    let leaf = leaf(number);
    bytes.windows(leaf.len()).any(|part| part == leaf)
}

/// A log without a thread of its own, so that nobody but the caller writes.
fn without_thread(scratch: &Scratch) -> Ledger {
    let ledger = make(&scratch.log(), Level::Buffered);
    drop(ledger.keeper.lock().unwrap().take());
    let _receipt = ledger.append_leaf(&leaf(0)).unwrap();
    ledger
}

#[test]
fn a_change_is_written_at_once_and_behind_the_reads_before_it() {
    let scratch = Scratch::new();
    let ledger = without_thread(&scratch);
    assert!(is_written(&scratch, 0), "a change waits for its write");
    ledger.append_read(&leaf(1)).unwrap();
    ledger.append_read(&leaf(2)).unwrap();
    assert!(!is_written(&scratch, 1), "a read does not");
    let receipt = ledger.append_leaf(&leaf(3)).unwrap();
    assert_eq!(receipt.index, 4, "log.start, a change, two reads");
    assert!((1..4).all(|number| is_written(&scratch, number)));
    ledger.close().unwrap();
    assert_eq!(events(&scratch.log())[1..], [0, 1, 2, 3].map(leaf));
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}

#[test]
fn a_read_is_written_by_itself_and_by_who_publishes() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Buffered);
    ledger.append_read(&leaf(1)).unwrap();
    let begun = Instant::now();
    while !is_written(&scratch, 1) {
        assert!(begun.elapsed() < Duration::from_secs(60), "never written");
        std::thread::sleep(Duration::from_millis(1));
    }
    ledger.append_read(&leaf(2)).unwrap();
    ledger.publish().unwrap();
    let log = LogReader::open(scratch.log()).unwrap();
    assert_eq!(log.checkpoint().unwrap().unwrap().0.size, 3);
    ledger.append_read(&leaf(3)).unwrap();
    drop(ledger);
    assert_eq!(events(&scratch.log())[1..], [1, 2, 3].map(leaf));
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}

#[test]
fn a_killed_writer_loses_reads_alone_and_verify_says_that_it_can() {
    let scratch = Scratch::new();
    let ledger = without_thread(&scratch);
    ledger.append_read(&leaf(1)).unwrap();
    die(ledger);
    open(&scratch.log()).unwrap().close().unwrap();
    let all = events(&scratch.log());
    assert!(all.contains(&leaf(0)), "an answered change is lost");
    assert!(!all.contains(&leaf(1)), "the read was written after all");
    let log = LogReader::open(scratch.log()).unwrap();
    let report = verify(&log, &VerifyOptions::new()).unwrap();
    assert_eq!(report.verdict(), Verdict::Good);
    let told = format!("{report:?}");
    assert!(told.contains("the level is `buffered`"), "{told}");
}

#[test]
fn reads_that_a_failing_log_loses_are_counted() {
    let scratch = Scratch::new();
    let ledger = without_thread(&scratch);
    for number in 1..=3 {
        ledger.append_read(&leaf(number)).unwrap();
    }
    ledger.poison_for_tests();
    let error = ledger.append_read(&leaf(4)).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Poisoned,
        "what is refused is not lost"
    );
    assert_eq!(ledger.lost(), 3);
    die(ledger);
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}

#[test]
fn many_threads_of_both_kinds_lose_nothing() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Buffered);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..300 {
                    let leaf = leaf(thread * 1000 + number);
                    match number % 7 {
                        0 => drop(ledger.append_leaf(&leaf).unwrap()),
                        _ => ledger.append_read(&leaf).unwrap(),
                    }
                }
            });
        }
    });
    ledger.close().unwrap();
    let all = events(&scratch.log());
    assert_eq!(all.len(), 1 + 8 * 300);
    for thread in 0..8 {
        let own: Vec<_> = (0..300)
            .map(|number| leaf(thread * 1000 + number))
            .collect();
        let found: Vec<_> = all.iter().filter(|leaf| own.contains(leaf)).collect();
        assert!(
            found.into_iter().eq(&own),
            "a thread's events have their order"
        );
    }
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}

#[test]
fn a_level_that_changes_is_told_and_kept() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Ordered);
    drop(ledger.keeper.lock().unwrap().take());
    let _receipt = ledger.append_leaf(&leaf(1)).unwrap();
    // Written and not signed, at a level that allows it.
    die(ledger);
    for (number, level) in [(2, Level::Strict), (3, Level::Buffered), (4, Level::Strict)] {
        let options = || OpenOptions::new().level(level);
        let ledger = Ledger::open(scratch.log(), options()).unwrap();
        drop(ledger.keeper.lock().unwrap().take());
        assert_eq!(ledger.level(), level);
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
        die(ledger);
        assert_eq!(verdict(&scratch.log()), Verdict::Good, "{level}");
        // Without a word about it, and with the same one: nothing is told twice.
        for options in [OpenOptions::new(), options()] {
            let ledger = Ledger::open(scratch.log(), options).unwrap();
            assert_eq!(ledger.level(), level);
            ledger.close().unwrap();
        }
    }
    let starts: Vec<String> = events(&scratch.log())
        .iter()
        .filter_map(|leaf| Record::parse(leaf).ok()?.start)
        .map(|start| start.level.into_owned())
        .collect();
    assert_eq!(starts, ["ordered", "strict", "buffered", "strict"]);
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
}
