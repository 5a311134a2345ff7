//! The verbs: one file each.

mod append;
mod chmod;
mod chown;
mod copy;
mod copy_tree;
mod create_dir;
mod create_dir_all;
mod hard_link;
mod held_lock;
mod lock;
mod made;
mod metadata;
mod open;
mod open_dir;
mod read;
mod read_dir;
mod read_link;
mod recover;
mod remove_dir;
mod remove_file;
mod remove_if;
mod remove_tree;
mod rename;
mod symlink;
mod temp;
mod times;
mod version;
mod walk;
mod write;
mod write_if;
mod xattr;

pub use lock::{LockGuard, LockKind};
pub use open::OpenOptions;
pub use read_dir::{DirEntry, ReadDir};
pub use recover::{Recovered, RecoveryOutcome};
pub use rename::RenameMode;
pub use symlink::{SymlinkTarget, check_symlink_target};
pub use temp::{TempDir, TempFile};
pub use walk::{TreeLimits, Walk, WalkEntry};
pub use write::{Staged, WriteOptions, Written};

use std::os::fd::OwnedFd;

use crate::error::Fault;
use crate::path::RelPath;
use crate::root::Root;
use crate::{rules, sys};

/// Opens a directory to work in: readable, judged.
fn open_dir_place(root: &Root, path: &RelPath) -> Result<OwnedFd, Fault> {
    let fd = read_dir::open_listed(root, path)?;
    rules::check_passage(root, &sys::status(&fd)?)?;
    Ok(fd)
}
