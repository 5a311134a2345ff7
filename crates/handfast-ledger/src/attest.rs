//! One open, attested by itself: for people who have no log.
//!
//! A signed statement about one event that another process can decode and verify with the public
//! key alone. It has a version, its own domain (a checkpoint's signature never passes for one), a
//! nonce and a sequence number. What it cannot show is what was left out: for that there is the
//! log.
//!
//! The text, signed as a note by the same kind of key:
//!
//! ```text
//! handfast-attestation/v1
//! nonce <32 hex digits>
//! sequence <n>
//! audience <text without spaces, or ->
//! event <base64 of the event>
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, ErrorKind};
use crate::event::Record;
use crate::note::{SignedNote, Signer, VerifierKey, fill_random, hex};

const DOMAIN: &str = "handfast-attestation/v1";

/// Signs single events, counting them.
pub struct Attester<'a> {
    signer: &'a dyn Signer,
    next: AtomicU64,
}

impl<'a> Attester<'a> {
    /// An attester whose first statement has this sequence number.
    #[must_use]
    pub fn new(signer: &'a dyn Signer, first: u64) -> Self {
        Self {
            signer,
            next: AtomicU64::new(first),
        }
    }

    /// Signs a statement about one event, for one audience.
    ///
    /// # Errors
    /// `Invalid` if the event is none, or the audience has spaces; `Key` if the signer refuses.
    pub fn attest(&self, event: &[u8], audience: &str) -> Result<String, Error> {
        drop(Record::parse(event)?);
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if audience.is_empty() || audience.len() > 256 || audience.contains(odd) {
            return Err(Error::invalid(
                "the audience has 1 to 256 bytes without spaces",
            ));
        }
        let mut nonce = [0; 16];
        fill_random(&mut nonce)?;
        let text = format!(
            "{DOMAIN}\nnonce {}\nsequence {}\naudience {audience}\nevent {}\n",
            hex(&nonce),
            self.next.fetch_add(1, Ordering::Relaxed),
            STANDARD.encode(event)
        );
        let note = SignedNote::sign(text, self.signer)
            .map_err(|error| Error::new(ErrorKind::Key, error.to_string()))?;
        Ok(note.to_text())
    }
}

impl std::fmt::Debug for Attester<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attester({})", self.signer.vkey())
    }
}

/// A statement whose signature holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attestation {
    /// Different in every statement.
    pub nonce: String,
    /// One more than in the statement before.
    pub sequence: u64,
    /// For whom it was made.
    pub audience: String,
    /// The event, byte for byte.
    pub event: Vec<u8>,
    /// Who signed.
    pub key: String,
}

impl Attestation {
    /// Decodes a statement and verifies it.
    ///
    /// # Errors
    /// `Invalid` if it is none, another version, for another audience, or not signed by a given
    /// key.
    pub fn verify(text: &[u8], keys: &[VerifierKey], audience: &str) -> Result<Self, Error> {
        let note = SignedNote::parse(text)?;
        let key = note.verify(keys)?;
        let bad = || Error::invalid("not an attestation of version 1");
        let mut lines = note.text.lines();
        if lines.next() != Some(DOMAIN) {
            return Err(bad());
        }
        let mut field = |name: &str| {
            let line = lines.next()?;
            Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned())
        };
        let (Some(nonce), Some(sequence), Some(named), Some(event)) = (
            field("nonce"),
            field("sequence"),
            field("audience"),
            field("event"),
        ) else {
            return Err(bad());
        };
        if lines.next().is_some() || nonce.len() != 32 {
            return Err(bad());
        }
        if named != audience {
            return Err(Error::invalid("the attestation is for another audience"));
        }
        let event = STANDARD.decode(event).map_err(|_| bad())?;
        drop(Record::parse(&event)?);
        Ok(Self {
            nonce,
            sequence: sequence.parse().map_err(|_| bad())?,
            audience: named,
            event,
            key: key.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::merkle::Hash;
    use crate::note::{Checkpoint, Ed25519Signer};

    #[test]
    fn it_comes_back_and_every_change_and_every_other_use_is_refused() {
        let (signer, _) = Ed25519Signer::generate("example.org/a").unwrap();
        let (other, _) = Ed25519Signer::generate("example.org/a").unwrap();
        let keys = [signer.public().clone()];
        let event = Record::about_log(EventKind::Verb(handfast::Verb::Open))
            .to_leaf()
            .unwrap();
        let attester = Attester::new(&signer, 7);
        let first = attester.attest(&event, "you").unwrap();
        let second = attester.attest(&event, "you").unwrap();
        let found = Attestation::verify(first.as_bytes(), &keys, "you").unwrap();
        let next = Attestation::verify(second.as_bytes(), &keys, "you").unwrap();
        assert_eq!((found.sequence, &found.event), (7, &event));
        assert_eq!(next.sequence, 8);
        assert_ne!(found.nonce, next.nonce);
        assert!(Attestation::verify(first.as_bytes(), &keys, "me").is_err());
        assert!(Attestation::verify(first.as_bytes(), &[other.public().clone()], "you").is_err());
        for position in 0..first.len() {
            let mut bytes = first.clone().into_bytes();
            bytes[position] ^= 1;
            assert!(
                Attestation::verify(&bytes, &keys, "you").is_err(),
                "{position}"
            );
        }
        // A checkpoint by the same key is no attestation, and the other way round.
        let checkpoint = Checkpoint {
            origin: "example.org/a".to_owned(),
            size: 1,
            root: Hash::of_nothing(),
        };
        let note = checkpoint.sign(&signer).unwrap().to_text();
        assert!(Attestation::verify(note.as_bytes(), &keys, "you").is_err());
        assert!(Checkpoint::of_note(first.as_bytes()).is_err());
        for bad in ["", "a b", "a\nb"] {
            assert!(attester.attest(&event, bad).is_err());
        }
        assert!(attester.attest(b"{}", "you").is_err());
    }

    #[test]
    fn the_longest_event_comes_back_too() {
        let (signer, _) = Ed25519Signer::generate("example.org/a").unwrap();
        let mut event = br#"{"v":1,"type":"open","phase":"single","t_wall":"2026-01-01T00:00:00.000000000Z","t_mono_ns":"1","req":{"path":""#.to_vec();
        let end = br#""}}"#;
        event.resize(crate::event::MAX_EVENT - end.len(), b'x');
        event.extend_from_slice(end);
        let text = Attester::new(&signer, 0).attest(&event, "you").unwrap();
        let keys = [signer.public().clone()];
        let found = Attestation::verify(text.as_bytes(), &keys, "you").unwrap();
        assert_eq!(found.event, event);
    }
}
