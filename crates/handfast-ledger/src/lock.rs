//! One writer: a lock on a file of the log, held as long as the log is open.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind};
use crate::store::Store;

const FILE: &str = "lock";
const PAUSE: Duration = Duration::from_millis(5);

/// The lock; gone with the value, or with the process.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Waits for the lock, but not for ever.
    pub(crate) fn take(store: &Store, patience: Duration) -> Result<Self, Error> {
        let file = store.open_file(FILE, true)?;
        let deadline = Instant::now() + patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(Error::new(
                        ErrorKind::Busy,
                        "another process is writing to this log",
                    ));
                }
                Err(error) => return Err(Error::os("locking the log", error)),
            }
        }
    }
}
