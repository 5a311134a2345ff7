//! What the log takes on this machine, beside what the disk itself gives.
//!
//! `throughput [DIR] [SECONDS]`: waiting clients at both levels, fixed batches, verification. With
//! the feature `sqlite` the same batches into SQLite (WAL, synchronous FULL) in the same run.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures"
)]

use std::error::Error;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast_ledger::event::{
    Assurance, DecisionField, EventKind, Moment, Object, Parent, PhaseField, Record, Request,
    RootField, U64, Workload, rfc3339,
};
use handfast_ledger::{
    CreateOptions, Ledger, Level, LogReader, OpenOptions, Verdict, VerifyOptions, verify,
};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1);
    let base = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments
        .next()
        .and_then(|text| text.to_str()?.parse().ok())
        .unwrap_or(3.0);
    let base = base.join(format!("handfast-throughput-{}", std::process::id()));
    std::fs::create_dir(&base)?;
    let measured = measure(&base, Duration::from_secs_f64(seconds));
    std::fs::remove_dir_all(&base)?;
    measured
}

fn measure(base: &Path, time: Duration) -> Result<(), Failure> {
    println!("one event: {} bytes", event(1)?.len());
    disk(base)?;
    println!(
        "\n| level | clients | events/s | p50 ms | p99 ms | bytes/event | user us/event | system us/event |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for level in [Level::Strict, Level::Ordered] {
        for clients in [1, 8, 64, 256] {
            waiting(base, level, clients, time)?;
        }
    }
    disk(base)?;
    println!("\n| batch | ledger strict, events/s | SQLite WAL FULL, events/s | ratio |");
    println!("|---|---|---|---|");
    for batch in [1, 100, 1000, 5000] {
        let ours = batches(base, batch, time)?;
        match sqlite(base, batch, time)? {
            Some(theirs) => println!(
                "| {batch} | {ours:.0} | {theirs:.0} | {:.2} |",
                ours / theirs
            ),
            None => println!("| {batch} | {ours:.0} | (feature `sqlite` is off) | |"),
        }
    }
    serialise()?;
    verification(base)
}

/// An event as the recorder writes it for one open.
fn event(number: u64) -> Result<Vec<u8>, Failure> {
    let now = Moment::now();
    let mut record = Record::new(
        EventKind::Verb(handfast::Verb::Open),
        PhaseField::Single,
        now,
    );
    let op_id = format!("a1b2c3d4.{number}");
    let path = format!("src/verbs/file-{number}.rs");
    let name = format!("file-{number}.rs");
    record.op_id = Some(op_id.as_str().into());
    record.req = Some(Request::of(path.as_bytes()));
    record.root = Some(RootField {
        dev: U64(65_024),
        ino: U64(10_633_696),
        mnt: Some(U64(2_147_483_677)),
        id: None,
    });
    record.parent = Some(Parent {
        dev: U64(65_024),
        ino: U64(10_633_700),
        btime: None,
        name: Some(name.as_str().into()),
        name_b64: None,
    });
    record.obj = Some(Object {
        dev: U64(65_024),
        ino: U64(10_633_701),
        mnt: Some(U64(2_147_483_677)),
        btime: Some(rfc3339(now.wall_ns).into()),
        kind: "file".into(),
        mode: "0644".into(),
        uid: 1000,
        gid: 1000,
        nlink: U64(1),
        size: U64(4096),
    });
    record.wl = Some(Workload {
        agent_id: Some("agent-7".into()),
        pid: Some(12_345),
        uid: Some(1000),
        gid: Some(1000),
        ..Workload::default()
    });
    record.decision = Some(DecisionField {
        allow: true,
        ..DecisionField::default()
    });
    record.assure = Some(Assurance {
        resolve: Some("kernel".into()),
        visibility: None,
        level: Some("strict".into()),
    });
    Ok(record.to_leaf()?)
}

/// The disk itself: 4 KiB written in place into zeroed space, then fdatasync.
fn disk(base: &Path) -> Result<(), Failure> {
    let path = base.join("disk");
    let file = std::fs::File::create(&path)?;
    file.write_all_at(&vec![0; 4 << 20], 0)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for round in 0..400_u64 {
        let begun = Instant::now();
        file.write_all_at(&[7; 4096], round % 1000 * 4096)?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    std::fs::remove_file(path)?;
    let (p50, p99) = quantiles(&mut times);
    println!("\nfdatasync of 4 KiB on this disk now: p50 {p50:.2} ms, p99 {p99:.2} ms");
    Ok(())
}

fn quantiles(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let at = |part: f64| {
        let index = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
        times.get(index).map_or(0.0, Duration::as_secs_f64) * 1000.0
    };
    (at(0.5), at(0.99))
}

/// User and system time of this process so far, in seconds.
fn cpu() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let mut fields = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .skip(12);
    let mut ticks = || {
        fields
            .next()
            .and_then(|t| t.parse::<f64>().ok())
            .unwrap_or(0.0)
            / 100.0
    };
    (ticks(), ticks())
}

