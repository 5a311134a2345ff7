//! Create a directory.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::Mode;

use super::made::Making;
use crate::dir::Dir;
use crate::error::{Effect, Error, Fault};
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Creates a directory and returns its handle.
    ///
    /// # Errors
    /// `Exists` if the name is taken, by a link too; `NotFound` if the parent is
    /// missing; `Raced` if another object has the name right after it was made; an error
    /// with effect `visible` if it was made and then cannot be opened.
    ///
    /// # Security
    /// The handle is that of the directory that was made: a user who may write the parent and
    /// renames a directory of his own over it is noticed by its owner, or its time of birth. He can
    /// still rename what is there afterwards.
    pub fn create_dir(&self, path: &RelPath) -> Result<Dir, Error> {
        self.create_dir_with(path, 0o777)
    }

    /// As [`Root::create_dir`], with a mode (subject to the umask; set-id bits are dropped, and a
    /// parent's set-group-id bit is inherited as usual).
    ///
    /// # Errors
    /// As [`Root::create_dir`].
    pub fn create_dir_with(&self, path: &RelPath, mode: u32) -> Result<Dir, Error> {
        self.act(Verb::CreateDir, path, |op| {
            let place = resolve::place(self, path, Last::Itself)?;
            op.allow_in(place.recorded_parent(self)?, None)?;
            let mode = mode & 0o777;
            let making = Making::begin(mode);
            let name = place.name.as_c_str();
            sys::mkdir_at(&place.dir, name, Mode::from_raw_mode(mode))?;
            // From here on it is there, whatever fails.
            let (fd, metadata) =
                open_made(self, &place, &making).map_err(|fault| match fault.effect {
                    Effect::None => fault.with_effect(Effect::Visible),
                    _ => fault,
                })?;
            op.note(&metadata);
            Ok(Dir::new(self, path, fd, metadata))
        })
    }
}

/// Opens the directory that was just made under a name.
fn open_made(root: &Root, place: &Place, making: &Making) -> Result<(OwnedFd, Metadata), Fault> {
    let fd = sys::open_at(&place.dir, place.name.as_c_str(), sys::PIN, Mode::empty())?;
    let metadata = sys::status(&fd)?;
    rules::check_passage(root, &metadata)?;
    making.check(root, place.dir.as_fd(), &metadata)?;
    Ok((fd, metadata))
}
