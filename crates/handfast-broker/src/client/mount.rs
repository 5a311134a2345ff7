//! The program's side of a mount: a namespace of its own, and the kernel's device for the broker.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use handfast_fuse::MountSettings;
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountPropagationFlags;
use serde::{Deserialize, Serialize};

use super::{Client, ClientError};
use crate::sys;

#[derive(Serialize)]
struct Mount<'a> {
    lease: &'a str,
    device: u32,
}

#[derive(Deserialize)]
struct Nothing {}

impl Client {
    /// Moves this process into a mount namespace of its own, and mounts what a lease covers over a
    /// directory there. The broker serves it; when the lease ends, files that are open are of no
    /// use any more. This process, and those that it starts, see the mount; others do not.
    ///
    /// # Errors
    /// What the system says: it may not mount, or it has several threads; the broker's refusal.
    pub fn mount(&mut self, lease: &str, at: &Path) -> Result<(), ClientError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || rustix::fs::open(at, flags, Mode::empty()).map_err(io::Error::from);
        // Said before anything is done.
        drop(open()?);
        enter_namespace()?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).map_err(io::Error::from)?;
        // A directory of the namespace that was left cannot be mounted over.
        let at = open()?;
        let device = handfast_fuse::open_device()?;
        handfast_fuse::mount_over(device.as_fd(), at.as_fd(), MountSettings::new())?;
        let asked = Mount { lease, device: 0 };
        let (Nothing {}, _) = self.call_with("Mount", &asked, &[device.as_fd()])?;
        Ok(())
    }
}

/// A mount namespace of this process's own. Who may not make one alone makes a user namespace with it, in
/// which the same user and group have the same numbers.
#[allow(
    clippy::disallowed_methods,
    reason = "procfs takes the numbers of this process's own namespace"
)]
fn enter_namespace() -> io::Result<()> {
    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    match sys::leave_namespaces(false) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        done => return done,
    }
    sys::leave_namespaces(true)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))
}
