//! The error that the tests look at. Its exceptions are those of the adapter.

use std::path::PathBuf;
use std::{fmt, io};

use handfast_monty::CallError;
use monty_types::{ExcData, ExcType, MontyException};

#[derive(Debug)]
pub enum MountError {
    NoMountPoint(String),
    PathEscape {
        virtual_path: String,
    },
    EmbeddedNullByte(&'static str),
    ReadOnly(String),
    CrossMountRename {
        src: String,
        dst: String,
    },
    Io(io::Error, String),
    InvalidUtf8 {
        bytes: Vec<u8>,
        start: usize,
        wrong: Option<usize>,
        data: ExcData,
    },
    InvalidMount(String),
    OverlappingMounts {
        virtual_path: String,
        host_path: PathBuf,
        existing_virtual_path: String,
        existing_host_path: PathBuf,
    },
    WriteLimitExceeded(u64),
    MemoryUsageLimitExceeded(u64),
    ScanLimitExceeded(u64),
    /// What the adapter knows and upstream does not.
    Other(CallError),
}

impl From<CallError> for MountError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Escape { path } => Self::PathEscape { virtual_path: path },
            CallError::Nul(text) => Self::EmbeddedNullByte(text),
            CallError::ReadOnly { path } => Self::ReadOnly(path),
            CallError::TwoMounts { from, to } => Self::CrossMountRename { src: from, dst: to },
            CallError::Failed {
                kind, text, path, ..
            } => Self::Io(io::Error::new(kind, text), path),
            CallError::NotUtf8 {
                bytes,
                start,
                wrong,
            } => Self::InvalidUtf8 {
                bytes,
                start,
                wrong,
                data: ExcData::default(),
            },
            CallError::WriteLimit(limit) => Self::WriteLimitExceeded(limit),
            CallError::MemoryLimit(limit) => Self::MemoryUsageLimitExceeded(limit),
            CallError::ScanLimit(limit) => Self::ScanLimitExceeded(limit),
            other => Self::Other(other),
        }
    }
}

impl MountError {
    /// Back to the adapter's error, whose exception is what is tested.
    pub fn into_exception(self) -> MontyException {
        let error = match self {
            Self::NoMountPoint(path) | Self::PathEscape { virtual_path: path } => {
                CallError::Escape { path }
            }
            Self::EmbeddedNullByte(text) => CallError::Nul(text),
            Self::ReadOnly(path) => CallError::ReadOnly { path },
            Self::CrossMountRename { src, dst } => CallError::TwoMounts { from: src, to: dst },
            Self::Io(error, path) => CallError::Failed {
                kind: error.kind(),
                text: error.to_string(),
                path,
                rule: None,
            },
            Self::InvalidUtf8 {
                bytes,
                start,
                wrong,
                ..
            } => CallError::NotUtf8 {
                bytes,
                start,
                wrong,
            },
            Self::WriteLimitExceeded(limit) => CallError::WriteLimit(limit),
            Self::MemoryUsageLimitExceeded(limit) => CallError::MemoryLimit(limit),
            Self::ScanLimitExceeded(limit) => CallError::ScanLimit(limit),
            Self::Other(error) => error,
            // These two are about making mounts, which a session does in its own words.
            Self::InvalidMount(text) => {
                return MontyException::new(ExcType::TypeError, Some(text));
            }
            Self::OverlappingMounts {
                virtual_path,
                host_path,
                existing_virtual_path,
                existing_host_path,
            } => {
                let text = format!(
                    "cannot mount '{}' at '{virtual_path}': it overlaps the mount of '{}' at \
                     '{existing_virtual_path}'; mounts must have distinct virtual paths and disjoint \
                     host directories",
                    host_path.display(),
                    existing_host_path.display()
                );
                return MontyException::new(ExcType::ValueError, Some(text));
            }
        };
        error.into_exception()
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for MountError {}
