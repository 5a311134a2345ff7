//! The door to the writer.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::core::Core;
use super::keeper::Keeper;
use super::publish::Publisher;
use super::queue::{EncodedEvent, Filled, Queue, Woken};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Record, Stop};
use crate::keep::Keep;
use crate::level::Level;
use crate::lock::WriterLock;
use crate::note::{KeyDir, Signer};
use crate::segment::BatchBytes;
use crate::store::Store;

/// A batch is committed before it grows beyond this; who comes then waits for it first.
const MOST_BATCH: usize = 1024 * 1024;

/// So much waits in memory before a caller writes it itself.
const MOST_DEFERRED: usize = MOST_BATCH / 2;

/// What one call may bring; so much memory is kept for the next.
const MOST_CALL: usize = 4 * MOST_BATCH;

/// How a log is opened for writing.
#[derive(Default)]
pub struct OpenOptions {
    pub(crate) patience: Option<Duration>,
    pub(crate) signer: Option<Box<dyn Signer>>,
    pub(crate) publish_every: Option<Duration>,
    pub(crate) keep: Option<Keep>,
    pub(crate) level: Option<Level>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("patience", &self.patience)
            .field("signer", &self.signer.as_ref().map(|signer| signer.vkey()))
            .field("publish_every", &self.publish_every)
            .field("keep", &self.keep)
            .field("level", &self.level)
            .finish()
    }
}

impl OpenOptions {
    /// The key of the log's key directory; waits 5 seconds for another writer; publishes once a
    /// second.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait for another writer.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Signs with this instead of the key of the key directory.
    #[must_use]
    pub fn signer(mut self, signer: Box<dyn Signer>) -> Self {
        self.signer = Some(signer);
        self
    }

    /// How much is kept, whatever was said when the log was made.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = Some(keep);
        self
    }

    /// At this level from here on, whatever was said when the log was made. The log tells it.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// How often tiles and checkpoint are written for others.
    #[must_use]
    pub fn publish_every(mut self, every: Duration) -> Self {
        self.publish_every = Some(every);
        self
    }
}

/// Proof that an event was taken into the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "an event without a receipt was not recorded"]
pub struct Receipt {
    /// Its place in the log.
    pub index: u64,
}

/// A log that is open for writing. Any number of threads may append.
pub struct Ledger {
    pub(crate) shared: Arc<Shared>,
    pub(crate) keeper: Mutex<Option<Keeper>>,
}

/// What the writer's threads share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) disk: Arc<Disk>,
    pub(crate) level: Level,
    pub(crate) log_id: String,
    pub(crate) keydir: Option<KeyDir>,
    pub(crate) core: Mutex<Core>,
    pub(crate) queue: Mutex<Queue>,
    /// Held while `ordered` syncs what it has written; taken before `core`.
    pub(crate) syncing: Mutex<()>,
    pub(crate) publisher: Mutex<Publisher>,
    /// Why nothing is written any more.
    pub(crate) poison: OnceLock<Error>,
    /// Events that were answered and could not be written.
    pub(crate) lost: AtomicU64,
    pub(crate) bell: super::keeper::Bell,
    pub(crate) boot_id: Option<String>,
    /// How much is kept.
    pub(crate) keep: Keep,
    /// The policy in force, by its digest.
    pub(crate) policy: Mutex<Option<Arc<str>>>,
    pub(crate) _lock: WriterLock,
}

