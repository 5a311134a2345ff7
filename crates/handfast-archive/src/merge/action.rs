//! One step of a merge.

use handfast::{FileKind, Identity, Node, RelPath};

/// Which object is meant, in numbers that outlive the process. Zeros mean none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct MergedObject {
    pub(crate) inode: u64,
    /// In nanoseconds; 0 where the filesystem keeps no birth times.
    pub(crate) born: i128,
}

impl MergedObject {
    pub(crate) fn of(identity: &Identity) -> Self {
        Self {
            inode: identity.inode,
            born: identity.born.map_or(0, handfast::Timestamp::as_nanoseconds),
        }
    }

    pub(crate) fn is(&self, node: Option<&Node>) -> bool {
        node.is_some_and(|node| Self::of(&node.metadata().identity) == *self)
    }
}

/// What is done with the object that the archive gave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Deed {
    /// It gets a name that is free, with all that is below it.
    Add,
    /// It changes places with a file of the directory.
    Exchange(MergedObject),
    /// A directory that was added gets a mode with which it could not have been moved.
    Mode(u32),
}

/// One step of a merge. Each can be done twice and undone twice with the same result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Action {
    pub(crate) deed: Deed,
    /// Below the target, and below the staged tree.
    pub(crate) path: RelPath,
    /// What the archive gave.
    pub(crate) new: MergedObject,
}

/// Why a merge is refused where something else has the name.
pub(crate) const IN_THE_WAY: &str = "something else is there already";

/// Whether what the archive gives may take the place of what is there. Directories are merged, and that is
/// no replacement.
pub(crate) fn may_replace(there: FileKind, new: FileKind) -> bool {
    there == FileKind::File && matches!(new, FileKind::File | FileKind::Symlink)
}
