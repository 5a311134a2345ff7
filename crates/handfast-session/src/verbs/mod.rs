//! What can be done in a session: one file a group, each verb a few lines over the pipeline.

mod attributes;
mod dirs;
mod draft;
mod explain;
mod lock;
mod names;
mod read;
mod tree;
mod write;

pub use draft::{Staged, TempDir, TempFile};
pub use explain::{Explanation, Wanted};
pub use lock::SessionLock;
pub use tree::{Walk, WalkEntry};
