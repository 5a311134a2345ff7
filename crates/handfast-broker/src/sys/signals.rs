//! The signals that a service manager sends.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Keeps signals from this thread and those that it starts, and gives the descriptor that they are
/// read from instead.
///
/// # Errors
/// What the system says.
pub(crate) fn signal_descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: it fills in the set that it is given.
    if unsafe { libc::sigemptyset(set.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for signal in signals {
        // SAFETY: the set was filled in above.
        if unsafe { libc::sigaddset(set.as_mut_ptr(), *signal) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: the set is whole, and nobody asks for the old one.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the set is whole; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is new, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
