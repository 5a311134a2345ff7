//! A pinned parent and one name in it: where something can be created, replaced or removed.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{Error, Fault};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::{Name, RelPath};
use crate::resolve::{self, Last, ParentFd, Place};
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::verb::Verb;

/// A pinned parent directory and one name in it.
///
/// The parent is held by descriptor: renaming directories on the way to it changes nothing. What
/// stands under the name may change at any time; verbs decide on what they find when they act.
pub struct Slot {
    root: Root,
    path: RelPath,
    place: Place,
}

impl Root {
    /// Pins the parent of a path.
    ///
    /// # Errors
    /// `Escape`, `Link`, `Mount`, `NotFound`, `NotADirectory` for what is on the way; `Invalid` for
    /// the root itself.
    pub fn slot(&self, path: &RelPath) -> Result<Slot, Error> {
        self.act(Verb::Resolve, path, |op| {
            let place = resolve::place(self, path, Last::Itself)?;
            op.allow_in(Some(place.parent()?), None)?;
            Ok(Slot {
                root: self.clone(),
                path: path.clone(),
                place,
            })
        })
    }
}

impl Slot {
    /// The name in the parent.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.place.name
    }

    /// The path that was asked for.
    #[must_use]
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Which directory the parent is.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    pub fn parent(&self) -> Result<Identity, Error> {
        self.place
            .parent()
            .map_err(|fault| Error::new(Verb::Resolve, self.path.to_string(), fault))
    }

    /// What stands under the name now; a link is itself.
    ///
    /// # Errors
    /// `NotFound` if nothing does.
    pub fn metadata(&self) -> Result<Metadata, Error> {
        self.place
            .status()
            .and_then(|status| rules::check_passage(&self.root, &status).map(|()| status))
            .map_err(|fault| Error::new(Verb::Metadata, self.path.to_string(), fault))
    }
}

impl AsFd for Slot {
    /// The pinned parent.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.dir.as_fd()
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("path", &self.path).finish()
    }
}

impl Place {
    /// What stands under the name now; a link is itself.
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

    /// What stands under the name, where somebody listens.
    pub(crate) fn recorded_object(&self, root: &Root) -> Option<Metadata> {
        root.options.recorder.as_ref()?;
        self.status().ok()
    }

    /// The parent's identity where somebody listens; a system call saved where nobody does.
    pub(crate) fn recorded_parent(&self, root: &Root) -> Result<Option<Identity>, Fault> {
        match root.options.recorder {
            Some(_) => self.parent().map(Some),
            None => Ok(None),
        }
    }
}
