//! Where an archive goes.

use std::fmt;

use handfast::{Error, FileKind, Files, RelPath, Root};

/// A target's own rules about final paths, for files that have rules which the names in a staging tree do
/// not show.
pub type PathJudge<'a> = &'a dyn Fn(&RelPath, FileKind) -> Result<(), Error>;

/// Where an archive goes: always below something that is held already.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub(crate) place: TargetPlace<'a>,
    pub(crate) path: &'a RelPath,
    pub(crate) judge: Option<PathJudge<'a>>,
    /// Whether the directory is there, and the archive goes into it.
    pub(crate) merges: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum TargetPlace<'a> {
    Root(&'a Root),
    Files(&'a dyn Files),
}

impl<'a> Target<'a> {
    /// A new directory in a root. Its name must be free, and the directory above it must be there.
    #[must_use]
    pub fn new_dir(root: &'a Root, path: &'a RelPath) -> Self {
        Self {
            place: TargetPlace::Root(root),
            path,
            judge: None,
            merges: false,
        }
    }

    /// A new directory in whatever serves files: a session, say. While the archive is read, a directory
    /// `.extract-…` lies beside it.
    #[must_use]
    pub fn new_dir_in(files: &'a dyn Files, path: &'a RelPath) -> Self {
        Self {
            place: TargetPlace::Files(files),
            path,
            judge: None,
            merges: false,
        }
    }

    /// The directory is there already, and the archive goes into it: directories are merged, names that
    /// are taken are refused or replaced as [`Overwrite`](crate::Overwrite) says, and everything else in it
    /// stays. Either all of the archive goes into it or nothing; [`recover`](crate::recover) settles a
    /// merge whose process died.
    #[must_use]
    pub fn merged(mut self) -> Self {
        self.merges = true;
        self
    }

    /// Whether the archive goes into a directory that is there.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.merges
    }

    pub(crate) fn files(&self) -> &'a dyn Files {
        match self.place {
            TargetPlace::Root(root) => root,
            TargetPlace::Files(files) => files,
        }
    }

    /// Asks about every final path before anything is published under it.
    #[must_use]
    pub fn judged_by(mut self, judge: PathJudge<'a>) -> Self {
        self.judge = Some(judge);
        self
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
