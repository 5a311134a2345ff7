//! Rules for the object that was reached: always checked against the descriptor, never by name.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::options::{HardLinks, Mounts, Specials};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::sys;

/// What an object is wanted for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Want {
    /// To look at it: kind and links do not matter.
    Look,
    /// To read its content.
    Read,
    /// To change it in place.
    Change,
}

/// What every object on the way and at the end must satisfy: our mount, and not denied.
#[inline(always)]
pub(crate) fn check_passage(root: &Root, status: &Metadata) -> Result<(), Fault> {
    if crosses_mount(root, status) {
        return Err(Fault::rule(
            ErrorKind::Mount,
            "something is mounted there, and the root does not allow other mounts",
        ));
    }
    if root.is_denied(status) {
        return Err(Fault::rule(
            ErrorKind::Denied,
            "this object is never given out",
        ));
    }
    match &root.expected {
        Some(expected) if !expected.same_object(&status.identity) => Err(Fault::rule(
            ErrorKind::Raced,
            "the name leads to another object by now",
        )),
        _ => Ok(()),
    }
}

/// Whether the object lies on another mount than the root, where that is refused.
#[inline(always)]
fn crosses_mount(root: &Root, status: &Metadata) -> bool {
    if root.options.mounts == Mounts::Allow {
        return false;
    }
    let ours = &root.pinned.identity;
    match (ours.mount, status.identity.mount) {
        (Some(root), Some(here)) => root != here,
        // Before Linux 5.8, and elsewhere: a bind mount of the same filesystem goes unnoticed
        // here, and `enforcement()` says so.
        _ => ours.device != status.identity.device,
    }
}

/// What a file must satisfy for what it is wanted for.
#[inline(always)]
pub(crate) fn check_file(root: &Root, status: &Metadata, want: Want) -> Result<(), Fault> {
    check_passage(root, status)?;
    match status.kind {
        FileKind::File => {}
        FileKind::Dir => return Err(Fault::rule(ErrorKind::IsADirectory, "")),
        FileKind::Symlink => return Err(Fault::rule(ErrorKind::Link, "")),
        _ if root.options.specials == Specials::Allow => {}
        special => return Err(special_fault(special)),
    }
    // The layer's own rule first: it says more than that there are other names.
    if let Some(judge) = &root.options.judge
        && want != Want::Look
    {
        judge.judge(status, want == Want::Change)?;
    }
    check_hard_links(root, status, want)
}

/// Special files are named in the message: "which kind?" is the first question people ask.
pub(crate) fn special_fault(kind: FileKind) -> Fault {
    Fault::rule(
        ErrorKind::Kind,
        match kind {
            FileKind::Fifo => "it is a FIFO",
            FileKind::Socket => "it is a socket",
            FileKind::Block | FileKind::Char => "it is a device",
            _ => "it is a special file",
        },
    )
}

/// How often one call looks at a file that keeps changing, or at files that keep being replaced.
const MAX_LOOKS: u32 = 64;

/// What the second look at a file says of the name that it was opened by.
enum Name {
    Kept,
    /// The file has no name at all, and never gets one again: it was replaced or removed.
    Lost,
}

/// Opens what a path names, and makes sure that its one name is the one it was opened by: see
/// [`require_own_name`]. `open` says whether it made the file: such a file has no other name.
///
/// Where the file has no name any more, nothing was done that lasts: the path is opened again, and
/// what is there now is judged. A file that still has a name somewhere is not given up like that:
/// `open` may have made it, and would make a second one. All looks of a call are counted together, so
/// an attacker who replaces files does not prolong it.
#[inline]
pub(crate) fn open_by_own_name(
    root: &Root,
    path: &RelPath,
    want: Want,
    open: impl Fn() -> Result<(OwnedFd, Metadata, bool), Fault>,
) -> Result<(OwnedFd, Metadata), Fault> {
    let mut looks = MAX_LOOKS;
    loop {
        let (fd, status, is_new) = open()?;
        if is_new {
            return Ok((fd, status));
        }
        match require_own_name(root, path, &fd, want, &mut looks)? {
            Name::Kept => return Ok((fd, status)),
            Name::Lost => {}
        }
    }
}

