//! Where private keys lie: a directory of their own, never inside a log.
//!
//! One file a log, mode 0600: a line that says what it is, the public key, the secret in base64.
//! A second file with the ending `.next` is there only while keys change.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::{Durability, OpenOptions, RelPath, RenameMode, Root, WriteOptions};
use zeroize::Zeroizing;

use super::{Ed25519Signer, Signer};
use crate::error::{Error, ErrorKind};

const FIRST_LINE: &str = "handfast ledger signing key v1";
/// The name under which systemd hands a key to a service (`LoadCredential=`).
const CREDENTIAL: &str = "handfast-log-key";

/// A directory with private keys.
#[derive(Clone, Debug)]
pub struct KeyDir {
    root: Root,
    path: PathBuf,
}

fn key_error(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::Key, detail)
}

impl KeyDir {
    /// Opens the directory, or makes it with mode 0700 if its parent is there.
    ///
    /// # Errors
    /// `Key` if it is not there, or others may enter it.
    pub fn open_or_create(path: &Path) -> Result<Self, Error> {
        match rustix::fs::mkdir(path, rustix::fs::Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Self::open(path),
            Err(error) => Err(key_error(format!(
                "the key directory cannot be made: {error}"
            ))),
        }
    }

    /// Opens the directory.
    ///
    /// # Errors
    /// `Key` if it is not there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let root = Root::open_ambient(path)
            .map_err(|error| key_error(format!("the key directory: {}", error.detail())))?;
        Ok(Self {
            root,
            path: path.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is.
    #[must_use]
    pub fn identity(&self) -> handfast::Identity {
        self.root.identity()
    }

    fn name(log_id: &str, ending: &str) -> Result<RelPath, Error> {
        Ok(RelPath::parse(format!("{log_id}.{ending}"))?)
    }

    /// Makes a key for a new log.
    ///
    /// # Errors
    /// `Exists` if there is one; `Key` if it cannot be written.
    pub fn create(&self, log_id: &str, origin: &str) -> Result<Ed25519Signer, Error> {
        let (signer, seed) = Ed25519Signer::generate(origin)?;
        self.store(&Self::name(log_id, "key")?, &signer, &seed)?;
        Ok(signer)
    }

    fn store(&self, path: &RelPath, signer: &Ed25519Signer, seed: &[u8; 32]) -> Result<(), Error> {
        let secret = Zeroizing::new(STANDARD.encode(seed));
        let text = Zeroizing::new(format!("{FIRST_LINE}\n{}\n{}\n", signer.vkey(), &*secret));
        let options = WriteOptions::new().mode(0o600).durability(Durability::Full);
        self.root
            .write_new_with(path, text.as_bytes(), options)
            .map_err(|error| match error.kind() {
                handfast::ErrorKind::Exists => {
                    Error::new(ErrorKind::Exists, "a key of this log is there already")
                }
                _ => key_error(format!("the key cannot be written: {}", error.detail())),
            })?;
        Ok(())
    }

    fn read(&self, path: &RelPath) -> Result<Option<Ed25519Signer>, Error> {
        let file = match self.root.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(key_error(format!("the key: {}", error.detail()))),
        };
        if file.metadata().mode & 0o077 != 0 {
            return Err(key_error(
                "others may read the signing key: its mode must be 0600",
            ));
        }
        parse(&read_secret(file)?).map(Some)
    }

    /// The current key of a log.
    ///
    /// # Errors
    /// `Key` if it is missing, readable by others, or no key.
    pub fn load(&self, log_id: &str) -> Result<Ed25519Signer, Error> {
        self.read(&Self::name(log_id, "key")?)?
            .ok_or_else(|| key_error("the signing key of this log is not in the key directory"))
    }

    /// Makes the key that is to come, beside the current one. One that was left over is erased.
    pub(crate) fn prepare_next(&self, log_id: &str, origin: &str) -> Result<Ed25519Signer, Error> {
        self.drop_next(log_id)?;
        let (signer, seed) = Ed25519Signer::generate(origin)?;
        self.store(&Self::name(log_id, "next")?, &signer, &seed)?;
        Ok(signer)
    }

    pub(crate) fn load_next(&self, log_id: &str) -> Result<Option<Ed25519Signer>, Error> {
        self.read(&Self::name(log_id, "next")?)
    }

    /// The next key takes the place of the current one, whose bytes are overwritten.
    pub(crate) fn promote_next(&self, log_id: &str) -> Result<(), Error> {
        let (current, next) = (Self::name(log_id, "key")?, Self::name(log_id, "next")?);
        let old = self
            .root
            .open_with(&current, OpenOptions::new().write(true))?;
        self.root.rename(&next, &current, RenameMode::Replace)?;
        crate::store::sync_directory(&self.root, &RelPath::root())?;
        erase(old)
    }

    /// A next key that the log does not name is erased.
    pub(crate) fn drop_next(&self, log_id: &str) -> Result<(), Error> {
        let next = Self::name(log_id, "next")?;
        match self.root.open_with(&next, OpenOptions::new().write(true)) {
            Ok(file) => {
                erase(file)?;
                self.root.remove_file(&next)?;
                Ok(())
            }
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The key that systemd hands to a service, if it does.
///
/// # Errors
/// `Key` if the credential is there and is no key.
pub(crate) fn from_credentials() -> Result<Option<Ed25519Signer>, Error> {
    let Some(dir) = std::env::var_os("CREDENTIALS_DIRECTORY") else {
        return Ok(None);
    };
    let Ok(root) = Root::open_ambient(dir) else {
        return Ok(None);
    };
    match root.open(&RelPath::parse(CREDENTIAL)?) {
        Ok(file) => parse(&read_secret(file)?).map(Some),
        Err(error) if error.kind() == handfast::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(key_error(format!("the credential: {}", error.detail()))),
    }
}

fn read_secret(file: handfast::File) -> Result<Zeroizing<Vec<u8>>, Error> {
    use std::io::Read;
    let mut bytes = Zeroizing::new(Vec::with_capacity(4096));
    file.take(4096)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::os("reading the key", error))?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Ed25519Signer, Error> {
    let bad = || key_error("the file is not a signing key of a ledger");
    let text = str::from_utf8(bytes).map_err(|_| bad())?;
    let mut lines = text.lines();
    let (Some(FIRST_LINE), Some(vkey), Some(secret), None) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return Err(bad());
    };
    let decoded = Zeroizing::new(STANDARD.decode(secret).map_err(|_| bad())?);
    let mut seed = Zeroizing::new([0; 32]);
    if decoded.len() != seed.len() {
        return Err(bad());
    }
    seed.copy_from_slice(&decoded);
    let name = vkey.split('+').next().ok_or_else(bad)?;
    let signer = Ed25519Signer::from_seed(name, &seed)?;
    // A damaged secret would sign with a key that nobody knows.
    if signer.vkey() == vkey {
        Ok(signer)
    } else {
        Err(bad())
    }
}

fn erase(file: handfast::File) -> Result<(), Error> {
    use std::os::unix::fs::FileExt;
    let length = usize::try_from(file.metadata().len).unwrap_or(4096);
    let file = file.into_std();
    file.write_all_at(&vec![0; length.min(4096)], 0)
        .and_then(|()| file.sync_all())
        .map_err(|error| Error::os("erasing the old key", error))
}
