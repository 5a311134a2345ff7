//! What a refusal of a session looks like: the library's error, with the rule that said no.
//!
//! The kinds are the library's; the paths are the agent's own, virtual and escaped. A host path is
//! never in an error.

use std::fmt;

pub use handfast::Error;

/// Which rule of the session said no, for programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No mount holds the path.
    NotMounted,
    /// The mount is read-only.
    ReadOnlyMount,
    /// A protected pattern.
    Protected,
    /// The path names a mount point, or lies above one.
    MountPoint,
    /// The two ends lie in different mounts.
    TwoMounts,
    /// A limit of the session or the mount.
    Quota,
    /// The caller's own scope does not hold the path.
    OutOfScope,
    /// A person was asked, or would have to be, and did not agree.
    NotGranted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotMounted => "no mount holds the path",
            Self::ReadOnlyMount => "the mount is read-only",
            Self::Protected => "a protected pattern",
            Self::MountPoint => "a mount point",
            Self::TwoMounts => "two mounts",
            Self::Quota => "a quota",
            Self::OutOfScope => "outside the caller's scope",
            Self::NotGranted => "a person did not agree",
        })
    }
}

impl std::error::Error for Reason {}

/// The protected pattern that said no.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ProtectedBy(pub(crate) String);

impl fmt::Display for ProtectedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "protected by {}", self.0)
    }
}

impl std::error::Error for ProtectedBy {}

/// The recorder did not take an event, so nothing was done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotRecorded {
    /// The recorder failed, as a full disk makes it; otherwise its own policy refused.
    pub failed: bool,
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.failed {
            true => "the event could not be recorded",
            false => "the recorder refused",
        })
    }
}

impl std::error::Error for NotRecorded {}

/// What a session adds to the library's errors.
pub trait SessionError {
    /// Which rule of the session said no; nothing where it was the library or the system.
    fn reason(&self) -> Option<Reason>;

    /// The protected pattern that said no, where one did, as text.
    fn rule(&self) -> Option<&str>;
}

impl SessionError for Error {
    fn reason(&self) -> Option<Reason> {
        if self.cause::<ProtectedBy>().is_some() {
            return Some(Reason::Protected);
        }
        self.cause::<Reason>().copied()
    }

    fn rule(&self) -> Option<&str> {
        self.cause::<ProtectedBy>().map(|rule| rule.0.as_str())
    }
}
