//! What of the log's cost is its own: beside the write call of an event, and beside the hashes of a
//! verification, each measured in the same run.

use std::hint::black_box;
use std::os::unix::fs::FileExt;

use handfast::{RelPath, RenameMode};
use handfast_ledger::merkle::Hash;
use handfast_ledger::{Level, LogReader, Verdict, VerifyOptions, verify};

use super::Figure;
use super::event::event;
use super::ledger::Scene;
use crate::Failure;
use crate::clock::Stopwatch;

/// The best of so many: other processes only ever make it slower.
const TURNS: usize = 5;

impl Scene<'_> {
    /// One client at `ordered` whose events are made and recorded, and the same bytes by `pwrite`
    /// alone.
    pub(super) fn cpu(&self) -> Result<Vec<Figure>, Failure> {
        let count = self.verified / 10;
        let how = handfast::OpenOptions::new().write(true).create(true);
        let (mut best, mut whole, mut write) = (f64::INFINITY, f64::NAN, f64::NAN);
        for turn in 0..TURNS {
            let (_, ledger) = self.fresh(Level::Ordered)?;
            let watch = Stopwatch::start();
            let mut bytes = 0;
            for number in 0..count {
                let leaf = event(number)?;
                bytes += leaf.len() as u64;
                let _receipt = ledger.append_leaf(&leaf)?;
            }
            let ours = watch.stop(usize::try_from(count)?).cpu;
            drop(ledger);
            let name = RelPath::parse(format!("write{turn}"))?;
            let file = self.root.open_with(&name, how)?.into_std();
            let piece = vec![7; usize::try_from(bytes / count.max(1))? + 32];
            let watch = Stopwatch::start();
            for number in 0..count {
                file.write_all_at(&piece, number * piece.len() as u64)?;
            }
            let calls = watch.stop(usize::try_from(count)?).cpu;
            if ours - calls < best {
                (best, whole, write) = (ours - calls, ours, calls);
            }
        }
        let figure = |what: &str, title: &str, nanoseconds: f64| {
            let id = format!("ledger/cpu/{what}");
            Figure::new(
                id,
                format!("one event: {title}"),
                nanoseconds / 1000.0,
                "µs",
            )
        };
        Ok(vec![
            figure("whole", "made and recorded, CPU", whole),
            figure("write", "its write call, CPU", write),
            figure("own", "beside the write call", best).at_most(3.0),
        ])
    }

    /// A log in groups of 256, verified on one core, beside its hashes alone.
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    pub(super) fn verification(&self) -> Result<Vec<Figure>, Failure> {
        let (dir, ledger) = self.fresh(Level::Ordered)?;
        let leaves: Vec<_> = (0..256).map(event).collect::<Result<_, _>>()?;
        while ledger.size() < self.verified {
            let _receipt = ledger.append_leaves(&leaves)?;
        }
        let size = ledger.size();
        ledger.close()?;
        let mut figures = Vec::new();
        let mut slowest: f64 = 0.0;
        let figure = |what: &str, title: &str, nanoseconds: f64| {
            let speed = size as f64 / nanoseconds * 1e9;
            Figure::new(
                format!("ledger/verify/{what}"),
                title,
                speed,
                "events/s a core",
            )
        };
        for (what, title) in [
            ("whole", "verify with segments, bundles and tiles"),
            ("published", "verify a published copy"),
        ] {
            if what == "published" {
                let from = RelPath::parse(format!("{}/segments", self.log_name()))?;
                let away = RelPath::parse("away")?;
                self.root.rename(&from, &away, RenameMode::NoReplace)?;
            }
            let mut best = f64::INFINITY;
            for _ in 0..TURNS {
                let watch = Stopwatch::start();
                let report = verify(&LogReader::open(&dir)?, &VerifyOptions::new())?;
                best = watch.stop(1).cpu.min(best);
                if report.verdict() != Verdict::Good {
                    return Err(format!("{report:?}").into());
                }
            }
            slowest = slowest.max(best);
            figures.push(figure(what, title, best).at_least(1_000_000.0));
        }
        let mut best = f64::INFINITY;
        for _ in 0..TURNS {
            let watch = Stopwatch::start();
            let mut last = Hash::of_nothing();
            for number in 0..size {
                let leaf = &leaves[usize::try_from(number % 256)?];
                last = Hash::node(&last, &black_box(Hash::leaf(leaf)));
            }
            black_box(last);
            best = watch.stop(1).cpu.min(best);
        }
        figures.push(figure("floor", "the hashes of that alone", best));
        let ratio = Figure::new(
            "ledger/verify/ratio",
            "the slower of the two beside its hashes alone",
            best / slowest,
            "times",
        );
        figures.push(ratio.at_least(0.65));
        Ok(figures)
    }
}
