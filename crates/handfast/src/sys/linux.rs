//! Linux: `O_PATH`, `openat2`, `statx`, `renameat2` and what works on a pinned descriptor.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, SeekFrom, Statx,
    StatxAttributes, StatxFlags, StatxTimestamp, Timestamps, Uid,
};
use rustix::io::Errno;
use rustix::path::Arg;

use super::retry;
use crate::error::{ErrorKind, Fault};
use crate::filesystem::FilesystemKind;
use crate::identity::Identity;
use crate::metadata::{FileKind, Metadata, Timestamp};

/// Flags that pin an object without opening it: no permission on the object is needed, nothing
/// happens to it, and a FIFO or device does not wake up.
pub(crate) const PIN: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

/// An unnamed file in a directory.
pub(crate) const UNNAMED: OFlags = OFlags::TMPFILE;

const EMPTY: &CStr = c"";

/// Asked of every object: all that the rules, identities and versions need, in one call.
#[inline(always)]
fn status_mask() -> StatxFlags {
    // Kernels before 6.8 ignore the unique-id bit and answer with the plain mount id asked for
    // beside it.
    StatxFlags::BASIC_STATS
        | StatxFlags::BTIME
        | StatxFlags::MNT_ID
        | StatxFlags::from_bits_retain(libc::STATX_MNT_ID_UNIQUE)
}

/// What the descriptor refers to; works on a pinned one.
#[inline(always)]
pub(crate) fn status(fd: impl AsFd) -> Result<Metadata, Fault> {
    retry(|| rustix::fs::statx(&fd, EMPTY, AtFlags::EMPTY_PATH, status_mask()))
        .map(|status| metadata(&status))
        .map_err(|errno| Fault::sys("statx", errno))
}

/// What a name in a held directory refers to; a link is itself.
#[inline(always)]
pub(crate) fn status_at(dir: impl AsFd, name: impl Arg + Copy) -> Result<Metadata, Fault> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    retry(|| rustix::fs::statx(&dir, name, flags, status_mask()))
        .map(|status| metadata(&status))
        .map_err(|errno| Fault::sys("statx", errno))
}

#[inline(always)]
fn metadata(status: &Statx) -> Metadata {
    let has = |flag: StatxFlags| status.stx_mask & flag.bits() == flag.bits();
    let unique = StatxFlags::from_bits_retain(libc::STATX_MNT_ID_UNIQUE);
    let mode = u32::from(status.stx_mode);
    Metadata {
        identity: Identity {
            device: rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor),
            inode: status.stx_ino,
            mount: (has(unique) || has(StatxFlags::MNT_ID)).then_some(status.stx_mnt_id),
            born: has(StatxFlags::BTIME).then(|| timestamp(status.stx_btime)),
        },
        // What the filesystem did not say is not taken for an answer: no kind that any rule allows,
        // and more names than one.
        kind: if has(StatxFlags::TYPE) {
            kind(FileType::from_raw_mode(mode))
        } else {
            FileKind::Unknown
        },
        mode: mode & 0o7777,
        nlink: if has(StatxFlags::NLINK) {
            u64::from(status.stx_nlink)
        } else {
            u64::MAX
        },
        uid: status.stx_uid,
        gid: status.stx_gid,
        len: status.stx_size,
        blocks: status.stx_blocks,
        accessed: timestamp(status.stx_atime),
        modified: timestamp(status.stx_mtime),
        changed: timestamp(status.stx_ctime),
        mount_root: status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
    }
}

#[inline(always)]
fn timestamp(time: StatxTimestamp) -> Timestamp {
    Timestamp {
        seconds: time.tv_sec,
        nanoseconds: time.tv_nsec,
    }
}

/// The kind as a directory's entry states it (`DT_…`).
#[inline(always)]
pub(crate) fn kind_of_entry(kind: u8) -> FileKind {
    match kind {
        libc::DT_REG => FileKind::File,
        libc::DT_DIR => FileKind::Dir,
        libc::DT_LNK => FileKind::Symlink,
        libc::DT_FIFO => FileKind::Fifo,
        libc::DT_SOCK => FileKind::Socket,
        libc::DT_BLK => FileKind::Block,
        libc::DT_CHR => FileKind::Char,
        _ => FileKind::Unknown,
    }
}

