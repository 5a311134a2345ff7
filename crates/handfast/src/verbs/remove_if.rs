//! Remove a file only if it is still the version that was seen.

use std::os::fd::AsFd;

use super::write_if::{Pinned, gone, lock_parent};
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::path::{Name, RelPath};
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::rules;
use crate::staging::{Expected, Role, StagingName, lacks_flag, rename_to_secret};
use crate::sys;
use crate::verb::Verb;
use crate::version::Version;

impl Root {
    /// Removes a file only if it is still the version that was seen.
    ///
    /// The file is moved to a private name first, compared there, and then removed or moved back.
    ///
    /// # Errors
    /// `Stale` if it is not that version, with what differs; `Raced` with effect `visible` if it
    /// had to be moved back and the name was taken meanwhile (the file is then kept, and
    /// [`Root::recover`] reports it).
    pub fn remove_if(&self, path: &RelPath, version: &Version) -> Result<(), Error> {
        self.act(Verb::RemoveIf, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            let place = match resolve::place(self, path, Last::Itself) {
                Err(fault) if fault.kind == ErrorKind::NotFound => return Err(gone()),
                place => place?,
            };
            let _turn = lock_parent(&place)?;
            let old = Pinned::take(&place, version)?;
            rules::check_passage(self, &old.status)?;
            op.allow_in(place.recorded_parent(self)?, Some(&old.status))?;
            old.compare(version)?;

            let expected = Some(Expected::of(version));
            let identity = &old.status.identity;
            let private =
                StagingName::new(Role::Removed, identity, sys::random()?, expected).to_name();
            let (dir, name) = (&place.dir, &place.name);
            rename_to_secret(dir, name, &private)?;
            if let Err(fault) = old.compare_displaced(dir.as_fd(), &private, version) {
                move_back(dir, &private, name)?;
                return Err(fault);
            }
            sys::unlink_at(dir, private.as_c_str())
                .map_err(|fault: Fault| fault.with_effect(Effect::Visible))
        })
    }
}

/// Gives a file its name back, which must be free.
fn move_back(dir: impl AsFd, private: &Name, name: &Name) -> Result<(), Fault> {
    let (from, to) = (private.as_c_str(), name.as_c_str());
    let moved = match sys::rename_noreplace(&dir, from, &dir, to) {
        // Without the flag: a second name, which never replaces, and then the first one goes.
        Err(fault) if lacks_flag(&fault) => {
            sys::link_at(&dir, from, &dir, to).and_then(|()| sys::unlink_at(&dir, from))
        }
        moved => moved,
    };
    moved.map_err(|fault| {
        let fault = match fault.kind {
            ErrorKind::Exists => fault.with_kind(
                ErrorKind::Raced,
                "the name was taken meanwhile; the file is kept for `recover`",
            ),
            kind => fault.with_kind(
                kind,
                "the file could not be given its name back; it is kept for `recover`",
            ),
        };
        fault.with_effect(Effect::Visible)
    })
}
