//! An object of a mount.

use handfast::files::{Node, NodeData};
use handfast::{Error, Metadata, NameRef};
use handfast_session::VirtualPath;

/// A node of the session as a mount shows it.
#[derive(Debug)]
pub(super) struct LeaseNode {
    /// The session's own.
    pub(super) inner: Node,
    /// The way that it was found by, for the log.
    pub(super) path: VirtualPath,
    /// What the kernel sees of it.
    pub(super) shown: Metadata,
}

impl NodeData for LeaseNode {
    fn metadata(&self) -> &Metadata {
        &self.shown
    }

    fn is_boundary(&self) -> bool {
        self.inner.is_boundary()
    }

    fn is_same(&self, other: &dyn NodeData) -> bool {
        let any: &dyn std::any::Any = other;
        any.downcast_ref::<Self>()
            .is_some_and(|other| self.inner.is_same(&other.inner))
    }
}

/// What is behind a node of a mount.
pub(super) fn of(node: &Node) -> Result<&LeaseNode, Error> {
    node.data::<LeaseNode>()
}

impl LeaseNode {
    pub(super) fn child(&self, name: NameRef<'_>) -> VirtualPath {
        self.path.join(name)
    }
}
