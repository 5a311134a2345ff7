//! The content of a whole file, and its version, read through an open handle.

use sha2::Digest as _;

use crate::error::{Error, ErrorKind};
use crate::version::{Version, is_young};

use super::handle::FileHandle;

/// How often a file is read again if it changed while it was read.
const MAX_TRIES: u32 = 8;

/// Reads a whole file through its handle.
///
/// # Errors
/// `Limit` if it is larger than the limit; what the handle says.
pub fn read(file: &dyn FileHandle, limit: u64) -> Result<Vec<u8>, Error> {
    read_expecting(file, file.opened_metadata().len, limit)
}

/// Reads a whole file that is likely to have `len` bytes.
fn read_expecting(file: &dyn FileHandle, len: u64, limit: u64) -> Result<Vec<u8>, Error> {
    // A sparse file may claim any size: look before allocating.
    if len > limit {
        return Err(too_large());
    }
    let expected = usize::try_from(len).map_err(|_| too_large())?;
    let mut data = vec![0; expected.min(64 << 20) + 1];
    let mut filled = 0;
    loop {
        let got = file.read_at(&mut data[filled..], filled as u64)?;
        filled += got;
        if filled as u64 > limit {
            return Err(too_large());
        }
        if got == 0 || (filled == expected && expected > 0) {
            data.truncate(filled);
            return Ok(data);
        }
        if filled == data.len() {
            data.resize(data.len() * 2, 0);
        }
    }
}

/// Content and version of one open file. Both come from the same handle, so an attacker who swaps the
/// name cannot pair the content of one file with the version of another.
///
/// # Errors
/// As [`read`]; `Raced` if the file kept changing while it was read.
pub fn read_versioned(file: &dyn FileHandle, limit: u64) -> Result<(Vec<u8>, Version), Error> {
    let mut before = file.metadata()?;
    for _ in 0..MAX_TRIES {
        let data = read_expecting(file, before.len, limit)?;
        let after = file.metadata()?;
        if Version::of_status(&before, None) == Version::of_status(&after, None) {
            let digest = is_young(&after).then(|| sha2::Sha256::digest(&data).into());
            return Ok((data, Version::of_status(&after, digest)));
        }
        before = after;
    }
    Err(Error::refused(
        ErrorKind::Raced,
        "the file kept changing while it was read",
    ))
}

/// The version of a file that may have to be digested for it.
pub(super) fn version(file: &dyn FileHandle, digest: bool, limit: u64) -> Result<Version, Error> {
    let opened = file.opened_metadata();
    if opened.len > limit && (digest || is_young(opened)) {
        return Err(Error::refused(
            ErrorKind::Limit,
            "the file is too large to be digested",
        ));
    }
    file.version(digest)
}

fn too_large() -> Error {
    Error::refused(
        ErrorKind::Limit,
        "the file is larger than the limit for whole reads",
    )
}
