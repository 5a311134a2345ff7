//! Work in a process of its own, which may come to harm.
#![allow(unsafe_code)]

use crate::Failure;

/// Ends the child without running anything of the parent's, whatever happens before.
struct ExitOnDrop(i32);

impl Drop for ExitOnDrop {
    fn drop(&mut self) {
        // SAFETY: `_exit` takes a number and does not return.
        unsafe { libc::_exit(self.0) }
    }
}

/// Whether `work` answers yes, in a copy of this process. A panic, a signal or an abort is a no.
/// What it says on stderr is not heard.
///
/// # Errors
/// If there can be no such process.
pub(crate) fn succeeds(work: impl FnOnce() -> bool) -> Result<bool, Failure> {
    // SAFETY: the child runs only `work`, on the one thread it has, and then ends. The code that calls
    // sees to it that no other thread is at work here, which could hold the allocator's lock.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => {
            let mut end = ExitOnDrop(1);
            // SAFETY: the descriptor is the child's own, and nothing of ours refers to it.
            unsafe { libc::close(libc::STDERR_FILENO) };
            if work() {
                end.0 = 0;
            }
            drop(end);
            unreachable!("the child has ended")
        }
        child => {
            let mut status = 0;
            // SAFETY: `waitpid` writes one number to the place it is given.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error.into());
                }
            }
            Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::succeeds;

    #[test]
    fn yes_no_and_harm() {
        assert!(succeeds(|| true).unwrap());
        assert!(!succeeds(|| false).unwrap());
        assert!(!succeeds(|| panic!("unheard")).unwrap());
    }
}