/// A lock whose holder panicked: the log itself is judged by its files, not by this.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// Opens a log for writing: waits for the lock, looks at what is there, and continues it.
    ///
    /// # Errors
    /// `NotALog`; `Busy` if another writer does not let go; `Corrupt` or `Rollback` if what is
    /// there is not what was written; `Key`.
    pub fn open(dir: impl AsRef<Path>, options: OpenOptions) -> Result<Self, Error> {
        super::open::open(dir.as_ref(), options)
    }

    /// What an answered event has survived.
    #[must_use]
    pub fn level(&self) -> Level {
        self.shared.level
    }

    /// The directories that nothing else should be able to change: the log's and its keys'.
    #[must_use]
    pub fn own_directories(&self) -> Vec<handfast::Identity> {
        let mut found = vec![self.shared.store.identity()];
        found.extend(self.shared.keydir.as_ref().map(KeyDir::identity));
        found
    }

    /// Where the keys lie, if they are kept in a directory.
    #[must_use]
    pub fn key_path(&self) -> Option<&Path> {
        self.shared.keydir.as_ref().map(KeyDir::path)
    }

    /// The public key that signs now.
    #[must_use]
    pub fn vkey(&self) -> String {
        hold(&self.shared.core).signer.vkey()
    }

    /// How many events there are.
    #[must_use]
    pub fn size(&self) -> u64 {
        hold(&self.shared.core).frontier.size()
    }

    /// Appends an event and waits until the level is reached.
    ///
    /// # Errors
    /// `TooLarge`; `Poisoned` or `Full` if the log takes nothing any more. Nothing that needs the
    /// event may be done then.
    pub fn append(&self, record: &Record<'_>) -> Result<Receipt, Error> {
        self.append_leaf(&record.to_leaf()?)
    }

    /// Appends the bytes of an event.
    ///
    /// # Errors
    /// As [`Ledger::append`]; `Invalid` if it is empty.
    pub fn append_leaf(&self, leaf: &[u8]) -> Result<Receipt, Error> {
        self.append_leaves(&[leaf])
    }

    /// Appends an event of something that changes nothing: at [`Level::Buffered`] without a wait, at the
    /// other levels as [`Ledger::append_leaf`].
    ///
    /// # Errors
    /// As [`Ledger::append_leaf`].
    pub fn append_read(&self, leaf: &[u8]) -> Result<(), Error> {
        match self.shared.level {
            Level::Buffered => self.shared.defer(leaf),
            _ => self.shared.append(&[leaf]).map(drop),
        }
    }

    /// How many events were answered at [`Level::Buffered`] and could not be written, because the log
    /// failed before. The next writer tells it by [`Ledger::gap`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.flush();
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Appends several events in a row, with one wait; the receipt is of the first.
    ///
    /// # Errors
    /// As [`Ledger::append_leaf`].
    pub fn append_leaves<T: AsRef<[u8]>>(&self, leaves: &[T]) -> Result<Receipt, Error> {
        let index = self.shared.append(leaves)?;
        Ok(Receipt { index })
    }

    /// Signs and syncs everything, and publishes it.
    ///
    /// # Errors
    /// As [`Ledger::append`], and what writing the files for others says.
    pub fn publish(&self) -> Result<(), Error> {
        self.shared.publish_now()
    }

    /// Says that a policy is in force.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn policy_loaded(&self, name: Option<&str>, sha256: &str) -> Result<Receipt, Error> {
        let mut record = Record::about_log(EventKind::PolicyLoad);
        record.policy = Some(crate::event::Policy {
            name: name.map(Into::into),
            sha256: sha256.into(),
        });
        let receipt = self.append(&record)?;
        *hold(&self.shared.policy) = Some(sha256.into());
        Ok(receipt)
    }

    /// The digest of the policy that the last `policy.load` of this writer names.
    pub(crate) fn policy(&self) -> Option<Arc<str>> {
        hold(&self.shared.policy).clone()
    }

    /// Says that events are missing.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn gap(&self, events: Option<u64>, reason: &str) -> Result<Receipt, Error> {
        let mut record = Record::about_log(EventKind::Gap);
        record.gap = Some(crate::event::Gap {
            events: events.map(crate::event::U64),
            reason: reason.into(),
            previous: None,
        });
        self.append(&record)
    }

    /// As if a sync had failed.
    #[doc(hidden)]
    pub fn poison_for_tests(&self) {
        let error = Error::os("syncing the log", std::io::Error::from_raw_os_error(5));
        drop(self.shared.poison(&error));
    }

    /// Says that nothing follows, publishes, and closes.
    ///
    /// # Errors
    /// As [`Ledger::publish`].
    pub fn stop(self) -> Result<(), Error> {
        let mut record = Record::about_log(EventKind::LogStop);
        record.stop = Some(Stop {
            reason: "closed".into(),
        });
        let _receipt = self.append(&record)?;
        self.close()
    }

    /// Publishes and closes; the log can be continued.
    ///
    /// # Errors
    /// As [`Ledger::publish`].
    pub fn close(self) -> Result<(), Error> {
        drop(hold(&self.keeper).take());
        self.shared.publish_last()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if hold(&self.keeper).take().is_some() {
            // A caller that wants to know calls `close`.
            drop(self.shared.publish_last());
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("log", &self.shared.log_id)
            .field("level", &self.shared.level)
            .finish()
    }
}

impl Shared {
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.poison.get() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Nothing is written from now on.
    pub(crate) fn poison(&self, error: &Error) -> Error {
        let kind = match error.kind() {
            ErrorKind::Full => ErrorKind::Full,
            _ => ErrorKind::Poisoned,
        };
        let detail = format!("the log takes nothing any more: {error}");
        self.poison.get_or_init(|| Error::new(kind, detail)).clone()
    }

