//! Refusals and failures, and the Python exception that each becomes.
//!
//! A program in Monty sees no number on an exception, so `[Errno N]` in the text is the contract.
//! The numbers are those of Linux, whatever the host is.

use std::fmt;
use std::io;

use handfast::ErrorKind;
use handfast_session::{Reason, SessionError as _};
use monty_types::{
    ExcType, MontyException, StringRepr, UnicodeErrorData, unicode_decode_error_msg,
    utf8_error_reason,
};

/// Why a call was not done. [`CallError::into_exception`] is what the program gets.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The path leads outside of its mount or through a link that is not followed, or it is the
    /// mount itself where that cannot be meant.
    Escape {
        /// The path as it was asked for.
        path: String,
    },
    /// The path holds a NUL byte; the text is Python's for the call.
    Nul(&'static str),
    /// The mount is read-only.
    ReadOnly {
        /// The path as it was asked for.
        path: String,
    },
    /// The two ends of a rename do not lie in one mount.
    TwoMounts {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
    },
    /// The session or the system said no.
    Failed {
        /// What kind of no.
        kind: io::ErrorKind,
        /// Why, in words; they reach the program where no exception of its own fits the kind.
        text: String,
        /// The path as it was asked for.
        path: String,
        /// The protected pattern that decided, for the host's eyes.
        rule: Option<String>,
    },
    /// The file is not UTF-8.
    NotUtf8 {
        /// The bytes of the file.
        bytes: Vec<u8>,
        /// Where the text ends.
        start: usize,
        /// How many bytes are wrong; nothing if the file ends in the middle of a character.
        wrong: Option<usize>,
    },
    /// More would be written than the mount allows.
    WriteLimit(u64),
    /// The answer would be larger than the mount allows.
    MemoryLimit(u64),
    /// A scan looked at more entries than any may.
    ScanLimit(u64),
}

impl CallError {
    pub(crate) fn failed(
        kind: io::ErrorKind,
        text: impl Into<String>,
        path: impl Into<String>,
    ) -> Self {
        Self::Failed {
            kind,
            text: text.into(),
            path: path.into(),
            rule: None,
        }
    }

    pub(crate) fn escape(path: &str) -> Self {
        Self::Escape {
            path: path.to_owned(),
        }
    }

