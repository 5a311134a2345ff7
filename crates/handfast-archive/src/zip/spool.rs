//! A private copy of a zip: what is judged is what is read.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use handfast::{Error, RelPath, Root, TempFile};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::Digest as _;

use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// How much is copied at a time.
const PIECE: usize = 256 * 1024;

/// A nameless file that holds the whole input.
pub(crate) struct Spool {
    /// Keeps the file's place, and takes it away at the end.
    _temp: Option<TempFile>,
    file: File,
    pub(super) len: u64,
    pub(crate) digest: Option<[u8; 32]>,
}

impl Spool {
    /// Copies an input of at most so many bytes.
    pub(crate) fn fill(
        input: &mut dyn Read,
        scratch: Option<&Root>,
        digest: bool,
        most: u64,
    ) -> Result<Self, Stop> {
        let (temp, mut file) = begin(scratch)?;
        let mut digest = digest.then(sha2::Sha256::new);
        let mut buffer = vec![0; PIECE];
        let mut len = 0;
        loop {
            let got = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::unreadable(&error)),
            };
            len += got as u64;
            if len > most {
                return refuse(Rule::Bytes, "the archive itself is larger than allowed");
            }
            if let Some(digest) = &mut digest {
                digest.update(&buffer[..got]);
            }
            file.write_all(&buffer[..got]).map_err(Error::from)?;
        }
        if temp.is_none() {
            let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            fcntl_add_seals(&file, seals).map_err(failed)?;
        }
        Ok(Self {
            _temp: temp,
            file,
            len,
            digest: digest.map(|digest| digest.finalize().into()),
        })
    }

    /// Reads exactly so much from a place that must be inside.
    pub(super) fn exact(&self, at: u64, len: usize) -> Result<Vec<u8>, Stop> {
        let is_inside = at
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.len);
        if !is_inside {
            return refuse(Rule::Truncated, "a record of the zip lies behind its end");
        }
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(|error| Stop::unreadable(&error))?;
        Ok(bytes)
    }

    /// A reader of its own for a section that was checked to be inside.
    pub(super) fn section(&self, at: u64, len: u64) -> Result<Section, Stop> {
        let file = self
            .file
            .try_clone()
            .map_err(|error| Stop::unreadable(&error))?;
        Ok(Section {
            file,
            at,
            left: len,
        })
    }
}

/// An empty file: in a directory, or in memory.
fn begin(scratch: Option<&Root>) -> Result<(Option<TempFile>, File), Error> {
    let Some(scratch) = scratch else {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("handfast-archive", flags).map_err(failed)?;
        return Ok((None, File::from(file)));
    };
    let temp = scratch.temp_file(&RelPath::root())?;
    let file = temp.as_fd().try_clone_to_owned().map_err(Error::from)?;
    Ok((Some(temp), File::from(file)))
}

fn failed(errno: rustix::io::Errno) -> Error {
    Error::from(io::Error::from(errno))
}

/// A section of the copy.
pub(super) struct Section {
    file: File,
    at: u64,
    left: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += got as u64;
        self.left -= got as u64;
        Ok(got)
    }
}
