//! Epoch keys: the next key is logged under the current one, then the current one is erased.
//!
//! Who steals today's key cannot sign for yesterday: every checkpoint of an earlier key covers the
//! entry that names the next, and that key is gone.

use handfast::Durability;

use std::sync::MutexGuard;

use super::core::Core;
use super::ledger::{Ledger, Shared, hold};
use super::publish::Occasion;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Record, Rotation};
use crate::note::{Ed25519Signer, KeyDir, VerifierKey};
use crate::published::{self, EPOCHS, KEYS};
use crate::store::Store;

impl Ledger {
    /// Changes the key that signs.
    ///
    /// # Errors
    /// `Key` if the key is not in a key directory (who signs from outside changes keys there); as
    /// [`Ledger::append`].
    pub fn rotate_key(&self) -> Result<VerifierKey, Error> {
        let shared = &self.shared;
        let keydir = shared.keydir.as_ref().ok_or_else(no_keydir)?;
        let mut core = hold(&shared.core);
        shared.check()?;
        let next = keydir.prepare_next(&shared.log_id, &core.origin)?;
        let mut record = Record::about_log(EventKind::KeyRotate);
        record.rotate = Some(Rotation {
            next_vkey: next.public().to_string().into(),
        });
        let leaf = record.to_leaf()?;
        let mut batch = crate::segment::BatchBytes::of(&leaf);
        if let Err(error) = core.commit(&mut batch, &[crate::merkle::Hash::leaf(&leaf)]) {
            return Err(shared.poison(&error));
        }
        finish(shared, keydir, core, next)
    }

    /// Finishes a change of keys that was cut off.
    pub(super) fn finish_rotation(&self, next: Ed25519Signer) -> Result<VerifierKey, Error> {
        let shared = &self.shared;
        let keydir = shared.keydir.as_ref().ok_or_else(no_keydir)?;
        finish(shared, keydir, hold(&shared.core), next)
    }
}

/// The log names the next key: the old one signs for that, and is erased. The lock is held from
/// the entry to the end, so that the old key's last checkpoint is of exactly that entry.
fn finish(
    shared: &Shared,
    keydir: &KeyDir,
    mut core: MutexGuard<'_, Core>,
    next: Ed25519Signer,
) -> Result<VerifierKey, Error> {
    if let Err(error) = core.settle() {
        return Err(shared.poison(&error));
    }
    let signed = core
        .signed
        .clone()
        .ok_or_else(|| Error::new(ErrorKind::Poisoned, "nothing is signed"))?;
    let name = format!("{EPOCHS}/{:020}", signed.checkpoint.size);
    shared.store.write(&name, &signed.note, Durability::Full)?;
    let key = next.public().clone();
    add_key(&shared.store, &key.to_string())?;
    keydir.promote_next(&shared.log_id)?;
    core.signer = Box::new(next);
    drop(core);
    shared.publish_synced(Occasion::Running)?;
    Ok(key)
}

fn no_keydir() -> Error {
    Error::new(
        ErrorKind::Key,
        "the key of this log is not kept here, so it cannot be changed here",
    )
}

/// Adds a key to those that others are told.
fn add_key(store: &Store, vkey: &str) -> Result<(), Error> {
    let keys = published::keys(store)?;
    let mut text: String = keys.iter().map(|key| format!("{key}\n")).collect();
    if keys.iter().all(|key| key.to_string() != vkey) {
        text.push_str(&format!("{vkey}\n"));
    }
    store.write(KEYS, text.as_bytes(), Durability::Full)
}