#[inline(always)]
fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Dir,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::BlockDevice => FileKind::Block,
        FileType::CharacterDevice => FileKind::Char,
        FileType::Unknown => FileKind::Unknown,
    }
}

/// `openat2`: the one call that takes a whole path. Returns the bare number, since the resolver
/// decides what it means.
#[inline(always)]
pub(crate) fn open_beneath(
    root: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    // openat2 refuses a mode where nothing is created.
    let mode = if flags.intersects(OFlags::CREATE | OFlags::TMPFILE & !OFlags::DIRECTORY) {
        mode
    } else {
        Mode::empty()
    };
    retry(|| rustix::fs::openat2(&root, path, flags | OFlags::CLOEXEC, mode, resolve))
}

/// The text of the link that a pinned descriptor refers to.
pub(crate) fn readlink_pinned(fd: impl AsFd) -> Result<Vec<u8>, Fault> {
    super::readlink_at(fd, EMPTY)
}

pub(crate) fn rename_noreplace(
    from: impl AsFd,
    old: impl Arg + Copy,
    to: impl AsFd,
    new: impl Arg + Copy,
) -> Result<(), Fault> {
    rename_with(from, old, to, new, RenameFlags::NOREPLACE)
}

pub(crate) fn rename_exchange(
    from: impl AsFd,
    old: impl Arg + Copy,
    to: impl AsFd,
    new: impl Arg + Copy,
) -> Result<(), Fault> {
    rename_with(from, old, to, new, RenameFlags::EXCHANGE)
}

fn rename_with(
    from: impl AsFd,
    old: impl Arg + Copy,
    to: impl AsFd,
    new: impl Arg + Copy,
    flags: RenameFlags,
) -> Result<(), Fault> {
    retry(|| rustix::fs::renameat_with(&from, old, &to, new, flags))
        .map_err(|errno| Fault::sys("renameat2", errno))
}

/// Waits until every change of a directory's entries that has begun is over and seen, by a call that
/// needs the directory for itself and changes nothing: a rename of a name to itself that must not
/// replace anything.
pub(crate) fn wait_for_changes(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Fault> {
    match rename_noreplace(&dir, name, &dir, name) {
        // It is there, or it is not; both are known only with the directory held.
        Err(fault) if fault.is(Errno::EXIST) || fault.is(Errno::NOENT) => return Ok(()),
        _ => {}
    }
    // Read-only, or a filter does not know the call. A name that nobody asked for before is looked
    // for in the directory itself, which is held for that too.
    let missing = format!(".handfast-none-{:016x}", super::random()?);
    match status_at(&dir, missing.as_str()) {
        Err(fault) if fault.is(Errno::NOENT) => Ok(()),
        Err(fault) => Err(fault),
        Ok(_) => Ok(()),
    }
}

/// Gives a name to the object behind a descriptor. Needs no procfs; kernels before 6.10 want a
/// capability for it and answer ENOENT.
pub(crate) fn link_pinned(
    fd: impl AsFd,
    dir: impl AsFd,
    name: impl Arg + Copy,
) -> Result<(), Fault> {
    retry(|| rustix::fs::linkat(&fd, EMPTY, &dir, name, AtFlags::EMPTY_PATH))
        .map_err(|errno| Fault::sys("linkat", errno))
}

/// Changes the mode of the object behind a pinned descriptor (Linux 6.6). On older kernels the
/// object is opened through the same descriptor's directory by the caller instead.
pub(crate) fn chmod_pinned(fd: impl AsFd, mode: u32) -> Result<(), Fault> {
    retry(|| {
        // SAFETY: fchmodat2(int, const char *, mode_t, int) reads a NUL-terminated path that
        // outlives the call and touches no memory of ours; the descriptor is borrowed for its
        // duration.
        let result = unsafe {
            libc::syscall(
                libc::SYS_fchmodat2,
                fd.as_fd().as_raw_fd(),
                EMPTY.as_ptr(),
                mode,
                libc::AT_EMPTY_PATH,
            )
        };
        number(result)
    })
    .map_err(|errno| Fault::sys("fchmodat2", errno))
}

pub(crate) fn chown_pinned(fd: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> Result<(), Fault> {
    let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    retry(|| rustix::fs::chownat(&fd, EMPTY, uid, gid, AtFlags::EMPTY_PATH))
        .map_err(|errno| Fault::sys("fchownat", errno))
}

pub(crate) fn set_times_pinned(fd: impl AsFd, times: &Timestamps) -> Result<(), Fault> {
    retry(|| rustix::fs::utimensat(&fd, EMPTY, times, AtFlags::EMPTY_PATH))
        .map_err(|errno| Fault::sys("utimensat", errno))
}

/// Whether the caller's effective user may write the object behind a pinned descriptor.
pub(crate) fn may_write_pinned(fd: impl AsFd) -> Result<(), Fault> {
    retry(|| {
        // SAFETY: faccessat2(int, const char *, int, int) reads a NUL-terminated path that
        // outlives the call and touches no memory of ours; the descriptor is borrowed for its
        // duration.
        let result = unsafe {
            libc::syscall(
                libc::SYS_faccessat2,
                fd.as_fd().as_raw_fd(),
                EMPTY.as_ptr(),
                libc::W_OK,
                libc::AT_EMPTY_PATH | libc::AT_EACCESS,
            )
        };
        number(result)
    })
    .map_err(|errno| Fault::sys("faccessat2", errno))
}

/// Which signal says that others want a file that is leased. The `libc` crate does not name it here.
const F_SETSIG: libc::c_int = 10;

/// Takes a write lease on an open file: nobody else has it open or mapped, and an open of others
/// waits until it is given back. `false` if somebody has it open.
pub(crate) fn lease(fd: impl AsFd) -> Result<bool, Fault> {
    let fd = fd.as_fd().as_raw_fd();
    // The holder is sent a signal when others want the file. By default that is SIGIO, which ends a
    // process that does not expect it; SIGURG is ignored by one that does not.
    // SAFETY: fcntl(int, F_SETSIG | F_SETLEASE, int) takes numbers and touches no memory.
    let result = unsafe {
        match libc::fcntl(fd, F_SETSIG, libc::SIGURG) {
            0 => libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK),
            failed => failed,
        }
    };
    match number(result.into()) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(errno) => Err(Fault::sys("fcntl", errno)),
    }
}

