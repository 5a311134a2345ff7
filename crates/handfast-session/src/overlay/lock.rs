//! Locks by path: an overlay's files have no inode of their own to lock before they are changed.

use std::time::Duration;

use handfast::{ErrorKind, LockGuard, LockKind, RelPath, Root};

use super::Overlay;
use crate::error::Error;
use crate::place::Spot;

const LOCKS: &str = "locks";

impl Overlay {
    /// Locks a path for all processes of the session. Waits up to `patience`.
    pub(crate) fn lock_path(
        &self,
        spot: Spot<'_>,
        kind: LockKind,
        patience: Duration,
    ) -> Result<PathLock, Error> {
        let path = self.with_tree(|tree| self.path_of(tree, spot))??;
        match self.home.create_dir_with(&RelPath::parse(LOCKS)?, 0o700) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Exists => {}
            Err(error) => return Err(error),
        }
        let at = RelPath::parse(format!("{LOCKS}/{:016x}", number(&path)))?;
        let guard = self.home.lock(&at, kind, patience)?;
        Ok(PathLock {
            home: self.home.clone(),
            at,
            guard: Some(guard),
        })
    }
}

/// Which lock a path has. Two paths with one number only wait for each other.
fn number(path: &RelPath) -> u64 {
    let names = path.segments().flat_map(|name| {
        let bytes = name.as_bytes().iter().copied();
        bytes.chain(std::iter::once(b'/'))
    });
    // FNV-1a: the same in every build.
    names.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A lock of a path; its file goes with the last holder.
pub(crate) struct PathLock {
    home: Root,
    at: RelPath,
    guard: Option<LockGuard>,
}

impl PathLock {
    /// Whether its file is still there: nobody but us should have removed it.
    pub(crate) fn verify(&self) -> Result<bool, Error> {
        match &self.guard {
            Some(guard) => Ok(guard.verify()?),
            None => Ok(false),
        }
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        drop(self.guard.take());
        // A process that waits for the file that is removed finds it gone and takes a new one.
        let alone = self
            .home
            .lock(&self.at, LockKind::Exclusive, Duration::ZERO);
        if alone.is_ok() {
            drop(self.home.remove_file(&self.at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_run_together() {
        let number = |path| number(&RelPath::clean(path).unwrap());
        assert_ne!(number("a/bc"), number("ab/c"));
        assert_ne!(number("a"), number("a/b"));
        assert_eq!(number("a/b"), number("a/./b"));
    }
}
