//! Which program a process runs.
//!
//! The kernel tells the program of another process only to who might trace it, and Landlock takes
//! that away from the broker together with the files. So a small process that was started before
//! the wall went up, the witness, reads `/proc/PID/exe` when it is handed a pidfd, and answers
//! only if the process still runs after it was read. It does nothing else and reaches no client.
//!
//! A program is a fact of the moment it was read: `execve` keeps the process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use super::process::{Process, is_alive};
use crate::sys;
use crate::wire::Channel;

/// How long the witness may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads the program of a process.
#[derive(Debug, Default)]
pub struct ExeReader {
    witness: Option<Mutex<Channel>>,
}

impl ExeReader {
    /// Nobody reads programs: policies that name one match nobody.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks a witness over a socket; the other end runs [`serve_witness`].
    ///
    /// # Errors
    /// What the system says.
    pub fn witness(socket: UnixStream) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            witness: Some(Mutex::new(Channel::new(socket, PATIENCE)?)),
        })
    }

    /// Whether programs are known at all.
    #[must_use]
    pub fn knows(&self) -> bool {
        self.witness.is_some()
    }

    pub(crate) fn read(&self, process: &Process) -> Option<String> {
        let channel = self.witness.as_ref()?;
        // A witness that failed once is out of step and is not asked again for this answer.
        let mut channel = channel.lock().ok()?;
        channel.send(&mut b"?".to_vec(), &[process.as_fd()]).ok()?;
        let answer = channel.receive().ok()?.json;
        (!answer.is_empty()).then(|| handfast::escape(&answer))
    }
}

/// Answers for the other end of the socket until it closes.
///
/// # Errors
/// What the system says.
pub fn serve_witness(socket: UnixStream) -> io::Result<()> {
    let mut channel = Channel::new(socket, PATIENCE)?;
    loop {
        let frame = match channel.receive() {
            Ok(frame) => frame,
            Err(crate::wire::Trouble::Closed) => return Ok(()),
            Err(trouble) => return Err(trouble.into()),
        };
        let mut answer = match frame.fds.first() {
            Some(pidfd) => program(pidfd.as_fd()).unwrap_or_default(),
            None => Vec::new(),
        };
        answer.retain(|byte| *byte != 0);
        channel.send(&mut answer, &[]).map_err(io::Error::from)?;
    }
}

fn program(pidfd: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let pid = sys::pidfd_info(pidfd).ok()?.pid;
    let path = PathBuf::from(format!("/proc/{pid}/exe"));
    let target = rustix::fs::readlink(&path, Vec::new()).ok()?;
    // Read first, then ask whether it was still this process's number.
    is_alive(pidfd).then(|| target.into_bytes())
}

/// The socket that a witness process was started with, as its standard input.
///
/// # Errors
/// What the system says.
pub fn witness_socket_from_stdin() -> io::Result<UnixStream> {
    let fd = std::io::stdin().as_fd().try_clone_to_owned()?;
    let socket = UnixStream::from(fd);
    // Whatever is not a socket fails here and not later.
    socket.peer_addr()?;
    Ok(socket)
}
