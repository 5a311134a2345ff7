//! Who signed what: every checkpoint by the key in force, every key named under the one before.

use super::{Signature, Verifier};
use crate::error::Error;
use crate::merkle::root;
use crate::note::{Checkpoint, SignedNote, VerifierKey};
use crate::published::EPOCHS;

impl Verifier<'_> {
    /// Checks signatures and the chain of keys; a key from elsewhere must be one of them.
    pub(super) fn check_keys(&mut self, given: Option<&VerifierKey>) -> Result<(), Error> {
        self.check_named();
        let mut checkpoints = std::mem::take(&mut self.checkpoints);
        let published = self.published.take();
        if let Some((checkpoint, note)) = &published {
            let note = Signature::Note(note.to_text().into_bytes());
            checkpoints.push((checkpoint.size, note));
        }
        let mut newest = None;
        for (size, note) in &checkpoints {
            if let Some(signer) = self.check_one(*size, note) {
                newest = newest.max(Some(signer));
            }
            self.report.checkpoints += 1;
        }
        self.published = published;
        self.report.signed_by = newest.map(|signer| self.keys[signer].to_string());
        match given {
            None => self
                .report
                .not_checked("whose key it is: none was given (--key)"),
            Some(key) => {
                self.report.key_given = true;
                self.check_given(key, newest)?;
            }
        }
        Ok(())
    }

    /// `keys.txt` must say what the log says.
    fn check_named(&mut self) {
        // Where the beginning was pruned, the chain is checked as far as it is there.
        if let Some(first) = &self.first_key
            && self.report.pruned == 0
            && self.keys.first().map(ToString::to_string).as_ref() != Some(first)
        {
            let what = "keys.txt does not begin with the key of the first event".to_owned();
            self.report.problem(Some(0), what);
        }
        let named: Vec<_> = self.keys.iter().map(ToString::to_string).collect();
        let missing = self.rotations.iter().find(|(_, key)| !named.contains(key));
        // The last change may have been cut off before the list was written.
        let last = self.rotations.last().map(|(index, _)| *index);
        if let Some((index, _)) = missing
            && Some(*index) != last
        {
            let what = "keys.txt lacks a key that the log names".to_owned();
            self.report.problem(Some(*index), what);
        }
    }

    /// One checkpoint: its text, its signature, and whether its key was in force. The key's number.
    fn check_one(&mut self, size: u64, signature: &Signature) -> Option<usize> {
        let at = size.checked_sub(1);
        let parsed = self
            .note_of(size, signature)
            .and_then(|(checkpoint, note)| {
                let signer = note.verify(&self.keys)?;
                let number = self.keys.iter().position(|key| key == signer);
                Ok((checkpoint, number))
            });
        let events = crate::query::counted(size, "event", "events");
        let (checkpoint, number) = match parsed {
            Ok((checkpoint, Some(number))) => (checkpoint, number),
            Ok((_, None)) => return None,
            Err(error) => {
                let what = format!("the checkpoint of {events}: {error}");
                self.report.problem(at, what);
                return None;
            }
        };
        let fits = checkpoint.origin == self.report.origin
            && checkpoint.size == size
            && (size > self.tree.size() || root(&self.tree, size).ok() == Some(checkpoint.root));
        if !fits {
            let what = format!("the checkpoint of {events} is of another tree");
            self.report.problem(at, what);
        }
        if self.report.pruned == 0 && !self.in_force(number, size) {
            let what = format!("the checkpoint of {events}: its key was not in force");
            self.report.problem(at, what);
        }
        Some(number)
    }

    /// The note that was signed: as it is there, or of the tree as it was.
    fn note_of(&self, size: u64, signature: &Signature) -> Result<(Checkpoint, SignedNote), Error> {
        match signature {
            Signature::Note(note) => Checkpoint::of_note(note),
            Signature::Seal(seal) => {
                let checkpoint = Checkpoint {
                    origin: self.report.origin.clone(),
                    size,
                    root: root(&self.tree, size)?,
                };
                let text = checkpoint.to_text();
                let note = SignedNote::of_seal(text, &checkpoint.origin, seal)
                    .ok_or_else(|| Error::invalid("half a signature"))?;
                Ok((checkpoint, note))
            }
        }
    }

    /// A key signs from the entry that names it up to the entry that names the next, which it
    /// still signs for.
    fn in_force(&self, number: usize, size: u64) -> bool {
        let named_at = |number: usize| {
            let key = self.keys.get(number)?.to_string();
            let (index, _) = self.rotations.iter().find(|(_, named)| *named == key)?;
            Some(index + 1)
        };
        let after = number == 0 || named_at(number).is_some_and(|from| size > from);
        let before = named_at(number + 1).is_none_or(|until| size <= until);
        after && before
    }

    /// From the given key to the newest, every key must have signed the naming of the next.
    fn check_given(&mut self, given: &VerifierKey, newest: Option<usize>) -> Result<(), Error> {
        let Some(known) = self.keys.iter().position(|key| key == given) else {
            let what = "the log is not signed by the given key".to_owned();
            self.report.problem(None, what);
            return Ok(());
        };
        let Some(newest) = newest else {
            let what = "nothing in this log is signed".to_owned();
            self.report.problem(None, what);
            return Ok(());
        };
        if newest < known {
            let what = "the log is signed by a key older than the given one".to_owned();
            self.report.problem(None, what);
        }
        for number in known..newest {
            let next = self.keys[number + 1].to_string();
            let named = self.rotations.iter().find(|(_, key)| *key == next);
            let Some((index, _)) = named else {
                let what = "a key was never named under the key before it".to_owned();
                self.report.problem(None, what);
                continue;
            };
            let size = index + 1;
            let note = self.log.store.read(&format!("{EPOCHS}/{size:020}"))?;
            let signed = note.and_then(|note| {
                let note = SignedNote::parse(&note).ok()?;
                note.verify(std::slice::from_ref(&self.keys[number])).ok()?;
                Checkpoint::parse(&note.text).ok()
            });
            let holds = signed.is_some_and(|checkpoint| {
                checkpoint.size == size
                    && checkpoint.origin == self.report.origin
                    && root(&self.tree, size).ok() == Some(checkpoint.root)
            });
            if !holds {
                let what = "the change of keys is not signed by the key before it".to_owned();
                self.report.problem(Some(*index), what);
            }
        }
        Ok(())
    }
}
