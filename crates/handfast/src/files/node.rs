//! Handles on objects, for every implementation of `Files`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::metadata::{FileKind, Metadata};
use crate::path::{Name, NameRef};

/// What an implementation of [`Files`](super::Files) keeps in its nodes.
pub trait NodeData: Any + Send + Sync + fmt::Debug {
    /// What the object was when it was looked up.
    fn metadata(&self) -> &Metadata;

    /// Whether `..` in the target of a link may not climb above this directory.
    fn is_boundary(&self) -> bool {
        false
    }

    /// Whether who watches the directory (see [`Files::watchable`](super::Files::watchable)) hears of
    /// every change of the object too. Not so for a file whose content lies elsewhere.
    fn is_watched_with_its_directory(&self) -> bool {
        false
    }

    /// Whether both are the same object. A layer that copies an object before it changes it knows
    /// better than the numbers of the disk.
    fn is_same(&self, other: &dyn NodeData) -> bool {
        let (one, other) = (self.metadata(), other.metadata());
        one.kind == other.kind && one.identity.same_object(&other.identity)
    }
}

/// An object that was looked up: a directory, a file, a link or something else.
///
/// A node belongs to the [`Files`](super::Files) that gave it. Cloning is cheap and gives the same
/// node.
#[derive(Clone, Debug)]
pub struct Node(Arc<dyn NodeData>);

impl Node {
    /// A node with what its maker wants to find in it again.
    #[must_use]
    pub fn new(data: impl NodeData) -> Self {
        Self(Arc::new(data))
    }

    /// What the object was when it was looked up. [`Files::metadata_of`](super::Files::metadata_of)
    /// says what it is now.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.0.metadata()
    }

    /// The kind of the object.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.metadata().kind
    }

    /// Whether `..` in the target of a link may not climb above this directory.
    #[must_use]
    pub fn is_boundary(&self) -> bool {
        self.0.is_boundary()
    }

    /// Whether who watches the directory hears of every change of the object too.
    #[must_use]
    pub fn is_watched_with_its_directory(&self) -> bool {
        self.0.is_watched_with_its_directory()
    }

    /// Whether both are the same object of these files, changed meanwhile or not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&*other.0)
    }

    /// What the maker of the node put in.
    ///
    /// # Errors
    /// `Invalid` if the node was made by other files.
    pub fn data<T: NodeData>(&self) -> Result<&T, Error> {
        let data: &dyn Any = &*self.0;
        data.downcast_ref().ok_or_else(|| {
            Error::refused(
                ErrorKind::Invalid,
                "the handle belongs to other files than the ones that were asked",
            )
        })
    }
}

/// One name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The directory.
    pub dir: &'a Node,
    /// The name.
    pub name: NameRef<'a>,
}

impl<'a> At<'a> {
    /// A name in a directory.
    #[must_use]
    pub fn new(dir: &'a Node, name: &'a Name) -> Self {
        Self {
            dir,
            name: name.as_ref(),
        }
    }
}
