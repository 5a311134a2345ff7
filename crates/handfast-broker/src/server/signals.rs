//! What a service manager, or an operator at a terminal, asks for by a signal.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Signalled {
    /// `SIGTERM`, `SIGINT`: end.
    Stop,
    /// `SIGHUP`: read the policy again.
    Reload,
}

/// The signals of this process, to be waited for. As process 1 of a container it would not get
/// them otherwise: the kernel keeps what such a process does not ask for.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Takes the signals. Only threads that are started afterwards are kept from them, so this
    /// comes before the first.
    ///
    /// # Errors
    /// What the system says.
    pub fn take() -> io::Result<Self> {
        let signals = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
        crate::sys::signal_descriptor(&signals).map(|fd| Self { fd })
    }

    /// Waits for the next signal, for a while.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> Option<Signalled> {
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let mut wanted = [PollFd::new(&self.fd, PollFlags::IN)];
        poll(&mut wanted, Some(&timeout)).ok()?;
        // One `signalfd_siginfo`; it begins with the signal's number.
        let mut info = [0; 128];
        let got = rustix::io::read(&self.fd, &mut info).ok()?;
        let number = info.first_chunk().filter(|_| got == info.len())?;
        match i32::from_ne_bytes(*number) {
            libc::SIGHUP => Some(Signalled::Reload),
            _ => Some(Signalled::Stop),
        }
    }
}
