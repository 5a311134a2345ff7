//! Files and directories that are not published yet.
//!
//! A draft has no name while it is written, where the filesystem can do that: a writer that dies
//! then leaves nothing. When a name is needed, it says which inode it was made for and when that
//! was born, and the writer holds a lock on the object as long as it lives. So a process that finds such a
//! name later can prove whether the object is the one it was made for, and whether its writer is
//! dead.

mod access_list;
mod content;
mod draft;
mod name;

pub(crate) use access_list::{AccessList, drop_inherited};
pub(crate) use content::copy_content;
pub use content::copy_open;
pub(crate) use draft::{Draft, lacks_flag, remove_if_same, rename_to_secret};
pub(crate) use name::{Expected, PREFIX, Role, StagingName};
