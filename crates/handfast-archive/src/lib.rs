//! Archives that are extracted without a race, and made without one.
//!
//! ```text
//!  bytes ──unpack──▶ grammar (tar, zip) ──▶ member ──judge──▶ verdict ──▶ staging tree ──publish──▶ target
//! ```
//!
//! * [`extract`] writes an archive into a hidden tree, checks it to its last byte, and then
//!   gives the tree its name with one rename, or merges it into a directory by a journal. [`list`] judges
//!   and writes nothing.
//! * [`recover`] finishes or undoes a merge whose process died.
//! * One strict grammar for each format: where two readers could disagree about what an archive holds,
//!   the archive is refused.
//! * The answer is a [`Report`]: one [`MemberVerdict`] for each member, as data. By default one refusal refuses
//!   the whole archive and leaves nothing.
//! * [`create`] writes archives that are the same for the same tree.
//!
//! # Does not
//! Open nested archives, restore owners, devices, set-id bits or extended attributes.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![forbid(unsafe_code)]
#![cfg(supported)]

mod create;
mod events;
mod existing;
mod extract;
mod input;
mod judge;
mod limits;
mod member;
mod merge;
mod names;
mod options;
mod reader;
mod refusal;
mod report;
mod source;
mod stage;
mod stop;
mod tar;
mod target;
mod tree;
mod unpack;
mod zip;

pub use create::{CreateOptions, Created, NewFormat, create};
pub use events::Telling;
pub use extract::{extract, list};
pub use input::Input;
pub use limits::Limits;
pub use member::MemberKind;
pub use merge::recover;
pub use options::{LinkPolicy, Modes, Names, OnRefusal, Options, Overwrite, Progress};
pub use refusal::{Refusal, Rule};
pub use report::{Format, MemberVerdict, Outcome, Report};
pub use target::{PathJudge, Target};
