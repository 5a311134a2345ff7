//! A mount namespace of one's own.

use std::io;

/// Leaves the mount namespace that others share, and the user namespace too if asked to.
///
/// # Errors
/// What the system says: `EPERM` for who may not, `EINVAL` for a process with several threads that
/// leaves its user namespace.
pub(crate) fn leave_namespaces(user_too: bool) -> io::Result<()> {
    let flags = match user_too {
        true => libc::CLONE_NEWUSER | libc::CLONE_NEWNS,
        false => libc::CLONE_NEWNS,
    };
    // SAFETY: no memory is passed. The namespaces that are left say nothing about descriptors, so
    // none that somebody else relies on is closed or replaced.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
