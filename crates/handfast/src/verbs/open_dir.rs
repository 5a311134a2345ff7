//! Open a directory.

use rustix::fs::Mode;

use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Pins a directory. [`Dir::into_root`] makes it a root of its own.
    ///
    /// # Errors
    /// `NotADirectory` if it is something else; `Escape`, `Link`, `Mount`, `NotFound`, `Denied`.
    pub fn open_dir(&self, path: &RelPath) -> Result<Dir, Error> {
        self.act(Verb::OpenDir, path, |op| {
            let fd = resolve::open(self, path, resolve::pin_dir(), Mode::empty(), Last::Follow)?;
            let status = sys::status(&fd)?;
            rules::check_passage(self, &status)?;
            if !status.is_dir() {
                return Err(Fault::rule(ErrorKind::NotADirectory, ""));
            }
            op.allow(Some(&status))?;
            Ok(Dir {
                root: self.clone(),
                fd,
                metadata: status,
            })
        })
    }
}
