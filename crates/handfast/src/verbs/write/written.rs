//! A file that was written.

use std::fmt;
use std::os::fd::OwnedFd;

use crate::error::{Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::path::RelPath;
use crate::root::Root;
use crate::verb::Verb;
use crate::version::Version;

/// A file that was written.
pub struct Written {
    proof: Proof,
    path: RelPath,
    identity: Identity,
    limit: u64,
}

/// How the version can be determined.
enum Proof {
    /// The file itself.
    Open(OwnedFd),
    /// The process that wrote it reported the version, or that it is not known.
    Told(Option<Version>),
}

impl Written {
    /// A file that another process wrote, and the version that it reported.
    #[must_use]
    pub fn told(path: &RelPath, identity: Identity, version: Option<Version>) -> Self {
        Self {
            proof: Proof::Told(version),
            path: path.clone(),
            identity,
            limit: u64::MAX,
        }
    }

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
        let version = match &self.proof {
            Proof::Open(fd) => Version::of_file(fd, true, self.limit),
            Proof::Told(version) => version.ok_or_else(|| {
                let why = "the file was written, and its version is not known";
                Fault::rule(ErrorKind::Raced, why)
            }),
        };
        version.map_err(|fault| Error::new(Verb::Version, self.path.to_string(), fault))
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
            proof: Proof::Open(fd),
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
