//! What somebody adds who can write the files and has no key.
#![allow(clippy::disallowed_methods, reason = "tests damage files on purpose")]

use super::tests::{Scratch, events, leaf, make, open, segment, verdict};
use crate::error::ErrorKind;
use crate::event::Record;
use crate::segment::{BatchBytes, BatchHeader};
use crate::{Level, Verdict};

/// Who can write the files and has no key adds a batch that looks like ours.
#[test]
fn events_that_nobody_signed_are_refused_at_strict_and_told_at_ordered() {
    for (level, seal) in [
        (Level::Strict, vec![]),
        (Level::Strict, vec![7; 68]),
        (Level::Strict, vec![7; 3]),
        (Level::Ordered, vec![]),
    ] {
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), level);
        let _receipt = ledger.append_leaf(&leaf(1)).unwrap();
        ledger.publish().unwrap();
        let (offset, first) = {
            let core = ledger.shared.core.lock().unwrap();
            (core.segment.offset, core.frontier.size())
        };
        ledger.close().unwrap();
        let forged = leaf(666);
        let mut batch = BatchBytes::of(&forged);
        let header = BatchHeader {
            first,
            count: 1,
            length: u32::try_from(batch.len()).unwrap(),
            unsynced: 0,
            seal: &seal,
        };
        let bytes = batch.finish(&header).to_vec();
        let path = segment(&scratch.log());
        let mut all = std::fs::read(&path).unwrap();
        let from = usize::try_from(offset).unwrap();
        all.truncate(from);
        all.extend_from_slice(&bytes);
        std::fs::write(&path, all).unwrap();
        match level {
            Level::Strict => {
                assert_eq!(verdict(&scratch.log()), Verdict::Tampered, "{seal:?}");
                let error = open(&scratch.log()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{seal:?}: {error}");
                // Another level in the file that nobody signs does not help: the log says so.
                let path = scratch.log().join("log.json");
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.contains("strict"));
                std::fs::write(&path, text.replace("strict", "ordered")).unwrap();
                if let Ok(ledger) = open(&scratch.log()) {
                    ledger.close().unwrap();
                    assert_eq!(verdict(&scratch.log()), Verdict::Tampered, "{seal:?}");
                }
            }
            Level::Ordered => {
                open(&scratch.log()).unwrap().close().unwrap();
                let all = events(&scratch.log());
                let record = Record::parse(all.last().unwrap()).unwrap();
                assert_eq!(record.recovery.unwrap().unsigned_events.0, 1);
            }
        }
    }
}
