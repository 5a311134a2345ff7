//! Whether everything in a log's directory fits together and is signed.
//!
//! The root is recomputed from the events, never taken from tiles. The segments are read first; the
//! bundles must hold the same bytes, the tiles the same hashes, and every checkpoint must be of
//! the tree as it was. What was not or cannot be checked is always said.

mod chain;
mod hashed;
mod report;
mod segments;
mod tiles;
mod window;

pub use report::{Problem, Report, Verdict};

use crate::error::Error;
use crate::merkle::{MemoryTree, root};
use crate::note::{Checkpoint, SignedNote, VerifierKey};
use crate::reader::LogReader;

/// What the verifier is given beside the log.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    key: Option<VerifierKey>,
    since: Option<Vec<u8>>,
}

impl VerifyOptions {
    /// Nothing: neither a key nor an earlier checkpoint.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A key that was learned from elsewhere.
    #[must_use]
    pub fn key(mut self, key: VerifierKey) -> Self {
        self.key = Some(key);
        self
    }

    /// A checkpoint of this log that was kept elsewhere.
    #[must_use]
    pub fn since(mut self, note: Vec<u8>) -> Self {
        self.since = Some(note);
        self
    }
}

/// How a checkpoint in a segment is written.
pub(crate) enum Signature {
    /// A signed note.
    Note(Vec<u8>),
    /// Key id and signature; the text is that of the tree as it was.
    Seal(Vec<u8>),
}

/// What is gathered while a log is verified.
pub(crate) struct Verifier<'a> {
    pub(crate) log: &'a LogReader,
    pub(crate) keys: Vec<VerifierKey>,
    pub(crate) published: Option<(Checkpoint, SignedNote)>,
    pub(crate) tree: MemoryTree,
    pub(crate) report: Report,
    /// `key.rotate` entries: their index and the key they name.
    pub(crate) rotations: Vec<(u64, String)>,
    /// The key of the first `log.start`.
    pub(crate) first_key: Option<String>,
    /// The level of every `log.start`: its index, and whether every event is signed with its write.
    pub(crate) levels: Vec<(u64, bool)>,
    /// The first event that is kept, by the log's own word.
    pub(crate) kept_from: u64,
    /// Checkpoints in the segments: size, and note or seal.
    pub(crate) checkpoints: Vec<(u64, Signature)>,
    /// Bundles that are not there.
    pub(crate) missing: Vec<u64>,
}

/// Verifies one log.
///
/// # Errors
/// If it cannot be read at all, or what was given beside it is not what it should be. That a log
/// does not hold is no error but the [`Report`]'s verdict.
pub fn verify(log: &LogReader, options: &VerifyOptions) -> Result<Report, Error> {
    let shape = || {
        let published = log.checkpoint().ok().flatten();
        (published.map(|(now, _)| now.size), log.segments().ok())
    };
    for _ in 0..PATIENCE {
        let before = shape();
        let report = verify_once(log, options)?;
        // A log that is written to while it is read: a file that was listed may be gone since.
        if report.problems.is_empty() || shape() == before {
            return Ok(report);
        }
    }
    verify_once(log, options)
}

/// How often a log that changes while it is read is read again before its problems are believed.
const PATIENCE: usize = 4;

fn verify_once(log: &LogReader, options: &VerifyOptions) -> Result<Report, Error> {
    let mut report = Report::new(log.origin());
    let keys = match log.keys() {
        Ok(keys) => keys,
        Err(error) => {
            report.problem(None, format!("keys.txt: {error}"));
            Vec::new()
        }
    };
    if let Some(why) = log.unread_config() {
        report.problem(None, why.to_owned());
    }
    let published = match log.checkpoint() {
        Ok(published) => published,
        Err(error) => {
            report.problem(None, format!("checkpoint: {error}"));
            None
        }
    };
    let mut verifier = Verifier {
        log,
        keys,
        published,
        tree: MemoryTree::new(),
        report,
        rotations: Vec::new(),
        first_key: None,
        levels: Vec::new(),
        kept_from: 0,
        checkpoints: Vec::new(),
        missing: Vec::new(),
    };
    verifier.read_events()?;
    verifier.check_missing();
    verifier.check_published()?;
    verifier.check_tiles()?;
    verifier.check_keys(options.key.as_ref())?;
    verifier.check_memory(options)?;
    Ok(verifier.report)
}

