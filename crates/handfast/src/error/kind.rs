//! The kind of an error, and what it changed.

use std::fmt;
use std::io;

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
    /// Another process holds the object (a lock, a lease, a running program) or keeps filling it.
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
            Self::Busy => "in use by another process or handle",
            Self::Io => "the system failed",
        }
    }

    pub(super) fn io_kind(self) -> io::ErrorKind {
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
    /// The system's answer does not say.
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
