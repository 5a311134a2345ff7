//! A file that was written.

use std::fmt;
use std::os::fd::OwnedFd;

use crate::error::{Error, ErrorKind};
use crate::identity::Identity;
use crate::path::RelPath;
use crate::root::Root;
use crate::verb::Verb;
use crate::version::Version;

/// A file that was written.
pub struct Written {
    fd: OwnedFd,
    path: RelPath,
    identity: Identity,
    limit: u64,
}

impl Written {
    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The version that was written, for a later
    /// [`Root::write_if`]. The file is very young, so this digests it.
    ///
    /// # Errors
    /// `Raced` if others keep writing to the same file; `Io`.
    pub fn version(&self) -> Result<Version, Error> {
        Version::of_file(&self.fd, true, self.limit)
            .map_err(|fault| Error::new(Verb::Version, self.path.to_string(), fault))
    }

    /// Whether the path still leads to the file that was written.
    ///
    /// Someone who moved the parent directory away between resolving and publishing makes this
    /// `false`.
    ///
    /// # Errors
    /// What stops the path from being resolved, other than that nothing is there.
    pub fn verify(&self, root: &Root) -> Result<bool, Error> {
        match root.metadata(&self.path) {
            Ok(now) => Ok(now.identity.same_object(&self.identity)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(fd: OwnedFd, path: &RelPath, identity: Identity) -> Self {
        Self {
            fd,
            path: path.clone(),
            identity,
            limit: u64::MAX,
        }
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written")
            .field("path", &self.path)
            .field("identity", &self.identity)
            .finish()
    }
}
