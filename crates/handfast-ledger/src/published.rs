//! The files by which others know a log: its checkpoint and its keys.

use crate::error::{Error, ErrorKind};
use crate::note::{Checkpoint, MOST_BYTES, SignedNote, VerifierKey};
use crate::store::Store;

pub(crate) const CHECKPOINT: &str = "checkpoint";
pub(crate) const KEYS: &str = "keys.txt";
/// The last checkpoint of every key that signs no more, by its size.
pub(crate) const EPOCHS: &str = "epochs";

/// The checkpoint that was published last, if there is one.
pub(crate) fn checkpoint(store: &Store) -> Result<Option<(Checkpoint, SignedNote)>, Error> {
    match store.read_at_most(CHECKPOINT, MOST_BYTES)? {
        Some(bytes) => Checkpoint::of_note(&bytes).map(Some),
        None => Ok(None),
    }
}

/// All keys, oldest first.
pub(crate) fn keys(store: &Store) -> Result<Vec<VerifierKey>, Error> {
    let Some(bytes) = store.read(KEYS)? else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::Key, format!("{KEYS} is not text")))?;
    text.lines().map(VerifierKey::parse).collect()
}