/// Gives a lease back.
pub(crate) fn give_lease_back(fd: impl AsFd) {
    // SAFETY: fcntl(int, F_SETLEASE, int) takes numbers and touches no memory. It cannot fail on a
    // lease that is held; closing the file would end it too.
    unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
}

/// The user whose files this thread makes.
pub(crate) fn making_user() -> u32 {
    // SAFETY: setfsuid(uid_t) touches no memory; an id that cannot be one changes nothing and
    // answers with the one in force.
    let result = unsafe { libc::setfsuid(u32::MAX) };
    result.cast_unsigned()
}

/// The clock that filesystems stamp with: as coarse as theirs, and never ahead of it.
pub(crate) fn stamping_clock() -> Timestamp {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_gettime writes the one timespec it is given, which is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    Timestamp {
        #[allow(
            clippy::useless_conversion,
            reason = "the type is narrower on some platforms"
        )]
        seconds: now.tv_sec.into(),
        nanoseconds: u32::try_from(now.tv_nsec).unwrap_or(0),
    }
}

/// Whether an unnamed file can be given a name by its descriptor: asked with a name that is always
/// taken, so that nothing is made.
pub(crate) fn can_link_pinned(fd: impl AsFd, dir: impl AsFd) -> bool {
    link_pinned(fd, dir, c".").is_err_and(|fault| fault.is(Errno::EXIST))
}

