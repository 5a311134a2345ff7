//! What the verbs of the interface take and give.

use std::io;
use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::metadata::{FileKind, Timestamp};
use crate::path::Name;
use crate::verb::Verb;
use crate::verbs::Written;
use crate::version::Version;

use super::node::Node;

/// How content is put under a name.
#[derive(Clone, Copy, Debug)]
pub enum Put<'a> {
    /// Whatever file is there is replaced; a missing one is created.
    Replace,
    /// The name must be free.
    New,
    /// The file must still be the version that was seen.
    If(&'a Version),
}

impl Put<'_> {
    /// The verb that it is.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::Replace => Verb::Write,
            Self::New => Verb::WriteNew,
            Self::If(_) => Verb::WriteIf,
        }
    }
}

impl WhatToRemove<'_> {
    /// The verb that it is.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::File => Verb::RemoveFile,
            Self::FileIf(_) => Verb::RemoveIf,
            Self::Dir => Verb::RemoveDir,
        }
    }
}

/// What is removed.
#[derive(Clone, Copy, Debug)]
pub enum WhatToRemove<'a> {
    /// A file, a link or something else that is no directory.
    File,
    /// A file that is still the version that was seen.
    FileIf(&'a Version),
    /// An empty directory.
    Dir,
}

/// Attributes to change; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Attributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// When the object was last read.
    pub accessed: Option<Timestamp>,
    /// When the content last changed.
    pub modified: Option<Timestamp>,
}

impl Attributes {
    /// Nothing is changed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The verb of the first change that is made; `Metadata` if none is.
    #[must_use]
    pub fn verb(&self) -> Verb {
        if self.uid.is_some() || self.gid.is_some() {
            Verb::Chown
        } else if self.accessed.is_some() || self.modified.is_some() {
            Verb::SetTimes
        } else if self.mode.is_some() {
            Verb::Chmod
        } else {
            Verb::Metadata
        }
    }

    /// How many calls of the system it takes.
    pub(super) fn changes(&self) -> usize {
        usize::from(self.uid.is_some() || self.gid.is_some())
            + usize::from(self.accessed.is_some() || self.modified.is_some())
            + usize::from(self.mode.is_some())
    }

    /// Changes the permission bits.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Changes the owner, the group, or both.
    #[must_use]
    pub fn owner(mut self, uid: Option<u32>, gid: Option<u32>) -> Self {
        (self.uid, self.gid) = (uid, gid);
        self
    }

    /// Changes the times, or one of them.
    #[must_use]
    pub fn times(mut self, accessed: Option<Timestamp>, modified: Option<Timestamp>) -> Self {
        (self.accessed, self.modified) = (accessed, modified);
        self
    }
}

/// How much room there is, as `statfs` reports it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Space {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes that are free.
    pub bytes_free: u64,
    /// Names in all.
    pub names: u64,
    /// Names that are free.
    pub names_free: u64,
}

/// Where changes to a directory come from that are made past the files that show it.
#[derive(Debug)]
pub enum Watchable {
    /// Nobody can say: another machine may change it, or something that is not watched.
    Unknown,
    /// From nowhere but the files themselves.
    Nothing,
    /// From a directory of the host, which the descriptor is.
    Dir(OwnedFd),
}

/// One entry of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Its kind as the directory lists it: a hint, and `Unknown` on some filesystems.
    pub kind: FileKind,
    /// Its inode as the directory lists it; 0 where it does not.
    pub inode: u64,
}

/// Where an absolute link leads.
#[derive(Clone, Debug)]
pub struct AbsoluteLink {
    /// The directories from the top down to the one that the walk goes on from.
    pub way: Vec<Node>,
    /// What is left of the link's target.
    pub rest: Vec<u8>,
}

/// The entries of a directory, as a stream.
pub type Entries<'a> = Box<dyn Iterator<Item = Result<Entry, Error>> + Send + 'a>;

/// Content that has no name yet, so no other process sees it. Dropping it drops the content.
pub trait StagedContent: io::Write + Send {
    /// Puts the content under its name, all at once. Everything is decided again on what is there
    /// then.
    ///
    /// # Errors
    /// As [`Files::put_at`](super::Files::put_at).
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error>;
}
