//! What ends the reading of an archive.

use std::borrow::Cow;

use handfast::{Error, ErrorKind};

use crate::refusal::{Refusal, Rule};

/// Why nothing more is read: the archive is at fault, or the system is.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The archive as a whole is refused.
    Refused(Refusal),
    /// The input cannot be read, or the target cannot be written.
    Failed(Box<Error>),
}

impl Stop {
    pub(crate) fn refused(rule: Rule, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(Refusal::new(rule, detail))
    }

    pub(crate) fn unreadable(error: &std::io::Error) -> Self {
        let why = format!("the archive cannot be read: {error}");
        Self::Failed(Box::new(Error::refused(ErrorKind::Io, why)))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// For `return refuse(…)` in readers.
pub(crate) fn refuse<T>(rule: Rule, detail: impl Into<Cow<'static, str>>) -> Result<T, Stop> {
    Err(Stop::refused(rule, detail))
}
