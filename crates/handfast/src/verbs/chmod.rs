//! Change permission bits.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::op::Op;
use crate::options::SetId;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::{CAUTIOUS, Root};
use crate::rules::{self, Want};
use crate::sys;
use crate::verb::Verb;
use std::os::fd::OwnedFd;

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

impl Root {
    /// Changes the permission bits of a file or directory. A final link is followed only where
    /// links may be.
    ///
    /// # Errors
    /// `HardLink` if the file has other names; `Kind` for special files; `Invalid` for bits beyond
    /// `0o7777`; `Denied` for a set-id bit that the object does not have yet, unless the root allows it
    /// ([`RootOptions::set_id`](crate::RootOptions::set_id)); `Unsupported` on old kernels for objects that can be neither read nor written.
    ///
    /// # Security
    /// The mode is changed through the descriptor of the object that was judged.
    pub fn chmod(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.act(Verb::Chmod, path, |op| {
            if mode & !0o7777 != 0 {
                return Err(Fault::rule(ErrorKind::Invalid, "not a mode"));
            }
            let (pin, status) = pin_for_mode(self, path, op, mode)?;
            match sys::chmod_pinned(&pin, mode) {
                Err(fault) if fault.is(Errno::NOSYS) || fault.is(Errno::OPNOTSUPP) => {
                    let fd = reopen(self, path, &status)?;
                    sys::chmod_open(&fd, mode)
                }
                // A genuine refusal, or a filter's: a descriptor gets the same genuine one.
                Err(fault) if fault.is(Errno::PERM) => match reopen(self, path, &status) {
                    Ok(fd) => sys::chmod_open(&fd, mode),
                    Err(_) => Err(fault),
                },
                done => done,
            }
        })
    }
}

/// As [`pin_for_change`], for a mode, which is judged with the object before anything is recorded.
fn pin_for_mode(
    root: &Root,
    path: &RelPath,
    op: &mut Op<'_>,
    mode: u32,
) -> Result<(OwnedFd, Metadata), Fault> {
    let (pin, status) = pin_judged(root, path)?;
    // A user who runs such a file runs it as its owner or group.
    if mode & SET_ID & !status.mode != 0 && root.options.set_id == SetId::Refuse {
        return Err(Fault::rule(
            ErrorKind::Denied,
            "the root does not allow set-id bits to be given",
        ));
    }
    op.allow(Some(&status))?;
    Ok((pin, status))
}

/// Pins a file or directory that is about to be changed in place, judges it, and records.
pub(super) fn pin_for_change(
    root: &Root,
    path: &RelPath,
    op: &mut Op<'_>,
) -> Result<(OwnedFd, Metadata), Fault> {
    let (pin, status) = pin_judged(root, path)?;
    op.allow(Some(&status))?;
    Ok((pin, status))
}

fn pin_judged(root: &Root, path: &RelPath) -> Result<(OwnedFd, Metadata), Fault> {
    let flags = sys::PIN - OFlags::NOFOLLOW;
    rules::open_by_own_name(root, path, Want::Change, || {
        let (pin, status) = resolve::pin(root, path, flags, Last::Follow)?;
        judge(root, &status)?;
        require_below(root, &status)?;
        Ok((pin, status, false))
    })
}

fn judge(root: &Root, status: &Metadata) -> Result<(), Fault> {
    match status.kind {
        FileKind::Dir => rules::check_passage(root, status),
        _ => rules::check_file(root, status, Want::Change),
    }
}

/// The root belongs to the caller who opened it: it is not changed through itself, by whatever spelling or
/// link it was reached.
pub(super) fn require_below(root: &Root, status: &Metadata) -> Result<(), Fault> {
    if status.identity.same_object(&root.pinned.identity) {
        return Err(Fault::rule(
            ErrorKind::Invalid,
            "the root itself is not changed through itself",
        ));
    }
    Ok(())
}

/// Opens what was pinned, for calls that need a real descriptor; the object must be the same.
pub(super) fn reopen(root: &Root, path: &RelPath, pinned: &Metadata) -> Result<OwnedFd, Fault> {
    let open = |access| resolve::open(root, path, access | CAUTIOUS, Mode::empty(), Last::Follow);
    let fd = match open(OFlags::RDONLY) {
        Err(fault) if fault.is(Errno::ACCESS) && pinned.is_file() => {
            open(OFlags::WRONLY).map_err(|fault| {
                fault.with_kind(
                    ErrorKind::Unsupported,
                    "this kernel can only do it to objects that can be opened",
                )
            })?
        }
        opened => opened?,
    };
    if sys::status(&fd)?.identity.same_object(&pinned.identity) {
        Ok(fd)
    } else {
        Err(Fault::rule(ErrorKind::Raced, ""))
    }
}
