//! Files under a directory, for editors and people.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use handfast_fuse::{Face, MountSettings};
use rustix::mount::UnmountFlags;
use rustix::process::Signal;

use crate::refusal::Refusal;
use crate::supervise::View;
use crate::{sys, views};

/// Mounts files over an empty directory and serves them until somebody unmounts it, or asks this
/// process to end. `apart` are directories that it may not touch: bases, state.
///
/// # Errors
/// A directory that is missing, not empty, a mount already, or inside of one that it has to stay
/// apart from; a system that does not let this user mount.
pub fn show(at: &Path, apart: &[PathBuf], read_only: bool, view: View) -> Result<(), Refusal> {
    let at = empty_directory(at, apart)?;
    let failed = |error: std::io::Error| match error.raw_os_error() {
        Some(libc::EPERM) => {
            Refusal::system("only root may mount for other programs; `handfast run` needs no root")
        }
        _ => Refusal::system(format!("the session cannot be mounted: {error}")),
    };
    let face = Face::new(view.files, view.top)
        .map_err(|error| Refusal::system(format!("the session cannot be mounted: {error}")))?;
    // Before the first thread: all of them leave these signals to the one that waits.
    let endings = sys::Endings::hold().map_err(failed)?;
    let device = handfast_fuse::open_device()
        .map_err(|error| Refusal::system(format!("/dev/fuse cannot be opened: {error}")))?;
    let settings = MountSettings::new().read_only(read_only);
    handfast_fuse::mount_at(device.as_fd(), &at, settings).map_err(failed)?;
    let served = match handfast_fuse::serve(face, device) {
        Ok(served) => served,
        Err(error) => {
            let _ = rustix::mount::unmount(&at, UnmountFlags::DETACH);
            return Err(failed(error));
        }
    };
    let serving = std::thread::spawn(move || {
        drop(served.join());
        // Unmounted by somebody else: wake the thread that waits.
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TERM);
    });
    let ended = endings.wait();
    // It may be gone already.
    let _ = rustix::mount::unmount(&at, UnmountFlags::DETACH);
    drop(serving.join());
    ended.map_err(failed)
}

#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path"
)]
fn empty_directory(at: &Path, apart: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let shown = handfast::escape(at.as_os_str().as_bytes());
    let refused = |why: &str| Refusal::request(format!("`{shown}` {why}"));
    let at = at
        .canonicalize()
        .map_err(|error| refused(&format!("cannot be found: {error}")))?;
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
    let mut entries =
        std::fs::read_dir(&at).map_err(|error| refused(&format!("cannot be listed: {error}")))?;
    match entries.next() {
        Some(_) => Err(refused("is not empty")),
        None => Ok(at),
    }
}
