//! Writes what the library decides into a log.

mod context;
mod fold;
mod translate;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use handfast::{Decision, Event, Phase, RecordError, Recorder};

pub use context::Context;

use crate::error::{Error, ErrorKind};
use crate::event::{Clock, EventKind, Moment, PhaseField, Record};
use crate::level::Level;
use crate::note::{fill_random, hex};
use crate::writer::Ledger;
use fold::{FoldDecision, Folds};

/// A wall clock that moves this much against the machine's own has been set.
const STEP_NS: i128 = 1_000_000_000;

/// A [`Recorder`] that writes to a [`Ledger`]. One for every root, or one for all.
///
/// An event is answered when the log's level is reached; what cannot be logged is not done.
pub struct LedgerRecorder {
    ledger: Arc<Ledger>,
    context: Context,
    /// Tells the operations of this recorder from those of other processes.
    run: String,
    folds: Folds,
    /// Microseconds by which the wall clock is ahead of the machine's own; 0 before the first
    /// event.
    ahead_us: AtomicI64,
}

impl LedgerRecorder {
    /// A recorder for this process.
    ///
    /// # Errors
    /// `Key` if the system has no random bytes.
    pub fn new(ledger: Arc<Ledger>, context: Context) -> Result<Self, Error> {
        let mut random = [0; 4];
        fill_random(&mut random)?;
        Ok(Self {
            ledger,
            context,
            run: hex(&random),
            folds: Folds::default(),
            ahead_us: AtomicI64::new(0),
        })
    }

    /// Writes the counts of refusals that were folded. Done by itself with later events, and when
    /// the recorder is dropped.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn flush(&self) -> Result<(), Error> {
        self.write_folds(u64::MAX)
    }

    fn write_folds(&self, now_ns: u64) -> Result<(), Error> {
        for folded in self.folds.due(now_ns) {
            let leaf = folded.leaf(&self.context, self.ledger.level())?;
            self.ledger.append_read(&leaf)?;
        }
        Ok(())
    }

    /// As [`Recorder::record`], with the log's own error.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn take(&self, event: &Event<'_>) -> Result<(), Error> {
        let now = Moment::now();
        self.watch_clock(now)?;
        if self.folds.is_due(now.boot_ns) {
            self.write_folds(now.boot_ns)?;
        }
        // Results of what was allowed are never folded: an intent without one means "unknown".
        if let Decision::Refused { kind, why } = &event.decision
            && event.phase != Phase::Result
            && self.folds.meet(event, *kind, why, now) == FoldDecision::Count
        {
            return Ok(());
        }
        let op_id = format!("{}.{}", self.run, event.op_id);
        self.write(event, &op_id, now, event.entries)
    }

    fn write(
        &self,
        event: &Event<'_>,
        op_id: &str,
        now: Moment,
        entries: &[handfast::TouchedEntry],
    ) -> Result<(), Error> {
        let policy = self.ledger.policy();
        let reads = event.phase == Phase::Single && !event.verb.changes();
        let level = match self.ledger.level() {
            // What changes something is written as at `ordered`.
            Level::Buffered if !reads => Level::Ordered,
            level => level,
        };
        let log = translate::OfLog {
            level,
            policy: policy.as_deref(),
        };
        let record = translate::record(event, op_id, now, entries, &self.context, log);
        match record.to_leaf() {
            Ok(leaf) if reads => self.ledger.append_read(&leaf),
            Ok(leaf) => {
                let _receipt = self.ledger.append_leaf(&leaf)?;
                Ok(())
            }
            // Names that need much escaping: two lists instead of one, with the same `op_id`.
            Err(error) if error.kind() == ErrorKind::TooLarge && entries.len() > 1 => {
                let (left, right) = entries.split_at(entries.len() / 2);
                self.write(event, op_id, now, left)?;
                self.write(event, op_id, now, right)
            }
            Err(error) => Err(error),
        }
    }

    /// Says so if the wall clock was set since the last event.
    fn watch_clock(&self, now: Moment) -> Result<(), Error> {
        let ahead_ns = now.wall_ns - i128::from(now.boot_ns);
        let ahead_us = i64::try_from(ahead_ns / 1000).unwrap_or(i64::MAX).max(1);
        let before = self.ahead_us.swap(ahead_us, Ordering::Relaxed);
        let by_ns = (i128::from(ahead_us) - i128::from(before)) * 1000;
        if before == 0 || by_ns.abs() < STEP_NS {
            return Ok(());
        }
        let mut record = Record::new(EventKind::ClockStep, PhaseField::Single, now);
        record.clock = Some(Clock {
            by_ns: by_ns.to_string().into(),
        });
        let _receipt = self.ledger.append(&record)?;
        Ok(())
    }
}

impl Recorder for LedgerRecorder {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        self.take(event)
            .map_err(|error| RecordError::Failed(error.into()))
    }
}

impl Drop for LedgerRecorder {
    fn drop(&mut self) {
        // A caller that wants to know calls `flush`.
        drop(self.flush());
    }
}

impl fmt::Debug for LedgerRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerRecorder")
            .field("ledger", &self.ledger)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{CreateOptions, OpenOptions};

    #[test]
    fn a_clock_that_jumps_is_told_once() {
        let dir = std::env::temp_dir().join(format!("handfast-clock-{}", std::process::id()));
        CreateOptions::new().create(&dir).unwrap();
        let ledger = Arc::new(Ledger::open(&dir, OpenOptions::new()).unwrap());
        let recorder = LedgerRecorder::new(Arc::clone(&ledger), Context::new()).unwrap();
        let now = Moment::now();
        let later = |seconds: i128| Moment {
            wall_ns: now.wall_ns + seconds * 1_000_000_000,
            ..now
        };
        for moment in [now, now, later(3600), later(3600), later(-10)] {
            recorder.watch_clock(moment).unwrap();
        }
        assert_eq!(ledger.size(), 3, "log.start and two steps");
        drop((recorder, ledger));
        let leaf = crate::LogReader::open(&dir).unwrap().event(1).unwrap();
        let record = Record::parse(&leaf).unwrap();
        assert_eq!(record.clock.unwrap().by_ns, "3600000000000");
        for path in [dir.clone(), dir.with_extension("keys")] {
            handfast::Root::open_ambient(path.parent().unwrap())
                .unwrap()
                .remove_tree(
                    &handfast::RelPath::parse(path.file_name().unwrap().as_encoded_bytes())
                        .unwrap(),
                )
                .unwrap();
        }
    }
}
