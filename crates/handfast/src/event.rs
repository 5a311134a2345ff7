//! The seam to a log: every decision, before it takes effect.
//!
//! The library knows no log format and no cryptography. It calls a [`Recorder`] with what it is about to
//! do and does it only if the recorder agrees; so a recorder is both the log and a last word.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::enforcement::Backend;
use crate::error::ErrorKind;
use crate::identity::Identity;
use crate::metadata::{FileKind, Metadata};
use crate::path::RelPath;
use crate::verb::Verb;

/// The phase of an operation that an event belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Phase {
    /// The only event of an operation that changes nothing.
    Single,
    /// Before a change.
    Intent,
    /// What a tree operation touched; any number of these, between intent and result.
    Entries,
    /// After a change, or after it failed.
    Result,
}

impl Phase {
    /// The name of the phase, as it is in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Intent => "intent",
            Self::Entries => "entries",
            Self::Result => "result",
        }
    }
}

/// What was decided, or how it ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Decision {
    /// It is allowed, or it was done.
    Allowed,
    /// It was refused, or it failed.
    Refused {
        /// The kind of the error that the caller gets.
        kind: ErrorKind,
        /// Why, in words.
        why: String,
    },
}

/// One entry that a tree operation touched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TouchedEntry {
    /// The path below the operation's own path, as bytes.
    pub path: Vec<u8>,
    /// What it was.
    pub kind: FileKind,
}

/// A process that asked through a face that serves many, such as a mount, as the face observed it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Process<'a> {
    /// Its process id, as the caller reported it.
    pub pid: u32,
    /// Its program, if it was looked up.
    pub exe: Option<&'a str>,
}

/// One decision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// Joins the events of one operation; unique in this process.
    pub op_id: u64,
    /// The phase of the operation that this event belongs to.
    pub phase: Phase,
    /// The actor, if the root has one.
    pub actor: Option<&'a str>,
    /// The process that asked, where it is not the one that decides.
    pub process: Option<Process<'a>>,
    /// What was asked for.
    pub verb: Verb,
    /// The path that was asked for.
    pub path: &'a RelPath,
    /// The second path of a rename, link or copy; the label or the new name of a session's verb.
    pub destination: Option<&'a RelPath>,
    /// The text as it came, where it was refused before it became a path; `path` is the root then. Of a
    /// commit, the message.
    pub text: Option<&'a [u8]>,
    /// The root that the request was made to.
    pub root: Identity,
    /// The directory that holds the name, where one was pinned.
    pub parent: Option<Identity>,
    /// The object that was resolved, where there is one.
    pub object: Option<&'a Metadata>,
    /// What was decided.
    pub decision: Decision,
    /// What a tree operation touched.
    pub entries: &'a [TouchedEntry],
    /// Who walked the path.
    pub backend: Backend,
}

impl<'a> Event<'a> {
    /// The first event of an operation, with a number of its own: allowed, and nothing known of
    /// the object. For layers above the library that decide themselves; they fill in the rest.
    #[must_use]
    pub fn begin(verb: Verb, path: &'a RelPath, root: Identity, backend: Backend) -> Self {
        Self {
            op_id: next_op_id(),
            phase: if verb.changes() {
                Phase::Intent
            } else {
                Phase::Single
            },
            actor: None,
            process: None,
            verb,
            path,
            destination: None,
            text: None,
            root,
            parent: None,
            object: None,
            decision: Decision::Allowed,
            entries: &[],
            backend,
        }
    }
}

/// A number that joins the events of one operation.
pub(crate) fn next_op_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Why a recorder did not take an event.
#[derive(Debug)]
pub enum RecordError {
    /// The recorder's own policy says no: the operation is `Denied`.
    Refused(String),
    /// The event could not be stored: the operation is not done (`Io`).
    Failed(io::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "refused by the recorder: {why}"),
            Self::Failed(error) => write!(f, "the event could not be recorded: {error}"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(_) => None,
            Self::Failed(error) => Some(error),
        }
    }
}

/// Takes events. Called on the thread that does the operation, before it takes effect.
pub trait Recorder: Send + Sync {
    /// Takes one event.
    ///
    /// # Errors
    /// If it cannot or will not: the operation is then not done. An error on a
    /// [`Phase::Result`] event comes too late to stop anything; the caller then gets an error
    /// with effect `visible`.
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError>;
}
