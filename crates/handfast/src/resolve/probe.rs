//! Does `openat2` work here, and does it refuse what it must?

use std::os::fd::AsFd;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::sys;

/// What a probe found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Probe {
    /// Present, and it refuses what it must.
    Works,
    /// Not there, or filtered.
    Absent,
    /// There, but it lets pass what it must refuse.
    Misbehaves,
}

/// Asks the kernel questions whose answers are known, without creating anything.
pub(crate) fn probe_in_place(root: impl AsFd) -> Probe {
    let ask = |path: &std::ffi::CStr, resolve| {
        sys::open_beneath(&root, path, OFlags::PATH, Mode::empty(), resolve).map(drop)
    };
    match ask(c".", ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS) {
        Ok(()) => {}
        Err(errno) if means_absent(errno) => return Probe::Absent,
        // It is there, and this directory cannot be searched (or there is no descriptor left):
        // nothing below it can be reached either way.
        Err(_) => return Probe::Works,
    }
    // An emulation that takes the flags and ignores them would let these pass.
    let unknown = ResolveFlags::from_bits_retain(1 << 63);
    let refuses = ask(c"..", ResolveFlags::BENEATH) == Err(Errno::XDEV)
        && ask(c"/", ResolveFlags::BENEATH) == Err(Errno::XDEV)
        && ask(c".", unknown) == Err(Errno::INVAL);
    // `/proc/self` is an ordinary link wherever procfs is mounted; elsewhere nothing is learned.
    let link = sys::open_beneath(
        CWD,
        c"/proc/self",
        OFlags::PATH,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    );
    if refuses && link.is_err() {
        Probe::Works
    } else {
        Probe::Misbehaves
    }
}

/// Whether `openat2` is gone: asked after a failure that could mean that or something else.
pub(super) fn is_absent(root: impl AsFd) -> bool {
    sys::open_beneath(
        root,
        c".",
        OFlags::PATH,
        Mode::empty(),
        ResolveFlags::BENEATH,
    )
    .is_err_and(means_absent)
}

/// Old kernels and filters answer ENOSYS, older container profiles EPERM.
fn means_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOSYS | Errno::PERM)
}
