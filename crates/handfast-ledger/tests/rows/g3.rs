//! What a log takes on the disk, as `du` counts it: blocks of files and directories.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use handfast::{RelPath, Root};
use handfast_ledger::event::{Lease, U64, Workload};
use handfast_ledger::{
    Context, Ledger, LedgerRecorder, Level, LogReader, OpenOptions, Verdict, VerifyOptions,
};

use crate::support::{Scratch, check_with, create, open};

fn du(path: &Path) -> u64 {
    let facts = std::fs::symlink_metadata(path).unwrap();
    let below: u64 = match facts.is_dir() {
        true => std::fs::read_dir(path)
            .unwrap()
            .map(|entry| du(&entry.unwrap().path()))
            .sum(),
        false => 0,
    };
    512 * facts.blocks() + below
}

/// What the files of a log take, the largest first.
fn taken_by(dir: &Path) -> Vec<(u64, std::path::PathBuf)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(taken_by(&path)),
            false => found.push((du(&path), path)),
        }
    }
    found.sort();
    found.reverse();
    found.truncate(10);
    found
}

/// A file to open, and a root that records it.
fn root_of(scratch: &Scratch, ledger: &Arc<Ledger>, context: Context) -> Root {
    let dir = scratch.path.join("box");
    if !dir.exists() {
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("a.txt"), "alpha\n").unwrap();
    }
    let recorder = LedgerRecorder::new(Arc::clone(ledger), context).unwrap();
    Root::open_ambient(dir)
        .unwrap()
        .with_recorder(Arc::new(recorder))
}

#[test]
fn g3_140_writers_of_one_write_each_take_little() {
    let scratch = Scratch::new();
    let key = create(&scratch.log(), Level::Ordered);
    for number in 0..140 {
        let ledger = Arc::new(open(&scratch.log()));
        let root = root_of(&scratch, &ledger, Context::new().root_id("/home/user/box"));
        let path = RelPath::parse(format!("f{number}.txt")).unwrap();
        root.write(&path, b"hi\n").unwrap();
        drop(root);
        Arc::into_inner(ledger).unwrap().close().unwrap();
    }
    let report = check_with(&scratch.log(), &VerifyOptions::new().key(key));
    assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
    assert_eq!((report.events, report.published), (281, Some(281)));
    let each = du(&scratch.log()) / report.events;
    println!("{each} bytes an event, 140 writers");
    assert!(each <= 1000, "{each}");
}

/// An open as a broker records it.
fn broker_context() -> Context {
    Context::new()
        .workload(Workload {
            run_id: Some("pidfs:925963".into()),
            pid: Some(17355),
            uid: Some(1000),
            gid: Some(1000),
            cgroup_id: Some(U64(1234)),
            exe: Some("/usr/local/bin/handfast".into()),
            auth: Some("peerpidfd".into()),
            ..Workload::default()
        })
        .lease(Lease {
            id: "u1000/task/~4a17dd8379485f6deea04a58c9ee1918".into(),
            fence: Some(U64(2)),
            ..Lease::default()
        })
        .policy_sha256("a97ca08297d7c893cba4f5ea41036dadec2ad1d464fce4c3ad8cee4773e2218b")
}

#[test]
fn g3_a_brokers_log_takes_each_event_once() {
    const EVENTS: u64 = 20_000;
    let scratch = Scratch::new();
    let key = create(&scratch.log(), Level::Ordered);
    let options = OpenOptions::new().publish_every(Duration::from_millis(100));
    let ledger = Arc::new(Ledger::open(scratch.log(), options).unwrap());
    let policy = "a97ca08297d7c893cba4f5ea41036dadec2ad1d464fce4c3ad8cee4773e2218b";
    let _receipt = ledger.policy_loaded(None, policy).unwrap();
    let root = root_of(&scratch, &ledger, broker_context());
    let path = RelPath::parse("a.txt").unwrap();
    while ledger.size() < EVENTS {
        drop(root.open(&path).unwrap());
    }
    drop(root);
    Arc::into_inner(ledger).unwrap().close().unwrap();
    let each = du(&scratch.log()) / EVENTS;
    let leaf = LogReader::open(scratch.log()).unwrap().event(5000).unwrap();
    println!(
        "{each} bytes an event, a broker's, whose events have {}",
        leaf.len()
    );
    assert!(each <= 700, "{each}: {:?}", taken_by(&scratch.log()));
    let report = check_with(&scratch.log(), &VerifyOptions::new().key(key));
    assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
    // What is left can be written on to, and is.
    let ledger = open(&scratch.log());
    assert_eq!(ledger.size(), EVENTS);
    let _receipt = ledger.gap(None, "a test").unwrap();
    ledger.close().unwrap();
    let last = LogReader::open(scratch.log()).unwrap().event(EVENTS);
    assert!(!last.unwrap().is_empty());
}

/// Removes every partial tile and bundle, as if a crash had lost what was never synced.
fn lose_partial(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.extension().is_some_and(|end| end == "p") => {
                std::fs::remove_dir_all(path).unwrap();
            }
            true => lose_partial(&path),
            false => {}
        }
    }
}

fn first_segment(log: &Path) -> String {
    let all = std::fs::read_dir(log.join("segments")).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.min().unwrap()
}