impl Verifier<'_> {
    /// The published checkpoint must be of the events that are here.
    fn check_published(&mut self) -> Result<(), Error> {
        let Some((checkpoint, _)) = &self.published else {
            // The first event is published with the log. Only its making may have been cut off.
            let bundles = crate::tiles::bundles_present(&self.log.store)?;
            if self.tree.size() > 1 || !bundles.is_empty() {
                let what = "the checkpoint is missing".to_owned();
                self.report.problem(None, what);
            }
            if self.report.problems.is_empty() {
                self.report
                    .not_checked("tiles and checkpoint: nothing has been published yet");
            }
            return Ok(());
        };
        let here = self.tree.size();
        self.report.published = Some(checkpoint.size);
        if checkpoint.origin != self.report.origin {
            let what = "the checkpoint is of another log".to_owned();
            self.report.problem(None, what);
        } else if checkpoint.size > here {
            let what = format!(
                "the checkpoint is of {} events, and only {here} can be read",
                checkpoint.size
            );
            self.report.problem(Some(here), what);
        } else if root(&self.tree, checkpoint.size).ok() != Some(checkpoint.root) {
            let what = "the events do not lead to the root of the checkpoint".to_owned();
            self.report.problem(None, what);
        } else {
            self.report.root = Some(checkpoint.root);
        }
        Ok(())
    }

    /// Bundles may be missing only where the log itself says that it drops them.
    fn check_missing(&mut self) {
        let kept_from = self.kept_from;
        for bundle in std::mem::take(&mut self.missing) {
            if (bundle + 1) * crate::tiles::WIDTH > kept_from {
                let first = bundle * crate::tiles::WIDTH;
                self.report
                    .problem(Some(first), "a bundle of entries is missing".to_owned());
            }
        }
        if self.report.pruned > 0 {
            let pruned = self.report.pruned;
            self.report.not_checked(&format!(
                "the content of the first {pruned} events: pruned by policy, their hashes are here"
            ));
        }
    }

    /// An earlier checkpoint from elsewhere: the log must continue it.
    fn check_memory(&mut self, options: &VerifyOptions) -> Result<(), Error> {
        let Some(note) = &options.since else {
            self.report
                .not_checked("rollback: no earlier checkpoint was given (--since-checkpoint)");
            return Ok(());
        };
        let (checkpoint, note) = Checkpoint::of_note(note)?;
        if checkpoint.origin != self.report.origin {
            // A foreign log in the place of the one that was meant.
            let what = "this is another log than the one of the earlier checkpoint".to_owned();
            self.report.problem(None, what);
            return Ok(());
        }
        let mut keys = self.keys.clone();
        keys.extend(options.key.clone());
        note.verify(&keys)
            .map_err(|error| Error::invalid(format!("the earlier checkpoint: {error}")))?;
        self.report.memory = Some(checkpoint.size);
        if checkpoint.size > self.tree.size() {
            let what = format!(
                "rolled back: an earlier checkpoint is of {} events, and only {} are here",
                checkpoint.size,
                self.tree.size()
            );
            self.report.problem(Some(self.tree.size()), what);
        } else if root(&self.tree, checkpoint.size).ok() != Some(checkpoint.root) {
            let what = format!(
                "rewritten: the first {} events are not those of the earlier checkpoint",
                checkpoint.size
            );
            self.report.problem(None, what);
        }
        Ok(())
    }
}
