//! What a refusal or a failure looks like.
//!
//! An [`Error`] has a kind for programs, an effect that says whether anything was changed, and a
//! text for people: the verb, the path as it was asked for (escaped), the system call that said
//! no. It never holds a host path or the target of a link: those belong to the owner of the disk,
//! not to the sender of the path.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::verb::Verb;

/// What went wrong, for programs. Match on this, never on the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The path led outside the root.
    Escape,
    /// The tree kept changing while we looked. Trying again is sound where the effect is `none`.
    Raced,
    /// A symbolic link stood where none may be followed, or links formed a loop.
    Link,
    /// The object has other names, and this operation would reach them too.
    HardLink,
    /// The object is of a kind this operation does not touch (FIFO, socket, device, …).
    Kind,
    /// The path crosses into another mount, or the two sides lie on different ones.
    Mount,
    /// The request itself is wrong (NUL, absolute, `..`, a directory moved into itself).
    Invalid,
    /// A name or a path is longer or deeper than allowed.
    TooLong,
    /// A limit on size, depth, entries or time was reached.
    Limit,
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    Exists,
    /// A directory was needed.
    NotADirectory,
    /// A directory was found where something else was needed.
    IsADirectory,
    /// The directory still has entries.
    NotEmpty,
    /// Permission, a read-only filesystem or a policy said no.
    Denied,
    /// The object is not the version the caller saw.
    Stale,
    /// The disk, the quota or the session's budget is used up.
    Quota,
    /// This system cannot do what was asked without a race, so it is not done.
    Unsupported,
    /// Somebody else holds it (a lock, a lease, a running program) or keeps filling it.
    Busy,
    /// The machine failed: I/O error, no descriptors, no memory.
    Io,
}

impl ErrorKind {
    /// Every kind, in declaration order.
    pub const ALL: [Self; 20] = [
        Self::Escape,
        Self::Raced,
        Self::Link,
        Self::HardLink,
        Self::Kind,
        Self::Mount,
        Self::Invalid,
        Self::TooLong,
        Self::Limit,
        Self::NotFound,
        Self::Exists,
        Self::NotADirectory,
        Self::IsADirectory,
        Self::NotEmpty,
        Self::Denied,
        Self::Stale,
        Self::Quota,
        Self::Unsupported,
        Self::Busy,
        Self::Io,
    ];

    /// The name of the kind, as it is in logs and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Escape => "Escape",
            Self::Raced => "Raced",
            Self::Link => "Link",
            Self::HardLink => "HardLink",
            Self::Kind => "Kind",
            Self::Mount => "Mount",
            Self::Invalid => "Invalid",
            Self::TooLong => "TooLong",
            Self::Limit => "Limit",
            Self::NotFound => "NotFound",
            Self::Exists => "Exists",
            Self::NotADirectory => "NotADirectory",
            Self::IsADirectory => "IsADirectory",
            Self::NotEmpty => "NotEmpty",
            Self::Denied => "Denied",
            Self::Stale => "Stale",
            Self::Quota => "Quota",
            Self::Unsupported => "Unsupported",
            Self::Busy => "Busy",
            Self::Io => "Io",
        }
    }

    /// One sentence that says what the kind means.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Escape => "the path leads outside the root",
            Self::Raced => "the tree kept changing underneath; trying again is sound",
            Self::Link => "a symbolic link is in the way",
            Self::HardLink => "the file has other names, which this would change too",
            Self::Kind => "not the kind of object this works on",
            Self::Mount => "the path crosses into another mount",
            Self::Invalid => "the request is not valid",
            Self::TooLong => "the name or path is too long or too deep",
            Self::Limit => "a limit was reached",
            Self::NotFound => "nothing is there",
            Self::Exists => "something is there already",
            Self::NotADirectory => "not a directory",
            Self::IsADirectory => "is a directory",
            Self::NotEmpty => "the directory is not empty",
            Self::Denied => "not permitted",
            Self::Stale => "the file is not the version that was expected",
            Self::Quota => "no space or quota left",
            Self::Unsupported => "this system cannot do it safely",
            Self::Busy => "in use by somebody else",
            Self::Io => "the system failed",
        }
    }

    fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::Escape | Self::Link | Self::HardLink | Self::Mount | Self::Denied => {
                io::ErrorKind::PermissionDenied
            }
            Self::Kind | Self::Invalid => io::ErrorKind::InvalidInput,
            Self::TooLong => io::ErrorKind::InvalidFilename,
            Self::Limit => io::ErrorKind::FileTooLarge,
            Self::NotFound => io::ErrorKind::NotFound,
            Self::Exists => io::ErrorKind::AlreadyExists,
            Self::NotADirectory => io::ErrorKind::NotADirectory,
            Self::IsADirectory => io::ErrorKind::IsADirectory,
            Self::NotEmpty => io::ErrorKind::DirectoryNotEmpty,
            Self::Stale => io::ErrorKind::StaleNetworkFileHandle,
            Self::Quota => io::ErrorKind::StorageFull,
            Self::Unsupported => io::ErrorKind::Unsupported,
            // Never `Interrupted`: loops of the standard library repeat that without asking.
            Self::Raced | Self::Busy => io::ErrorKind::ResourceBusy,
            Self::Io => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a failed operation changed anything that others can see.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Effect {
    /// Nothing was changed.
    None,
    /// The change is visible, but something after it failed (for example its directory's sync).
    Visible,
    /// The system's answer does not tell.
    Unknown,
}

