//! A scratch directory to measure in, and the ways into it.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use handfast::{BackendChoice, FilesystemKind, RelPath, Root, RootOptions};
use rustix::fs::{CWD, Mode, OFlags};

use crate::Failure;
use crate::contender::{Contender, MAKERS};
use crate::scale::Scale;

/// A scratch directory of its own, removed when it is dropped.
pub struct Site {
    above: Root,
    name: RelPath,
    path: PathBuf,
    scale: Scale,
    dir: Arc<OwnedFd>,
    filesystem: FilesystemKind,
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
        // The floor is written with it, so without it there is nothing to compare with.
        let options = RootOptions::new().backend(BackendChoice::Kernel);
        let kernel = Root::open_ambient_with(&path, options)?;
        Ok(Self {
            above,
            name,
            scale,
            dir: Arc::new(dir),
            filesystem: kernel.enforcement().filesystem,
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
    pub fn dir(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.dir)
    }

    /// The contenders that can work here.
    ///
    /// # Errors
    /// What stops one of them from opening the directory.
    pub fn contenders(&self) -> Result<Vec<Box<dyn Contender>>, Failure> {
        MAKERS.iter().map(|(_, make)| make(self)).collect()
    }
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
