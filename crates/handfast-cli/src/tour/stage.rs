//! The temporary directory in which the tour takes place.
//!
//! ```text
//! inside/           the directory that writers are confined to
//! inside/reports    where they write; the attacker swaps it
//! outside/          where nothing may land
//! project/          what people and agents work on
//! ```

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use handfast::{RelPath, Root, RootOptions, TempDir};

/// A private directory, gone with everything in it when this is dropped.
pub(super) struct TourDirectory {
    dir: TempDir,
    path: PathBuf,
    pub(super) fast: bool,
}

impl TourDirectory {
    pub(super) fn set(fast: bool) -> io::Result<Self> {
        // The operator may have made the temporary directory a link: what it leads to is meant.
        let system = std::fs::File::open(std::env::temp_dir())?;
        let system = Root::from_fd(system.into(), RootOptions::new()).map_err(io::Error::other)?;
        let dir = system
            .temp_dir(&RelPath::root())
            .map_err(io::Error::other)?;
        let number = dir.root().as_fd().as_raw_fd();
        let path = std::fs::read_link(format!("/proc/self/fd/{number}"))?;
        Ok(Self { dir, path, fast })
    }

    /// The directory, confined.
    pub(super) fn root(&self) -> &Root {
        self.dir.root()
    }

    /// Where it lies, for naive code and for other processes.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file and the directories it is in.
    pub(super) fn put(&self, path: &str, content: &str) -> Result<(), handfast::Error> {
        let path = RelPath::parse(path)?;
        if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
            self.root().create_dir_all(&parent)?;
        }
        self.root().write(&path, content)?;
        Ok(())
    }
}
