//! Read the text of a symbolic link.

use rustix::fs::Mode;

use super::symlink::SymlinkTarget;
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::rules;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Reads the text of a link, as it is stored.
    ///
    /// # Errors
    /// `Kind` if it is not a link; `Link`, `Escape`, `Mount`, `NotFound` for what is on the way.
    ///
    /// # Security
    /// The text was chosen by whoever made the link. It is a type of its own that no verb takes as
    /// a path.
    pub fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        self.act(Verb::ReadLink, path, |op| {
            let fd = resolve::open(self, path, sys::PIN, Mode::empty(), Last::Itself)?;
            let status = sys::status(&fd)?;
            rules::check_passage(self, &status)?;
            if !status.is_symlink() {
                return Err(Fault::rule(ErrorKind::Kind, "it is not a symbolic link"));
            }
            op.allow(Some(&status))?;
            sys::readlink_pinned(&fd).map(SymlinkTarget::as_stored)
        })
    }
}
