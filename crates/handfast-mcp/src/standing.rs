//! Whether the operator's directories are still where they were.
//!
//! What is served is pinned, so a directory that is moved away would be served on under its old name,
//! and one that is deleted would look empty. The name is only compared, never used.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use handfast::{ErrorKind, Root};
use handfast_session::VirtualPath;
use rustix::io::Errno;

use crate::trouble::Trouble;

/// The directories, with where they were and what.
#[derive(Debug, Default)]
pub(crate) struct AllowedDirectories(Vec<AllowedDirectory>);

#[derive(Debug)]
struct AllowedDirectory {
    at: VirtualPath,
    host: PathBuf,
    /// Device and inode.
    object: (u64, u64),
}

impl AllowedDirectories {
    /// Remembers a directory that is pinned.
    pub(crate) fn add(&mut self, at: &VirtualPath, host: PathBuf, root: &Root) {
        if let Ok(status) = rustix::fs::fstat(root) {
            self.0.push(AllowedDirectory {
                at: at.clone(),
                host,
                object: (status.st_dev, status.st_ino),
            });
        }
    }

    /// Refuses a path whose directory is not the one that was pinned any more.
    pub(crate) fn check(&self, path: &VirtualPath, shown: &str) -> Result<(), Trouble> {
        let holders = self.0.iter().filter(|known| path.starts_with(&known.at));
        let Some(known) = holders.max_by_key(|known| known.at.as_rel().depth()) else {
            return Ok(());
        };
        let what = match rustix::fs::stat(&known.host) {
            Ok(status) if (status.st_dev, status.st_ino) == known.object => return Ok(()),
            Ok(_) => "replaced",
            Err(Errno::NOENT | Errno::NOTDIR) => "moved away or deleted",
            // It cannot be seen from here, which says nothing about it.
            Err(_) => return Ok(()),
        };
        let dir = known.host.as_os_str().as_bytes();
        let dir = crate::text::names::shown(dir);
        Err(Trouble::new(
            ErrorKind::Stale,
            format!(
                "ESTALE: the directory {dir} was {what} since the server started, open '{shown}'. Nothing was done; start the server again."
            ),
        ))
    }
}
