//! System calls that no crate wraps. Everything unsafe of this crate is here.
#![allow(
    unsafe_code,
    reason = "calls of the system that rustix does not have; each block says why it is sound"
)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::Pid;

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}

/// Namespaces of a program.
pub(crate) const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Forks into new namespaces. `None` in the child.
///
/// # Errors
/// What the kernel says; `Other` if there is more than one thread: the child could wait for a lock
/// that another thread held.
pub(crate) fn fork_into(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("this process has more than one thread"));
    }
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without a stack and without CLONE_VM this is fork: the child has a copy of the memory
    // and goes on here. There is one thread, as was just seen, so no lock is held by another.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(i32::try_from(pid).ok().and_then(Pid::from_raw))
}

/// Forks. `None` in the child.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: called by the first process inside, which has one thread.
    let pid = checked(libc::c_long::from(unsafe { libc::fork() }))?;
    Ok(i32::try_from(pid).ok().and_then(Pid::from_raw))
}

/// Ends this process without destructors: those belong to the process that it was forked from.
pub(crate) fn exit_now(code: u8) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Closes every descriptor but the first three and one more.
pub(crate) fn close_others(kept: BorrowedFd<'_>) -> io::Result<()> {
    let kept = kept.as_raw_fd();
    close_range(3, kept - 1)?;
    close_range((kept + 1).max(3), RawFd::MAX)
}

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: it closes descriptors by number. The caller is a forked child that goes on without
    // any owner of those numbers: it ends by exec or by `exit_now`.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    checked(done).map(drop)
}

/// Sets flags of a mount, and of every mount below it.
pub(crate) fn set_mount_flags(at: &Path, flags: u64, recursive: bool) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    let attr = MountAttr {
        set: flags,
        clear: 0,
        propagation: 0,
        userns: 0,
    };
    let path = CString::new(at.as_os_str().as_bytes())?;
    let how = match recursive {
        true => libc::AT_RECURSIVE,
        false => 0,
    };
    // SAFETY: mount_setattr reads a NUL-terminated path and a struct of the size that is given;
    // both live until it returns.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            how,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    checked(done).map(drop)
}

/// Takes every capability out of the bounding set: no program that is started gets one.
pub(crate) fn drop_bounding_set() -> io::Result<()> {
    for number in 0..64 {
        // SAFETY: it takes numbers only.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
        match checked(libc::c_long::from(done)) {
            Ok(_) => {}
            // Beyond the last one that this kernel knows.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && number > 30 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The version of Landlock; 0 if there is none.
pub(crate) fn landlock_abi() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call takes no pointer and only answers a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Ignores a signal, or gives it its usual meaning again.
pub(crate) fn ignore_signal(signal: libc::c_int, ignore: bool) {
    let action = match ignore {
        true => libc::SIG_IGN,
        false => libc::SIG_DFL,
    };
    // SAFETY: neither is a function of ours that a signal could interrupt us with.
    unsafe { libc::signal(signal, action) };
}

/// The signals that ask a program to end, kept until somebody waits for one.
pub(crate) struct Endings(libc::sigset_t);

impl Endings {
    /// Keeps them, for this thread and for every thread that it starts from now on.
    pub(crate) fn hold() -> io::Result<Self> {
        let mut set = std::mem::MaybeUninit::uninit();
        // SAFETY: sigemptyset makes a whole set of the memory; the others change or read that set,
        // which lives until they return.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
                0 => set,
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        };
        Ok(Self(set))
    }

    /// Waits for one.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut signal = 0;
        // SAFETY: both live until it returns.
        match unsafe { libc::sigwait(&raw const self.0, &raw mut signal) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The number that a process of another pid namespace has in this one: that of its first thread.
///
/// # Errors
/// `ESRCH` if there is none; `ENOTTY` before Linux 6.11.
pub(crate) fn pid_from(namespace: &OwnedFd, pid: u32) -> io::Result<u32> {
    // `_IOR(0xb7, 7, int)`: NS_GET_TGID_FROM_PIDNS.
    translated(namespace, 0x8004_b707, pid)
}

/// The number of a thread of another pid namespace, in ours.
///
/// # Errors
/// As [`pid_from`].
pub(crate) fn thread_from(namespace: &OwnedFd, thread: u32) -> io::Result<u32> {
    // `_IOR(0xb7, 6, int)`: NS_GET_PID_FROM_PIDNS.
    translated(namespace, 0x8004_b706, thread)
}

fn translated(namespace: &OwnedFd, question: libc::c_ulong, number: u32) -> io::Result<u32> {
    let number = libc::c_long::from(number);
    // SAFETY: both questions take a number and answer one. The kernel reads and writes no memory of ours.
    let found = unsafe { libc::ioctl(namespace.as_raw_fd(), question as _, number) };
    let found = checked(libc::c_long::from(found))?;
    u32::try_from(found).map_err(io::Error::other)
}

/// Switches on the loopback of a network of one's own.
pub(crate) fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    // SAFETY: all zeroes is a valid ifreq: it is numbers and a union of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which lives until it returns.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    checked(libc::c_long::from(done)).map(drop)
}

/// What a program would do to type into the terminal that it was started from.
#[cfg(test)]
pub(crate) fn type_into_terminal() -> io::Result<()> {
    let (end, _other) = rustix::pipe::pipe()?;
    let letter = b'x';
    // SAFETY: TIOCSTI reads one byte, which lives until it returns.
    let done = unsafe { libc::ioctl(end.as_raw_fd(), libc::TIOCSTI, &raw const letter) };
    checked(libc::c_long::from(done)).map(drop)
}
