//! What a test has to ask the system itself.
#![allow(unsafe_code, reason = "a mapping and a fork have no safe form")]

use std::os::fd::AsFd;

/// The first page of a file, mapped for writing.
pub(crate) struct Mapped(*mut u8);

const PAGE: usize = 4096;

impl Mapped {
    pub(crate) fn new(file: impl AsFd) -> Self {
        // SAFETY: a fresh shared mapping of one page; the pointer is used below only, within it,
        // and unmapped once, when dropped.
        let page = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                PAGE,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
                file,
                0,
            )
        };
        Self(page.unwrap().cast())
    }

    pub(crate) fn store(&self, offset: usize, byte: u8) {
        assert!(offset < PAGE);
        // SAFETY: within the mapped page, which lives as long as `self`.
        unsafe { self.0.add(offset).write_volatile(byte) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, not used any more.
        unsafe { rustix::mm::munmap(self.0.cast(), PAGE) }.unwrap();
    }
}

/// A child that holds copies of all descriptors and only waits, killed when dropped.
pub(crate) struct Forked(libc::pid_t);

impl Forked {
    pub(crate) fn new() -> Self {
        // SAFETY: the child calls `pause` and nothing else, which is allowed after a fork of a
        // process with threads.
        match unsafe { libc::fork() } {
            0 => loop {
                // SAFETY: waits for a signal, which ends the process.
                unsafe { libc::pause() };
            },
            child => {
                assert!(child > 0, "a child can be made");
                Self(child)
            }
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // SAFETY: our own child, killed and waited for once.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}
