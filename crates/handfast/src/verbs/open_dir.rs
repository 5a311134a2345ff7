//! Open a directory.

use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::verb::Verb;

impl Root {
    /// Pins a directory. [`Dir::into_root`] makes it a root of its own.
    ///
    /// # Errors
    /// `NotADirectory` if it is something else; `Escape`, `Link`, `Mount`, `NotFound`, `Denied`.
    pub fn open_dir(&self, path: &RelPath) -> Result<Dir, Error> {
        self.act(Verb::OpenDir, path, |op| {
            let (fd, status) = resolve::pin(self, path, resolve::pin_dir(), Last::Follow)?;
            if !status.is_dir() {
                return Err(Fault::rule(ErrorKind::NotADirectory, ""));
            }
            op.allow(Some(&status))?;
            Ok(Dir::new(self, path, fd, status))
        })
    }
}
