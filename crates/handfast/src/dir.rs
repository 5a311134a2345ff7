//! An opened directory.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::Error;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::root::Root;

/// A directory below a root, held by descriptor.
///
/// Turn it into a [`Root`] of its own to work in it.
pub struct Dir {
    pub(crate) root: Root,
    pub(crate) fd: OwnedFd,
    pub(crate) metadata: Metadata,
}

impl Dir {
    /// Which directory this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.metadata.identity
    }

    /// What it was when it was opened.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Makes it a root of its own, with the same options and recorder.
    ///
    /// # Errors
    /// `Unsupported` if the options ask for a backend that is not there any more.
    pub fn into_root(self) -> Result<Root, Error> {
        Root::from_fd(self.fd, (*self.root.options).clone())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dir")
            .field("identity", &self.metadata.identity)
            .finish()
    }
}
