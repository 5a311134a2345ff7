//! Which object it is, whatever its name.

use std::fmt;

use crate::metadata::Timestamp;

/// Device, inode, mount and birth time of an object.
///
/// Inode numbers are reused after an object is gone, which is why the birth time is part of it;
/// while a descriptor is held the inode cannot be reused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The device number of the filesystem.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
    /// The mount it was reached through: the kernel's unique id where it has one (Linux 6.8),
    /// the reusable id before that, nothing where the platform does not report one.
    pub mount: Option<u64>,
    /// When the object was created, where the filesystem keeps it.
    pub born: Option<Timestamp>,
}

impl Identity {
    /// Whether both are the same object, through whichever mount it was reached.
    ///
    /// # Platform
    /// On overlay filesystems a file that is written for the first time is copied up and may
    /// change its device and inode; compare two fresh answers there, never an old one with a new.
    #[must_use]
    pub fn same_object(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode && self.born == other.born
    }

    pub(crate) fn born_nanoseconds(&self) -> u128 {
        self.born
            .and_then(|born| u128::try_from(born.as_nanoseconds()).ok())
            .unwrap_or(0)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{}", self.device, self.inode)?;
        if let Some(born) = self.born {
            write!(f, "@{}.{:09}", born.seconds, born.nanoseconds)?;
        }
        if let Some(mount) = self.mount {
            write!(f, "+{mount}")?;
        }
        Ok(())
    }
}
