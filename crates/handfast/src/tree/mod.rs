//! What the tree verbs share: listing a directory in batches, and a stack of directories that
//! holds a constant number of descriptors however deep the tree is.

mod limits;
mod listing;
mod pending;
mod stack;

pub(crate) use limits::Budget;
pub use limits::TreeLimits;
pub(crate) use listing::{Listed, Listing};
pub(crate) use pending::Pending;
pub(crate) use stack::DirStack;
