//! One process, held by a pidfd.
//!
//! A pid is a number that the next process may get. A pidfd is the process. Where the kernel gives
//! every process an inode of its own (pidfs, Linux 6.9), that inode names it for as long as the
//! machine runs, also to a broker that was started again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

use crate::sys;

/// `PID_FS_MAGIC`: descriptors of processes have inodes of their own.
const PIDFS: i64 = 0x5049_4446;

/// A process, by number and unique inode; only together they name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, Ord, PartialOrd)]
pub struct ProcessRef {
    /// Its number; 0 for one of another pid namespace.
    pub pid: u32,
    /// Its inode in pidfs.
    pub inode: u64,
}

/// A process that is held.
#[derive(Debug)]
pub(crate) struct Process {
    fd: OwnedFd,
    id: ProcessRef,
    key: sys::ProcessKey,
}

impl Process {
    /// The process of a pidfd.
    ///
    /// # Errors
    /// `Unsupported` where the kernel does not tell processes apart by inode; `NotFound` once it
    /// has ended.
    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        Self::told(fd).map_err(|(error, _)| error)
    }

    /// As [`Process::of`]; a pidfd that does not say which process it is of is given back.
    pub(crate) fn told(fd: OwnedFd) -> Result<Self, (io::Error, OwnedFd)> {
        match Self::names(&fd) {
            Ok((id, key)) => Ok(Self { fd, id, key }),
            Err(error) => Err((error, fd)),
        }
    }

    fn names(fd: &OwnedFd) -> io::Result<(ProcessRef, sys::ProcessKey)> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        #[allow(clippy::useless_conversion, reason = "its width differs by platform")]
        let kind = i64::from(rustix::fs::fstatfs(fd)?.f_type);
        if kind != PIDFS {
            return Err(unsupported());
        }
        let inode = rustix::fs::fstat(fd)?.st_ino;
        let key = sys::ProcessKey::of(fd.as_fd()).ok_or_else(unsupported)?;
        let pid = match sys::pidfd_info(fd.as_fd()) {
            Ok(info) => info.pid,
            // Of another pid namespace: it has no number here, and is known all the same.
            Err(error) if error.raw_os_error() == Some(libc::EREMOTE) => 0,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(_) => return Err(unsupported()),
        };
        Ok((ProcessRef { pid, inode }, key))
    }

    /// Finds a process again that was known before. The number only says where to look; the inode
    /// decides.
    ///
    /// # Errors
    /// `NotFound` if it has ended, even if another process has its number now.
    pub(crate) fn find(id: ProcessRef) -> io::Result<Self> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let pid = i32::try_from(id.pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(gone)?;
        let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|_| gone())?;
        let found = Self::of(fd)?;
        if found.id != id || !found.is_alive() {
            return Err(gone());
        }
        Ok(found)
    }

    /// By which messages of it are known.
    pub(crate) fn key(&self) -> sys::ProcessKey {
        self.key
    }

    pub(crate) fn id(&self) -> ProcessRef {
        self.id
    }

    /// What the kernel says about it now.
    ///
    /// # Errors
    /// If it was reaped.
    pub(crate) fn info(&self) -> io::Result<sys::PidfdInfo> {
        sys::pidfd_info(self.fd.as_fd())
    }

    /// Whether it runs. A zombie does not: polling is what tells.
    pub(crate) fn is_alive(&self) -> bool {
        is_alive(self.fd.as_fd())
    }

    /// Ends it.
    pub(crate) fn kill(&self) -> io::Result<()> {
        Ok(rustix::process::pidfd_send_signal(&self.fd, Signal::KILL)?)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether the process of a pidfd has not ended.
pub(crate) fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let mut wanted = [PollFd::new(&pidfd, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    loop {
        match poll(&mut wanted, Some(&now)) {
            Ok(ready) => return ready == 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// This start of the machine.
pub(crate) fn boot_id() -> io::Result<String> {
    let root = handfast::Root::open_ambient("/proc/sys/kernel/random")?;
    let name = handfast::RelPath::parse("boot_id").map_err(io::Error::from)?;
    let text = root.read_to_limit(&name, 64).map_err(io::Error::from)?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn of_child(child: &std::process::Child) -> Process {
        let pid = Pid::from_child(child);
        Process::of(rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap()).unwrap()
    }

    #[test]
    fn a_process_is_found_again_while_it_lives_and_never_after() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = of_child(&child);
        assert!(process.is_alive());
        let id = process.id();
        assert_eq!(Process::find(id).unwrap().id(), id);
        // The same number with another inode is somebody else.
        let other = ProcessRef {
            inode: id.inode + 1,
            ..id
        };
        assert!(Process::find(other).is_err());
        process.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert!(Process::find(id).is_err());
    }
}
