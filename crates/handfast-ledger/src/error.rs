//! What can go wrong with a log.

use std::fmt;
use std::io;
use std::sync::Arc;

/// What went wrong, for programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum ErrorKind {
    /// Another writer holds the log, and did not let go in time.
    Busy,
    /// There is no log in this directory.
    NotALog,
    /// There is one already.
    Exists,
    /// The log cannot be trusted to take more: a write or a sync failed earlier.
    Poisoned,
    /// There is no space left; the log has been stopped.
    Full,
    /// What is on the disk is not what was written.
    Corrupt,
    /// A checkpoint was published that is ahead of what is on the disk, or differs from it.
    Rollback,
    /// The signing key is missing, unreadable, or not the one that the log names.
    Key,
    /// The event is longer than 65,535 bytes.
    TooLarge,
    /// The input is not what it should be.
    Invalid,
    /// The operating system said no.
    Io,
}

impl ErrorKind {
    /// The name of the kind, as it is in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "Busy",
            Self::NotALog => "NotALog",
            Self::Exists => "Exists",
            Self::Poisoned => "Poisoned",
            Self::Full => "Full",
            Self::Corrupt => "Corrupt",
            Self::Rollback => "Rollback",
            Self::Key => "Key",
            Self::TooLarge => "TooLarge",
            Self::Invalid => "Invalid",
            Self::Io => "Io",
        }
    }
}

/// An error of the ledger.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    detail: String,
    index: Option<u64>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            index: None,
            source: None,
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, detail)
    }

    pub(crate) fn corrupt(index: u64, detail: impl Into<String>) -> Self {
        Self {
            index: Some(index),
            ..Self::new(ErrorKind::Corrupt, detail)
        }
    }

    pub(crate) fn os(doing: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self {
            source: Some(Arc::new(error)),
            ..Self::new(ErrorKind::Io, doing)
        }
    }

    /// What went wrong, for programs.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The first event that is affected, where that is known.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        self.index
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if let Some(index) = self.index {
            write!(f, " (at event {index})")?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

impl From<handfast::Error> for Error {
    fn from(error: handfast::Error) -> Self {
        let kind = match error.kind() {
            handfast::ErrorKind::Quota => ErrorKind::Full,
            _ => ErrorKind::Io,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Busy => io::ErrorKind::WouldBlock,
            ErrorKind::NotALog => io::ErrorKind::NotFound,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::Full => io::ErrorKind::StorageFull,
            ErrorKind::Corrupt | ErrorKind::Rollback | ErrorKind::Invalid => {
                io::ErrorKind::InvalidData
            }
            ErrorKind::TooLarge => io::ErrorKind::InvalidInput,
            ErrorKind::Poisoned | ErrorKind::Key | ErrorKind::Io => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
