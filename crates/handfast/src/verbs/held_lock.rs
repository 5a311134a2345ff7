//! A lock that ends with the process that holds it.

use std::os::fd::OwnedFd;

use crate::sys;

/// A locked descriptor, unlocked when it is dropped. Closing it is not enough: a child that was
/// forked meanwhile has a copy, and the lock lasts as long as the last copy.
pub(super) struct HeldLock(OwnedFd);

impl HeldLock {
    /// Takes over a descriptor that is locked.
    pub(super) fn of_locked(fd: OwnedFd) -> Self {
        Self(fd)
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // What cannot be unlocked is unlocked when it is closed.
        drop(sys::unlock(&self.0));
    }
}
