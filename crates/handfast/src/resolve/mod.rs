//! From a root and a path to a descriptor, or to a pinned parent and one name.
//!
//! Two backends give the same answers: [`kernel`] asks for the whole path in one `openat2` call,
//! [`walk`] goes one component at a time. This file is the one place that decides between them.
//! A backend is left for one reason only, that `openat2` is not there (any more); never because it
//! said "try again", or an attacker who can rename could choose the resolver.

pub(crate) mod itinerary;
mod kernel;
mod place;
mod probe;
mod walk;

pub(crate) use probe::{Probe, probe_in_place};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::enforcement::Backend;
use crate::error::{ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::{Name, RelPath};
use crate::root::Root;

/// The kernel takes paths below this length in one call.
const PATH_MAX: usize = 4096;

/// What to do with a link as last component.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Last {
    /// As the root's policy for links says.
    Follow,
    /// The link itself is meant.
    Itself,
}

/// A pinned parent: the root itself, or a directory below it.
pub(crate) enum ParentFd {
    Root(Root),
    Below(OwnedFd),
}

impl AsFd for ParentFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => root.pinned.fd.as_fd(),
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

/// A pinned parent and one name in it.
pub(crate) struct Place {
    pub(crate) dir: ParentFd,
    pub(crate) name: Name,
    /// Whether the last component was a link that was followed to get here: then nothing may be
    /// created under the name.
    pub(crate) through_link: bool,
}

/// A descriptor, and what it refers to where that had to be asked on the way.
struct Opened {
    fd: OwnedFd,
    status: Option<Metadata>,
}

impl From<OwnedFd> for Opened {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, status: None }
    }
}