#[test]
fn g3_segments_go_and_a_crash_that_loses_partial_tiles_loses_no_event() {
    for level in [Level::Ordered, Level::Strict] {
        let scratch = Scratch::new();
        let key = create(&scratch.log(), level);
        let mut expected = 1;
        for round in 0..12 {
            let ledger = open(&scratch.log());
            for _ in 0..3 {
                let leaves: Vec<_> = (0..71)
                    .map(|n| crate::support::leaf(expected + n))
                    .collect();
                let _receipt = ledger.append_leaves(&leaves).unwrap();
                expected += 71;
                ledger.publish().unwrap();
            }
            ledger.close().unwrap();
            if round % 2 == 1 {
                lose_partial(&scratch.log().join("tile"));
            }
        }
        let ledger = open(&scratch.log());
        assert_eq!(ledger.size(), expected, "no second log.start, nothing lost");
        // The tiles are written again with the next event.
        let _receipt = ledger.gap(None, "a test").unwrap();
        expected += 1;
        ledger.close().unwrap();
        assert_ne!(
            first_segment(&scratch.log()),
            "seg-00000000000000000000.wal"
        );
        let options = VerifyOptions::new().key(key);
        let report = check_with(&scratch.log(), &options);
        assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
        assert_eq!(
            (report.events, report.published),
            (expected, Some(expected))
        );
    }
}

#[test]
fn g3_partial_tiles_of_earlier_writers_are_removed() {
    let scratch = Scratch::new();
    let _key = crate::support::log_of(&scratch.log(), Level::Ordered, 10);
    let stale = scratch.log().join("tile/entries/000.p/3");
    std::fs::write(&stale, "left behind").unwrap();
    let ledger = open(&scratch.log());
    let _receipt = ledger.gap(None, "a test").unwrap();
    ledger.close().unwrap();
    let left: Vec<_> = std::fs::read_dir(stale.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["11"]);
}

/// An event of some length, of a day long ago.
fn long_leaf(number: u64) -> Vec<u8> {
    let text = String::from_utf8(crate::support::leaf(number)).unwrap();
    let end = format!(",\"req\":{{\"path\":\"{}\"}}}}", "x".repeat(400));
    format!("{}{end}", &text[..text.len() - 1]).into_bytes()
}

fn fill_long(ledger: &Ledger, more: u64) {
    for _ in 0..more / 64 {
        let first = ledger.size();
        let leaves: Vec<_> = (first..first + 64).map(long_leaf).collect();
        let _receipt = ledger.append_leaves(&leaves).unwrap();
    }
}

/// How many events are told, and the first of them.
fn told(log: &Path) -> (u64, u64) {
    let (mut count, mut first) = (0, u64::MAX);
    LogReader::open(log)
        .unwrap()
        .for_each(0, |index, _| {
            (count, first) = (count + 1, first.min(index));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    (count, first)
}

#[test]
fn g3_a_log_keeps_to_its_bytes_by_itself() {
    const MOST: u64 = 3 * 1024 * 1024;
    let scratch = Scratch::new();
    let keep = handfast_ledger::Keep::new().bytes(MOST);
    let key = handfast_ledger::CreateOptions::new()
        .keep(keep)
        .create(scratch.log())
        .unwrap();
    // By the thread of a writer at work, and by writers that go.
    let options = OpenOptions::new().publish_every(Duration::from_millis(5));
    let ledger = Ledger::open(scratch.log(), options).unwrap();
    let mut dropped = false;
    for _ in 0..2000 {
        fill_long(&ledger, 640);
        std::thread::sleep(Duration::from_millis(20));
        dropped = !scratch.log().join("tile/entries/000").exists() && ledger.size() > 2560;
        if dropped {
            break;
        }
    }
    assert!(dropped, "nothing went while {} events came", ledger.size());
    ledger.close().unwrap();
    for _ in 0..6 {
        let ledger = open(&scratch.log());
        fill_long(&ledger, 1280);
        ledger.close().unwrap();
        let taken = du(&scratch.log());
        // Directories, keys and what came since the look come to it.
        assert!(taken < MOST + 256 * 1024, "{taken}");
    }
    let report = check_with(&scratch.log(), &VerifyOptions::new().key(key));
    assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
    let (count, first) = told(&scratch.log());
    assert!(
        first > 0 && count + first == report.events,
        "{count} {first}"
    );
    assert!(count > 500, "what fits is kept: {count}");
}

#[test]
fn g3_a_log_keeps_to_its_time_by_itself() {
    let scratch = Scratch::new();
    let _key = create(&scratch.log(), Level::Ordered);
    let keep = handfast_ledger::Keep::new().time(Duration::from_secs(3600));
    let ledger = Ledger::open(scratch.log(), OpenOptions::new().keep(keep)).unwrap();
    fill_long(&ledger, 1280);
    ledger.close().unwrap();
    // The last full bundle stays: something may still be made from it.
    assert_eq!(told(&scratch.log()).1, 1024);
}

#[test]
fn g3_a_reader_never_takes_a_log_at_work_for_a_damaged_one() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scratch = Scratch::new();
    let key = crate::support::log_of(&scratch.log(), Level::Ordered, 10);
    let done = AtomicBool::new(false);
    let (mut rounds, mut grown) = (0, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // Segments go with nearly every publication, partial tiles with every one.
            for _ in 0..12 {
                let ledger = open(&scratch.log());
                for _ in 0..6 {
                    fill_long(&ledger, 320);
                    ledger.publish().unwrap();
                }
                ledger.close().unwrap();
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let log = LogReader::open(scratch.log()).unwrap();
            let report = check_with(&scratch.log(), &VerifyOptions::new().key(key.clone()));
            assert_eq!(report.verdict(), Verdict::Good, "{report:?}");
            let mut next = 0;
            log.for_each(0, |index, _| {
                assert_eq!(index, next);
                next += 1;
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
            assert!(next >= grown, "{next} after {grown}");
            rounds += 1;
            grown = next;
        }
        writer.join().unwrap();
    });
    println!("{rounds} readings while {grown} events came");
    assert!(rounds > 0);
    assert_ne!(
        first_segment(&scratch.log()),
        "seg-00000000000000000000.wal"
    );
}
