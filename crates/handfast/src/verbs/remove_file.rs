//! Remove a file, link or special file by name.

use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Removes the entry a path names: a link is removed itself, never what it leads to.
    ///
    /// # Errors
    /// `IsADirectory` for a directory; `NotFound`; `Mount` for a mount point; `Denied`.
    pub fn remove_file(&self, path: &RelPath) -> Result<(), Error> {
        self.act(Verb::RemoveFile, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            let place = resolve::place(self, path, Last::Itself)?;
            check_denied(self, &place)?;
            let object = place.recorded_object(self);
            op.allow_in(place.recorded_parent(self)?, object.as_ref())?;
            sys::unlink_at(&place.dir, place.name.as_c_str())
                .map_err(|fault| name_busy(&place, fault))
        })
    }
}

/// What may not be touched under any name may not lose a name either.
pub(super) fn check_denied(root: &Root, place: &Place) -> Result<(), Fault> {
    if root.options.denied.is_empty() {
        return Ok(());
    }
    match place.status() {
        Ok(status) if root.is_denied(&status) => Err(Fault::rule(
            ErrorKind::Denied,
            "this object is never given out",
        )),
        _ => Ok(()),
    }
}

/// EBUSY of an entry is usually a mount point: a second look names the error.
pub(super) fn name_busy(place: &Place, fault: Fault) -> Fault {
    if fault.is(Errno::BUSY) && place.status().is_ok_and(|status| status.mount_root) {
        return fault.with_kind(ErrorKind::Mount, "something is mounted there");
    }
    fault
}
