//! The log, which may fail and is taken up again by itself.
//!
//! A ledger that met a full disk takes nothing more. It is closed and opened again, at most twice a
//! second, until that works; whatever cannot be logged meanwhile is not done. Recorders are made
//! for one ledger and go with it, so they are handed out by this and not kept by connections.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use handfast::{Decision, Event, Phase, RecordError, Recorder, Root};
use handfast_ledger::event::{DecisionField, EventKind, Fold, Record, U64, Workload, rfc3339};
use handfast_ledger::{
    Context, Error, ErrorKind, Keep, Ledger, LedgerRecorder, Level, OpenOptions as LogOptions,
};
use handfast_session::policy::LogRules;

use crate::budget::{Counted, RefusalBudget};
use crate::clock;
use crate::fault::{Code, Fault};
use crate::lost_note::LostNote;
use crate::start::StartError;

/// How soon a log that could not be opened is tried again.
const RETRY_NS: u64 = 500_000_000;

/// The log that is open, if one is.
struct OpenLog {
    ledger: Option<Arc<Ledger>>,
    generation: u64,
    tried_ns: u64,
}

/// The broker's log.
pub(crate) struct Journal {
    dir: PathBuf,
    opened: RwLock<OpenLog>,
    recorders: Mutex<Vec<Weak<PeerRecorder>>>,
    failures: AtomicU64,
    /// Events that were answered and that no log has, and no log says so yet.
    lost: AtomicU64,
    /// The same number, for the next start.
    note: LostNote,
    rules: LogRules,
    pub(crate) budget: RefusalBudget,
}

/// Where the events of one peer go, whichever ledger is open.
pub(crate) struct PeerRecorder {
    journal: Arc<Journal>,
    context: Context,
    uid: u32,
    inner: Mutex<Option<(u64, LedgerRecorder)>>,
}

impl Journal {
    /// Opens the log. What a broker before this one lost is told first.
    ///
    /// # Errors
    /// In words, if the log or the note of what was lost cannot be used.
    pub(crate) fn open(
        dir: &Path,
        state: &Root,
        budget: RefusalBudget,
        rules: LogRules,
    ) -> Result<Self, StartError> {
        let failed = |error: Error| StartError::Log(error.to_string());
        let ledger = Arc::new(Ledger::open(dir, options_of(rules)).map_err(failed)?);
        let (note, lost) = LostNote::open(state)
            .map_err(|error| StartError::Log(format!("the note of what was lost: {error}")))?;
        let journal = Self {
            dir: dir.to_owned(),
            opened: RwLock::new(OpenLog {
                ledger: Some(Arc::clone(&ledger)),
                generation: 0,
                tried_ns: 0,
            }),
            recorders: Mutex::default(),
            failures: AtomicU64::new(0),
            lost: AtomicU64::new(lost),
            note,
            rules,
            budget,
        };
        journal.tell_lost(&ledger).map_err(failed)?;
        Ok(journal)
    }

    /// Does something with the ledger; once more with a new one, if the old one has failed.
    fn with<T>(&self, act: impl Fn(&Arc<Ledger>, u64) -> Result<T, Error>) -> Result<T, Fault> {
        let failed = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            match &opened.ledger {
                Some(ledger) => match act(ledger, opened.generation) {
                    Err(error) if is_over(error.kind()) => Some(opened.generation),
                    done => return done.map_err(|error| unavailable(&error)),
                },
                None => None,
            }
        };
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.reopen(failed, RETRY_NS)?;
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        match &opened.ledger {
            Some(ledger) => act(ledger, opened.generation).map_err(|error| unavailable(&error)),
            None => Err(closed()),
        }
    }

    /// Closes a ledger that has failed, and opens the log again, if that was not tried a moment ago.
    fn reopen(&self, failed: Option<u64>, moment_ns: u64) -> Result<(), Fault> {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.ledger.is_some() && failed != Some(opened.generation) {
            // Another thread was faster.
            return Ok(());
        }
        let now = clock::now_ns();
        if now < opened.tried_ns + moment_ns {
            return Err(closed());
        }
        opened.tried_ns = now;
        // Nobody uses them: that takes the lock for reading.
        for recorder in self.recorders().drain(..) {
            if let Some(recorder) = recorder.upgrade() {
                *recorder.hold() = None;
            }
        }
        if let Some(failed) = opened.ledger.take() {
            let lost = failed.lost();
            if lost > 0 {
                let before = self.lost.fetch_add(lost, Ordering::Relaxed);
                self.note.set(before + lost);
            }
        }
        let options = options_of(self.rules).patience(Duration::ZERO);
        let ledger = Ledger::open(&self.dir, options).map_err(|error| unavailable(&error))?;
        self.tell_lost(&ledger)
            .map_err(|error| unavailable(&error))?;
        opened.ledger = Some(Arc::new(ledger));
        opened.generation += 1;
        crate::complain("the log failed, and is taken up again");
        Ok(())
    }

    /// Says in the log how many events are missing before this.
    fn tell_lost(&self, ledger: &Ledger) -> Result<(), Error> {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            let why = "the log failed before these reads were written; they were answered";
            let _receipt = ledger.gap(Some(lost), why)?;
            let before = self.lost.fetch_sub(lost, Ordering::Relaxed);
            self.note.set(before - lost);
        }
        Ok(())
    }

    /// The end: what is counted and what is buffered is written, and what cannot be is said. Gives how many
    /// answered events no log has; the next start tells them.
    pub(crate) fn end(&self) -> u64 {
        self.settle();
        let failed = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let has_failed = |ledger: &Arc<Ledger>| ledger.lost() > 0;
            let failed = opened.ledger.as_ref().is_some_and(has_failed);
            failed.then_some(opened.generation)
        };
        if failed.is_some() || !self.health().0 {
            drop(self.reopen(failed, 0));
        }
        self.publish();
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            crate::complain(&format!(
                "{lost} reads were answered and are in no log, which could not be written; the next start says so in the log"
            ));
        }
        lost
    }

    /// What an answered event has survived; nothing while no log is open.
    pub(crate) fn level(&self) -> Option<Level> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.ledger.as_ref().map(|ledger| ledger.level())
    }

    fn recorders(&self) -> MutexGuard<'_, Vec<Weak<PeerRecorder>>> {
        self.recorders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A recorder for what a peer does.
    pub(crate) fn recorder(self: &Arc<Self>, uid: u32, context: Context) -> Arc<PeerRecorder> {
        Arc::new(PeerRecorder {
            journal: Arc::clone(self),
            context,
            uid,
            inner: Mutex::default(),
        })
    }

    /// Appends an event.
    ///
    /// # Errors
    /// `Unavailable` if the log takes nothing.
    pub(crate) fn append(&self, record: &Record<'_>) -> Result<(), Fault> {
        self.with(|ledger, _| ledger.append(record).map(drop))
    }

    /// Whether the log is open, and how often it has failed.
    pub(crate) fn health(&self) -> (bool, u64) {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        (
            opened.ledger.is_some(),
            self.failures.load(Ordering::Relaxed),
        )
    }

    /// Takes up a log that is closed, and writes what was counted instead of told.
    pub(crate) fn settle(&self) {
        if !self.health().0 {
            drop(self.reopen(None, RETRY_NS));
        }
        self.budget
            .settle(|counted| self.append(&told(counted)).is_ok());
    }

    /// Shows readers what they have not seen yet.
    pub(crate) fn publish(&self) {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(ledger) = &opened.ledger {
            drop(ledger.publish());
        }
    }

    pub(crate) fn policy_loaded(&self, before: Option<&str>, sha256: &str) -> Result<(), Fault> {
        self.with(|ledger, _| ledger.policy_loaded(before, sha256).map(drop))
    }
}

