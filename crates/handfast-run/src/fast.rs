//! The kernel's own overlay over the project's path.
//!
//! The directories are held by this side, and opened again inside: a mount is made of what a namespace
//! has itself. What is opened there has to be what is held here.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};

use crate::channel::{Channel, Word};
use crate::mounts::{self, said};
use crate::plan::{Plan, Wall};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::views;

/// The directories of one overlay.
#[derive(Debug)]
pub struct Layers {
    /// What is shown and never changed.
    pub base: OwnedFd,
    /// The directory with `upper` and `work`, which the kernel keeps changes in.
    pub changes: OwnedFd,
}

/// Refuses what the kernel's overlay does not do.
#[allow(
    clippy::disallowed_methods,
    reason = "procfs tells about this process's own mounts"
)]
pub(crate) fn refuse(project: &Project, wall: Wall, read_only: bool) -> Result<(), Refusal> {
    if wall != Wall::Whole || read_only {
        return Err(Refusal::system(
            "the engine `overlayfs` has one wall and one mode, `overlay`",
        ));
    }
    let told = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| Refusal::system(format!("the mounts are not known: {error}")))?;
    let mut inside = project
        .mounted()
        .flat_map(|dir| views::mounts_inside(&told, dir));
    match inside.next() {
        Some(mount) => Err(Refusal::system(format!(
            "`{}` is mounted inside of the project, and the kernel's overlay would show what lies under it",
            handfast::escape(mount.as_os_str().as_bytes())
        ))),
        None => Ok(()),
    }
}

/// Inside, before the host's tree is gone: the directories that the other side holds, as this namespace
/// has them.
pub(crate) fn hear_layers(plan: &Plan, channel: &Channel) -> Result<Vec<Layers>, String> {
    let hear = || match channel.hear() {
        Ok(Some(Word::Layer(dir))) => own(&dir),
        _ => Err("the directories of the overlay did not come".to_owned()),
    };
    let each = plan.project.mounted().map(|_| {
        Ok(Layers {
            base: hear()?,
            changes: hear()?,
        })
    });
    each.collect()
}

/// A directory that another namespace holds, by the path that it has, if that leads to it here.
fn own(held: &OwnedFd) -> Result<OwnedFd, String> {
    let failed = |error: rustix::io::Errno| format!("a directory of the overlay: {error}");
    let number = std::os::fd::AsRawFd::as_raw_fd(held);
    let path = rustix::fs::readlink(format!("/proc/self/fd/{number}"), Vec::new());
    let path = path.map_err(failed)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    let identity = |dir: &OwnedFd| {
        let status = rustix::fs::fstat(dir).map_err(failed)?;
        Ok::<_, String>((status.st_dev, status.st_ino))
    };
    match identity(held)? == identity(&own)? {
        true => Ok(own),
        false => Err("a directory of the overlay was replaced meanwhile".to_owned()),
    }
}

/// Mounts an overlay. The directories get names without commas and colons, which separate options.
pub(crate) fn mount(number: usize, layers: &Layers, path: &Path, at: &Path) -> Result<(), String> {
    let names = ["lower", "changes"].map(|name| PathBuf::from(format!("/{name}{number}")));
    for (name, dir) in names.iter().zip([&layers.base, &layers.changes]) {
        std::fs::create_dir(name).map_err(said("make", name))?;
        show(dir, name).map_err(said("show", path))?;
    }
    let [lower, changes] = names;
    let (lower, changes) = (lower.display(), changes.display());
    let options =
        format!("lowerdir={lower},upperdir={changes}/upper,workdir={changes}/work,userxattr");
    let options = CString::new(options).map_err(|error| error.to_string())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mounts::special("overlay", at, flags, &options).map_err(|why| {
        format!(
            "{why}: the kernel makes no overlay here (it needs Linux 5.11, and a state directory on a \
             filesystem such as ext4, xfs or btrfs)"
        )
    })
}

/// Shows a directory that is held, and nothing that is mounted in it.
fn show(dir: &OwnedFd, at: &Path) -> std::io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = rustix::mount::open_tree(dir.as_fd(), "", flags)?;
    let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(
        &tree,
        "",
        rustix::fs::CWD,
        at,
        how,
    )?)
}
