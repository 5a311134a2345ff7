//! The one call without a safe form.
#![allow(
    unsafe_code,
    reason = "descriptors that nobody here owns are closed by number"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Closes every descriptor but the first three and these: a shell or another program may have left some
/// open to whatever it starts, and a wall does not cover what is open already.
pub(crate) fn close_others(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    kept.sort_unstable();
    let mut first = 3;
    for number in kept.into_iter().filter(|number| *number >= 3) {
        close_range(first, number - 1)?;
        first = number + 1;
    }
    close_range(first, RawFd::MAX)
}

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: it closes descriptors by number. The caller is a process that was just started and has
    // opened nothing but what it keeps, so no value of this program owns one of them.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
