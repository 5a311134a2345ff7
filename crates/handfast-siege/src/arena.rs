//! The private directory in which a siege takes place.
//!
//! ```text
//! top/root      the pinned directory; everything an attempt may touch
//! top/outside   the canary
//! top/away      where attackers move things that leave the root
//! ```

use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::{BackendChoice, Error, Links, Root, RootOptions};

/// A private directory, gone with everything in it when this is dropped.
pub(crate) struct Arena {
    top: PathBuf,
}

impl Arena {
    /// Made below `base`, with a fresh name.
    pub(crate) fn new(base: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        for _ in 0..1000 {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let top = base.join(format!("handfast-siege-{}-{number}", std::process::id()));
            // Fails if the name exists already, as any kind of object.
            match builder.create(&top) {
                Ok(()) => {
                    let arena = Self { top };
                    for name in ["root", "outside", "away"] {
                        std::fs::create_dir(arena.path(name))?;
                    }
                    return Ok(arena);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.top.join(below)
    }

    /// Makes a directory and fills it with what victims use, saying `inside`.
    pub(crate) fn room(&self, below: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.path(below))?;
        furnish(&self.path(below), "inside")
    }

    /// Pins the root.
    pub(crate) fn open(&self, backend: BackendChoice, links: Links) -> Result<Root, Error> {
        self.open_at("root", backend, links)
    }

    /// Pins a directory of the scene as if it were the root.
    pub(crate) fn open_at(
        &self,
        below: &str,
        backend: BackendChoice,
        links: Links,
    ) -> Result<Root, Error> {
        let options = RootOptions::new().backend(backend).links(links);
        Root::open_ambient_with(self.path(below), options)
    }

    /// Pins a directory of the scene, for setting it up while it is attacked.
    pub(crate) fn hold(&self, below: &str) -> Result<Root, Error> {
        Root::open_ambient(self.path(below))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // An attempt may have left modes behind that an ordinary user cannot pass.
        drop(std::fs::set_permissions(
            &self.top,
            std::fs::Permissions::from_mode(0o700),
        ));
        drop(std::fs::remove_dir_all(&self.top));
    }
}

/// Names that victims use, with `inside` or `outside` as content.
pub(crate) const FILES: [&str; 4] = ["data", "f", "g", "lock"];

/// Fills a directory with what victims use. `word` is what its files say.
pub(crate) fn furnish(dir: &Path, word: &str) -> io::Result<()> {
    for name in FILES {
        std::fs::write(dir.join(name), word)?;
    }
    std::fs::create_dir_all(dir.join("tree/sub"))?;
    std::fs::create_dir_all(dir.join("empty"))?;
    std::fs::create_dir_all(dir.join("gone/a/b"))?;
    std::fs::write(dir.join(format!("tree/sub/{word}-file")), word)?;
    std::os::unix::fs::symlink(format!("{word}-target"), dir.join("link"))
}

/// Exchanges two names in one step.
pub(crate) fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}
