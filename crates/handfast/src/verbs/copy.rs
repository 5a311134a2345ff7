//! Copy a file.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::open::{OpenOptions, open_ruled};
use super::write::{Target, WriteOptions, Written};
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::root::Root;
use crate::staging::Draft;
use crate::sys;
use crate::verb::Verb;

/// What one call copies at most: short enough that a signal is answered soon.
const CHUNK: usize = 1 << 30;

/// What is copied at most of a file that says it is empty.
const WITHOUT_LENGTH: u64 = 64 << 20;

impl Root {
    /// Copies a file's content to another name, replacing it atomically.
    ///
    /// A new file gets the source's permission bits (subject to the umask), a replaced one keeps
    /// its own. Times, extended attributes and access control lists are not copied. Blocks are
    /// shared where the filesystem can.
    ///
    /// # Errors
    /// As [`Root::open`] for the source and [`Root::write`] for the destination.
    pub fn copy(&self, from: &RelPath, to: &RelPath) -> Result<Written, Error> {
        self.copy_with(from, to, WriteOptions::new())
    }

    /// As [`Root::copy`], with options.
    ///
    /// # Errors
    /// As [`Root::copy`].
    pub fn copy_with(
        &self,
        from: &RelPath,
        to: &RelPath,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act_on_two(Verb::Copy, from, to, |op| {
            let (source, status) = open_ruled(self, from, OpenOptions::new())?;
            let target = Target::find(self, to)?;
            op.allow_in(target.place.recorded_parent(self)?, Some(&status))?;
            let draft = Draft::create(self, target.place.dir.as_fd(), status.mode & 0o777)?;
            copy_content(&source, draft.fd())?;
            target.publish(self, to, draft, options)
        })
    }
}

/// Copies what a file has now to an empty one, by the cheapest way both sides know. What is added
/// meanwhile is not waited for, so that a file that keeps growing comes to an end; holes stay holes.
pub(super) fn copy_content(from: &OwnedFd, to: &OwnedFd) -> Result<(), Fault> {
    let status = sys::status(from)?;
    if sys::clone_file(from, to).is_ok() {
        // It may have grown just before it was cloned.
        if sys::status(to)?.len > status.len {
            sys::truncate(to, status.len)?;
        }
        return Ok(());
    }
    if status.len == 0 {
        // Files of procfs and the like have content and no length.
        copy_by_hand(from, to, 0, WITHOUT_LENGTH)?;
        return Ok(());
    }
    let has_holes = status.blocks.saturating_mul(512) < status.len;
    copy_at_most(from, to, status.len, has_holes)
}

/// Copies the first `len` bytes, or what is there of them.
fn copy_at_most(from: &OwnedFd, to: &OwnedFd, len: u64, has_holes: bool) -> Result<(), Fault> {
    if !has_holes {
        copy_part(from, to, 0, len)?;
        return Ok(());
    }
    let mut at = 0;
    while at < len {
        let Some((begin, end)) = sys::next_content(from, at)? else {
            break;
        };
        let (begin, end) = (begin.min(len), end.min(len));
        at = copy_part(from, to, begin, end)?;
        if at < end {
            // It became shorter.
            return Ok(());
        }
    }
    // What is left is a hole.
    sys::truncate(to, sys::status(from)?.len.min(len))
}

/// Copies a range to the same place. Where it ended, which is before `end` if the file did.
fn copy_part(from: &OwnedFd, to: &OwnedFd, begin: u64, end: u64) -> Result<u64, Fault> {
    let mut at = begin;
    while at < end {
        let chunk = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        match sys::copy_range(from, to, at, chunk) {
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

fn copy_by_hand(from: &OwnedFd, to: &OwnedFd, mut at: u64, end: u64) -> Result<u64, Fault> {
    let mut buffer = vec![0; 64 * 1024];
    while at < end {
        let most = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = sys::pread(from, &mut buffer[..most], at)?;
        if got == 0 {
            break;
        }
        sys::pwrite_all(to, &buffer[..got], at)?;
        at += got as u64;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let data: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        for has_holes in [false, true] {
            let (from, to) = files(&data);
            copy_at_most(&from, &to, 100_001, has_holes).unwrap();
            assert_eq!(content(&to), data[..100_001]);
            // A file that became shorter gives what it has.
            let (from, to) = files(&data);
            copy_at_most(&from, &to, 400_000, has_holes).unwrap();
            assert_eq!(content(&to), data);
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