fn fresh(base: &Path, level: Level) -> Result<(PathBuf, Ledger), Failure> {
    let dir = base.join("log");
    drop(std::fs::remove_dir_all(&dir));
    drop(std::fs::remove_dir_all(base.join("log.keys")));
    CreateOptions::new().level(level).create(&dir)?;
    let options = OpenOptions::new().publish_every(Duration::from_secs(3600));
    let ledger = Ledger::open(&dir, options)?;
    Ok((dir, ledger))
}

/// Clients that each wait for their event before the next.
fn waiting(base: &Path, level: Level, clients: u64, time: Duration) -> Result<(), Failure> {
    let (dir, ledger) = fresh(base, level)?;
    let ledger = Arc::new(ledger);
    let stop = Arc::new(AtomicBool::new(false));
    let before = cpu();
    let begun = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|client| {
            let (ledger, stop) = (Arc::clone(&ledger), Arc::clone(&stop));
            std::thread::Builder::new()
                .stack_size(256 * 1024)
                .spawn(move || {
                    let mut times = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        // As the recorder does it: the event is made, and waited for.
                        let leaf = event(client * 1_000_000 + times.len() as u64)?;
                        let begun = Instant::now();
                        let _receipt = ledger.append_leaf(&leaf)?;
                        times.push(begun.elapsed());
                    }
                    Ok::<_, Failure>(times)
                })
        })
        .collect::<Result<_, _>>()?;
    std::thread::sleep(time);
    stop.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for thread in threads {
        times.extend(thread.join().map_err(|_| "a client panicked")??);
    }
    let took = begun.elapsed().as_secs_f64();
    let after = cpu();
    let count = times.len() as f64;
    let (p50, p99) = quantiles(&mut times);
    let bytes = written(&dir)?;
    println!(
        "| {level} | {clients} | {:.0} | {p50:.2} | {p99:.2} | {:.0} | {:.2} | {:.2} |",
        count / took,
        bytes as f64 / ledger.size() as f64,
        (after.0 - before.0) * 1e6 / count,
        (after.1 - before.1) * 1e6 / count,
    );
    Ok(())
}

/// Bytes of all segments up to the last that is not zero.
fn written(dir: &Path) -> Result<u64, Failure> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir.join("segments"))? {
        let bytes = std::fs::read(entry?.path())?;
        total += bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1) as u64;
    }
    Ok(total)
}

/// One thread that appends so many at a time.
fn batches(base: &Path, batch: u64, time: Duration) -> Result<f64, Failure> {
    let (_, ledger) = fresh(base, Level::Strict)?;
    let leaves: Vec<_> = (0..batch).map(event).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        let _receipt = ledger.append_leaves(&leaves)?;
        count += batch;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// The same into SQLite, with the leaf's hash and without tree and signature.
#[cfg(feature = "sqlite")]
fn sqlite(base: &Path, batch: u64, time: Duration) -> Result<Option<f64>, Failure> {
    let path = base.join("events.db");
    let leaves: Vec<_> = (0..batch).map(event).collect::<Result<_, _>>()?;
    let mut connection = rusqlite::Connection::open(&path)?;
    connection.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
         CREATE TABLE events (n INTEGER PRIMARY KEY, leaf BLOB NOT NULL, hash BLOB NOT NULL);",
    )?;
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO events (leaf, hash) VALUES (?1, ?2)")?;
            for leaf in &leaves {
                let hash = handfast_ledger::merkle::Hash::leaf(leaf);
                insert.execute((leaf, &hash.0[..]))?;
            }
        }
        transaction.commit()?;
        count += batch;
    }
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    drop(connection);
    for ending in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(
            base.join(format!("events.db{ending}")),
        ));
    }
    Ok(Some(rate))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_base: &Path, _batch: u64, _time: Duration) -> Result<Option<f64>, Failure> {
    Ok(None)
}

/// What making one event costs.
fn serialise() -> Result<(), Failure> {
    let count = 200_000;
    let before = cpu();
    for number in 0..count {
        std::hint::black_box(event(number)?);
    }
    let after = cpu();
    let each = (after.0 - before.0) * 1e6 / count as f64;
    println!("\nmaking one event: {each:.2} us");
    Ok(())
}

/// A log of 300,000 events, in groups of 256, verified on one core.
fn verification(base: &Path) -> Result<(), Failure> {
    let (dir, ledger) = fresh(base, Level::Ordered)?;
    let leaves: Vec<_> = (0..256).map(event).collect::<Result<_, _>>()?;
    while ledger.size() < 300_000 {
        let _receipt = ledger.append_leaves(&leaves)?;
    }
    let size = ledger.size();
    let begun = Instant::now();
    ledger.close()?;
    println!(
        "\npublished {size} events in {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    for segments in [true, false] {
        if !segments {
            std::fs::rename(dir.join("segments"), base.join("away"))?;
        }
        let before = cpu();
        let report = verify(&LogReader::open(&dir)?, &VerifyOptions::new())?;
        let after = cpu();
        if report.verdict() != Verdict::Good {
            return Err(format!("{report:?}").into());
        }
        let took = (after.0 - before.0) + (after.1 - before.1);
        let from = if segments {
            "segments, bundles and tiles"
        } else {
            "bundles and tiles only"
        };
        println!(
            "verify, {from}: {:.0} events/s a core ({} checkpoints)",
            size as f64 / took,
            report.checkpoints
        );
    }
    Ok(())
}
