//! A scratch directory to measure in, and the ways into it.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use handfast::{BackendChoice, Error, FilesystemKind, Links, RelPath, Root, RootOptions};
use rustix::fs::{CWD, Mode, OFlags};

use crate::Failure;
use crate::column::Column;

/// How large the trees are.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Files in the wide directory.
    pub wide: usize,
    /// Directories of the tree that is walked, and files in each.
    pub tree: (usize, usize),
    /// Directories of the tree that is removed, and files in each.
    pub removed: (usize, usize),
}

impl Scale {
    /// As the budgets have it.
    pub const FULL: Self = Self {
        wide: 1_000,
        tree: (100, 100),
        removed: (10, 100),
    };
    /// For tests.
    pub const SMALL: Self = Self {
        wide: 20,
        tree: (3, 5),
        removed: (2, 4),
    };
}

/// A scratch directory of its own, removed when it is dropped.
pub struct Site {
    above: Root,
    name: RelPath,
    path: PathBuf,
    scale: Scale,
    dir: Rc<OwnedFd>,
    filesystem: FilesystemKind,
    kernel: Root,
    walk: Root,
}

impl Site {
    /// Makes a scratch directory in an existing one.
    ///
    /// # Errors
    /// What stops that; `Unsupported` where `openat2` is missing, since there is no floor then.
    pub fn new(above: &Path, scale: Scale) -> Result<Self, Failure> {
        let above_root = Root::open_ambient(above)?;
        let stamp = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)?
            .as_nanos();
        let text = format!("handfast-bench-{}-{stamp}", std::process::id());
        let name = RelPath::parse(&text)?;
        above_root.create_dir(&name)?;
        let path = above.join(text);
        Self::enter(above_root.clone(), name.clone(), path, scale).inspect_err(|_| {
            // Best effort: the first error is the one to tell.
            drop(above_root.remove_tree(&name));
        })
    }

    fn enter(above: Root, name: RelPath, path: PathBuf, scale: Scale) -> Result<Self, Failure> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, &path, flags, Mode::empty())?;
        let kernel = open(&path, BackendChoice::Kernel, Links::Refuse)?;
        let walk = open(&path, BackendChoice::Walk, Links::Refuse)?;
        Ok(Self {
            above,
            name,
            scale,
            dir: Rc::new(dir),
            filesystem: kernel.enforcement().filesystem,
            kernel,
            walk,
            path,
        })
    }

    /// How large the trees are.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Which filesystem it lies on.
    #[must_use]
    pub fn filesystem(&self) -> FilesystemKind {
        self.filesystem
    }

    /// The absolute path of something in it, for those who confine nothing.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.path.join(below)
    }

    /// The directory's descriptor, for raw system calls.
    #[must_use]
    pub fn dir(&self) -> Rc<OwnedFd> {
        Rc::clone(&self.dir)
    }

    /// The directory as a root, once with each backend.
    #[must_use]
    pub fn roots(&self) -> [(Column, Root); 2] {
        [
            (Column::Kernel, self.kernel.clone()),
            (Column::Walk, self.walk.clone()),
        ]
    }

    /// As [`Site::roots`], following links that stay beneath.
    ///
    /// # Errors
    /// What stops the directory from being opened again.
    pub fn roots_with_links(&self) -> Result<[(Column, Root); 2], Error> {
        let root = |choice| open(&self.path, choice, Links::Beneath);
        Ok([
            (Column::Kernel, root(BackendChoice::Kernel)?),
            (Column::Walk, root(BackendChoice::Walk)?),
        ])
    }

    /// The directory as cap-std has it.
    ///
    /// # Errors
    /// What stops the directory from being opened again.
    #[cfg(feature = "peers")]
    pub fn cap_std(&self) -> Result<cap_std::fs::Dir, Failure> {
        let authority = cap_std::ambient_authority();
        Ok(cap_std::fs::Dir::open_ambient_dir(&self.path, authority)?)
    }
}

fn open(path: &Path, choice: BackendChoice, links: Links) -> Result<Root, Error> {
    Root::open_ambient_with(path, RootOptions::new().backend(choice).links(links))
}

impl Drop for Site {
    fn drop(&mut self) {
        // Best effort: there is nobody left to tell.
        drop(self.above.remove_tree(&self.name));
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("path", &self.path).finish()
    }
}

/// Where to measure if nobody says: memory if the system has it, so that the disk does not matter.
#[must_use]
pub fn default_place() -> PathBuf {
    let shared = Path::new("/dev/shm");
    let probe = Root::open_ambient(shared).map(|root| root.enforcement().filesystem);
    match probe {
        Ok(FilesystemKind::Tmpfs) => shared.to_owned(),
        _ => std::env::temp_dir(),
    }
}
