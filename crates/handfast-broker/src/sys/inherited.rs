//! The descriptor that a service manager passes.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// `SD_LISTEN_FDS_START`.
const FIRST: RawFd = 3;

/// Takes over descriptor 3, once. The caller has seen `LISTEN_PID` name this process and
/// `LISTEN_FDS` say that there is one.
///
/// # Errors
/// If it is not open, or was taken already.
pub(crate) fn passed_descriptor() -> io::Result<OwnedFd> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    // SAFETY: reading the flags of a number changes nothing, whether or not it is open.
    let flags = unsafe { libc::fcntl(FIRST, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, the service manager passed it to this process for this use, and the
    // flag above lets only one caller come here.
    let fd = unsafe { OwnedFd::from_raw_fd(FIRST) };
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}
