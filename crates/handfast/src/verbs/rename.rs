//! Rename an entry, or exchange two.

use rustix::io::Errno;
use std::sync::Arc;

use super::remove_file::{check_denied, name_busy};
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

/// What happens if the new name is taken.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum RenameMode {
    /// A file is replaced, an empty directory by a directory.
    #[default]
    Replace,
    /// It is an error.
    NoReplace,
    /// Both entries change places; both must exist.
    Exchange,
}

impl Root {
    /// Renames an entry: a link moves itself.
    ///
    /// # Errors
    /// `Exists` where nothing may be replaced; `IsADirectory`, `NotADirectory`, `NotEmpty` if the
    /// two do not fit; `Invalid` for a directory that would move into itself; `Mount` across
    /// mounts; `Unsupported` where the filesystem has no such rename: it is never done in two
    /// steps instead.
    ///
    /// # Security
    /// Both parents are pinned before anything is renamed. A relative link that is moved may lead
    /// elsewhere from its new place; where it leads is decided when it is followed.
    pub fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        self.rename_to(from, self, to, mode)
    }

    /// As [`Root::rename`], into another root. Both roots must allow it, and both record it.
    ///
    /// # Errors
    /// As [`Root::rename`]; `Mount` if the roots lie on different filesystems.
    pub fn rename_to(
        &self,
        from: &RelPath,
        destination: &Self,
        to: &RelPath,
        mode: RenameMode,
    ) -> Result<(), Error> {
        let mine = || {
            self.act_between(Verb::Rename, from, Some((destination, to)), |op| {
                let source = resolve::place(self, from, Last::Itself)?;
                let target = resolve::place(destination, to, Last::Itself)?;
                require_dir(from, &source)?;
                check_denied(self, &source)?;
                check_denied(destination, &target)?;
                let object = source.recorded_object(self);
                op.allow_in(source.recorded_parent(self)?, object.as_ref())?;
                rename_place(&source, to, &target, mode)
            })
        };
        if Arc::ptr_eq(&self.options, &destination.options) {
            return mine();
        }
        // The other root decides too, and learns how it ended; the caller gets the one error.
        let mut ended = Ok(());
        let told = destination.act(Verb::Rename, to, |op| {
            op.allow(None)?;
            ended = mine();
            ended.as_ref().map_err(|error| {
                Fault::rule(error.kind(), error.detail()).with_effect(error.effect())
            })?;
            Ok(())
        });
        ended.and(told)
    }
}

/// `a/` must be a directory. What it is may change before the rename; it is the entry that moves
/// in any case, and nothing is followed.
fn require_dir(path: &RelPath, place: &Place) -> Result<(), Fault> {
    if path.must_be_dir() && !place.status()?.is_dir() {
        return Err(Fault::rule(ErrorKind::NotADirectory, ""));
    }
    Ok(())
}

fn rename_place(
    source: &Place,
    to: &RelPath,
    target: &Place,
    mode: RenameMode,
) -> Result<(), Fault> {
    if to.must_be_dir() {
        let exchanged = mode == RenameMode::Exchange && !target.status()?.is_dir();
        if exchanged || !source.status()?.is_dir() {
            return Err(Fault::rule(ErrorKind::NotADirectory, ""));
        }
    }
    let (from, old) = (&source.dir, source.name.as_c_str());
    let (into, new) = (&target.dir, target.name.as_c_str());
    let result = match mode {
        RenameMode::Replace => sys::rename_at(from, old, into, new),
        RenameMode::NoReplace => sys::rename_noreplace(from, old, into, new),
        RenameMode::Exchange => sys::rename_exchange(from, old, into, new),
    };
    result.map_err(|fault| name_fault(source, target, mode, fault))
}

/// The kernel's number says what, but not always why: a second look names the error.
fn name_fault(source: &Place, target: &Place, mode: RenameMode, fault: Fault) -> Fault {
    let is_dir = |place: &Place| place.status().is_ok_and(|status| status.is_dir());
    if fault.is(Errno::NOTEMPTY) || (fault.is(Errno::EXIST) && mode != RenameMode::NoReplace) {
        return if is_dir(source) {
            fault.with_kind(ErrorKind::NotEmpty, "")
        } else {
            // A file onto a directory above it.
            fault.with_kind(ErrorKind::IsADirectory, "")
        };
    }
    if fault.is(Errno::BUSY) {
        return name_busy(source, name_busy(target, fault));
    }
    if fault.is(Errno::XDEV) && on_one_mount(source, target) {
        return fault.with_kind(
            ErrorKind::Unsupported,
            "this filesystem cannot rename a directory of a lower layer",
        );
    }
    if fault.is(Errno::XDEV) {
        return fault.with_kind(ErrorKind::Mount, "the two places lie on different mounts");
    }
    // Of a directory it is most likely a move into itself; of two files it cannot be that.
    if fault.is(Errno::INVAL) && mode != RenameMode::Replace && !is_dir(source) && !is_dir(target) {
        return fault.with_kind(
            ErrorKind::Unsupported,
            "this filesystem has no such rename, and it is not done in two steps",
        );
    }
    if fault.is(Errno::INVAL) {
        return fault.with_kind(
            ErrorKind::Invalid,
            "a directory cannot be moved into itself, or onto a directory above it",
        );
    }
    fault
}

/// Whether both places lie on the same mount, so that EXDEV has another reason: overlay filesystems
/// answer so for directories that they would have to copy.
fn on_one_mount(source: &Place, target: &Place) -> bool {
    match (source.parent(), target.parent()) {
        (Ok(one), Ok(other)) => (one.mount, one.device) == (other.mount, other.device),
        _ => false,
    }
}
