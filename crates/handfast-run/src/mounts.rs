//! Single mounts, with the path in every error.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use crate::sys;

/// The flags of `mount_setattr`.
const READ_ONLY: u64 = 0x1;
const NO_SET_ID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;

/// What went wrong, with the path.
pub(crate) fn said(what: &str, path: &Path) -> impl Fn(io::Error) -> String {
    let shown = handfast::escape(path.as_os_str().as_bytes());
    move |error| format!("cannot {what} `{shown}`: {error}")
}

/// Nothing that is mounted here is seen outside, or the other way round.
pub(crate) fn keep_apart() -> Result<(), String> {
    let how = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", how)
        .map_err(io::Error::from)
        .map_err(said("keep mounts of the host apart from", Path::new("/")))
}

/// A new empty directory in memory.
pub(crate) fn memory(at: &Path, mode: u32) -> Result<(), String> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = format!("mode={mode:o}");
    let options = std::ffi::CString::new(options).map_err(|error| error.to_string())?;
    rustix::mount::mount("tmpfs", at, "tmpfs", flags, &*options)
        .map_err(io::Error::from)
        .map_err(said("make a private", at))
}

/// A filesystem of the kernel.
pub(crate) fn special(
    kind: &str,
    at: &Path,
    flags: MountFlags,
    options: &std::ffi::CStr,
) -> Result<(), String> {
    rustix::mount::mount(kind, at, kind, flags, options)
        .map_err(io::Error::from)
        .map_err(said("mount", at))
}

/// Shows a directory or file of the host, with everything that is mounted in it.
pub(crate) fn bind(from: &Path, at: &Path) -> Result<(), String> {
    rustix::mount::mount_bind_recursive(from, at)
        .map_err(io::Error::from)
        .map_err(said("show", from))
}

/// Nothing is changed below, no set-id bit counts and no device is opened.
pub(crate) fn make_read_only(at: &Path) -> Result<(), String> {
    let flags = READ_ONLY | NO_SET_ID | NO_DEVICES;
    sys::set_mount_flags(at, flags, true).map_err(said("make read-only", at))
}

/// As [`make_read_only`], for something that may be changed.
pub(crate) fn make_plain(at: &Path) -> Result<(), String> {
    sys::set_mount_flags(at, NO_SET_ID | NO_DEVICES, true).map_err(said("restrict", at))
}

/// The mount at a path itself becomes read-only; what is mounted in it stays as it is.
pub(crate) fn make_itself_read_only(at: &Path) -> Result<(), String> {
    sys::set_mount_flags(at, READ_ONLY, false).map_err(said("make read-only", at))
}

/// Takes a mount away, now or when nobody uses it any more.
pub(crate) fn detach(at: &Path) -> Result<(), String> {
    rustix::mount::unmount(at, UnmountFlags::DETACH)
        .map_err(io::Error::from)
        .map_err(said("unmount", at))
}
