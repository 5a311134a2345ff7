//! One at a time: threads by a mutex, processes by a lock on a directory that nobody can replace.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use handfast::{ErrorKind, Root};
use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::error::Error;

/// How long an ordinary call waits for a commit or another long operation to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// State that several processes share, and the lock on it.
pub(crate) struct Gate<T> {
    /// Nothing where only this process knows the state.
    dir: Option<OwnedFd>,
    /// Whose turn it is among the threads, for as long as an operation takes.
    turn: Mutex<()>,
    /// Held only for as long as it is looked at: readers never wait for a commit.
    state: Mutex<T>,
}

/// Our turn: nobody else changes the state.
pub(crate) struct Locked<'a, T> {
    gate: &'a Gate<T>,
    _turn: MutexGuard<'a, ()>,
}

impl<T> Locked<'_, T> {
    pub(crate) fn state(&self) -> MutexGuard<'_, T> {
        self.gate.peek()
    }
}

impl<T> Gate<T> {
    pub(crate) fn new(dir: Option<&Root>, state: T) -> Result<Self, Error> {
        let dir = match dir {
            Some(root) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                Some(rustix::fs::openat(root, c".", flags, Mode::empty())?)
            }
            None => None,
        };
        Ok(Self {
            dir,
            turn: Mutex::new(()),
            state: Mutex::new(state),
        })
    }

    /// The state as this process knows it, without keeping others away.
    pub(crate) fn peek(&self) -> MutexGuard<'_, T> {
        // State is changed only by values that were complete before, so a panic elsewhere left it
        // whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps everybody else away until it is dropped.
    pub(crate) fn lock(&self) -> Result<Locked<'_, T>, Error> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = &self.dir {
            let deadline = Instant::now() + PATIENCE;
            loop {
                match rustix::fs::flock(dir, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => break,
                    Err(rustix::io::Errno::WOULDBLOCK) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(errno) => return Err(errno.into()),
                }
                if Instant::now() >= deadline {
                    return Err(Error::refused(
                        ErrorKind::Busy,
                        "another process is committing or changing this session; try again",
                    ));
                }
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        Ok(Locked {
            gate: self,
            _turn: turn,
        })
    }
}

impl<T> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        if let Some(dir) = &self.gate.dir {
            // It cannot fail on a descriptor that is open; closing would unlock it too.
            let _ = rustix::fs::flock(dir, FlockOperation::Unlock);
        }
    }
}

impl<T> fmt::Debug for Gate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