/// What a policy says of the log.
fn options_of(rules: LogRules) -> LogOptions {
    let mut options = LogOptions::new();
    if let Some(level) = crate::site::level_of(rules) {
        options = options.level(level);
    }
    let mut keep = Keep::new();
    if let Some(bytes) = rules.keep_bytes {
        keep = keep.bytes(bytes);
    }
    if let Some(time) = rules.keep_for {
        keep = keep.time(time);
    }
    match keep == Keep::new() {
        // As the log was made.
        true => options,
        false => options.keep(keep),
    }
}

/// Whether a ledger that says so takes nothing more.
fn is_over(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Full | ErrorKind::Poisoned | ErrorKind::Io)
}

fn closed() -> Fault {
    let why = "the log has failed, and could not be opened again yet";
    Fault::new(Code::Unavailable, why)
}

fn unavailable(error: &Error) -> Fault {
    Fault::new(Code::Unavailable, format!("the log takes nothing: {error}"))
}

/// The event that tells a count.
fn told(counted: &Counted) -> Record<'_> {
    let mut record = Record::about_log(EventKind::Verb(handfast::Verb::Resolve));
    record.wl = Some(Workload {
        uid: Some(counted.uid),
        ..Workload::default()
    });
    record.decision = Some(DecisionField {
        allow: false,
        kind: Some(counted.kind.name().into()),
        why: Some(counted.why.as_str().into()),
        ..DecisionField::default()
    });
    record.fold = Some(Fold {
        count: U64(counted.count),
        since: rfc3339(counted.since_wall_ns.into()).into(),
        paths: "various".into(),
    });
    record
}

impl PeerRecorder {
    fn hold(&self) -> MutexGuard<'_, Option<(u64, LedgerRecorder)>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, event: &Event<'_>) -> Result<(), Fault> {
        self.journal.with(|ledger, generation| {
            let mut inner = self.hold();
            let made = match inner.take() {
                Some(kept) if kept.0 == generation => kept,
                _ => {
                    let mut all = self.journal.recorders();
                    if all.len() == all.capacity() {
                        all.retain(|known| known.strong_count() > 0);
                    }
                    all.push(Arc::downgrade(self));
                    let recorder = LedgerRecorder::new(Arc::clone(ledger), self.context.clone())?;
                    (generation, recorder)
                }
            };
            let (_, recorder) = inner.insert(made);
            recorder.take(event)
        })
    }

    /// Tells the log of an event. A refusal beyond its user's budget is counted.
    pub(crate) fn tell(self: &Arc<Self>, event: &Event<'_>) -> Result<(), RecordError> {
        if let Decision::Refused { kind, why } = &event.decision
            && event.phase != Phase::Result
        {
            let bytes = event.path.as_bytes().len();
            if !self.journal.budget.tells(self.uid, *kind, why, bytes) {
                return Ok(());
            }
        }
        self.take(event)
            .map_err(|fault| RecordError::Failed(std::io::Error::other(fault)))
    }
}

/// A recorder as the session takes it.
pub(crate) struct RecorderAdapter(pub(crate) Arc<PeerRecorder>);

impl Recorder for RecorderAdapter {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        self.0.tell(event)
    }
}

impl fmt::Debug for PeerRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerRecorder")
            .field("uid", &self.uid)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
