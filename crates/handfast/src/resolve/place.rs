//! What a name in a pinned parent refers to.

use super::{ParentFd, Place};
use crate::error::Fault;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::root::Root;
use crate::sys;

impl Place {
    /// What the name refers to now; a link is itself.
    pub(crate) fn status(&self) -> Result<Metadata, Fault> {
        sys::status_at(&self.dir, self.name.as_c_str())
    }

    /// Which directory the parent is.
    pub(crate) fn parent(&self) -> Result<Identity, Fault> {
        match &self.dir {
            ParentFd::Root(root) => Ok(root.pinned.identity),
            ParentFd::Below(fd) => sys::status(fd).map(|status| status.identity),
        }
    }

    /// What the name refers to, where a recorder listens.
    pub(crate) fn recorded_object(&self, root: &Root) -> Option<Metadata> {
        root.options.recorder.as_ref()?;
        self.status().ok()
    }

    /// The parent's identity if there is a recorder; without one a system call is saved.
    pub(crate) fn recorded_parent(&self, root: &Root) -> Result<Option<Identity>, Fault> {
        match root.options.recorder {
            Some(_) => self.parent().map(Some),
            None => Ok(None),
        }
    }
}