fn number(result: libc::c_long) -> Result<(), Errno> {
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Fills a buffer with entries of a directory, as the kernel writes them; 0 at the end.
pub(crate) fn list_entries(fd: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    retry(|| {
        // SAFETY: getdents64(int, void *, size_t) writes at most the given number of bytes to the
        // buffer, which is borrowed exclusively for the call, and returns how many it wrote; the
        // descriptor is borrowed for its duration.
        let result = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                fd.as_fd().as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        usize::try_from(result).map_err(|_| last_error())
    })
}

/// Shares the blocks of one file with another where the filesystem can.
pub(crate) fn clone_file(from: impl AsFd, to: impl AsFd) -> Result<(), Fault> {
    rustix::fs::ioctl_ficlone(to, from).map_err(|errno| Fault::sys("ioctl_ficlone", errno))
}

/// Copies a range to the same place without passing it through user space.
pub(crate) fn copy_range(
    from: impl AsFd,
    to: impl AsFd,
    at: u64,
    len: usize,
) -> Result<usize, Fault> {
    retry(|| {
        let (mut input, mut output) = (at, at);
        rustix::fs::copy_file_range(&from, Some(&mut input), &to, Some(&mut output), len)
    })
    .map_err(|errno| Fault::sys("copy_file_range", errno))
}

/// Where content begins at or after a place, and where the next hole does. `None` if there is none
/// to the end.
pub(crate) fn next_content(fd: impl AsFd, at: u64) -> Result<Option<(u64, u64)>, Fault> {
    let seek = |to| retry(|| rustix::fs::seek(&fd, to));
    let begin = match seek(SeekFrom::Data(at)) {
        Ok(begin) => begin,
        Err(Errno::NXIO) => return Ok(None),
        // The filesystem does not know of holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, u64::MAX))),
        Err(errno) => return Err(Fault::sys("lseek", errno)),
    };
    match seek(SeekFrom::Hole(begin)) {
        Ok(end) => Ok(Some((begin, end))),
        // It became shorter meanwhile.
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(Fault::sys("lseek", errno)),
    }
}

/// Whether a pinned link in a held directory may be followed at all: those of procfs may be magic,
/// and their text is not where they lead; and a mount may forbid it.
pub(crate) fn check_links_followed(link: impl AsFd, dir: impl AsFd) -> Result<(), Fault> {
    let mount =
        retry(|| rustix::fs::fstatfs(&link)).map_err(|errno| Fault::sys("fstatfs", errno))?;
    if FilesystemKind::from_magic(magic(mount.f_type)) == FilesystemKind::Proc
        && !has_ordinary_links(status(dir)?.identity.inode)
    {
        return Err(Fault::rule(
            ErrorKind::Link,
            "links of processes in procfs are not followed",
        ));
    }
    let status = mount;
    if u64::try_from(status.f_flags).is_ok_and(|flags| flags & NOSYMFOLLOW != 0) {
        return Err(Fault::rule(
            ErrorKind::Link,
            "links are not followed on this mount",
        ));
    }
    Ok(())
}

/// Whether links in a directory of procfs are ordinary ones: `self`, `mounts`, `net`. Magic ones are
/// only in the directories of processes. The top has number 1, and what is registered by name is
/// numbered from `0xf000_0000` up. A wrong guess lets nobody out: the walk takes a link's text and
/// confines it like any other.
fn has_ordinary_links(dir: u64) -> bool {
    dir == 1 || dir >= 0xf000_0000
}

/// `ST_NOSYMFOLLOW` (Linux 5.10); the C library's headers do not have it yet.
const NOSYMFOLLOW: u64 = 0x2000;

/// Which filesystem a descriptor lies on.
pub(crate) fn filesystem(fd: impl AsFd) -> Result<FilesystemKind, Fault> {
    retry(|| rustix::fs::fstatfs(&fd))
        .map(|status| FilesystemKind::from_magic(magic(status.f_type)))
        .map_err(|errno| Fault::sys("fstatfs", errno))
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "magic numbers are 32 bits wide whatever the platform's type"
)]
fn magic(number: rustix::fs::FsWord) -> u32 {
    number as u32
}

/// How many threads this process has.
pub(crate) fn thread_count() -> Result<u64, Fault> {
    let stat = rustix::fs::stat(c"/proc/self/task").map_err(|errno| Fault::sys("stat", errno))?;
    match stat.st_nlink.checked_sub(2) {
        Some(threads) if threads > 0 => Ok(threads),
        _ => Err(Fault::rule(
            ErrorKind::Unsupported,
            "the number of threads is not known without procfs",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filesystem that does not tell how many names a file has, or what it is, is not taken at a
    /// word that it did not say.
    #[test]
    fn l14_what_the_filesystem_did_not_say_is_not_believed() {
        let name = format!("handfast-statx-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = std::fs::File::create_new(&path).unwrap();
        let told = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, status_mask());
        rustix::fs::unlink(&path).unwrap();
        let mut told = told.unwrap();
        let before = metadata(&told);
        assert!(before.is_file() && !before.has_other_names());
        told.stx_mask &= !StatxFlags::NLINK.bits();
        assert!(metadata(&told).has_other_names());
        told.stx_mask &= !StatxFlags::TYPE.bits();
        assert_eq!(metadata(&told).kind, FileKind::Unknown);
        assert!(metadata(&told).kind.is_special());
    }
}
