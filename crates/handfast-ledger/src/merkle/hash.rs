//! Hashes of leaves and nodes.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A SHA-256 hash in the tree.
#[derive(Clone, Copy, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of one entry: SHA-256 over a zero byte and the entry.
    #[must_use]
    pub fn leaf(bytes: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update([0]);
        hasher.update(bytes);
        Self(hasher.finalize().into())
    }

    /// The hash of two neighbours: SHA-256 over a one byte, the left and the right.
    #[must_use]
    pub fn node(left: &Self, right: &Self) -> Self {
        let mut bytes = [1; 65];
        bytes[1..33].copy_from_slice(&left.0);
        bytes[33..].copy_from_slice(&right.0);
        Self(Sha256::digest(bytes).into())
    }

    /// The root of a tree without leaves.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self(Sha256::digest([]).into())
    }

    /// Standard base64, as in checkpoints and proofs.
    #[must_use]
    pub fn to_base64(self) -> String {
        STANDARD.encode(self.0)
    }

    /// Reads [`Hash::to_base64`].
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.to_base64())
    }
}
