//! Platforms without descriptors that can be walked from: every root answers `Unsupported`.

use std::path::Path;

use crate::error::{Error, ErrorKind, Fault};
use crate::options::RootOptions;
use crate::verb::Verb;

/// A directory that was pinned once. On this platform none can be.
#[derive(Clone, Debug)]
pub struct Root {
    never: std::convert::Infallible,
}

impl Root {
    /// Answers `Unsupported`: this platform cannot do it without a race, so it is not done.
    ///
    /// # Errors
    /// Always.
    pub fn open_ambient(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_ambient_with(path, RootOptions::new())
    }

    /// Answers `Unsupported`.
    ///
    /// # Errors
    /// Always.
    pub fn open_ambient_with(
        _path: impl AsRef<Path>,
        _options: RootOptions,
    ) -> Result<Self, Error> {
        Err(Error::new(
            Verb::OpenRoot,
            "<root>",
            Fault::rule(
                ErrorKind::Unsupported,
                "this platform has no confined lookup that this library uses",
            ),
        ))
    }
}
