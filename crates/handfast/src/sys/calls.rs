//! Calls that every Unix has.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::path::Arg;

use super::retry;
use crate::error::Fault;

/// `openat` with `O_CLOEXEC`. `name` is one component or `"."`.
#[inline]
pub(crate) fn open_at(
    dir: impl AsFd,
    name: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Fault> {
    retry(|| rustix::fs::openat(&dir, name, flags | OFlags::CLOEXEC, mode))
        .map_err(|errno| Fault::sys("openat", errno))
}

pub(crate) fn mkdir_at(dir: impl AsFd, name: impl Arg + Copy, mode: Mode) -> Result<(), Fault> {
    retry(|| rustix::fs::mkdirat(&dir, name, mode)).map_err(|errno| Fault::sys("mkdirat", errno))
}

pub(crate) fn unlink_at(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Fault> {
    retry(|| rustix::fs::unlinkat(&dir, name, AtFlags::empty()))
        .map_err(|errno| Fault::sys("unlinkat", errno))
}

pub(crate) fn rmdir_at(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Fault> {
    retry(|| rustix::fs::unlinkat(&dir, name, AtFlags::REMOVEDIR)).map_err(|errno| match errno {
        // POSIX allows EEXIST for a directory that is not empty.
        Errno::EXIST => Fault::sys("unlinkat", Errno::NOTEMPTY),
        errno => Fault::sys("unlinkat", errno),
    })
}

pub(crate) fn symlink_at(
    target: impl Arg + Copy,
    dir: impl AsFd,
    name: impl Arg + Copy,
) -> Result<(), Fault> {
    retry(|| rustix::fs::symlinkat(target, &dir, name))
        .map_err(|errno| Fault::sys("symlinkat", errno))
}

pub(crate) fn rename_at(
    from: impl AsFd,
    old: impl Arg + Copy,
    to: impl AsFd,
    new: impl Arg + Copy,
) -> Result<(), Fault> {
    retry(|| rustix::fs::renameat(&from, old, &to, new))
        .map_err(|errno| Fault::sys("renameat", errno))
}

/// Another name for what a name refers to; a link is itself.
pub(crate) fn link_at(
    from: impl AsFd,
    old: impl Arg + Copy,
    to: impl AsFd,
    new: impl Arg + Copy,
) -> Result<(), Fault> {
    retry(|| rustix::fs::linkat(&from, old, &to, new, AtFlags::empty()))
        .map_err(|errno| Fault::sys("linkat", errno))
}

/// The text of a link under a name.
pub(crate) fn readlink_at(dir: impl AsFd, name: impl Arg + Copy) -> Result<Vec<u8>, Fault> {
    retry(|| rustix::fs::readlinkat(&dir, name, Vec::new()))
        .map(std::ffi::CString::into_bytes)
        .map_err(|errno| Fault::sys("readlinkat", errno))
}

pub(crate) fn sync_all(fd: impl AsFd) -> Result<(), Fault> {
    retry(|| rustix::fs::fsync(&fd)).map_err(|errno| Fault::sys("fsync", errno))
}

pub(crate) fn truncate(fd: impl AsFd, len: u64) -> Result<(), Fault> {
    retry(|| rustix::fs::ftruncate(&fd, len)).map_err(|errno| Fault::sys("ftruncate", errno))
}

pub(crate) fn chmod_open(fd: impl AsFd, mode: u32) -> Result<(), Fault> {
    retry(|| rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode)))
        .map_err(|errno| Fault::sys("fchmod", errno))
}

pub(crate) fn chown_open(fd: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> Result<(), Fault> {
    retry(|| rustix::fs::fchown(&fd, uid.map(Uid::from_raw), gid.map(Gid::from_raw)))
        .map_err(|errno| Fault::sys("fchown", errno))
}

/// A lock that belongs to the open file, not to the process. `Ok(false)` if another open file holds it.
pub(crate) fn try_lock(fd: impl AsFd, exclusive: bool) -> Result<bool, Fault> {
    let operation = if exclusive {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    };
    match retry(|| rustix::fs::flock(&fd, operation)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(Fault::sys("flock", errno)),
    }
}

pub(crate) fn unlock(fd: impl AsFd) -> Result<(), Fault> {
    retry(|| rustix::fs::flock(&fd, FlockOperation::Unlock))
        .map_err(|errno| Fault::sys("flock", errno))
}

/// Clears `O_NONBLOCK`, keeping `flags` as they were asked for.
#[inline]
pub(crate) fn set_blocking(fd: impl AsFd, flags: OFlags) -> Result<(), Fault> {
    retry(|| rustix::fs::fcntl_setfl(&fd, flags & OFlags::APPEND))
        .map_err(|errno| Fault::sys("fcntl", errno))
}

#[inline]
pub(crate) fn read(fd: impl AsFd, buffer: &mut [u8]) -> Result<usize, Fault> {
    retry(|| rustix::io::read(&fd, &mut *buffer)).map_err(|errno| Fault::sys("read", errno))
}

pub(crate) fn pread(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize, Fault> {
    retry(|| rustix::io::pread(&fd, &mut *buffer, offset))
        .map_err(|errno| Fault::sys("pread", errno))
}

pub(crate) fn write_all(fd: impl AsFd, mut data: &[u8]) -> Result<(), Fault> {
    while !data.is_empty() {
        match retry(|| rustix::io::write(&fd, data)) {
            Ok(0) => return Err(Fault::sys("write", Errno::IO)),
            Ok(written) => data = &data[written..],
            Err(errno) => return Err(Fault::sys("write", errno)),
        }
    }
    Ok(())
}

pub(crate) fn pwrite_all(fd: impl AsFd, mut data: &[u8], mut offset: u64) -> Result<(), Fault> {
    while !data.is_empty() {
        match retry(|| rustix::io::pwrite(&fd, data, offset)) {
            Ok(0) => return Err(Fault::sys("pwrite", Errno::IO)),
            Ok(written) => {
                data = &data[written..];
                offset += written as u64;
            }
            Err(errno) => return Err(Fault::sys("pwrite", errno)),
        }
    }
    Ok(())
}

pub(crate) fn duplicate(fd: impl AsFd) -> Result<OwnedFd, Fault> {
    retry(|| rustix::io::fcntl_dupfd_cloexec(&fd, 0)).map_err(|errno| Fault::sys("fcntl", errno))
}

/// Back to the beginning of a listing.
pub(crate) fn rewind(dir: impl AsFd) -> Result<(), Fault> {
    retry(|| rustix::fs::seek(&dir, rustix::fs::SeekFrom::Start(0)))
        .map(drop)
        .map_err(|errno| Fault::sys("lseek", errno))
}

/// Sets close-on-exec on a descriptor that the caller supplied.
pub(crate) fn close_on_exec(fd: impl AsFd) -> Result<(), Fault> {
    retry(|| rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC))
        .map_err(|errno| Fault::sys("fcntl", errno))
}

/// 64 unpredictable bits, for names that no attacker can plant in advance.
pub(crate) fn random() -> Result<u64, Fault> {
    let mut bytes = [0_u8; 8];
    let got = retry(|| rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()))
        .map_err(|errno| Fault::sys("getrandom", errno))?;
    if got == bytes.len() {
        Ok(u64::from_ne_bytes(bytes))
    } else {
        Err(Fault::sys("getrandom", Errno::IO))
    }
}
