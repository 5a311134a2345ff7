//! Read the text of a symbolic link.

use super::symlink::SymlinkTarget;
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Reads the text of a link, as it is stored.
    ///
    /// # Errors
    /// `Kind` if it is not a link; `Link`, `Escape`, `Mount`, `NotFound` for what is on the way.
    ///
    /// # Security
    /// The text was chosen by the maker of the link. It is a type of its own that no verb takes as
    /// a path.
    pub fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        self.act(Verb::ReadLink, path, |op| {
            let (fd, status) = resolve::pin(self, path, sys::PIN, Last::Itself)?;
            if !status.is_symlink() {
                return Err(Fault::rule(ErrorKind::Kind, "it is not a symbolic link"));
            }
            op.allow(Some(&status))?;
            sys::readlink_pinned(&fd).map(SymlinkTarget::from_stored)
        })
    }
}
