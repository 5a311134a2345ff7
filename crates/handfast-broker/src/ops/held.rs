//! Objects that the caller has looked up: a path is walked again, compared with what was seen, and
//! what it led to is held for the rest of the call.

use handfast::files::{At, Files, LastLink, Node};
use handfast::{ErrorKind, Name, RelPath};
use handfast_session::{Error, Session, VirtualPath};

use super::open::handle_of;

/// A name in a directory that is held.
pub(super) struct HeldName {
    dir: Node,
    name: Name,
}

impl HeldName {
    /// The directory above a path, if it is the one that the caller has seen.
    ///
    /// # Errors
    /// `Raced` if it is another one; what looking it up gives.
    pub(super) fn find(session: &Session, path: &VirtualPath, seen: &str) -> Result<Self, Error> {
        let Some((parent, name)) = path.as_rel().as_ref().split_last() else {
            let why = "the top itself cannot be used here; name something in it";
            return Err(Error::refused(ErrorKind::Invalid, why));
        };
        Ok(Self {
            dir: held(session, &parent.to_path(), LastLink::Follow, seen)?,
            name: name.to_name(),
        })
    }

    pub(super) fn at(&self) -> At<'_> {
        At::new(&self.dir, &self.name)
    }
}

/// The object at a path, if it is the one that the caller has seen.
///
/// # Errors
/// As [`HeldName::find`].
pub(super) fn held(
    session: &Session,
    path: &RelPath,
    last: LastLink,
    seen: &str,
) -> Result<Node, Error> {
    let node = Files::node(session, path, last)?;
    match handle_of(&node.metadata().identity) == seen {
        true => Ok(node),
        false => Err(Error::refused(
            ErrorKind::Raced,
            "the path leads to another object than the one that was looked up",
        )),
    }
}
