//! Read a whole file, up to a limit.

use std::os::fd::OwnedFd;

use super::open::{OpenOptions, open_checked};
use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;
use crate::version::{Version, is_young};

/// How often a file that changes while it is read is read again for a version.
const MAX_TRIES: u32 = 8;

impl Root {
    /// Reads a whole file, up to the root's limit.
    ///
    /// # Errors
    /// `Limit` if it is larger than the limit or grows beyond it; otherwise as [`Root::open`].
    pub fn read(&self, path: &RelPath) -> Result<Vec<u8>, Error> {
        self.read_to_limit(path, self.options.read_limit.0)
    }

    /// Reads a whole file as text, up to the root's limit.
    ///
    /// # Errors
    /// `Kind` if it is not UTF-8; otherwise as [`Root::read`].
    pub fn read_to_string(&self, path: &RelPath) -> Result<String, Error> {
        String::from_utf8(self.read(path)?).map_err(|cause| {
            let fault = Fault::rule(ErrorKind::Kind, "its content is not UTF-8");
            Error::new(Verb::Read, path.to_string(), fault).with_source(cause)
        })
    }

    /// Reads a whole file, or says that nothing is there. One lookup answers both: there is no moment
    /// between asking whether it exists and reading it.
    ///
    /// # Errors
    /// As [`Root::read`], but for `NotFound`.
    pub fn read_optional(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        match self.read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Reads a whole file, up to a limit of the caller's.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn read_to_limit(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        self.act(Verb::Read, path, |op| {
            let (fd, status) = open_checked(self, path, OpenOptions::new(), op)?;
            read_whole(&fd, &status, limit)
        })
    }

    /// Reads a whole file and says which version of it that was.
    ///
    /// # Errors
    /// As [`Root::read`]; `Raced` if the file kept changing while it was read.
    pub fn read_versioned(&self, path: &RelPath) -> Result<(Vec<u8>, Version), Error> {
        self.read_with_version(path, false)
    }

    /// As [`Root::read_versioned`], with the digest of the content in any case: such a version also
    /// notices stores into a mapped file, which change no time.
    ///
    /// # Errors
    /// As [`Root::read_versioned`].
    pub fn read_versioned_with_digest(&self, path: &RelPath) -> Result<(Vec<u8>, Version), Error> {
        self.read_with_version(path, true)
    }

    fn read_with_version(&self, path: &RelPath, digest: bool) -> Result<(Vec<u8>, Version), Error> {
        #[cfg(handfast_sabotage)]
        if crate::sabotage::is("version-apart") {
            return Ok((self.read(path)?, self.version(path)?));
        }
        let limit = self.options.read_limit.0;
        self.act(Verb::Read, path, |op| {
            let (fd, mut before) = open_checked(self, path, OpenOptions::new(), op)?;
            for _ in 0..MAX_TRIES {
                rustix::fs::seek(&fd, rustix::fs::SeekFrom::Start(0))
                    .map_err(|errno| Fault::sys("lseek", errno))?;
                let data = read_whole(&fd, &before, limit)?;
                let after = sys::status(&fd)?;
                if Version::of_status(&before, None) == Version::of_status(&after, None) {
                    let digest = (digest || is_young(&after)).then(|| {
                        use sha2::Digest as _;
                        sha2::Sha256::digest(&data).into()
                    });
                    return Ok((data, Version::of_status(&after, digest)));
                }
                before = after;
            }
            Err(Fault::rule(
                ErrorKind::Raced,
                "the file kept changing while it was read",
            ))
        })
    }
}

/// A file that has nothing to say now, and would be waited for.
fn name_waiting(fault: Fault) -> Fault {
    match fault.kind {
        ErrorKind::Busy => fault.with_kind(ErrorKind::Busy, "nothing can be read from it now"),
        _ => fault,
    }
}

fn too_large() -> Fault {
    Fault::rule(
        ErrorKind::Limit,
        "the file is larger than the limit for whole reads",
    )
}

fn read_whole(fd: &OwnedFd, status: &Metadata, limit: u64) -> Result<Vec<u8>, Fault> {
    // A sparse file may claim any size: look before allocating.
    if status.len > limit {
        return Err(too_large());
    }
    let expected = usize::try_from(status.len).map_err(|_| too_large())?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // One byte more, so that the usual file ends with one short read; not more than it is likely
    // to have, since a hole costs nobody anything but us.
    let mut data = vec![0; expected.min(64 << 20) + 1];
    let mut filled = 0;
    loop {
        let got = sys::read(fd, &mut data[filled..]).map_err(name_waiting)?;
        filled += got;
        if filled > limit {
            return Err(too_large());
        }
        if got == 0 || (filled == expected && expected > 0) {
            data.truncate(filled);
            return Ok(data);
        }
        if filled == data.len() {
            data.resize(data.len().saturating_mul(2).min(limit.saturating_add(1)), 0);
        }
    }
}
