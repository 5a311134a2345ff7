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
            Level::Ordered | Level::Buffered => {
                open(&scratch.log()).unwrap().close().unwrap();
                let all = events(&scratch.log());
                let record = Record::parse(all.last().unwrap()).unwrap();
                assert_eq!(record.recovery.unwrap().unsigned_events.0, 1);
            }
        }
    }
}

/// A batch without a seal, at the end of what is given.
fn push_unsigned(bytes: &mut Vec<u8>, first: u64, leaves: &[Vec<u8>]) {
    let mut batch = BatchBytes::default();
    for leaf in leaves {
        batch.push(leaf, crate::segment::Checked::event(leaf));
    }
    let header = BatchHeader {
        first,
        count: batch.count(),
        length: u32::try_from(batch.len()).unwrap(),
        unsynced: 0,
        seal: &[],
    };
    bytes.extend_from_slice(batch.finish(&header));
}

/// The segment is written again, and everything that was signed is taken away, or all but the first
/// event. The level is `ordered` by the word of a start that nobody signed.
#[test]
fn a_log_without_a_signature_of_the_given_key_is_never_good() {
    for keep_first in [false, true] {
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), Level::Strict);
        let key = crate::note::VerifierKey::parse(&ledger.vkey()).unwrap();
        let _receipt = ledger.append_leaf(&leaf(1)).unwrap();
        ledger.close().unwrap();
        let path = segment(&scratch.log());
        let bytes = std::fs::read(&path).unwrap();
        let start = events(&scratch.log()).remove(0);
        let lowered = String::from_utf8(start)
            .unwrap()
            .replace("strict", "ordered");
        let forged = [lowered.into_bytes(), leaf(666)];
        let (_, mut at) = crate::segment::read_header(&bytes).unwrap();
        let mut first = 0;
        if keep_first {
            let more = crate::segment::next_batch(&bytes, at + 1).unwrap();
            assert_eq!(more.1, 1, "the first event is a batch of its own");
            at = more.0;
            first = 1;
        }
        let mut rewritten = bytes[..at].to_vec();
        push_unsigned(&mut rewritten, first, &forged);
        std::fs::write(&path, rewritten).unwrap();
        for name in ["checkpoint", "state.json"] {
            std::fs::remove_file(scratch.log().join(name)).unwrap();
        }
        std::fs::remove_dir_all(scratch.log().join("tile")).unwrap();
        let log = crate::LogReader::open(scratch.log()).unwrap();
        let given = crate::VerifyOptions::new().key(key);
        let report = crate::verify(&log, &given).unwrap();
        assert_eq!(report.events, first + 2, "{report:?}");
        let says = |what: &str| report.problems.iter().any(|it| it.what.contains(what));
        assert!(says("the checkpoint is missing"), "{report:?}");
        assert_eq!(
            says("nothing in this log is signed"),
            !keep_first,
            "{report:?}"
        );
        assert_eq!(says("of level `strict`"), keep_first, "{report:?}");
    }
}
