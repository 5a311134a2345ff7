//! What an object is, read from the object itself.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::identity::Identity;

/// The kind of an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// The filesystem does not say.
    Unknown,
}

impl FileKind {
    /// The name of the kind, as it is in logs and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Block => "block",
            Self::Char => "char",
            Self::Unknown => "unknown",
        }
    }

    /// Whether this is something else than a file, a directory or a link.
    #[must_use]
    pub const fn is_special(self) -> bool {
        !matches!(self, Self::File | Self::Dir | Self::Symlink)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A point in time as filesystems keep it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Nanoseconds since 1970.
    #[must_use]
    pub fn as_nanoseconds(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds)
    }

    /// As the standard library's type; 1970 for times that type cannot hold.
    #[must_use]
    pub fn to_system_time(self) -> SystemTime {
        let nanoseconds = Duration::from_nanos(u64::from(self.nanoseconds));
        let whole = Duration::from_secs(self.seconds.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let time = if self.seconds >= 0 {
            epoch.checked_add(whole)
        } else {
            epoch.checked_sub(whole)
        };
        // A filesystem may claim any time; what no clock shows is the beginning of time.
        time.and_then(|time| time.checked_add(nanoseconds))
            .unwrap_or(epoch)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let nanoseconds = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        Self {
            seconds: i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
            nanoseconds: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
        }
    }
}

/// Facts about an object at one moment, all from one system call on the object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Metadata {
    /// Which object it is.
    pub identity: Identity,
    /// Its kind.
    pub kind: FileKind,
    /// Permission and set-id bits (`0o7777`).
    pub mode: u32,
    /// How many names it has.
    pub nlink: u64,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its size in bytes.
    pub len: u64,
    /// 512-byte blocks in use.
    pub blocks: u64,
    /// When it was last read.
    pub accessed: Timestamp,
    /// When its content last changed.
    pub modified: Timestamp,
    /// When anything about it last changed.
    pub changed: Timestamp,
    /// Whether it is the root of a mount.
    pub mount_root: bool,
}

impl Metadata {
    /// The facts of an object that another process looked at, to be filled in: all but which object
    /// it is and its kind is 0.
    #[must_use]
    pub fn told(identity: Identity, kind: FileKind) -> Self {
        Self {
            identity,
            kind,
            mode: 0,
            nlink: 0,
            uid: 0,
            gid: 0,
            len: 0,
            blocks: 0,
            accessed: Timestamp::default(),
            modified: Timestamp::default(),
            changed: Timestamp::default(),
            mount_root: false,
        }
    }

    /// Whether it is a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.kind == FileKind::Dir
    }

    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.kind == FileKind::Symlink
    }

    /// Whether other names lead to the same regular file.
    #[must_use]
    pub fn has_other_names(&self) -> bool {
        self.kind == FileKind::File && self.nlink > 1
    }
}
