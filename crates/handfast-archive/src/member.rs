//! One member of an archive, as its header describes it.

/// What a member is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// Another name of a file that came before.
    HardLink,
    /// A device, a FIFO or a socket.
    Special,
}

impl MemberKind {
    /// The kind as reports say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "directory",
            Self::Symlink => "symlink",
            Self::HardLink => "hard-link",
            Self::Special => "special",
        }
    }
}

/// A member's header, after the grammar accepted it. Names are the archive's word: nothing of it is a
/// path yet.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: MemberKind,
    pub(crate) size: u64,
    pub(crate) mode: Option<u32>,
    /// Seconds and nanoseconds.
    pub(crate) modified: Option<(i64, u32)>,
    /// Where a link leads; empty for what is no link.
    pub(crate) target: Vec<u8>,
}
