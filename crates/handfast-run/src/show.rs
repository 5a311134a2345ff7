//! Files under a directory, for editors and people.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use handfast_fuse::{Face, MountSettings};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::mount::UnmountFlags;
use rustix::process::Signal;

use crate::refusal::Refusal;
use crate::supervise::ProjectView;
use crate::{sys, views};

/// Mounts files over an empty directory and serves them until somebody unmounts it, or asks this
/// process to end. `apart` are directories that it may not touch: bases, state.
///
/// # Errors
/// A directory that is missing, not empty, a mount already, or inside of one that it has to stay
/// apart from; a system that does not let this user mount.
pub fn show(
    at: &Path,
    apart: &[PathBuf],
    read_only: bool,
    view: ProjectView,
) -> Result<(), Refusal> {
    let at = empty_directory(at, apart)?;
    let failed = |error: std::io::Error| match error.raw_os_error() {
        Some(libc::EPERM) => {
            Refusal::system("only root may mount for other programs; `handfast run` needs no root")
        }
        _ => Refusal::system(format!("the session cannot be mounted: {error}")),
    };
    let face = Face::new(view.files, view.top)
        .map_err(|error| Refusal::system(format!("the session cannot be mounted: {error}")))?
        .watching()
        .with_room_for_waiting(view.waiting);
    // Before the first thread: all of them leave these signals to the one that waits.
    let endings = sys::Endings::hold().map_err(failed)?;
    let device = handfast_fuse::open_device()
        .map_err(|error| Refusal::system(format!("/dev/fuse cannot be opened: {error}")))?;
    let settings = MountSettings::new().read_only(read_only);
    let mount = handfast_fuse::mount_over(device.as_fd(), at.as_fd(), settings).map_err(failed)?;
    let served = match handfast_fuse::serve(face, device) {
        Ok(served) => served,
        Err(error) => {
            unmount(mount);
            return Err(failed(error));
        }
    };
    let serving = std::thread::spawn(move || {
        drop(served.join());
        // Unmounted by somebody else: wake the thread that waits.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TERM);
    });
    let ended = endings.wait();
    unmount(mount);
    drop(serving.join());
    ended.map_err(failed)
}

/// Takes a mount away, wherever its directory was moved. It may be gone already.
#[allow(
    clippy::disallowed_methods,
    reason = "procfs tells about this process's own mounts"
)]
fn unmount(mount: u64) {
    let Ok(told) = std::fs::read("/proc/self/mountinfo") else {
        return;
    };
    let Some(at) = views::place_of(&told, mount) else {
        return;
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(top) = rustix::fs::open(&at, flags, Mode::empty()) else {
        return;
    };
    // The path may lead elsewhere by now: what is taken away is what was opened, if it is ours.
    let found = rustix::fs::statx(&top, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    if found.is_ok_and(|found| found.stx_mnt_id == mount) {
        let here = format!("/proc/self/fd/{}", top.as_raw_fd());
        let _ = rustix::mount::unmount(here, UnmountFlags::DETACH);
    }
}

/// The directory, held from here on: what is judged is what is mounted over, whatever its owner
/// puts under the name meanwhile.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path"
)]
fn empty_directory(at: &Path, apart: &[PathBuf]) -> Result<OwnedFd, Refusal> {
    let shown = handfast::escape(at.as_os_str().as_bytes());
    let refused = |why: &str| Refusal::request(format!("`{shown}` {why}"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let missing = |error: std::io::Error| refused(&format!("cannot be found: {error}"));
    let held = rustix::fs::open(at, flags, Mode::empty()).map_err(|errno| missing(errno.into()))?;
    let through = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let at = std::fs::read_link(&through).map_err(missing)?;
    for other in apart {
        let other = other.canonicalize().unwrap_or_else(|_| other.clone());
        if at.starts_with(&other) || other.starts_with(&at) {
            return Err(refused("holds a base or Handfast's state, or lies in it"));
        }
    }
    let mounts = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| Refusal::system(format!("the mounts are not known: {error}")))?;
    if views::is_mount(&mounts, &at) {
        return Err(refused("is a mount already"));
    }
    let mut entries = std::fs::read_dir(&through)
        .map_err(|error| refused(&format!("cannot be listed: {error}")))?;
    match entries.next() {
        Some(_) => Err(refused("is not empty")),
        None => Ok(held),
    }
}