impl Effect {
    /// The name of the effect, as it is in logs and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Visible => "visible",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of every operation in this crate.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    verb: Verb,
    path: String,
    destination: Option<String>,
    fault: Fault,
    /// What the system said, where a call failed.
    system: Option<io::Error>,
}

/// The cause of an error as a value; shared, so that an error can be told twice.
type Cause = Arc<dyn std::error::Error + Send + Sync>;

impl Error {
    pub(crate) fn new(verb: Verb, path: impl Into<String>, fault: Fault) -> Self {
        Self {
            inner: Box::new(Inner {
                verb,
                path: path.into(),
                destination: None,
                system: fault.errno.map(io::Error::from_raw_os_error),
                fault,
            }),
        }
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.inner.fault.cause = Some(Arc::from(source.into()));
        self
    }

    /// An error of a layer above the library: a rule of its own said no. The layer names the verb
    /// and the path with [`Error::on`], and says which of its rules it was with
    /// [`Error::because`].
    #[must_use]
    pub fn refused(kind: ErrorKind, why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Verb::Resolve, "", Fault::rule(kind, why))
    }

    /// The same error, told of a request: its verb and its path, escaped for display.
    #[must_use]
    pub fn on(mut self, verb: Verb, path: impl Into<String>) -> Self {
        self.inner.verb = verb;
        self.inner.path = path.into();
        self
    }

    /// As [`Error::on`], unless the error names a path already.
    #[must_use]
    pub fn or_on(self, verb: Verb, path: impl FnOnce() -> String) -> Self {
        match self.inner.path.is_empty() {
            true => self.on(verb, path()),
            false => self,
        }
    }

    /// The same error, told of a request with two paths.
    #[must_use]
    pub fn with_destination(mut self, destination: Option<String>) -> Self {
        self.inner.destination = destination;
        self
    }

    /// The same error with another effect.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.inner.fault.effect = effect;
        self
    }

    /// The same error with its cause as a value, for programs. [`Error::cause`] finds it again.
    #[must_use]
    pub fn because(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.inner.fault.cause = Some(Arc::new(cause));
        self
    }

    /// The cause as a value of a type, where a layer gave one: which rule of a session, say.
    #[must_use]
    pub fn cause<T: std::error::Error + 'static>(&self) -> Option<&T> {
        self.inner.fault.cause.as_deref()?.downcast_ref()
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.fault.kind
    }

    /// Whether anything was changed before it went wrong.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.inner.fault.effect
    }

    /// The operation that was asked for.
    #[must_use]
    pub fn verb(&self) -> Verb {
        self.inner.verb
    }

    /// The path as it was asked for, escaped for display.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// The second path of a rename, link or copy, escaped for display.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        self.inner.destination.as_deref()
    }

    /// Why, in words: the rule or the system call that said no.
    #[must_use]
    pub fn detail(&self) -> String {
        self.inner.fault.to_string()
    }

    /// The system call that failed, where one did.
    #[must_use]
    pub fn call(&self) -> Option<&'static str> {
        self.inner.fault.call
    }

    /// The number the system call failed with, where one did.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.inner.fault.errno
    }

    /// Whether the same call may succeed if it is made again: nothing was changed, and what was in
    /// the way is likely to pass.
    #[must_use]
    pub fn can_retry(&self) -> bool {
        matches!(self.kind(), ErrorKind::Raced | ErrorKind::Busy) && self.effect() == Effect::None
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("effect", &self.effect())
            .field("verb", &self.inner.verb)
            .field("path", &self.inner.path)
            .field("detail", &self.inner.fault.to_string())
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A layer that refuses before it knows of a path has none to name.
        if !self.inner.path.is_empty() {
            write!(f, "cannot {} `{}`", self.inner.verb.name(), self.inner.path)?;
            if let Some(destination) = &self.inner.destination {
                write!(f, " to `{destination}`")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", self.inner.fault)?;
        match self.effect() {
            Effect::None => Ok(()),
            Effect::Visible => f.write_str(" (the change is visible, but may not be durable)"),
            Effect::Unknown => f.write_str(" (whether anything changed is unknown)"),
        }
    }
}

impl std::error::Error for Error {
    /// The system's own error, where a call failed, or what another library said.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let system = self.inner.system.as_ref();
        match &self.inner.fault.cause {
            Some(cause) => Some(&**cause),
            None => system.map(|system| system as &(dyn std::error::Error + 'static)),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind().io_kind(), error)
    }
}

/// What a stream said, such as a [`Staged`](crate::Staged) file while it is written. An error of this
/// crate that became an `io::Error` comes back as it was.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(ours) => ours,
            Err(error) => Self::new(Verb::Resolve, "", Fault::from(error)),
        }
    }
}

