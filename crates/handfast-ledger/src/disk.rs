//! The two calls whose failure decides what the log may still do; tests make them fail.

use std::fs::File;
#[cfg(test)]
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
#[cfg(test)]
use crate::error::ErrorKind;

/// Syncs and takes space.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    #[cfg(test)]
    pub(crate) fail_sync: AtomicBool,
    #[cfg(test)]
    pub(crate) full: AtomicBool,
    /// Milliseconds that a sync takes.
    #[cfg(test)]
    pub(crate) slow_sync: std::sync::atomic::AtomicU64,
}

impl Disk {
    /// Waits until a file's content is on the disk. An error is final: the kernel may have marked
    /// the pages clean, so a second call that succeeds would prove nothing.
    pub(crate) fn sync(&self, file: &File) -> Result<(), Error> {
        #[cfg(test)]
        if self.fail_sync.load(Ordering::Relaxed) {
            return Err(Error::os(
                "syncing the log",
                std::io::Error::from_raw_os_error(5),
            ));
        }
        #[cfg(test)]
        std::thread::sleep(std::time::Duration::from_millis(
            self.slow_sync.load(Ordering::Relaxed),
        ));
        rustix::fs::fdatasync(file).map_err(|error| Error::os("syncing the log", error))
    }

    /// Whether there is space to be had.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests have a state"))]
    pub(crate) fn may_extend(&self) -> Result<(), Error> {
        #[cfg(test)]
        if self.full.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Full, "no space left for the log"));
        }
        Ok(())
    }
}
