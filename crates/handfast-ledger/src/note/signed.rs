//! A text with signature lines below it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::signer::{SignError, Signer};
use super::vkey::VerifierKey;
use crate::error::Error;

const DASH: &str = "\u{2014} ";
/// Witnesses add lines; nobody needs more than this.
const MOST_SIGNATURES: usize = 64;
/// A statement about the longest event, in base64, is shorter.
pub(crate) const MOST_BYTES: usize = 128 * 1024;

/// One signature line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// Which key of that name.
    pub id: [u8; 4],
    /// What the key's scheme makes of the text.
    pub signature: Vec<u8>,
}

/// A text and who signed it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignedNote {
    /// The text, with its last newline.
    pub text: String,
    /// The signature lines, in order.
    pub signatures: Vec<NoteSignature>,
}

impl SignedNote {
    /// Signs a text that ends in a newline.
    ///
    /// # Errors
    /// What the signer says.
    pub fn sign(text: String, signer: &dyn Signer) -> Result<Self, SignError> {
        let signature = signer.sign(text.as_bytes())?;
        Ok(Self {
            signatures: vec![NoteSignature {
                name: signer.key_name().to_owned(),
                id: signer.key_id(),
                signature,
            }],
            text,
        })
    }

    /// Reads a note. Whether its signatures are good is another question.
    ///
    /// # Errors
    /// `Invalid` if the bytes are not a signed note.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bad = |why: &str| Error::invalid(format!("not a signed note: {why}"));
        if bytes.len() > MOST_BYTES {
            return Err(bad("too long"));
        }
        let note = str::from_utf8(bytes).map_err(|_| bad("not UTF-8"))?;
        if note.contains(|c: char| c < ' ' && c != '\n') {
            return Err(bad("control characters"));
        }
        let split = note.rfind("\n\n").ok_or_else(|| bad("no blank line"))?;
        let (text, lines) = (&note[..=split], &note[split + 2..]);
        let lines = lines
            .strip_suffix('\n')
            .ok_or_else(|| bad("no signature, or no newline at the end"))?;
        let mut signatures = Vec::new();
        for line in lines.split('\n') {
            let rest = line
                .strip_prefix(DASH)
                .ok_or_else(|| bad("a line below the blank one is no signature"))?;
            let (name, data) = rest
                .split_once(' ')
                .ok_or_else(|| bad("a signature without a name"))?;
            super::vkey::check_name(name)?;
            let data = STANDARD
                .decode(data)
                .map_err(|_| bad("a signature that is not base64"))?;
            let Some((id, signature)) = data.split_first_chunk::<4>() else {
                return Err(bad("a signature without a key id"));
            };
            if signature.is_empty() || signatures.len() == MOST_SIGNATURES {
                return Err(bad("an empty signature, or too many"));
            }
            signatures.push(NoteSignature {
                name: name.to_owned(),
                id: *id,
                signature: signature.to_vec(),
            });
        }
        Ok(Self {
            text: text.to_owned(),
            signatures,
        })
    }

    /// The first of the given keys that signed this note.
    ///
    /// Signatures of unknown keys are passed over; a bad signature in the name of a known key is
    /// as good as none.
    ///
    /// # Errors
    /// `Invalid` if no given key signed it, or one is claimed to have and did not.
    pub fn verify<'k>(&self, keys: &'k [VerifierKey]) -> Result<&'k VerifierKey, Error> {
        let mut found = None;
        for line in &self.signatures {
            let known = keys
                .iter()
                .find(|key| key.name() == line.name && key.id() == line.id);
            let Some(key) = known else { continue };
            if !key.verifies(self.text.as_bytes(), &line.signature) {
                return Err(Error::invalid(
                    "the signature does not fit the text and its key",
                ));
            }
            found = found.or(Some(key));
        }
        found.ok_or_else(|| Error::invalid("no known key signed it"))
    }

    /// Key id and signature of its only signature: what of a checkpoint does not follow from the
    /// log itself.
    pub(crate) fn seal(&self) -> Vec<u8> {
        self.signatures
            .first()
            .map_or(Vec::new(), |line| [&line.id[..], &line.signature].concat())
    }

    /// The note of this text and a signature in this name, as [`SignedNote::seal`] gives it.
    pub(crate) fn of_seal(text: String, name: &str, seal: &[u8]) -> Option<Self> {
        let (id, signature) = seal.split_first_chunk::<4>()?;
        (!signature.is_empty()).then(|| Self {
            text,
            signatures: vec![NoteSignature {
                name: name.to_owned(),
                id: *id,
                signature: signature.to_vec(),
            }],
        })
    }

    /// The note as it is stored.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut note = format!("{}\n", self.text);
        for line in &self.signatures {
            let data = [&line.id[..], &line.signature].concat();
            note.push_str(&format!("{DASH}{} {}\n", line.name, STANDARD.encode(data)));
        }
        note
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ed25519Signer;
    use super::*;

    fn signed() -> (SignedNote, VerifierKey) {
        let (signer, _) = Ed25519Signer::generate("example.org/log").unwrap();
        let note = SignedNote::sign("one\ntwo\n".to_owned(), &signer).unwrap();
        (note, signer.public().clone())
    }

    #[test]
    fn a_note_comes_back_and_every_changed_byte_is_noticed() {
        let (note, key) = signed();
        let text = note.to_text();
        let keys = [key];
        assert_eq!(SignedNote::parse(text.as_bytes()).unwrap(), note);
        note.verify(&keys).unwrap();
        for position in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[position] ^= 1 << bit;
                let good = SignedNote::parse(&bytes)
                    .and_then(|note| note.verify(&keys).map(drop))
                    .is_ok();
                assert!(!good, "byte {position} bit {bit}");
            }
        }
    }

    #[test]
    fn unknown_keys_are_passed_over() {
        let (mut note, key) = signed();
        let (other, other_key) = signed();
        note.signatures.insert(0, other.signatures[0].clone());
        assert_eq!(note.verify(std::slice::from_ref(&key)).unwrap(), &key);
        // Known now, and its signature is not of this text.
        note.signatures[0].signature[3] ^= 1;
        assert!(note.verify(&[key, other_key]).is_err());
    }

    #[test]
    fn keys_come_back_and_others_are_refused() {
        let (_, key) = signed();
        let text = key.to_string();
        assert_eq!(VerifierKey::parse(&text).unwrap(), key);
        for bad in [
            "",
            "a+b",
            "a b+00000000+AQ==",
            &text.replace("example", "exbmple"),
            &text[..text.len() - 4],
        ] {
            assert!(VerifierKey::parse(bad).is_err(), "{bad}");
        }
    }
}
