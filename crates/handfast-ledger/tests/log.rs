//! A log from its first event to its proofs.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the log's files from outside"
)]

mod page;
mod rows;
mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use handfast_ledger::event::{EventKind, Record};
use handfast_ledger::note::VerifierKey;
use handfast_ledger::{
    CreateOptions, ErrorKind, Ledger, Level, LogReader, OpenOptions, Proof, Verdict, VerifyOptions,
};
use support::*;

const LEVELS: [Level; 2] = [Level::Strict, Level::Ordered];

#[test]
fn logs_of_many_sizes_are_good_and_their_tiles_are_the_expected_ones() {
    for level in LEVELS {
        for size in [1, 2, 3, 255, 256, 257, 511, 513, 700] {
            let scratch = Scratch::new();
            let key = log_of(&scratch.log(), level, size);
            let report = check_with(&scratch.log(), &VerifyOptions::new().key(key));
            assert_eq!(report.verdict(), Verdict::Good, "{size} {report:?}");
            assert_eq!((report.events, report.published), (size, Some(size)));
            assert_eq!((report.unsigned, report.torn), (0, 0));
            assert!(
                report
                    .not_checked
                    .iter()
                    .any(|text| text.starts_with("rollback"))
            );
            let entries = scratch.log().join("tile/entries");
            let full = std::fs::read_dir(entries)
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().path().is_file())
                .count() as u64;
            assert_eq!(full, size / 256);
        }
    }
}

#[test]
fn a_log_in_its_first_moment_is_not_taken_for_one_that_lost_its_checkpoint() {
    for level in LEVELS {
        let scratch = Scratch::new();
        let key = create(&scratch.log(), level);
        let never = OpenOptions::new().publish_every(Duration::from_secs(3600));
        let ledger = Ledger::open(scratch.log(), never).unwrap();
        for number in 1..5 {
            let _receipt = ledger.append_leaf(&leaf(number)).unwrap();
        }
        // The writer is there, or was killed: nothing of it was published since.
        let report = check_with(&scratch.log(), &VerifyOptions::new().key(key));
        assert!(report.problems.is_empty(), "{report:?}");
        assert_eq!(report.published, Some(1));
        drop(ledger);
    }
}