/// The cause of an [`Error`], before the verb and the path are known: cheap to make and to pass up.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) effect: Effect,
    pub(crate) call: Option<&'static str>,
    pub(crate) errno: Option<i32>,
    pub(crate) why: Cow<'static, str>,
    pub(crate) cause: Option<Cause>,
}

impl Fault {
    /// A rule said no: no system call failed.
    pub(crate) fn rule(kind: ErrorKind, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            effect: Effect::None,
            call: None,
            errno: None,
            why: why.into(),
            cause: None,
        }
    }

    pub(crate) fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind, why: impl Into<Cow<'static, str>>) -> Self {
        self.kind = kind;
        self.why = why.into();
        self
    }
}

impl From<Error> for Fault {
    /// What a judge said, before the verb and the path are put in.
    fn from(error: Error) -> Self {
        error.inner.fault
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        #[cfg(supported)]
        if let Some(errno) = rustix::io::Errno::from_io_error(&error) {
            return Self::errno(errno);
        }
        Self::rule(ErrorKind::Io, error.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.why.is_empty() {
            f.write_str(self.kind.sentence())?;
        } else {
            f.write_str(&self.why)?;
        }
        match (self.call, self.errno) {
            (Some(call), Some(errno)) => {
                let text = io::Error::from_raw_os_error(errno).to_string();
                let text = text.split(" (os error").next().unwrap_or_default();
                write!(f, " ({call}: {text})")
            }
            (Some(call), None) => write!(f, " ({call})"),
            _ => Ok(()),
        }
    }
}

#[cfg(supported)]
mod from_errno {
    use super::{Effect, ErrorKind, Fault};
    use rustix::io::Errno;
    use std::borrow::Cow;

    impl From<Errno> for super::Error {
        fn from(errno: Errno) -> Self {
            Self::new(crate::verb::Verb::Resolve, "", Fault::errno(errno))
        }
    }

    impl Fault {
        /// A system call said no. The kind is the errno's usual meaning; callers that know better
        /// (EXDEV of a lookup, ELOOP of a policy) set it afterwards.
        pub(crate) fn sys(call: &'static str, errno: Errno) -> Self {
            Self {
                kind: usual_kind(errno),
                effect: Effect::None,
                call: Some(call),
                errno: Some(errno.raw_os_error()),
                why: Cow::Borrowed(""),
                cause: None,
            }
        }

        /// As [`Fault::sys`], where the caller does not know which call it was.
        pub(crate) fn errno(errno: Errno) -> Self {
            let text = std::io::Error::from(errno).to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            Self {
                errno: Some(errno.raw_os_error()),
                ..Self::rule(usual_kind(errno), text.to_owned())
            }
        }

        /// Whether the call failed with exactly this number.
        pub(crate) fn is(&self, errno: Errno) -> bool {
            self.errno == Some(errno.raw_os_error())
        }
    }

    fn usual_kind(errno: Errno) -> ErrorKind {
        match errno {
            Errno::NOENT => ErrorKind::NotFound,
            Errno::EXIST => ErrorKind::Exists,
            Errno::NOTDIR => ErrorKind::NotADirectory,
            Errno::ISDIR => ErrorKind::IsADirectory,
            Errno::NOTEMPTY => ErrorKind::NotEmpty,
            Errno::LOOP => ErrorKind::Link,
            Errno::XDEV => ErrorKind::Mount,
            Errno::NAMETOOLONG => ErrorKind::TooLong,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorKind::Quota,
            Errno::AGAIN | Errno::TXTBSY | Errno::BUSY => ErrorKind::Busy,
            Errno::NXIO | Errno::NODEV => ErrorKind::Kind,
            Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported,
            Errno::INVAL => ErrorKind::Invalid,
            Errno::MLINK => ErrorKind::Limit,
            Errno::STALE => ErrorKind::Raced,
            _ => ErrorKind::Io,
        }
    }
}

#[cfg(test)]
mod tests;
