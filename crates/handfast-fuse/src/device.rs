//! The kernel's device, and the mount.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags};

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

/// Mounts over a directory that is held, and returns the number of the mount. The directory's path
/// is not walked. Otherwise as [`mount_at`].
///
/// # Errors
/// As [`mount_at`].
pub fn mount_over(
    device: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    settings: MountSettings,
) -> io::Result<u64> {
    let context = mount::fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let context = context.as_fd();
    let set = |key: &str, value: &str| mount::fsconfig_set_string(context, key, value);
    set("source", "handfast")?;
    set("subtype", "handfast")?;
    set("fd", &device.as_raw_fd().to_string())?;
    set("rootmode", "40000")?;
    set("user_id", &rustix::process::getuid().as_raw().to_string())?;
    set("group_id", &rustix::process::getgid().as_raw().to_string())?;
    mount::fsconfig_set_flag(context, "default_permissions")?;
    mount::fsconfig_create(context)?;
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if settings.read_only {
        attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    let made = mount::fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let by_descriptor =
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    mount::move_mount(&made, "", directory, "", by_descriptor)?;
    let status = rustix::fs::statx(made, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    Ok(status.stx_mnt_id)
}
