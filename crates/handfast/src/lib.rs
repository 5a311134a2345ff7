//! Handfast gives untrusted code and untrusted path strings access to files without ever
//! separating the check from the use.
//!
//! ```text
//!  text ──parse──▶ RelPath ──resolve──▶ handle ──rules──▶ File / Dir / Node ──verb──▶ effect
//! ```
//!
//! * [`RelPath`] is the only way from text to something the library accepts.
//! * [`Root`] is a directory pinned once. Its verbs resolve a path, look at the object that was
//!   reached, decide, call a [`Recorder`], and act, all on descriptors.
//! * [`Error`] says which rule said no, and whether anything was changed.
//!
//! # Does
//! Keeps every read, write, create, rename and delete beneath the root, whatever the string says
//! and whatever another process does to the tree meanwhile. Refuses by default: links, writing to
//! files with several names, other mounts, FIFOs, sockets and devices. Replaces files atomically.
//!
//! # Does not
//! Restrict code that calls the system itself (see [`harden`] for that), take back a descriptor
//! that was given out, or protect from root on the host. A directory that is moved out of the root
//! after it was pinned stays usable for the rest of that one operation; [`harden`] closes that for
//! names.
//!
//! # Platform
//! Linux. Elsewhere the crate builds, and every root answers `Unsupported`: what a platform is not
//! known to do without a race is not done.
#![deny(unsafe_code)]
// Where no root can be opened, most of what verbs need is unused.
#![cfg_attr(not(supported), allow(dead_code))]

mod enforcement;
mod error;
mod escape;
mod event;
mod filesystem;
mod identity;
mod metadata;
mod options;
mod path;
mod verb;

#[cfg(supported)]
mod dir;
#[cfg(supported)]
mod durability;
#[cfg(supported)]
mod file;
#[cfg(supported)]
pub mod files;
#[cfg(supported)]
pub mod harden;
#[cfg(supported)]
mod op;
#[cfg(supported)]
mod resolve;
#[cfg(supported)]
mod root;
#[cfg(supported)]
mod rules;
#[cfg(all(supported, handfast_sabotage))]
#[doc(hidden)]
pub mod sabotage;
#[cfg(supported)]
mod staging;
#[cfg(supported)]
mod sys;
#[cfg(supported)]
mod tree;
#[cfg(supported)]
mod verbs;
#[cfg(supported)]
mod version;

#[cfg(not(supported))]
mod unsupported;

pub use enforcement::{Backend, BackendReason, Enforcement, MountIdentity};
pub use error::{Effect, Error, ErrorKind};
pub use escape::{escape, is_hidden};
pub use event::{Decision, Event, Phase, Process, RecordError, Recorder, TouchedEntry};
pub use filesystem::FilesystemKind;
pub use identity::Identity;
pub use metadata::{FileKind, Metadata, Timestamp};
pub use options::{
    BackendChoice, HardLinks, Links, Mounts, ObjectJudge, RootOptions, SetId, Specials,
};
pub use path::{Limits, Name, NameRef, NameRules, RelPath, RelPathRef, fold_case};
pub use verb::Verb;

#[cfg(supported)]
pub use {
    dir::Dir,
    durability::Durability,
    file::{File, FileLease},
    files::{Files, Node},
    root::Root,
    staging::copy_open,
    verbs::{
        DirEntry, LockGuard, LockKind, OpenOptions, ReadDir, Recovered, RecoveryOutcome,
        RenameMode, Staged, SymlinkTarget, TempDir, TempFile, TreeLimits, Walk, WalkEntry,
        WriteOptions, Written, check_symlink_target,
    },
    version::{Difference, Version},
};

#[cfg(not(supported))]
pub use unsupported::Root;

/// The examples of the documents are tests.
#[cfg(all(doctest, supported))]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/library.md")]
    struct Library;
    #[doc = include_str!("../../../docs/migrating.md")]
    struct Migrating;
}
