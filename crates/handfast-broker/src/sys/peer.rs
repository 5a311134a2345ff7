//! Questions to the kernel about a process, by socket or by pidfd; never by number.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Linux 6.5.
const SO_PASSPIDFD: libc::c_int = 76;
/// Linux 6.5.
const SO_PEERPIDFD: libc::c_int = 77;
/// Linux 6.13: `_IOWR(0xFF, 11, struct pidfd_info)`, with the structure's first size.
const PIDFD_GET_INFO: libc::c_ulong = 0xC040_FF0B;

/// A process, as the kernel told it in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PidfdInfo {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    /// Where the kernel says.
    pub(crate) cgroup: Option<u64>,
}

/// `struct pidfd_info`, first version.
#[repr(C)]
#[derive(Default)]
struct RawInfo {
    mask: u64,
    cgroup: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    ruid: u32,
    rgid: u32,
    euid: u32,
    egid: u32,
    suid: u32,
    sgid: u32,
    fsuid: u32,
    fsgid: u32,
    exit: i32,
}

const HAS_PID: u64 = 1;
const HAS_CREDENTIALS: u64 = 2;
const HAS_CGROUP: u64 = 4;

/// What the kernel says about the process of a pidfd.
///
/// # Errors
/// `ENOTTY` or `EINVAL` where it cannot; `ESRCH` once the process was reaped.
pub(crate) fn pidfd_info(pidfd: BorrowedFd<'_>) -> io::Result<PidfdInfo> {
    const { assert!(size_of::<RawInfo>() == 64) };
    let mut info = RawInfo {
        mask: HAS_PID | HAS_CREDENTIALS | HAS_CGROUP,
        ..RawInfo::default()
    };
    // SAFETY: the number says that the argument has 64 bytes, which it has, and the kernel reads
    // and writes no more than that.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO as _, &raw mut info) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    if info.mask & HAS_PID == 0 || info.mask & HAS_CREDENTIALS == 0 {
        return Err(io::Error::from_raw_os_error(libc::ENOTTY));
    }
    Ok(PidfdInfo {
        pid: info.tgid,
        uid: info.euid,
        cgroup: (info.mask & HAS_CGROUP != 0).then_some(info.cgroup),
    })
}

/// Who connected, by numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credentials {
    /// 0 for a process that has no number here: it is in another pid namespace.
    pub(crate) pid: u32,
    /// As this user namespace sees it; the overflow uid for one that it has no number for.
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Who connected. Not by rustix, which has no process without a number.
///
/// # Errors
/// What the system says.
pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<Credentials> {
    let mut found = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the value and its length are ours and of the size that is said.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if done < 0 || length as usize != size_of::<libc::ucred>() || found.uid == u32::MAX {
        return Err(io::Error::last_os_error());
    }
    Ok(Credentials {
        pid: u32::try_from(found.pid).unwrap_or(0),
        uid: found.uid,
        gid: found.gid,
    })
}

/// A pidfd of the process that connected.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 6.5.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut raw: RawFd = -1;
    let mut length = size_of::<RawFd>() as libc::socklen_t;
    // SAFETY: the value and its length are ours and of the size that is said.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut raw).cast(),
            &raw mut length,
        )
    };
    if done < 0 || raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel installed this descriptor for us in this very call.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// The supplementary groups that the peer had when it connected.
///
/// # Errors
/// What the system says.
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let mut length = (groups.len() * size_of::<u32>()) as libc::socklen_t;
        // SAFETY: the buffer has `length` bytes.
        let done = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let wanted = length as usize / size_of::<u32>();
        if done == 0 {
            groups.truncate(wanted);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        // The kernel says how much it needs; groups are at most 65,536.
        if error.raw_os_error() != Some(libc::ERANGE) || wanted <= groups.len() || wanted > 65_536 {
            return Err(error);
        }
        groups.resize(wanted, 0);
    }
}

/// Whether every message on the socket says who sent it, by a pidfd.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 6.5.
pub(crate) fn pass_sender(socket: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set_flag(socket, SO_PASSPIDFD, on)
}

/// Whether every message on the socket says who sent it, by number.
///
/// # Errors
/// What the system says.
pub(crate) fn pass_sender_pid(socket: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set_flag(socket, libc::SO_PASSCRED, on)
}

fn set_flag(socket: BorrowedFd<'_>, flag: libc::c_int, on: bool) -> io::Result<()> {
    let on = libc::c_int::from(on);
    // SAFETY: the value is ours and of the size that is said.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            flag,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Which process a pidfd is of, where the kernel gives each an inode of its own: no other process gets
/// that inode before the machine is started again, so it says so also when the pidfd is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ProcessKey {
    device: u64,
    inode: u64,
}

impl ProcessKey {
    /// Asks the kernel; nothing if it does not say.
    pub(crate) fn of(pidfd: BorrowedFd<'_>) -> Option<Self> {
        let found = rustix::fs::fstat(pidfd).ok()?;
        Some(Self {
            device: found.st_dev,
            inode: found.st_ino,
        })
    }
}
