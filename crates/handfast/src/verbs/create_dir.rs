//! Create a directory.

use rustix::fs::Mode;

use crate::dir::Dir;
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Creates a directory and returns its handle.
    ///
    /// # Errors
    /// `Exists` if anything stands under the name, a link included; `NotFound` if the parent is
    /// missing; `Raced` if another object stands under the name right after it was made.
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
            let name = place.name.as_c_str();
            sys::mkdir_at(&place.dir, name, Mode::from_raw_mode(mode & 0o777))?;
            let fd = sys::open_at(&place.dir, name, sys::PIN, Mode::empty())?;
            let metadata = sys::status(&fd)?;
            rules::check_passage(self, &metadata)?;
            if !metadata.is_dir() {
                return Err(Fault::rule(
                    ErrorKind::Raced,
                    "something else stands under the name right after it was made",
                )
                .with_effect(Effect::Unknown));
            }
            op.note(&metadata);
            Ok(Dir::new(self, path, fd, metadata))
        })
    }
}