#[test]
fn every_append_has_its_own_index_and_is_there_afterwards() {
    for level in LEVELS {
        let scratch = Scratch::new();
        create(&scratch.log(), level);
        let ledger = Arc::new(open(&scratch.log()));
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let ledger = Arc::clone(&ledger);
                std::thread::spawn(move || {
                    (0..200)
                        .map(|number| {
                            let leaf = leaf(thread * 1000 + number);
                            (ledger.append_leaf(&leaf).unwrap().index, leaf)
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let told: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let indices: BTreeSet<_> = told.iter().map(|(index, _)| *index).collect();
        assert_eq!(
            indices,
            (1..=1600).collect(),
            "one for each, after log.start"
        );
        Arc::into_inner(ledger).unwrap().close().unwrap();
        let log = LogReader::open(scratch.log()).unwrap();
        for (index, leaf) in told {
            assert_eq!(log.event(index).unwrap(), leaf);
        }
        assert_eq!(check(&scratch.log()).verdict(), Verdict::Good);
    }
}

#[test]
fn a_log_is_continued_and_small_segments_change() {
    for level in LEVELS {
        let scratch = Scratch::new();
        CreateOptions::new()
            .level(level)
            .segment_bytes(1)
            .create(scratch.log())
            .unwrap();
        for round in 1..=5 {
            let ledger = open(&scratch.log());
            fill(&ledger, round * 1500);
            ledger.close().unwrap();
            let report = check(&scratch.log());
            assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
            assert_eq!(report.events, round * 1500);
        }
        // 256 KiB hold some 1,500 events, and what is in full bundles goes.
        let first = scratch.log().join("segments/seg-00000000000000000000.wal");
        assert!(!first.exists());
    }
}

#[test]
fn the_first_event_says_what_the_log_is() {
    let scratch = Scratch::new();
    let key = log_of(&scratch.log(), Level::Strict, 1);
    let leaf = LogReader::open(scratch.log()).unwrap().event(0).unwrap();
    let record = Record::parse(&leaf).unwrap();
    assert_eq!(record.kind, EventKind::LogStart);
    let start = record.start.unwrap();
    assert_eq!((start.schema, &*start.level), (1, "strict"));
    assert_eq!(start.vkey, key.to_string());
    assert!(start.boot_id.is_some() && start.software_sha256.is_some());
    // Not again in the same start of the machine.
    open(&scratch.log()).close().unwrap();
    assert_eq!(check(&scratch.log()).events, 1);
}

#[test]
fn two_writers_are_one_too_many() {
    let scratch = Scratch::new();
    create(&scratch.log(), Level::Ordered);
    let first = open(&scratch.log());
    let options = || OpenOptions::new().patience(Duration::from_millis(30));
    let error = Ledger::open(scratch.log(), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    first.close().unwrap();
    Ledger::open(scratch.log(), options())
        .unwrap()
        .close()
        .unwrap();
}

#[test]
fn what_is_no_log_or_no_key_is_said() {
    let scratch = Scratch::new();
    let kind = |result: Result<Ledger, handfast_ledger::Error>| result.unwrap_err().kind();
    let open = || Ledger::open(scratch.log(), OpenOptions::new());
    assert_eq!(kind(open()), ErrorKind::NotALog);
    std::fs::create_dir(scratch.log()).unwrap();
    assert_eq!(kind(open()), ErrorKind::NotALog);
    let inside = CreateOptions::new()
        .keys(scratch.log().join("keys"))
        .create(scratch.log())
        .unwrap_err();
    assert_eq!(inside.kind(), ErrorKind::Key, "{inside}");
    let other = Scratch::new();
    create(&other.log(), Level::Ordered);
    let again = CreateOptions::new().create(other.log()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Exists);
    // Others may read the key.
    let keys = other.path.join("log.keys");
    let key = std::fs::read_dir(&keys)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = || Ledger::open(other.log(), OpenOptions::new());
    assert_eq!(kind(open()), ErrorKind::Key);
    std::fs::remove_file(&key).unwrap();
    assert_eq!(kind(open()), ErrorKind::Key);
    for name in ["a b", "a+b", ""] {
        let bad = CreateOptions::new().name(name).create(Scratch::new().log());
        assert!(bad.is_err() || name.is_empty(), "{name}");
    }
}

#[test]
fn events_have_a_length() {
    let scratch = Scratch::new();
    create(&scratch.log(), Level::Ordered);
    let ledger = open(&scratch.log());
    let longest = vec![b'x'; 65_535];
    let _receipt = ledger.append_leaf(&longest).unwrap();
    let error = ledger.append_leaf(&vec![b'x'; 65_536]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(
        ledger.append_leaf(b"").unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let none: [&[u8]; 0] = [];
    assert_eq!(
        ledger.append_leaves(&none).unwrap_err().kind(),
        ErrorKind::Invalid
    );
    ledger.close().unwrap();
    let log = LogReader::open(scratch.log()).unwrap();
    assert_eq!(log.event(1).unwrap(), longest);
    assert_eq!(check(&scratch.log()).events, 2);
}

#[test]
fn receipts_hold_and_changed_ones_do_not() {
    let scratch = Scratch::new();
    let key = log_of(&scratch.log(), Level::Strict, 600);
    let log = LogReader::open(scratch.log()).unwrap();
    let keys = [key];
    for index in [0, 1, 255, 256, 511, 512, 599] {
        let text = log.prove(index).unwrap().to_text();
        let proof = Proof::parse(&text, None).unwrap();
        let (checkpoint, _) = proof.verify(&keys).unwrap();
        assert_eq!((proof.index, checkpoint.size), (index, 600));
        assert_eq!(proof.event, log.event(index).unwrap());
        for wrong in [index + 1, index ^ 2] {
            let moved = text.replace(&format!("index {index}\n"), &format!("index {wrong}\n"));
            assert!(Proof::parse(&moved, None).unwrap().verify(&keys).is_err());
        }
        assert!(
            Proof::parse(&text, Some(b"another"))
                .unwrap()
                .verify(&keys)
                .is_err()
        );
        let (_, other) = (Scratch::new(), Scratch::new());
        let foreign = create(&other.log(), Level::Strict);
        assert!(proof.verify(&[foreign]).is_err());
    }
    assert!(log.prove(600).is_err());
    for bad in [
        "",
        "c2sp.org/tlog-proof@v1\n",
        "c2sp.org/tlog-proof@v1\nindex 01\n\nx",
    ] {
        assert!(Proof::parse(bad, None).is_err(), "{bad:?}");
    }
}

#[test]
fn keys_change_and_the_chain_holds_from_the_first() {
    for level in LEVELS {
        let scratch = Scratch::new();
        let first = create(&scratch.log(), level);
        let ledger = open(&scratch.log());
        fill(&ledger, 10);
        let second = ledger.rotate_key().unwrap();
        fill(&ledger, 300);
        let third = ledger.rotate_key().unwrap();
        fill(&ledger, 400);
        ledger.close().unwrap();
        assert_ne!(first, second);
        for key in [&first, &second, &third] {
            let options = VerifyOptions::new().key(VerifierKey::clone(key));
            let report = check_with(&scratch.log(), &options);
            assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
            assert_eq!(report.signed_by, Some(third.to_string()));
        }
        // The old secret is gone from the directory.
        let keys = scratch.path.join("log.keys");
        let names: Vec<_> = std::fs::read_dir(&keys).unwrap().collect();
        assert_eq!(names.len(), 1);
        let text = std::fs::read_to_string(names[0].as_ref().unwrap().path()).unwrap();
        assert!(text.contains(&third.to_string()));
        // It can be continued, and the chain needs the signature of the old key.
        let ledger = open(&scratch.log());
        fill(&ledger, 450);
        ledger.close().unwrap();
        let epochs: Vec<_> = std::fs::read_dir(scratch.log().join("epochs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(epochs.len(), 2);
        std::fs::remove_file(epochs.iter().min().unwrap()).unwrap();
        let verdict = |key: &VerifierKey| {
            check_with(&scratch.log(), &VerifyOptions::new().key(key.clone())).verdict()
        };
        assert_eq!(verdict(&first), Verdict::Tampered);
        assert_eq!(verdict(&second), Verdict::Good);
    }
}

#[test]
fn what_is_pruned_by_policy_is_still_proven() {
    let scratch = Scratch::new();
    let key = CreateOptions::new()
        .segment_bytes(1)
        .create(scratch.log())
        .unwrap();
    let ledger = open(&scratch.log());
    fill(&ledger, 6000);
    ledger.publish().unwrap();
    let before = std::fs::read(scratch.log().join("checkpoint")).unwrap();
    assert_eq!(ledger.prune(3000, "keep the last 3,000").unwrap(), 2816);
    fill(&ledger, 6500);
    ledger.close().unwrap();
    let options = VerifyOptions::new().key(key.clone()).since(before);
    let report = check_with(&scratch.log(), &options);
    assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
    assert!(report.pruned > 0 && report.pruned <= 2816, "{report:?}");
    let log = LogReader::open(scratch.log()).unwrap();
    assert!(log.event(0).is_err());
    log.prove(5000).unwrap().verify(&[key]).unwrap();
    open(&scratch.log()).close().unwrap();
    // Dropping more than the policy says is tampering.
    std::fs::remove_file(scratch.log().join("tile/entries/012")).unwrap();
    assert_eq!(check(&scratch.log()).verdict(), Verdict::Tampered);
}

#[test]
fn servers_have_logs_of_their_own_below() {
    let scratch = Scratch::new();
    log_of(&scratch.log(), Level::Strict, 3);
    for name in ["broker", "mcp"] {
        let ledger = CreateOptions::open_below(scratch.log(), name, OpenOptions::new()).unwrap();
        assert_eq!(ledger.level(), Level::Strict);
        fill(&ledger, 5);
        ledger.stop().unwrap();
        CreateOptions::open_below(scratch.log(), name, OpenOptions::new())
            .unwrap()
            .close()
            .unwrap();
    }
    for bad in ["../x", "", "a b", "."] {
        assert!(CreateOptions::open_below(scratch.log(), bad, OpenOptions::new()).is_err());
    }
    let logs = LogReader::open_all(scratch.log()).unwrap();
    let sizes: Vec<_> = logs
        .iter()
        .map(|log| {
            handfast_ledger::verify(log, &VerifyOptions::new())
                .unwrap()
                .events
        })
        .collect();
    assert_eq!(sizes, [3, 6, 6]);
}