    /// What a session said about a path, in Monty's terms.
    pub(crate) fn from_session(error: &handfast_session::Error, path: &str) -> Self {
        let kind = match error.kind() {
            ErrorKind::Escape | ErrorKind::Link | ErrorKind::Mount => return Self::escape(path),
            ErrorKind::Busy if error.reason() == Some(Reason::MountPoint) => {
                return Self::escape(path);
            }
            ErrorKind::Denied if error.reason() == Some(Reason::ReadOnlyMount) => {
                return Self::ReadOnly {
                    path: path.to_owned(),
                };
            }
            ErrorKind::Denied | ErrorKind::HardLink | ErrorKind::Kind => {
                io::ErrorKind::PermissionDenied
            }
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::NotADirectory => io::ErrorKind::NotADirectory,
            ErrorKind::IsADirectory => io::ErrorKind::IsADirectory,
            ErrorKind::NotEmpty => io::ErrorKind::DirectoryNotEmpty,
            ErrorKind::TooLong => io::ErrorKind::InvalidFilename,
            ErrorKind::Quota => io::ErrorKind::QuotaExceeded,
            ErrorKind::Raced => io::ErrorKind::WouldBlock,
            ErrorKind::Busy => io::ErrorKind::ResourceBusy,
            ErrorKind::Invalid => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::Other,
        };
        let text = match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number).to_string(),
            None => error.detail().to_owned(),
        };
        Self::Failed {
            kind,
            text,
            path: path.to_owned(),
            rule: error.rule().map(str::to_owned),
        }
    }

    /// The protected pattern that decided, where one did. The program is not told.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Failed { rule, .. } => rule.as_deref(),
            _ => None,
        }
    }

    /// The exception that the program gets.
    #[must_use]
    pub fn into_exception(self) -> MontyException {
        if let Self::NotUtf8 {
            bytes,
            start,
            wrong,
        } = &self
        {
            let first = bytes.get(*start).copied().unwrap_or_default();
            let end = wrong.map_or(bytes.len(), |wrong| start + wrong);
            let reason = utf8_error_reason(first, *wrong);
            let text = unicode_decode_error_msg("utf-8", first, *start, end, reason);
            let data = UnicodeErrorData::decode("utf-8", bytes, *start, end, reason);
            return MontyException::new(ExcType::UnicodeDecodeError, Some(text)).with_data(data);
        }
        let (class, text) = self.class_and_text();
        MontyException::new(class, Some(text))
    }

    fn class_and_text(&self) -> (ExcType, String) {
        let denied = |path: &str| {
            let text = format!("[Errno 13] Permission denied: {}", StringRepr(path));
            (ExcType::PermissionError, text)
        };
        match self {
            Self::Escape { path } => denied(path),
            Self::Nul(text) => (ExcType::ValueError, (*text).to_owned()),
            Self::ReadOnly { path } => (
                ExcType::PermissionError,
                format!("[Errno 30] Read-only file system: {}", StringRepr(path)),
            ),
            Self::TwoMounts { from, to } => (
                ExcType::OSError,
                format!(
                    "[Errno 18] Invalid cross-device link: {} -> {}",
                    StringRepr(from),
                    StringRepr(to)
                ),
            ),
            Self::Failed {
                kind, text, path, ..
            } => {
                let (class, words) = match kind {
                    io::ErrorKind::PermissionDenied => return denied(path),
                    io::ErrorKind::NotFound => (
                        ExcType::FileNotFoundError,
                        "[Errno 2] No such file or directory",
                    ),
                    io::ErrorKind::AlreadyExists => {
                        (ExcType::FileExistsError, "[Errno 17] File exists")
                    }
                    io::ErrorKind::IsADirectory => {
                        (ExcType::IsADirectoryError, "[Errno 21] Is a directory")
                    }
                    io::ErrorKind::NotADirectory => {
                        (ExcType::NotADirectoryError, "[Errno 20] Not a directory")
                    }
                    io::ErrorKind::DirectoryNotEmpty => {
                        (ExcType::OSError, "[Errno 39] Directory not empty")
                    }
                    io::ErrorKind::InvalidFilename => {
                        (ExcType::OSError, "[Errno 36] File name too long")
                    }
                    io::ErrorKind::InvalidInput => {
                        (ExcType::OSError, "[Errno 22] Invalid argument")
                    }
                    io::ErrorKind::QuotaExceeded => {
                        (ExcType::OSError, "[Errno 122] Disk quota exceeded")
                    }
                    io::ErrorKind::WouldBlock => (
                        ExcType::OSError,
                        "[Errno 11] Resource temporarily unavailable",
                    ),
                    _ => (ExcType::OSError, text.as_str()),
                };
                (class, format!("{words}: {}", StringRepr(path)))
            }
            Self::NotUtf8 { .. } => (ExcType::UnicodeDecodeError, "not UTF-8".to_owned()),
            Self::WriteLimit(limit) => (
                ExcType::OSError,
                format!("disk write limit of {} exceeded", Size(*limit)),
            ),
            Self::MemoryLimit(limit) => (
                ExcType::MemoryError,
                format!("mount memory usage limit of {} exceeded", Size(*limit)),
            ),
            // No OSError: a glob would swallow it and look complete.
            Self::ScanLimit(limit) => (
                ExcType::RuntimeError,
                format!("directory scan examined more than {limit} entries"),
            ),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.class_and_text().1)
    }
}

impl std::error::Error for CallError {}

/// A size as Monty writes it: decimal units, one digit after the point unless it is 0.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
        if self.0 < 1000 {
            return write!(f, "{} bytes", self.0);
        }
        let mut unit = 0;
        let mut scale = 1000_u64;
        while unit + 1 < UNITS.len() && self.0 / scale >= 1000 {
            scale *= 1000;
            unit += 1;
        }
        // Tenths, rounded half up, without a float's surprises.
        let tenths = (u128::from(self.0) * 10 + u128::from(scale) / 2) / u128::from(scale);
        match tenths % 10 {
            0 => write!(f, "{} {}", tenths / 10, UNITS[unit]),
            digit => write!(f, "{}.{digit} {}", tenths / 10, UNITS[unit]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1 KB"),
            (1500, "1.5 KB"),
            (50_000_000, "50 MB"),
            (1_250_000_000, "1.3 GB"),
            (3_000_000_000_000_000, "3000 TB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_path_is_shown_as_python_shows_it() {
        let text = CallError::escape("/it's").into_exception();
        assert_eq!(
            text.message(),
            Some("[Errno 13] Permission denied: \"/it's\"")
        );
    }
}
