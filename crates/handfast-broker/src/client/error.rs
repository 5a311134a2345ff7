//! What goes wrong with a call.

use std::fmt;
use std::io;

use crate::fault::{Code, Fault};

/// The broker said no, or could not be asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The broker's answer.
    Fault(Fault),
    /// The connection.
    Io(io::Error),
}

impl ClientError {
    /// What the broker said, for programs; nothing if it said nothing.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Fault(fault) => Some(fault.code()),
            Self::Io(_) => None,
        }
    }

    /// The broker's answer.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Io(_) => None,
        }
    }
}

impl From<Fault> for ClientError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Io(error) => write!(f, "the connection to the broker: {error}"),
        }
    }
}

impl std::error::Error for ClientError {}
