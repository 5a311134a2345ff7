//! Who signs checkpoints.

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroizing;

use super::vkey::VerifierKey;
use crate::error::{Error, ErrorKind};

/// Why a signer did not sign.
#[derive(Debug)]
pub struct SignError(pub String);

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the signer did not sign: {}", self.0)
    }
}

impl std::error::Error for SignError {}

/// Signs the text of a note. Called once for every group of events, on the thread that writes
/// them; it may take its time (a token, a service), everybody who waits is in the same group.
pub trait Signer: Send + Sync {
    /// The name that stands on the signature line: the log's origin.
    fn key_name(&self) -> &str;

    /// The four bytes that tell keys of the same name apart.
    fn key_id(&self) -> [u8; 4];

    /// The public key as text, as it goes into the log.
    fn vkey(&self) -> String;

    /// Signs the bytes of the note's text, its last newline included. The length is the scheme's.
    ///
    /// # Errors
    /// If it cannot. Nothing is then acknowledged, and the log is poisoned.
    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// A key in memory, erased when it is dropped.
pub struct Ed25519Signer {
    key: SigningKey,
    public: VerifierKey,
}

impl Ed25519Signer {
    /// A signer of 32 secret bytes.
    ///
    /// # Errors
    /// `Invalid` if the name cannot be a key's.
    pub fn from_seed(name: &str, seed: &Zeroizing<[u8; 32]>) -> Result<Self, Error> {
        let key = SigningKey::from_bytes(seed);
        let public = VerifierKey::new(name, key.verifying_key())?;
        Ok(Self { key, public })
    }

    /// A fresh key, and its secret for the caller to store.
    ///
    /// # Errors
    /// `Key` if the system has no random bytes; `Invalid` as [`Ed25519Signer::from_seed`].
    pub fn generate(name: &str) -> Result<(Self, Zeroizing<[u8; 32]>), Error> {
        let mut seed = Zeroizing::new([0; 32]);
        fill_random(&mut *seed)?;
        Ok((Self::from_seed(name, &seed)?, seed))
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &VerifierKey {
        &self.public
    }
}

impl Signer for Ed25519Signer {
    fn key_name(&self) -> &str {
        self.public.name()
    }

    fn key_id(&self) -> [u8; 4] {
        self.public.id()
    }

    fn vkey(&self) -> String {
        self.public.to_string()
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(self.key.sign(text).to_bytes().to_vec())
    }
}

impl fmt::Debug for Ed25519Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ed25519Signer({})", self.public)
    }
}

pub(crate) fn fill_random(buffer: &mut [u8]) -> Result<(), Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::rand::getrandom(&mut buffer[filled..], rustix::rand::GetRandomFlags::empty())
        {
            Ok(got) => filled += got,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let detail = format!("the system gave no random bytes: {error}");
                return Err(Error::new(ErrorKind::Key, detail));
            }
        }
    }
    Ok(())
}
