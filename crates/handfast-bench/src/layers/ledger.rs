//! What the log takes on this machine, beside what the disk itself gives.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handfast::{RelPath, Root};
use handfast_ledger::{CreateOptions, Ledger, Level, OpenOptions};

use super::event::event;
use super::peer::sqlite;
use super::{Amount, Figure};
use crate::Failure;
use crate::scale::Scale;
use crate::site::Site;

pub(super) struct Scene<'a> {
    pub(super) site: &'a Site,
    pub(super) root: Root,
    time: Duration,
    clients: &'a [u64],
    pub(super) verified: u64,
    logs: std::cell::Cell<u32>,
}

pub(super) fn measure(
    dir: &Path,
    amount: Amount,
    rows: Option<&str>,
) -> Result<Vec<Figure>, Failure> {
    let wanted = |row: &str| rows.is_none_or(|rows| rows.split(',').any(|name| name == row));
    let site = Site::new(dir, Scale::SMALL)?;
    let (seconds, clients, verified): (f64, &[u64], u64) = match amount {
        Amount::Full => (3.0, &[1, 8, 64, 256], 300_000),
        Amount::Quick => (0.5, &[1, 8, 64, 256], 50_000),
        Amount::Once => (0.05, &[1, 8], 1000),
    };
    let scene = Scene {
        root: Root::open_ambient(site.path(""))?,
        site: &site,
        time: Duration::from_secs_f64(seconds),
        clients,
        verified,
        logs: std::cell::Cell::new(0),
    };
    let mut figures = Vec::new();
    if wanted("disk") {
        figures.extend(scene.disk("before")?);
    }
    for level in [Level::Strict, Level::Ordered] {
        for clients in scene.clients.iter().filter(|_| wanted(level.name())) {
            figures.extend(scene.waiting(level, *clients)?);
        }
    }
    if wanted("disk") {
        figures.extend(scene.disk("after")?);
    }
    for batch in [100, 1000, 5000] {
        if wanted("batch") {
            figures.extend(scene.batches(batch)?);
        }
    }
    if wanted("cpu") {
        figures.extend(scene.cpu()?);
    }
    if wanted("verify") {
        figures.extend(scene.verification()?);
    }
    if figures.is_empty() {
        return Err(
            "no row has this name: there are disk, strict, ordered, batch, cpu and verify".into(),
        );
    }
    Ok(figures)
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
pub(super) fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

impl Scene<'_> {
    /// The disk itself: 4 KiB written in place into zeroed space, then fdatasync.
    fn disk(&self, when: &str) -> Result<Vec<Figure>, Failure> {
        let how = handfast::OpenOptions::new().write(true).create(true);
        let file = self
            .root
            .open_with(&RelPath::parse("disk")?, how)?
            .into_std();
        file.write_all_at(&vec![0; 4 << 20], 0)?;
        file.sync_all()?;
        let mut times = Vec::new();
        for round in 0..200_u64 {
            let begun = Instant::now();
            file.write_all_at(&[7; 4096], round * 4096)?;
            file.sync_data()?;
            times.push(begun.elapsed());
        }
        let figure = |part: f64, name: &str| {
            let title = format!("fdatasync of 4 KiB, {name}, {when}");
            Figure::new(
                format!("ledger/fdatasync/{name}/{when}"),
                title,
                quantile(&mut times.clone(), part),
                "ms",
            )
        };
        Ok(vec![figure(0.5, "p50"), figure(0.99, "p99")])
    }

    /// The name of the log that was made last.
    pub(super) fn log_name(&self) -> String {
        format!("log{}", self.logs.get())
    }

    /// Bytes of all its segments up to the last that is not zero.
    fn written(&self) -> Result<u64, Failure> {
        let segments = RelPath::parse(format!("{}/segments", self.log_name()))?;
        let mut total = 0;
        let mut listing = self.root.read_dir(&segments)?;
        while let Some(entry) = listing.next_entry()? {
            let bytes = self
                .root
                .read_to_limit(&segments.join(entry.name()), u64::MAX)?;
            total += bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1) as u64;
        }
        Ok(total)
    }

    pub(super) fn fresh(&self, level: Level) -> Result<(PathBuf, Ledger), Failure> {
        self.logs.set(self.logs.get() + 1);
        let dir = self.site.path(&self.log_name());
        let _key = CreateOptions::new().level(level).create(&dir)?;
        let options = OpenOptions::new().publish_every(Duration::from_secs(3600));
        let ledger = Ledger::open(&dir, options)?;
        Ok((dir, ledger))
    }

    /// Clients that each wait for their event before the next.
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    fn waiting(&self, level: Level, clients: u64) -> Result<Vec<Figure>, Failure> {
        let (_, ledger) = self.fresh(level)?;
        let ledger = Arc::new(ledger);
        let stop = Arc::new(AtomicBool::new(false));
        let before = user_seconds();
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
        std::thread::sleep(self.time);
        stop.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        let took = begun.elapsed();
        let user = (user_seconds() - before) * 1e6 / times.len() as f64;
        let bytes = self.written()? as f64 / ledger.size() as f64;
        let name = format!("{level}, {clients} waiting");
        let id = |what: &str| format!("ledger/{level}/{clients}/{what}");
        let figure = |what: &str, value: f64, unit| {
            Figure::new(id(what), format!("{name}: {what}"), value, unit)
        };
        let events = figure("events", rate(times.len(), took), "/s");
        let cpu = figure("user CPU", user, "µs an event");
        Ok(vec![
            if level == Level::Strict && clients == 256 {
                events.at_least(50_000.0)
            } else {
                events
            },
            figure("p50", quantile(&mut times, 0.5), "ms"),
            figure("p99", quantile(&mut times, 0.99), "ms"),
            // One client that waits pays for a checkpoint each; the promise is about a log at work.
            if clients >= 8 {
                figure("bytes", bytes, "an event").at_most(700.0)
            } else {
                figure("bytes", bytes, "an event")
            },
            if clients >= 8 { cpu.at_most(3.0) } else { cpu },
        ])
    }

    /// One thread that appends so many at a time, and the same into SQLite.
    fn batches(&self, batch: u64) -> Result<Vec<Figure>, Failure> {
        let leaves: Vec<_> = (0..batch).map(event).collect::<Result<_, _>>()?;
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        // In turns: the disk's moods meet both.
        for _ in 0..4 {
            let (_, ledger) = self.fresh(Level::Strict)?;
            let begun = Instant::now();
            let mut count = 0;
            while begun.elapsed() < self.time / 4 {
                let _receipt = ledger.append_leaves(&leaves)?;
                count += leaves.len();
            }
            let mine = rate(count, begun.elapsed());
            ours.push(mine);
            let database = self.site.path(&format!("{}.db", self.log_name()));
            if let Some(rate) = sqlite(&database, &leaves, self.time / 4)? {
                theirs.push(rate);
                ratios.push(mine / rate);
            }
        }
        let median =
            |all: Vec<f64>| crate::stats::Summary::of(all).map_or(f64::NAN, |all| all.median);
        let figure = |what: &str, title: &str, value, unit| {
            let title = format!("batches of {batch}: {title}");
            Figure::new(format!("ledger/batch/{batch}/{what}"), title, value, unit)
        };
        Ok(vec![
            figure("events", "strict", median(ours), "events/s"),
            figure("sqlite", "SQLite, WAL and FULL", median(theirs), "events/s"),
            figure("ratio", "strict to SQLite", median(ratios), "×").at_least(1.5),
        ])
    }
}

/// Milliseconds below which so many of the times lie.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list"
)]
fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let index = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times
        .get(index)
        .map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// User time of this process so far. System time is the write and sync calls.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel's")]
fn user_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after
        .split(' ')
        .nth(12)
        .and_then(|ticks| ticks.parse().ok());
    ticks.map_or(f64::NAN, |ticks: f64| ticks / 100.0)
}
