//! A directory that was pinned below a root.

use std::fmt;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::Error;
use crate::files::Node;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::RelPath;
use crate::root::{Below, Root};
use crate::sys;
use crate::verb::Verb;

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
        let (depth, top) = match root.link_policy() {
            Links::Refuse => (root.depth() + path.depth(), root.top_identity()),
            // Links may have led anywhere: what is made in the directory stays in it.
            Links::Beneath | Links::InRoot => (0, metadata.identity),
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

    /// The same directory for one verb on a name of it: if the name leads to another object by
    /// then, the verb answers `Raced` and does nothing. Only for paths of one name.
    #[must_use]
    pub fn expecting(&self, object: Identity) -> Self {
        Self {
            root: self.root.expecting(object),
            metadata: self.metadata,
        }
    }

    /// Makes it a root of its own, with the same options and recorder. Its paths count from here.
    #[must_use]
    pub fn into_root(self) -> Root {
        let mut root = self.root;
        root.below = None;
        root
    }
}

impl Root {
    /// The root itself as a directory.
    ///
    /// # Errors
    /// `Io` if the system does not say what it is now.
    pub fn as_dir(&self) -> Result<Dir, Error> {
        let metadata =
            sys::status(&self.pinned.fd).map_err(|fault| Error::new(Verb::OpenDir, ".", fault))?;
        Ok(Dir {
            root: self.without_links(),
            metadata,
        })
    }

    /// The directory behind a node of this root's [`Files`](crate::Files).
    ///
    /// # Errors
    /// `NotADirectory` if it is something else; `Invalid` if the node is of other files.
    pub fn dir_of_node(&self, node: &Node) -> Result<Dir, Error> {
        Ok(Dir {
            root: crate::files::dir_of(node)?.clone(),
            metadata: *node.metadata(),
        })
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
