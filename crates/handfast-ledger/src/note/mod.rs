//! Signed notes, checkpoints and keys, as in C2SP signed-note 1.0.0 and tlog-checkpoint 1.0.0.

mod checkpoint;
mod keydir;
mod signed;
mod signer;
mod vkey;

pub use checkpoint::Checkpoint;
pub use keydir::KeyDir;
pub(crate) use keydir::from_credentials;
pub(crate) use signed::MOST_BYTES;
pub use signed::{NoteSignature, SignedNote};
pub(crate) use signer::fill_random;
pub use signer::{Ed25519Signer, SignError, Signer};
pub use vkey::VerifierKey;
pub(crate) use vkey::{check_name, hex};
