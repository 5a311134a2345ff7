//! Calls that have no safe wrapper.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Setter, ioctl, opcode};

/// What becomes of what the journal has in memory only.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shutdown {
    /// It is written: metadata is there, file contents perhaps not.
    FlushJournal,
    /// It is lost: what was not synced is as if it had not been done.
    DropJournal,
}

/// Shuts a filesystem down at once: from now on nothing reaches the disk. Needs root.
///
/// # Errors
/// If the filesystem does not know the call.
pub(crate) fn shut_down(dir: impl AsFd, how: Shutdown) -> io::Result<()> {
    /// `FS_IOC_SHUTDOWN`, the same number on every filesystem that has it.
    const SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);
    let flag: u32 = match how {
        Shutdown::FlushJournal => 1,
        Shutdown::DropJournal => 2,
    };
    // SAFETY: the kernel reads one `u32` behind the pointer, which is what `Setter` passes, and
    // writes nothing.
    unsafe { ioctl(dir, Setter::<SHUTDOWN, u32>::new(flag)) }.map_err(io::Error::from)
}

/// Gives this thread, and what it starts, mounts of its own: what it mounts is seen by nobody else
/// and gone with it. Needs root.
///
/// # Errors
/// If that is not allowed here.
pub(crate) fn own_mounts() -> io::Result<()> {
    use rustix::mount::{MountPropagationFlags, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: descriptors stay shared, which is all that this call could make unsound; mounts and
    // the current directory become the thread's own.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(io::Error::from)
}
