//! kill -9 at random moments, with writers at work: what was answered is there afterwards.
//!
//! `HANDFAST_KILL_ROUNDS=1000` makes as many rounds; 25 otherwise. Every [`ROUNDS_A_LOG`] rounds a
//! new log is begun: a log is verified whole, and one that grows for a thousand rounds at `ordered`
//! is verified for hours.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the log's files from outside"
)]

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use handfast_ledger::event::{EventKind, Record};
use handfast_ledger::{Level, LogReader, Verdict};
use support::*;

const DIR: &str = "HANDFAST_KILL_DIR";
const ROUND: &str = "HANDFAST_KILL_ROUND";
const THREADS: u64 = 4;
/// How often one log is killed and continued.
const ROUNDS_A_LOG: u64 = 50;

/// Not a test by itself: the process that is killed. It says every event that was answered, after
/// it was answered, in one write.
#[test]
fn victim() {
    let (Some(dir), Ok(round)) = (std::env::var_os(DIR), std::env::var(ROUND)) else {
        return;
    };
    let round: u64 = round.parse().unwrap();
    let ledger = Arc::new(open(Path::new(&dir)));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let ledger = Arc::clone(&ledger);
            std::thread::spawn(move || {
                for number in 0..1_000_000 {
                    let id = round * 100_000_000 + thread * 10_000_000 + number;
                    let _receipt = ledger.append_leaf(&leaf(id)).unwrap();
                    let line = format!("answered {id}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A little chance without a dependency.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Runs the victim and kills it; what it said was answered.
fn round(dir: &Path, number: u64, chance: &mut Chance) -> BTreeSet<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(ROUND, number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    // It is at work once it has said something.
    while !text.contains("answered") {
        if lines.read_line(&mut text).unwrap() == 0 {
            let mut said = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut said)
                .unwrap();
            panic!("the victim died by itself: {text} {said}");
        }
    }
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        rest
    });
    std::thread::sleep(Duration::from_micros(chance.below(60_000)));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.code().is_none(),
        "it was killed and did not end: {status}"
    );
    text.push_str(&reader.join().unwrap());
    // A last line may be cut off.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let numbers = whole.split("answered ").skip(1);
    numbers
        .map(|number| number.trim().parse().unwrap())
        .collect()
}

fn rounds(level: Level) {
    let count = std::env::var("HANDFAST_KILL_ROUNDS");
    let count: u64 = count.map_or(25, |count| count.parse().unwrap());
    let mut scratch = Scratch::new();
    create(&scratch.log(), level);
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id()));
    let (mut answered, mut recovered, mut next) = (0, 0, 0);
    for number in 0..count {
        if number > 0 && number % ROUNDS_A_LOG == 0 {
            scratch = Scratch::new();
            create(&scratch.log(), level);
            next = 0;
        }
        let said = round(&scratch.log(), number, &mut chance);
        assert!(!said.is_empty());
        answered += said.len();
        let mut here = BTreeSet::new();
        LogReader::open(scratch.log())
            .unwrap()
            .for_each(next, |index, leaf| {
                let record = Record::parse(leaf).unwrap();
                recovered += u64::from(record.kind == EventKind::Recovered);
                here.insert(record.t_mono_ns.0);
                next = index + 1;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        let lost: Vec<_> = said.difference(&here).collect();
        assert!(
            lost.is_empty(),
            "round {number}: {} lost: {lost:?}",
            lost.len()
        );
        // Opening it recovers; nothing that was there goes away.
        let size = next;
        let ledger = open(&scratch.log());
        assert!(ledger.size() >= size, "round {number}");
        ledger.close().unwrap();
        if number % 10 == 0 || (number + 1) % ROUNDS_A_LOG == 0 || number + 1 == count {
            let report = check(&scratch.log());
            assert_eq!(report.verdict(), Verdict::Good, "round {number} {report:?}");
        }
    }
    let line = format!(
        "{level}: {count} rounds, {answered} answered events, none lost, {recovered} recoveries\n"
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    assert!(answered as u64 > count);
}

#[test]
fn no_answered_event_is_lost_in_strict() {
    rounds(Level::Strict);
}

#[test]
fn no_written_event_is_lost_in_ordered() {
    rounds(Level::Ordered);
}
