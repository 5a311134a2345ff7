//! One interface for whatever serves files: a root, a session, a broker's client.
//!
//! [`Files`] works on handles. A [`Node`] is an object that was looked up and judged; `lookup` goes
//! one name down from a directory; verbs act on a node, or on one name in a directory ([`At`]). No
//! verb of this kind looks a path up, so nothing can be swapped between the look and the act.
//!
//! Verbs on paths are provided on top: they resolve once, name by name, and then work on handles.
//! A layer that has a shorter way (one `openat2` in a root) overrides them; the conformance table
//! (`tests/files.rs`) shows that both ways give the same answers.

mod content;
mod copying;
mod handle;
mod interface;
mod making;
mod node;
mod places;
mod removal;
mod resolve;
mod root;
mod staged;
mod types;
mod walk;

pub use content::{read as read_whole, read_versioned};
pub use copying::copy_tree;
pub use handle::FileHandle;
pub use interface::Files;
pub use node::{At, Node, NodeData};
pub use removal::{remove_dir, remove_tree};
pub use resolve::{LastLink, Resolved, Step};
pub(crate) use root::dir_of;
pub use types::{
    AbsoluteLink, Attributes, Entries, Entry, Put, Space, StagedContent, Watchable, WhatToRemove,
};
pub use walk::{TreeEntry, TreeWalk};
