//! A directory that was pinned below a root.

use std::fmt;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::RelPath;
use crate::root::{Below, Root};

/// A directory below a root, held by descriptor, with the root's policy.
///
/// Every verb of a [`Root`] works on it, for a name in it or a path below it: nothing is looked up
/// on the way to the directory again. Its errors and events name paths from the root it was opened
/// below.
///
/// ```
/// use handfast::{RelPath, Root};
/// # let scratch = std::env::temp_dir().join(format!("handfast-doc-dir-{}", std::process::id()));
/// # std::fs::create_dir(&scratch).unwrap();
/// let root = Root::open_ambient(&scratch)?;
/// let dir = root.create_dir(&RelPath::parse("reports")?)?;
/// dir.write(&RelPath::parse("one.txt")?, "1")?;
/// assert_eq!(root.read(&RelPath::parse("reports/one.txt")?)?, b"1");
/// # std::fs::remove_dir_all(&scratch).unwrap();
/// # Ok::<(), handfast::Error>(())
/// ```
#[derive(Clone)]
pub struct Dir {
    root: Root,
    metadata: Metadata,
}

impl Dir {
    /// What a verb of `root` pinned at `path`.
    pub(crate) fn new(root: &Root, path: &RelPath, fd: OwnedFd, metadata: Metadata) -> Self {
        let (depth, top) = match root.options.links {
            Links::Refuse => (root.depth() + path.depth(), root.top_identity()),
            // Links may have led anywhere: what is made in the directory stays in it.
            Links::Beneath => (0, metadata.identity),
        };
        let below = Below {
            path: root.full(path).with_must_be_dir(false),
            depth,
            top,
        };
        Self {
            root: root.at_dir(fd, metadata.identity, below),
            metadata,
        }
    }

    /// Which directory this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.metadata.identity
    }

    /// What it was when it was opened.
    #[must_use]
    pub fn opened_metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Makes it a root of its own, with the same options and recorder. Its paths count from here.
    #[must_use]
    pub fn into_root(self) -> Root {
        let mut root = self.root;
        root.below = None;
        root
    }
}

impl Deref for Dir {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.root
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dir")
            .field("identity", &self.metadata.identity)
            .finish()
    }
}
