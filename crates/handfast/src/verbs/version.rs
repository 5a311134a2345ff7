//! Tell which version a file is.

use super::open::{OpenOptions, open_checked};
use crate::error::Error;
use crate::file::File;
use crate::path::RelPath;
use crate::root::Root;
use crate::verb::Verb;
use crate::version::Version;

impl Root {
    /// The version of a file, for a later [`Root::write_if`] or [`Root::remove_if`].
    ///
    /// # Errors
    /// `Limit` if the file is very young and too large to be digested; otherwise as
    /// [`Root::open`].
    pub fn version(&self, path: &RelPath) -> Result<Version, Error> {
        self.version_of(path, false)
    }

    /// As [`Root::version`], with the digest of the content in any case.
    ///
    /// # Errors
    /// As [`Root::version`].
    pub fn version_with_digest(&self, path: &RelPath) -> Result<Version, Error> {
        self.version_of(path, true)
    }

    fn version_of(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        self.act(Verb::Version, path, |op| {
            let (fd, _) = open_checked(self, path, OpenOptions::new(), op)?;
            Version::of_file(&fd, digest, self.options.read_limit.0)
        })
    }
}

impl File {
    /// The version of the file behind this handle.
    ///
    /// # Errors
    /// `Denied` if it was not opened for reading; `Raced` if it keeps changing.
    pub fn version(&self) -> Result<Version, Error> {
        self.version_of(false)
    }

    /// As [`File::version`], with the digest of the content in any case.
    ///
    /// # Errors
    /// As [`File::version`].
    pub fn version_with_digest(&self) -> Result<Version, Error> {
        self.version_of(true)
    }

    fn version_of(&self, digest: bool) -> Result<Version, Error> {
        Version::of_file(self, digest, u64::MAX)
            .map_err(|fault| Error::new(Verb::Version, self.path_racy().to_string(), fault))
    }
}
