//! The kernel's device, and the mount.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;

/// How a mount is made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MountSettings {
    read_only: bool,
}

impl MountSettings {
    /// A mount that is read and written, for its owner alone.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the kernel refuses every change.
    #[must_use]
    pub fn read_only(mut self, yes: bool) -> Self {
        self.read_only = yes;
        self
    }
}

/// Opens the kernel's device. The user namespace that the process is in then is the one that the
/// mount has to be made in.
///
/// # Errors
/// What the system says: the device is missing, or it is somebody else's.
pub fn open_device() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/fuse", flags, Mode::empty())?)
}

/// Mounts over a directory. Only processes of this user see what is in it; the kernel checks
/// permission bits; set-id bits and devices mean nothing there.
///
/// # Errors
/// What the system says: the process may not mount, or the directory is not there.
pub fn mount_at(
    device: BorrowedFd<'_>,
    directory: &Path,
    settings: MountSettings,
) -> io::Result<()> {
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let options = CString::new(options)?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    if settings.read_only {
        flags |= MountFlags::RDONLY;
    }
    rustix::mount::mount("handfast", directory, "fuse.handfast", flags, &*options)?;
    Ok(())
}
