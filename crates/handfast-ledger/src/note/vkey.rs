//! Public keys as text: `<name>+<key id>+<base64>`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The signature type of a plain Ed25519 note.
pub(crate) const ED25519: u8 = 1;

/// A public key with its name.
#[derive(Clone, Eq, PartialEq)]
pub struct VerifierKey {
    name: String,
    key: VerifyingKey,
}

impl VerifierKey {
    pub(crate) fn new(name: &str, key: VerifyingKey) -> Result<Self, Error> {
        check_name(name)?;
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// Reads a key.
    ///
    /// # Errors
    /// `Invalid` if the text is not a key, or its key id is not the key's.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| Error::invalid(format!("not a verifier key: {why}"));
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(data)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad("it has the form name+id+base64"));
        };
        let data = STANDARD.decode(data).map_err(|_| bad("not base64"))?;
        let (kind, key) = data.split_first().ok_or_else(|| bad("it is empty"))?;
        if *kind != ED25519 {
            return Err(bad("it is not an Ed25519 key"));
        }
        let key: [u8; 32] = key.try_into().map_err(|_| bad("wrong length"))?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| bad("not a point of the curve"))?;
        let key = Self::new(name, key)?;
        if hex(&key.id()) != id {
            return Err(bad("the key id belongs to another key or name"));
        }
        Ok(key)
    }

    /// The name, which for a log is its origin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of SHA-256 over name, newline, type and key.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.key.as_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The 32 bytes of the key itself.
    #[must_use]
    pub fn bytes(&self) -> [u8; 32] {
        self.key.to_bytes()
    }

    /// Whether this key signed this message.
    ///
    /// # Security
    /// Strict verification: neither a key of small order nor a second form of a signature passes.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
    }
}

pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let bad = name.is_empty()
        || name.len() > 512
        || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+');
    if bad {
        return Err(Error::invalid(
            "a key's name has 1 to 512 bytes without spaces, control characters and `+`",
        ));
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = [&[ED25519][..], self.key.as_bytes()].concat();
        write!(
            f,
            "{}+{}+{}",
            self.name,
            hex(&self.id()),
            STANDARD.encode(data)
        )
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}
