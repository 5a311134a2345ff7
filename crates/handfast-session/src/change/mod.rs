//! A change as data: everything that a commit would write about one path, and what a reviewer has to
//! know besides. Text, JSON and patches are made of this and of nothing else.

mod describe;
mod distance;
mod flags;
mod form;
mod hunk;
mod patch;
mod show;

use handfast::{FileKind, Timestamp};

pub use flags::Flag;
pub use form::Form;
pub use hunk::{Hunk, Line, Tag};
pub(crate) use hunk::{apply, hex};
pub use patch::Unpatchable;

use crate::overlay::DiffKind;
use crate::vpath::VirtualPath;

/// What is looked at, and how closely.
#[derive(Clone, Debug)]
pub struct ReviewOptions {
    /// Only what is at or below these paths, or came from there; everything if there are none.
    pub paths: Vec<VirtualPath>,
    /// Content is compared line by line up to this size of either side.
    pub text_limit: u64,
    /// Whether both contents are kept for [`Change::patch`], up to the same size.
    pub keep_content: bool,
    /// So many of the changes that would be described are left out, from the first.
    pub skip: usize,
    /// Not more than so many are described.
    pub limit: usize,
}

impl ReviewOptions {
    /// As much text as a person reads.
    pub const USUAL: u64 = 1 << 20;
    /// As much as is held in memory.
    pub const FULL: u64 = 64 << 20;
}

impl Default for ReviewOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            text_limit: Self::USUAL,
            keep_content: false,
            skip: 0,
            limit: usize::MAX,
        }
    }
}

/// One side of a change: what stood there in the base, or what a commit puts there.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Side {
    /// What it is.
    pub kind: FileKind,
    /// The permission bits. `None` where the umask of the one who commits decides.
    pub mode: Option<u32>,
    /// The length of a file.
    pub len: u64,
    /// The SHA-256 of a file's content, in hexadecimal.
    pub digest: Option<String>,
    /// Whether a file's content is text, and how that was decided.
    pub form: Option<Form>,
    /// The target of a link, as it is stored.
    pub target: Option<Vec<u8>>,
    /// How many names a file has, in the base or in the session. A commit gives the path a new file: the
    /// other names in the base keep the old one.
    pub names: u64,
    /// The extended attributes in `user.`, each as `name=value`; a long value is its digest. A commit
    /// writes those of a file with its content.
    pub xattrs: Vec<String>,
    /// When a file was last modified. A commit keeps the time of the session.
    pub modified: Option<Timestamp>,
}

/// What became of a file's content.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// There is none, or it stays as it is.
    Same,
    /// Lines were changed. The hunks hold every byte that is removed or added.
    Hunks(Vec<Hunk>),
    /// It differs, and is not shown.
    NotShown {
        /// Why.
        why: NotShown,
        /// How many bytes of both sides are not shown.
        bytes: u64,
    },
}

/// Why content is not shown.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NotShown {
    /// It is longer than was asked for.
    TooLong,
    /// It is no text.
    Binary,
    /// The caller may not read it.
    Denied(String),
}

/// One changed path, with everything that a commit would write there.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The virtual path.
    pub path: VirtualPath,
    /// The path below its mount: patches count from there.
    pub below: Vec<u8>,
    /// How it was changed.
    pub kind: DiffKind,
    /// Where it was, if it was renamed.
    pub from: Option<VirtualPath>,
    /// The same below its mount.
    pub from_below: Option<Vec<u8>>,
    /// What the base has; nothing if the path is new.
    pub before: Option<Side>,
    /// What a commit puts there; nothing if the path goes.
    pub after: Option<Side>,
    /// What became of the content.
    pub content: Content,
    /// What others changed in the base meanwhile, in words: a commit meets a conflict.
    pub meanwhile: Option<String>,
    /// What a reviewer should look at twice.
    pub flags: Vec<Flag>,
    /// Whether the base's ignore files name it.
    pub ignored: bool,
    /// Both contents, where they were asked for.
    pub(crate) contents: Option<(Vec<u8>, Vec<u8>)>,
}

impl Change {
    /// Whether it is about a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        let sides = [&self.after, &self.before];
        let side = sides.into_iter().flatten().next();
        side.is_some_and(|side| side.kind == FileKind::Dir)
    }

    /// Both contents, where [`ReviewOptions::keep_content`] asked for them.
    #[must_use]
    pub fn contents(&self) -> Option<(&[u8], &[u8])> {
        let both = self.contents.as_ref();
        both.map(|(before, after)| (before.as_slice(), after.as_slice()))
    }

    /// The hunks of the content.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        match &self.content {
            Content::Hunks(hunks) => hunks,
            _ => &[],
        }
    }

    /// The permission bits before and after, where both are known and differ.
    #[must_use]
    pub fn modes(&self) -> Option<(u32, u32)> {
        let mode = |side: &Option<Side>| side.as_ref().and_then(|side| side.mode);
        let both = mode(&self.before).zip(mode(&self.after));
        both.filter(|(old, new)| old != new)
    }
}
