//! The cause of an error while it is passed up.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::{Cause, Effect, Error, ErrorKind};

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
