//! What an agent sees of a filesystem: directories mounted in one namespace, with overlays that
//! last, protected files and limits.
//!
//! ```text
//!  text ──parse──▶ VirtualPath ──route──▶ mount ──resolve──▶ path without links ──decide──▶ record ──▶ act
//! ```
//!
//! * [`Session`] is one agent's view. Its verbs take absolute virtual paths; every one of them runs
//!   through the same few lines (`pipeline.rs`).
//! * [`MountSpec`] says which directory of the host is seen where, and how: [`Mode`].
//! * [`Protect`] holds patterns for what may not be read or changed, whatever its name, link or
//!   later creation.
//! * [`Catalogue`] keeps durable sessions: overlays that survive their processes and can be
//!   [diffed](Session::diff), [committed](Session::commit), [taken back](Session::undo), [discarded](Session::discard),
//!   [snapshotted](Session::snapshot), [rolled back](Session::rollback) and
//!   [forked](Catalogue::fork).
//! * [`Policy`] reads all of that from a file.
//!
//! # Does not
//! Confine programs: it confines what is done through it. It has no authority of its own beyond
//! the directories it was given.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![forbid(unsafe_code)]
#![cfg(supported)]

mod asking;
mod caller;
pub mod change;
mod chosen;
mod codec;
mod deed;
mod error;
mod file;
mod files;
mod folding;
mod gate;
mod hunks;
mod ignored;
mod inbox;
mod judge;
mod kernel_run;
mod layer;
mod log;
mod meter;
mod mount;
mod mount_facts;
mod moved_names;
mod node;
mod op;
mod other_names;
mod overlay;
mod own_name;
mod pipeline;
mod place;
pub mod policy;
mod quota;
mod rules;
mod session;
mod state;
mod undo;
mod usage;
mod users;
mod verbs;
mod vpath;
mod whole;

pub use caller::{Caller, Scope};
pub use change::{Change, ReviewOptions};
pub use error::{Error, NotRecorded, Reason, SessionError};
pub use file::SessionFile;
pub use handfast::OpenOptions;
pub use handfast::files::{Entry, Put};
pub use inbox::{
    Answer, AnsweredBy, AskedObject, Asker, Comment, Grant, GrantScope, Inbox, MAX_WAITING,
    Question,
};
pub use kernel_run::FastRun;
pub use meter::Used;
pub use mount::{Mode, MountSpec};
pub use overlay::{CommitOptions, DiffKind, Finished, OnConflict, Shown};
pub use policy::Policy;
pub use quota::Quota;
pub use rules::{Access, PRESETS, Patterns, Protect, Rule};
pub use session::{Session, SessionOptions, SessionSpec};
pub use state::Catalogue;
pub use undo::PastCommit;
pub use usage::MountUsage;
pub use verbs::{Explanation, SessionLock, Staged, TempDir, TempFile, Walk, WalkEntry, Wanted};
pub use vpath::{AsVirtualPath, VirtualPath};
pub use whole::{Changed, Committed};
