//! What can be done in a session: one file a group, each verb a few lines over the pipeline.

mod attributes;
mod dirs;
mod explain;
mod names;
mod read;
mod tree;
mod write;

pub use dirs::Entry;
pub use explain::{Explanation, Wanted};
pub use tree::{Walk, WalkEntry};
