//! What a refusal or a failure of a session looks like.
//!
//! The kinds are the library's; the paths are the agent's own, virtual and escaped. A host path is
//! never in an error.

use std::fmt;
use std::io;

use handfast::{Effect, ErrorKind, Verb};

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
}

/// The error of every operation in this crate.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    effect: Effect,
    verb: Verb,
    path: String,
    destination: Option<String>,
    detail: String,
    reason: Option<Reason>,
    rule: Option<String>,
    source: Option<handfast::Error>,
}

impl Error {
    /// A rule of the session said no.
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                effect: Effect::None,
                verb: Verb::Resolve,
                path: String::new(),
                destination: None,
                detail: detail.into(),
                reason: None,
                rule: None,
                source: None,
            }),
        }
    }

    pub(crate) fn on(mut self, verb: Verb, path: impl fmt::Display) -> Self {
        self.inner.verb = verb;
        self.inner.path = path.to_string();
        self
    }

    pub(crate) fn and(mut self, destination: Option<String>) -> Self {
        self.inner.destination = destination;
        self
    }

    pub(crate) fn with_rule(mut self, rule: impl Into<String>) -> Self {
        self.inner.rule = Some(rule.into());
        self.because(Reason::Protected)
    }

    pub(crate) fn because(mut self, reason: Reason) -> Self {
        self.inner.reason = Some(reason);
        self
    }

    pub(crate) fn with_effect(mut self, effect: Effect) -> Self {
        self.inner.effect = effect;
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Whether anything was changed before it went wrong.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.inner.effect
    }

    /// The operation that was asked for.
    #[must_use]
    pub fn verb(&self) -> Verb {
        self.inner.verb
    }

    /// The virtual path as it was asked for, escaped for display.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// The second path of a rename, link or copy, escaped for display.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        self.inner.destination.as_deref()
    }

    /// Why, in words.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.inner.detail
    }

    /// Which rule of the session said no; nothing where it was the library or the system.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.inner.reason
    }

    /// The protected pattern that said no, where one did, as text.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.inner.rule.as_deref()
    }

    /// The number the system call failed with, where one did.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.inner
            .source
            .as_ref()
            .and_then(handfast::Error::raw_os_error)
    }

    /// Whether the same call may succeed if it is made again.
    #[must_use]
    pub fn can_retry(&self) -> bool {
        matches!(self.kind(), ErrorKind::Raced | ErrorKind::Busy)
    }
}

impl From<handfast::Error> for Error {
    fn from(source: handfast::Error) -> Self {
        Self {
            inner: Box::new(Inner {
                kind: source.kind(),
                effect: source.effect(),
                verb: source.verb(),
                // The library's path is below a host directory; the pipeline puts the virtual one.
                path: String::new(),
                destination: None,
                detail: source.detail(),
                reason: None,
                rule: None,
                source: Some(source),
            }),
        }
    }
}

impl From<rustix::io::Errno> for Error {
    fn from(errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        let kind = match errno {
            Errno::NOENT => ErrorKind::NotFound,
            Errno::EXIST => ErrorKind::Exists,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorKind::Quota,
            Errno::AGAIN | Errno::BUSY => ErrorKind::Busy,
            Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported,
            Errno::INVAL => ErrorKind::Invalid,
            _ => ErrorKind::Io,
        };
        let text = io::Error::from(errno).to_string();
        Self::new(kind, text.split(" (os error").next().unwrap_or_default())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match rustix::io::Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::new(ErrorKind::Io, error.to_string()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("effect", &self.inner.effect)
            .field("verb", &self.inner.verb)
            .field("path", &self.inner.path)
            .field("detail", &self.inner.detail)
            .field("rule", &self.inner.rule)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        if !inner.path.is_empty() {
            write!(f, "cannot {} `{}`", inner.verb.name(), inner.path)?;
            if let Some(destination) = &inner.destination {
                write!(f, " to `{destination}`")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&inner.detail)?;
        match inner.effect {
            Effect::None => Ok(()),
            Effect::Visible => f.write_str(" (the change is visible)"),
            Effect::Unknown => f.write_str(" (whether anything changed is unknown)"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner
            .source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::NotADirectory => io::ErrorKind::NotADirectory,
            ErrorKind::IsADirectory => io::ErrorKind::IsADirectory,
            ErrorKind::NotEmpty => io::ErrorKind::DirectoryNotEmpty,
            ErrorKind::Quota => io::ErrorKind::StorageFull,
            ErrorKind::Busy => io::ErrorKind::ResourceBusy,
            ErrorKind::Raced => io::ErrorKind::Interrupted,
            ErrorKind::Invalid | ErrorKind::Kind => io::ErrorKind::InvalidInput,
            ErrorKind::TooLong => io::ErrorKind::InvalidFilename,
            ErrorKind::Limit => io::ErrorKind::FileTooLarge,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            ErrorKind::Stale => io::ErrorKind::StaleNetworkFileHandle,
            ErrorKind::Escape
            | ErrorKind::Link
            | ErrorKind::HardLink
            | ErrorKind::Mount
            | ErrorKind::Denied => io::ErrorKind::PermissionDenied,
            ErrorKind::Io => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