    pub(super) fn append<T: AsRef<[u8]>>(&self, leaves: &[T]) -> Result<u64, Error> {
        self.check()?;
        // Hashes and checksums are made before the lock, by every caller for itself.
        let made = match leaves {
            [] => return Err(Error::invalid("no events")),
            [leaf] => Brought::One(leaf.as_ref(), EncodedEvent::of(leaf.as_ref())?),
            _ => {
                let mut filled = hold(&self.queue).spare();
                for leaf in leaves {
                    let made = EncodedEvent::of(leaf.as_ref())?;
                    filled.push(leaf.as_ref(), made);
                    if filled.bytes.len() > MOST_CALL {
                        return Err(Error::invalid("more events than fit into one write"));
                    }
                }
                Brought::Several(filled)
            }
        };
        self.enqueue(made)
    }

    /// Puts an event in line and does not wait for it.
    fn defer(&self, leaf: &[u8]) -> Result<(), Error> {
        self.check()?;
        let made = EncodedEvent::of(leaf)?;
        let mut queue = hold(&self.queue);
        if queue.filled.bytes.len() + BatchBytes::taken_by(leaf.len()) > MOST_DEFERRED {
            drop(queue);
            return self.enqueue(Brought::One(leaf, made)).map(drop);
        }
        queue.filled.push(leaf, made);
        queue.filled.deferred += 1;
        drop(queue);
        self.bell.ring();
        Ok(())
    }

    /// Writes what is in line.
    pub(crate) fn flush(&self) {
        let mut queue = hold(&self.queue);
        if queue.filled.is_empty() {
            return;
        }
        let leads = !std::mem::replace(&mut queue.led, true);
        let batch = Arc::clone(&queue.batch);
        drop(queue);
        if leads || matches!(batch.wait(), Woken::Lead) {
            self.lead();
        }
    }

    fn enqueue(&self, mut brought: Brought<'_>) -> Result<u64, Error> {
        let (batch, position, leads) = loop {
            let mut queue = hold(&self.queue);
            let filled = &mut queue.filled;
            if filled.is_empty() || filled.bytes.len() + brought.len() <= MOST_BATCH {
                let position = filled.hashes.len() as u64;
                match &mut brought {
                    Brought::One(leaf, made) => filled.push(leaf, *made),
                    Brought::Several(several) => filled.append(several),
                }
                let leads = !std::mem::replace(&mut queue.led, true);
                break (Arc::clone(&queue.batch), position, leads);
            }
            // Back-pressure: nothing is dropped, a caller that comes now waits for room.
            let full = Arc::clone(&queue.batch);
            drop(queue);
            if matches!(full.wait(), Woken::Lead) {
                self.lead();
            }
            self.check()?;
        };
        if leads {
            self.lead();
            return batch.outcome().map(|first| first + position);
        }
        match batch.wait() {
            Woken::Lead => {
                self.lead();
                batch.outcome().map(|first| first + position)
            }
            Woken::Done(outcome) => outcome.map(|first| first + position),
        }
    }

    /// Commits the open batch for everybody in it.
    fn lead(&self) {
        let mut core = hold(&self.core);
        let mut taken = hold(&self.queue).take();
        let outcome = self
            .check()
            .and_then(|()| core.commit(&mut taken.filled.bytes, &taken.filled.hashes))
            .map_err(|error| self.refuse(&mut core, error));
        drop(core);
        if outcome.is_err() {
            let lost = taken.filled.deferred;
            self.lost.fetch_add(lost, Ordering::Relaxed);
        }
        taken.batch.finish(outcome);
        hold(&self.queue).hand_over(taken.filled, MOST_CALL);
        self.bell.ring();
    }

    /// A batch that could not be written: the log ends here.
    fn refuse(&self, core: &mut Core, error: Error) -> Error {
        if self.poison.get().is_some() {
            return error;
        }
        if error.kind() == ErrorKind::Full {
            // The reserve makes room for the files that others read.
            drop(self.store.remove(super::open::RESERVE));
            if let Err(second) = core.stop_full() {
                return self.poison(&second);
            }
        }
        self.poison(&error)
    }
}

/// What a caller brings.
enum Brought<'a> {
    One(&'a [u8], EncodedEvent),
    Several(Filled),
}

impl Brought<'_> {
    /// Bytes that it adds to a batch.
    fn len(&self) -> usize {
        match self {
            Self::One(leaf, _) => BatchBytes::taken_by(leaf.len()),
            Self::Several(filled) => filled.bytes.len(),
        }
    }
}
