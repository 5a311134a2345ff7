//! Look at an object.

use crate::dir::Dir;
use crate::error::{Error, ErrorKind};
use crate::metadata::Metadata;
use crate::path::{Name, RelPath};
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

use super::read_dir::entry_metadata;

impl Root {
    /// Looks at what a path names, following a final link if the root's policy allows it.
    ///
    /// The object is pinned, not opened: no permission on it is needed, and nothing happens to it.
    ///
    /// # Errors
    /// `Link`, `Escape`, `Mount`, `NotFound`, `NotADirectory`, `Denied` for what is on the way.
    pub fn metadata(&self, path: &RelPath) -> Result<Metadata, Error> {
        self.look(path, Last::Follow)
    }

    /// As [`Root::metadata`], or says that nothing is there. What is there may change at once: use it
    /// to look, and an operation's own answer to decide.
    ///
    /// # Errors
    /// As [`Root::metadata`], but for `NotFound`.
    pub fn metadata_optional(&self, path: &RelPath) -> Result<Option<Metadata>, Error> {
        match self.metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Looks at the entry itself: a link is a link.
    ///
    /// # Errors
    /// As [`Root::metadata`].
    pub fn symlink_metadata(&self, path: &RelPath) -> Result<Metadata, Error> {
        self.look(path, Last::Itself)
    }

    fn look(&self, path: &RelPath, last: Last) -> Result<Metadata, Error> {
        self.act(Verb::Metadata, path, |op| {
            let flags = match last {
                Last::Itself => sys::PIN,
                Last::Follow => sys::PIN - rustix::fs::OFlags::NOFOLLOW,
            };
            let (_, status) = resolve::pin(self, path, flags, last)?;
            op.allow(Some(&status))?;
            Ok(status)
        })
    }
}

impl Dir {
    /// Looks at one name of this directory, with one call of the system; a link is itself. For many
    /// names of one directory: [`Root::symlink_metadata`] pins each object, which costs three calls.
    ///
    /// # Errors
    /// `NotFound`; `Mount` if something is mounted there and the root refuses that; `Denied`.
    pub fn metadata_of_name(&self, name: &Name) -> Result<Metadata, Error> {
        self.act(Verb::Metadata, &RelPath::from(name), |op| {
            let status = entry_metadata(self, self, name.as_c_str())?;
            op.allow(Some(&status))?;
            Ok(status)
        })
    }
}
