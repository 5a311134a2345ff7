//! Remove an empty directory.

use super::remove_file::{check_denied, name_busy};
use crate::error::Error;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotEmpty`; `NotADirectory` for anything else, a link to a directory included; `Mount` for a
    /// mount point; `NotFound`; `Denied`.
    pub fn remove_dir(&self, path: &RelPath) -> Result<(), Error> {
        self.act(Verb::RemoveDir, path, |op| {
            let place = resolve::place(self, path, Last::Itself)?;
            check_denied(self, &place)?;
            let object = place.recorded_object(self);
            op.allow_in(place.recorded_parent(self)?, object.as_ref())?;
            sys::rmdir_at(&place.dir, place.name.as_c_str())
                .map_err(|fault| name_busy(&place, fault))
        })
    }
}
