//! Where a trust bundle comes from. The broker's wall keeps it from files and sockets, so a small
//! process that was started before, as the witness is, reads the bundle whenever the broker asks.
//! It is not the witness itself: a source that is slow keeps no connection waiting.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::identity::{Questions, read_all};
use crate::wire::{Channel, Trouble};

/// How long a reading may take; longer than the Workload API is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

/// The largest bundle that is read.
const MAX_BUNDLE: u64 = 4 << 20;

/// Where a trust bundle is read from, again each time.
#[derive(Clone, Debug)]
pub enum BundleSource {
    /// A file with a SPIFFE bundle.
    File(PathBuf),
    /// The socket of a Workload API, and the trust domain that is asked for.
    WorkloadApi {
        /// The socket.
        socket: PathBuf,
        /// The trust domain.
        domain: String,
    },
}

/// Reads a trust bundle again and again; the other end of its socket runs [`serve_bundle`].
#[derive(Debug)]
pub struct BundleReader {
    questions: Mutex<Questions>,
}

impl BundleReader {
    /// Asks over a socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        let channel = Channel::new(socket, PATIENCE)?.waits_at_most(PATIENCE);
        let questions = Mutex::new(Questions::new(channel));
        Ok(Self { questions })
    }

    /// The bundle as it is now.
    ///
    /// # Errors
    /// In words, if it cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        let mut questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let silent = "the process that reads the bundle does not answer";
        let (words, files) = questions.ask(&[]).ok_or(silent)?;
        match <[OwnedFd; 1]>::try_from(files) {
            Ok([file]) => read_all(file, MAX_BUNDLE).map_err(|error| error.to_string()),
            Err(_) => Err(handfast::escape(&words)),
        }
    }
}

/// Answers for the other end of the socket until it closes: with the bundle, which is read again each time.
///
/// # Errors
/// What the system says.
pub fn serve_bundle(socket: UnixStream, source: &BundleSource) -> io::Result<()> {
    let mut channel = Channel::new(socket, PATIENCE)?;
    loop {
        let frame = match channel.receive() {
            Ok(frame) => frame,
            Err(Trouble::Closed) => return Ok(()),
            Err(trouble) => return Err(trouble.into()),
        };
        let mut answer = frame.json;
        answer.push(b' ');
        let file = match source.open() {
            Ok(file) => Some(file),
            Err(why) => {
                answer.extend(why.replace('\0', " ").bytes());
                None
            }
        };
        let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
        channel.send(&mut answer, &files).map_err(io::Error::from)?;
    }
}

impl BundleSource {
    fn open(&self) -> Result<OwnedFd, String> {
        use rustix::fs::{MemfdFlags, Mode, OFlags};
        match self {
            Self::File(path) => {
                // Something else than a file is not waited for.
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
                rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| errno.to_string())
            }
            Self::WorkloadApi { socket, domain } => {
                let text = super::workload::fetch_bundle(socket, domain)?;
                let memory = rustix::fs::memfd_create("bundle", MemfdFlags::CLOEXEC)
                    .map_err(|errno| errno.to_string())?;
                let mut file = std::fs::File::from(memory);
                let written = io::Write::write_all(&mut file, &text)
                    .and_then(|()| io::Seek::rewind(&mut file));
                written.map_err(|error| error.to_string())?;
                Ok(file.into())
            }
        }
    }
}
