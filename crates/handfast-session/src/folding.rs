//! Two questions to directories: does case matter in it, and does it lie below another one.

use handfast::{FilesystemKind, Identity, RelPath, Root};
use rustix::fs::{AtFlags, IFlags, Mode, OFlags, StatxFlags};

use crate::error::Error;

/// `FS_CASEFOLD_FL`: names in this directory are looked up without regard to case.
const CASEFOLD: IFlags = IFlags::from_bits_retain(0x4000_0000);

/// Whether a lookup of the path may find a name of another case: whether any directory on the way
/// folds, as far as it exists. Asked only if a rule depends on it; when in doubt the answer is yes.
pub(crate) fn folds(base: &Root, path: &RelPath) -> bool {
    match base.enforcement().filesystem {
        FilesystemKind::Ext
        | FilesystemKind::F2fs
        | FilesystemKind::Tmpfs
        | FilesystemKind::Overlay
        | FilesystemKind::Bcachefs => {}
        FilesystemKind::Xfs | FilesystemKind::Btrfs | FilesystemKind::Proc => return false,
        // FAT folds always; the others may, and do not say.
        _ => return true,
    }
    let mut dir = RelPath::root();
    for name in path.segments() {
        match flags_of(base, &dir) {
            Some(flags) if flags.contains(CASEFOLD) => return true,
            Some(_) => {}
            // Not there: what is made in a directory that folds inherits that; none did so far.
            None => return false,
        }
        dir = dir.join(name);
    }
    false
}

fn flags_of(base: &Root, path: &RelPath) -> Option<IFlags> {
    let dir = base.open_dir(path).ok()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&dir, c".", flags, Mode::empty()).ok()?;
    // A filesystem that does not know the question does not fold.
    Some(rustix::fs::ioctl_getflags(&fd).unwrap_or(IFlags::empty()))
}

/// Whether a directory lies below the one with an identity, by going up from it.
pub(crate) fn lies_below(dir: &Root, above: &Identity) -> Result<bool, Error> {
    Ok(way_down(dir, above)?.is_some())
}

/// The directories below the one with an identity that lead to a directory, and it itself; `None`
/// if it does not lie there.
pub(crate) fn way_down(dir: &Root, above: &Identity) -> Result<Option<Vec<(u64, u64)>>, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(dir, c".", flags, Mode::empty())?;
    let mut here = number(&at)?;
    let mut way = vec![here];
    loop {
        let up = rustix::fs::openat(&at, c"..", flags, Mode::empty())?;
        let next = number(&up)?;
        if next == here {
            return Ok(None);
        }
        if next == (above.device, above.inode) {
            return Ok(Some(way));
        }
        way.push(next);
        (at, here) = (up, next);
    }
}

fn number(fd: &rustix::fd::OwnedFd) -> Result<(u64, u64), Error> {
    let status = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
    let device = rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor);
    Ok((device, status.stx_ino))
}