/// Makes sure that the one name of an opened file is the one it was opened by.
///
/// A file that had an outside name and a planted inside one loses the planted one as soon as its
/// planter takes it away: then it has one name again, and that is not ours. So the path is
/// resolved once more, and must lead to the same object, still with one name, and with the change
/// time it had: taking a name away or giving one changes that.
///
/// The kernel counts names down before the name is seen to go; a look in between finds one
/// name, and ours. So before the second look we wait for the process that is at it.
///
/// # Platform
/// Change times are as fine as the kernel's clock tick before Linux 6.13; within one tick a name
/// that is given and taken away again goes unnoticed.
fn require_own_name(
    root: &Root,
    path: &RelPath,
    fd: impl AsFd,
    want: Want,
    looks: &mut u32,
) -> Result<Name, Fault> {
    if !is_judged(root, want) {
        return Ok(Name::Kept);
    }
    require_found(root, fd, want, looks, || {
        resolve::place(root, path, Last::Follow).and_then(|place| {
            sys::wait_for_changes(&place.dir, place.name.as_c_str())?;
            place.status()
        })
    })
}

/// As [`require_own_name`], for a file that was opened by one name of a held directory.
pub(crate) fn require_own_name_in(
    root: &Root,
    dir: BorrowedFd<'_>,
    name: &CStr,
    fd: impl AsFd,
    want: Want,
) -> Result<(), Fault> {
    if !is_judged(root, want) {
        return Ok(());
    }
    let found = require_found(root, fd, want, &mut { MAX_LOOKS }, || {
        sys::wait_for_changes(dir, name)?;
        sys::status_at(dir, name)
    })?;
    match found {
        Name::Kept => Ok(()),
        Name::Lost => Err(raced()),
    }
}

/// The second look, by whatever leads to the file.
fn require_found(
    root: &Root,
    fd: impl AsFd,
    want: Want,
    looks: &mut u32,
    find: impl Fn() -> Result<Metadata, Fault>,
) -> Result<Name, Fault> {
    while *looks > 0 {
        *looks -= 1;
        let held = sys::status(&fd)?;
        if held.kind != FileKind::File {
            return Ok(Name::Kept);
        }
        check_hard_links(root, &held, want)?;
        match find() {
            Ok(found) if found.identity.same_object(&held.identity) => {
                check_hard_links(root, &found, want)?;
                if found.changed == held.changed {
                    return Ok(Name::Kept);
                }
            }
            // No descriptor left, say: that is no race.
            Err(fault) if fault.kind == ErrorKind::Io => return Err(fault),
            _ if held.nlink == 0 => return Ok(Name::Lost),
            _ => {}
        }
        // Another process writes to it, which changes that time too, or moves what is on the way. Look
        // again.
    }
    Err(raced())
}

fn raced() -> Fault {
    Fault::rule(ErrorKind::Raced, "the file kept changing, or lost its name")
}

/// Whether the root's policy cares about other names for this.
fn is_judged(root: &Root, want: Want) -> bool {
    match root.options.hard_links {
        HardLinks::Allow => false,
        HardLinks::RefuseWrites => want == Want::Change,
        HardLinks::Refuse => want != Want::Look,
    }
}

#[inline(always)]
pub(crate) fn check_hard_links(root: &Root, status: &Metadata, want: Want) -> Result<(), Fault> {
    if !status.has_other_names() {
        return Ok(());
    }
    if is_judged(root, want) {
        return Err(Fault::rule(
            ErrorKind::HardLink,
            match want {
                Want::Change => "the file has other names, which this would change too",
                _ => "the file has other names",
            },
        ));
    }
    Ok(())
}