/// Opens what the path names.
///
/// `flags` must not create where links are followed: see [`create`].
#[inline(always)]
pub(crate) fn open(
    root: &Root,
    path: &RelPath,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> Result<OwnedFd, Fault> {
    reach(root, path, flags, mode, last).map(|opened| opened.fd)
}

/// Pins what the path names and says what it is: on our mount, and not denied. `flags` pin
/// (`O_PATH`), and may ask for a directory.
#[inline(always)]
pub(crate) fn pin(
    root: &Root,
    path: &RelPath,
    flags: OFlags,
    last: Last,
) -> Result<(OwnedFd, Metadata), Fault> {
    debug_assert!(flags.contains(OFlags::PATH));
    let opened = reach(root, path, flags, Mode::empty(), last)?;
    let status = match opened.status {
        Some(status) => status,
        None => crate::sys::status(&opened.fd)?,
    };
    crate::rules::check_passage(root, &status)?;
    Ok((opened.fd, status))
}

#[inline(always)]
fn reach(
    root: &Root,
    path: &RelPath,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> Result<Opened, Fault> {
    let flags = if path.must_be_dir() {
        flags | OFlags::DIRECTORY
    } else {
        flags
    };
    if root.backend() == Backend::Kernel && path.as_bytes().len() < PATH_MAX {
        match kernel::open(root, path.as_bytes(), path.as_c_str(), flags, mode, last) {
            kernel::KernelReply::Done(result) => return result.map(Opened::from),
            kernel::KernelReply::Absent => root.lose_kernel()?,
        }
    }
    walk::open(root, path, flags, mode, last)
}

/// Opens a file that may have to be created. Nothing is ever created through a link.
pub(crate) fn create(
    root: &Root,
    path: &RelPath,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Fault> {
    debug_assert!(flags.contains(OFlags::CREATE));
    match open(root, path, flags, mode, Last::Itself) {
        Err(fault) if fault.kind == ErrorKind::Link && root.link_policy().are_followed() => {}
        done => return done,
    }
    // A link is on the way: find the place it leads to, and create only if the link was not the
    // last component. A new file is never looked for behind a link.
    let last = if flags.contains(OFlags::EXCL) {
        Last::Itself
    } else {
        Last::Follow
    };
    let place = place(root, path, last).map_err(|fault| match fault.kind {
        ErrorKind::NotFound if is_link(root, path) => leads_to_nothing(),
        _ => fault,
    })?;
    let flags = if place.through_link {
        flags - OFlags::CREATE
    } else {
        flags
    };
    crate::sys::open_at(
        &place.dir,
        place.name.as_c_str(),
        flags | OFlags::NOFOLLOW,
        mode,
    )
    .map_err(|fault| match fault.kind {
        ErrorKind::NotFound if place.through_link => leads_to_nothing(),
        _ => fault,
    })
}

/// Whether the last component is a link: asked to name an error.
fn is_link(root: &Root, path: &RelPath) -> bool {
    place(root, path, Last::Itself)
        .and_then(|place| place.status())
        .is_ok_and(|status| status.is_symlink())
}

/// Nothing is ever created through a link.
pub(crate) fn leads_to_nothing() -> Fault {
    Fault::rule(ErrorKind::Link, "the link leads to nothing")
}

/// Pins the parent of what the path names.
pub(crate) fn place(root: &Root, path: &RelPath, last: Last) -> Result<Place, Fault> {
    let Some((parent, name)) = path.split() else {
        return Err(root_itself());
    };
    if last == Last::Follow && root.link_policy().are_followed() {
        // The components after a followed link are only known to the walk.
        return walk::place(root, path, last);
    }
    if parent.is_empty() {
        return Ok(Place {
            dir: ParentFd::Root(root.clone()),
            name: name.to_name(),
            through_link: false,
        });
    }
    if root.backend() == Backend::Kernel && parent.len() < PATH_MAX {
        let flags = pin_dir();
        match kernel::open(root, parent, parent, flags, Mode::empty(), Last::Follow) {
            kernel::KernelReply::Done(result) => {
                return Ok(Place {
                    dir: ParentFd::Below(result?),
                    name: name.to_name(),
                    through_link: false,
                });
            }
            kernel::KernelReply::Absent => root.lose_kernel()?,
        }
    }
    walk::place(root, path, last)
}

/// As [`place`] for the entry itself, with the number of directories between it and the root.
pub(crate) fn place_with_depth(root: &Root, path: &RelPath) -> Result<(Place, usize), Fault> {
    if path.is_root() {
        return Err(root_itself());
    }
    match root.link_policy() {
        // Without links the depth is what was asked for.
        Links::Refuse => {
            let place = place(root, path, Last::Itself)?;
            Ok((place, root.depth_now()? + path.depth() - 1))
        }
        Links::Beneath | Links::InRoot => {
            let (place, depth) = walk::place_with_depth(root, path)?;
            Ok((place, root.depth_now()? + depth))
        }
    }
}

/// Whether the way to a path's parent leads through a directory, the root included. Asked where
/// links are followed; otherwise the spelling decides.
pub(crate) fn leads_through(
    root: &Root,
    path: &RelPath,
    directory: &Identity,
) -> Result<bool, Fault> {
    if path.is_root() {
        return Err(root_itself());
    }
    if root.pinned.identity.same_object(directory) {
        return Ok(true);
    }
    match root.link_policy() {
        Links::Refuse => Ok(false),
        Links::Beneath | Links::InRoot => walk::leads_through(root, path, directory),
    }
}

/// Flags that pin a directory. The kind is asked by flag, and again of the descriptor.
pub(crate) fn pin_dir() -> OFlags {
    (crate::sys::PIN - OFlags::NOFOLLOW) | OFlags::DIRECTORY
}

fn root_itself() -> Fault {
    Fault::rule(
        ErrorKind::Invalid,
        "the root itself cannot be used here; name something in it",
    )
}

/// A path that names a file cannot end in a slash. What is there names the error.
pub(crate) fn require_file_path(root: &Root, path: &RelPath, last: Last) -> Result<(), Fault> {
    if path.is_root() {
        return Err(root_itself());
    }
    if !path.must_be_dir() {
        return Ok(());
    }
    let flags = match last {
        Last::Follow => pin_dir(),
        Last::Itself => crate::sys::PIN,
    };
    match open(root, path, flags, Mode::empty(), last) {
        Ok(_) => Err(Fault::rule(ErrorKind::IsADirectory, "")),
        Err(fault) => Err(fault),
    }
}

/// Opens one directory of a tree below a held one, for listing: by name, never through a link,
/// never into another mount unless the root allows it.
pub(crate) fn open_child_dir(
    root: &Root,
    dir: BorrowedFd<'_>,
    name: &std::ffi::CStr,
) -> Result<OwnedFd, Fault> {
    if root.backend() == Backend::Kernel {
        match kernel::open_child_dir(root, dir, name) {
            kernel::KernelReply::Done(result) => return result,
            kernel::KernelReply::Absent => root.lose_kernel()?,
        }
    }
    walk::open_child_dir(root, dir, name)
}
