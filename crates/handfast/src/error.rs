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

#[cfg(supported)]
mod errno;
mod fault;
mod kind;
#[cfg(test)]
mod tests;

pub(crate) use fault::Fault;
pub use kind::{Effect, ErrorKind};

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

/// The cause of an error as a value; shared, so that an error can be reported twice.
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

    /// The same error for a request: with its verb and its path, escaped for display.
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

    /// The same error for a request with two paths.
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
