//! Syncs that take their time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::tests::{Scratch, events, leaf, make, verdict};
use crate::{Level, LogReader, Verdict};

/// The log's own thread is in the middle of a sync: who publishes waits for it.
#[test]
fn what_is_published_is_everything_though_a_sync_is_on_its_way() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Ordered);
    ledger.publish().unwrap();
    for number in 0..3 {
        ledger.shared.disk.slow_sync.store(300, Ordering::Relaxed);
        let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        ledger.publish().unwrap();
        let log = LogReader::open(scratch.log()).unwrap();
        let (checkpoint, _) = log.checkpoint().unwrap().unwrap();
        assert_eq!(checkpoint.size, ledger.size());
    }
    ledger.shared.disk.slow_sync.store(0, Ordering::Relaxed);
    ledger.close().unwrap();
    assert_eq!(verdict(&scratch.log()), Verdict::Good);
    assert_eq!(events(&scratch.log()).len(), 4);
}

/// A segment is finished only when it is on the disk: else the next one would outlive its end.
#[test]
fn a_segment_that_is_finished_is_on_the_disk() {
    let scratch = Scratch::new();
    let ledger = make(&scratch.log(), Level::Ordered);
    ledger.shared.disk.slow_sync.store(300, Ordering::Relaxed);
    let _receipt = ledger.append_leaf(&leaf(1)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let mut core = ledger.shared.core.lock().unwrap();
    core.settle().unwrap();
    assert_eq!(core.segment.synced, core.segment.offset);
    drop(core);
    ledger.close().unwrap();
}
