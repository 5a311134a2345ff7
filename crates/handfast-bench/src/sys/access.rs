//! The two system calls of the floor that have no safe wrapper.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// The user whose files this thread makes.
pub(crate) fn making_user() -> u32 {
    // SAFETY: setfsuid(uid_t) touches no memory; an id that cannot be one changes nothing.
    let result = unsafe { libc::setfsuid(u32::MAX) };
    result.cast_unsigned()
}

/// Whether the effective user may write the object behind a pinned descriptor (`faccessat2`).
pub(crate) fn may_write(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: faccessat2(int, const char *, int, int) reads a NUL-terminated path that outlives
    // the call and touches no memory of ours; the descriptor is borrowed for its duration.
    let result = unsafe {
        libc::syscall(
            libc::SYS_faccessat2,
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::W_OK,
            libc::AT_EMPTY_PATH | libc::AT_EACCESS,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}
