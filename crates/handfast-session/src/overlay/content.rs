//! Copying the content of a file: shared blocks where the filesystem can, holes left out, and never
//! more than was asked for.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::error::Error;

/// Up to here a read and a write cost less than asking for shared blocks and holes.
const SMALL: u64 = 64 * 1024;

/// Copies the first `len` bytes of a file, or what there is of them, to an empty one. How long that
/// is then.
pub(super) fn copy_content(from: &File, to: impl AsFd, len: u64) -> Result<u64, Error> {
    if len <= SMALL {
        return copy_by_hand(from, to, 0, len);
    }
    if rustix::fs::ioctl_ficlone(&to, from).is_ok() {
        let cloned = length(&to)?;
        // It may have grown since it was charged.
        if cloned > len {
            rustix::fs::ftruncate(&to, len)?;
        }
        return Ok(cloned.min(len));
    }
    let mut at = 0;
    while at < len {
        let Some((begin, end)) = next_content(from, at)? else {
            break;
        };
        let (begin, end) = (begin.min(len), end.min(len));
        at = copy_part(from, &to, begin, end)?;
        if at < end {
            // It became shorter.
            return Ok(at);
        }
    }
    // What is left is a hole.
    let end = length(from)?.min(len).max(at);
    rustix::fs::ftruncate(&to, end)?;
    Ok(end)
}

fn length(file: impl AsFd) -> Result<u64, Error> {
    Ok(u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0))
}

/// Where content begins at or after a place, and where the next hole does.
fn next_content(file: &File, at: u64) -> Result<Option<(u64, u64)>, Error> {
    let begin = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(begin) => begin,
        Err(Errno::NXIO) => return Ok(None),
        // The filesystem does not know of holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, u64::MAX))),
        Err(errno) => return Err(errno.into()),
    };
    match rustix::fs::seek(file, SeekFrom::Hole(begin)) {
        Ok(end) => Ok(Some((begin, end))),
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Copies a range to the same place. Where it ended, which is before `end` if the file did.
fn copy_part(from: &File, to: impl AsFd, begin: u64, end: u64) -> Result<u64, Error> {
    let mut at = begin;
    while at < end {
        let (mut input, mut output) = (at, at);
        let chunk = usize::try_from(end - at).unwrap_or(1 << 30).min(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut input), &to, Some(&mut output), chunk) {
            Ok(0) => break,
            Ok(copied) => at += copied as u64,
            Err(Errno::INTR) => {}
            // Between some filesystems, and on some, the kernel does not copy.
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) => {
                return copy_by_hand(from, to, at, end);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(at)
}

fn copy_by_hand(from: &File, to: impl AsFd, mut at: u64, end: u64) -> Result<u64, Error> {
    let size = usize::try_from(end - at).map_or(256 * 1024, |len| len.min(256 * 1024));
    let mut buffer = vec![0; size];
    while at < end {
        let most = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = match rustix::io::pread(from, &mut buffer[..most], at) {
            Ok(0) => break,
            Ok(got) => got,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let mut rest = &buffer[..got];
        while !rest.is_empty() {
            match rustix::io::pwrite(&to, rest, at) {
                Ok(put) => {
                    rest = &rest[put..];
                    at += put as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use handfast::{RelPath, Root};

    use super::*;

    fn file() -> File {
        let here = Root::open_ambient(std::env::temp_dir()).unwrap();
        let file = here.temp_file(&RelPath::root()).unwrap();
        File::from(file.as_fd().try_clone_to_owned().unwrap())
    }

    #[test]
    fn no_more_is_copied_than_was_charged() {
        let data: Vec<u8> = (0..400_000_u32).map(|n| n as u8).collect();
        for (len, there) in [
            (100_001, 100_001),
            (0, 0),
            (1, 1),
            (SMALL, SMALL),
            (SMALL + 1, SMALL + 1),
            (500_000, 400_000),
        ] {
            let (from, to) = (file(), file());
            from.write_all_at(&data, 0).unwrap();
            assert_eq!(copy_content(&from, &to, len).unwrap(), there);
            let mut copy = vec![0; usize::try_from(to.metadata().unwrap().len()).unwrap()];
            to.read_exact_at(&mut copy, 0).unwrap();
            assert_eq!(copy, data[..usize::try_from(there).unwrap()]);
            let by_hand = file();
            assert_eq!(copy_by_hand(&from, &by_hand, 0, len).unwrap(), there);
        }
    }

    #[test]
    fn holes_stay_holes() {
        const MIB: u64 = 1 << 20;
        let (from, to) = (file(), file());
        from.write_all_at(b"middle", 64 * MIB).unwrap();
        from.set_len(128 * MIB).unwrap();
        assert_eq!(copy_content(&from, &to, 128 * MIB).unwrap(), 128 * MIB);
        let mut middle = [0; 6];
        to.read_exact_at(&mut middle, 64 * MIB).unwrap();
        assert_eq!(&middle, b"middle");
        let (source, copy) = (from.metadata().unwrap(), to.metadata().unwrap());
        assert_eq!(copy.len(), 128 * MIB);
        assert!(
            copy.blocks() <= source.blocks() + 4096,
            "{source:?} {copy:?}"
        );
    }
}
