//! Copying what a file has.

use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Fault};
use crate::sys;
use crate::verb::Verb;

/// What one call copies at most: short enough that a signal is answered soon.
const CHUNK: usize = 1 << 30;

/// What is read at once.
const BUFFER: usize = 64 * 1024;

/// What is copied at most of a file that says it is empty.
const WITHOUT_LENGTH: u64 = 64 << 20;

/// Up to here a read and a write cost less than asking for shared blocks and holes.
const SMALL: u64 = 64 * 1024;

/// Copies what a file has now to an empty one, by the cheapest way both sides know. What is added
/// meanwhile is not waited for, so that a file that keeps growing comes to an end. Holes of files over 64 KiB stay holes.
pub(crate) fn copy_content(from: impl AsFd, to: impl AsFd) -> Result<(), Fault> {
    let status = sys::status(&from)?;
    if status.len == 0 {
        // Files of procfs and the like have content and no length.
        // In whole buffers: some want to be read in multiples of what they hold.
        let most = WITHOUT_LENGTH + BUFFER as u64;
        if copy_by_hand(&from, &to, 0, most)? > WITHOUT_LENGTH {
            return Err(Fault::rule(
                ErrorKind::Limit,
                "it says that it is empty, and does not come to an end",
            ));
        }
        return Ok(());
    }
    copy_at_most(from, to, status.len).map(drop)
}

/// Copies the first `len` bytes of an open file, or what there is of them, to an empty one: shared
/// blocks where the filesystem can, and holes left out, if it is longer than 64 KiB. How long that is then.
///
/// # Errors
/// `Quota` if there is no space; `Io`.
pub fn copy_open(from: impl AsFd, to: impl AsFd, len: u64) -> Result<u64, Error> {
    copy_at_most(from, to, len).map_err(|fault| Error::new(Verb::Copy, "", fault))
}

fn copy_at_most(from: impl AsFd, to: impl AsFd, len: u64) -> Result<u64, Fault> {
    if len <= SMALL {
        return copy_by_hand(from, to, 0, len);
    }
    if sys::clone_file(&from, &to).is_ok() {
        // It may have grown since its length was asked for.
        let cloned = sys::status(&to)?.len;
        if cloned > len {
            sys::truncate(&to, len)?;
        }
        return Ok(cloned.min(len));
    }
    let status = sys::status(&from)?;
    if status.blocks.saturating_mul(512) >= status.len {
        return copy_part(from, to, 0, len);
    }
    let mut at = 0;
    while at < len {
        let Some((begin, end)) = sys::next_content(&from, at)? else {
            break;
        };
        let (begin, end) = (begin.min(len), end.min(len));
        at = copy_part(&from, &to, begin, end)?;
        if at < end {
            // It became shorter.
            return Ok(at);
        }
    }
    // What is left is a hole.
    let end = sys::status(&from)?.len.min(len).max(at);
    sys::truncate(&to, end)?;
    Ok(end)
}

/// Copies a range to the same place. Where it ended, which is before `end` if the file did.
fn copy_part(from: impl AsFd, to: impl AsFd, begin: u64, end: u64) -> Result<u64, Fault> {
    let mut at = begin;
    while at < end {
        let chunk = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        match sys::copy_range(&from, &to, at, chunk) {
            // Some filesystems answer 0 for files they cannot copy this way.
            Ok(0) => return copy_by_hand(from, to, at, end),
            Ok(copied) => at += copied as u64,
            Err(fault) if at == begin && cannot_copy_range(&fault) => {
                return copy_by_hand(from, to, at, end);
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(at)
}

fn cannot_copy_range(fault: &Fault) -> bool {
    fault.kind == ErrorKind::Unsupported
        || fault.is(Errno::INVAL)
        || fault.is(Errno::XDEV)
        || fault.is(Errno::PERM)
}

fn copy_by_hand(from: impl AsFd, to: impl AsFd, mut at: u64, end: u64) -> Result<u64, Fault> {
    let size = usize::try_from(end - at).map_or(BUFFER, |len| len.min(BUFFER));
    let mut buffer = vec![0; size];
    while at < end {
        let most = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = sys::pread(&from, &mut buffer[..most], at)?;
        if got == 0 {
            break;
        }
        sys::pwrite_all(&to, &buffer[..got], at)?;
        at += got as u64;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;
    use crate::path::RelPath;
    use crate::root::Root;

    fn files(content: &[u8]) -> (OwnedFd, OwnedFd) {
        let here = Root::open_ambient(std::env::temp_dir()).unwrap();
        let file = || sys::duplicate(here.temp_file(&RelPath::root()).unwrap()).unwrap();
        let (from, to) = (file(), file());
        sys::pwrite_all(&from, content, 0).unwrap();
        (from, to)
    }

    fn content(fd: &OwnedFd) -> Vec<u8> {
        let mut data = vec![0; usize::try_from(sys::status(fd).unwrap().len).unwrap()];
        let got = sys::pread(fd, &mut data, 0).unwrap();
        assert_eq!(got, data.len());
        data
    }

    #[test]
    fn no_more_is_copied_than_was_asked_for() {
        let data: Vec<u8> = (0..400_000_u32).map(|n| n as u8).collect();
        for (len, there) in [
            (100_001, 100_001),
            (0, 0),
            (1, 1),
            (SMALL, SMALL),
            (SMALL + 1, SMALL + 1),
            (500_000, 400_000),
        ] {
            for has_holes in [false, true] {
                let (from, to) = files(&data);
                if has_holes {
                    sys::truncate(&from, 1 << 20).unwrap();
                    sys::truncate(&from, 400_000).unwrap();
                }
                assert_eq!(copy_open(&from, &to, len).unwrap(), there);
                assert_eq!(content(&to), data[..usize::try_from(there).unwrap()]);
                let (from, to) = files(&data);
                assert_eq!(copy_by_hand(&from, &to, 0, len).unwrap(), there);
            }
        }
        let (from, to) = files(&data);
        assert_eq!(copy_by_hand(&from, &to, 7, 100_001).unwrap(), 100_001);
        assert_eq!(content(&to)[7..], data[7..100_001]);
    }

    #[test]
    fn holes_stay_holes() {
        const MIB: u64 = 1 << 20;
        let (from, to) = files(b"begin");
        sys::pwrite_all(&from, b"middle", 64 * MIB).unwrap();
        sys::truncate(&from, 128 * MIB).unwrap();
        copy_content(&from, &to).unwrap();
        let (source, copy) = (sys::status(&from).unwrap(), sys::status(&to).unwrap());
        assert_eq!(copy.len, 128 * MIB);
        let mut middle = [0; 6];
        sys::pread(&to, &mut middle, 64 * MIB).unwrap();
        assert_eq!(&middle, b"middle");
        assert!(
            copy.blocks <= source.blocks + 4096,
            "{} {}",
            source.blocks,
            copy.blocks
        );
    }
}
