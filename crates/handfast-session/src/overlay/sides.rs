//! Both sides of a change: what the base has, and what a commit puts there.

use handfast::{ErrorKind, FileKind, Metadata};

use super::look::Where;
use super::tree::base_path;
use super::{DiffChange, DiffKind, Overlay};
use crate::error::Error;

/// What stands on one side.
pub(crate) enum Object {
    Nothing,
    /// A directory; its mode, unless the umask decides at commit.
    Dir(Option<u32>),
    Link(Vec<u8>),
    File(Box<FileSide>),
    /// Something that an overlay does not cover.
    Other(Metadata),
    /// A rule of the base keeps its content.
    Kept(String),
}

/// A file that is open for reading.
pub(crate) struct FileSide {
    pub(crate) file: handfast::File,
    pub(crate) xattrs: Vec<String>,
}

impl Overlay {
    /// What the base has where a change was made.
    pub(crate) fn side_before(&self, change: &DiffChange) -> Result<Object, Error> {
        let Some(at) = change.from.as_ref().or(change.home.as_ref()) else {
            return Ok(Object::Nothing);
        };
        if change.kind == DiffKind::Added {
            return Ok(Object::Nothing);
        }
        let at = base_path(at)?;
        let status = match self.base.symlink_metadata(&at) {
            Ok(status) => status,
            Err(error) if is_gone(&error) => return Ok(Object::Nothing),
            Err(error) => return Err(error),
        };
        Ok(match status.kind {
            FileKind::Dir => Object::Dir(Some(status.mode & 0o7777)),
            FileKind::Symlink => match self.base.read_link(&at) {
                Ok(target) => Object::Link(target.as_bytes().to_vec()),
                Err(error) if is_gone(&error) => Object::Nothing,
                Err(error) => return Err(error),
            },
            FileKind::File => match self.base.open(&at) {
                Ok(file) => Object::File(Box::new(FileSide {
                    file,
                    // Not every filesystem has them.
                    xattrs: self.base.list_xattrs(&at).unwrap_or_default(),
                })),
                Err(error) if is_gone(&error) => Object::Nothing,
                Err(error) if error.kind() == ErrorKind::Denied => Object::Kept(error.detail()),
                Err(error) => return Err(error),
            },
            _ => Object::Other(status),
        })
    }

    /// What a commit of a change puts there.
    pub(crate) fn side_after(&self, change: &DiffChange) -> Result<Object, Error> {
        if change.kind == DiffKind::Deleted {
            return Ok(Object::Nothing);
        }
        let path = base_path(&change.path)?;
        let file = |opened: Result<handfast::File, Error>, xattrs| match opened {
            Ok(file) => Ok(Object::File(Box::new(FileSide { file, xattrs }))),
            Err(error) if error.kind() == ErrorKind::Denied => Ok(Object::Kept(error.detail())),
            Err(error) => Err(error),
        };
        let seen = self.again(super::look::whole(&path), |place| match place {
            Where::Top => Ok(Object::Dir(self.top()?.mode.checked_rem(0o10000))),
            Where::Object(id, _) => {
                file(self.store.open(&super::store::object_path(*id)), Vec::new())
            }
            Where::Link(_, target) => Ok(Object::Link(target.clone())),
            Where::Dir(_, None, mode, _) => Ok(Object::Dir(*mode)),
            Where::Dir(_, Some(at), mode, _) => Ok(Object::Dir(match mode {
                Some(mode) => Some(*mode),
                None => Some(self.base.symlink_metadata(at)?.mode & 0o7777),
            })),
            Where::Base(at) => match self.base.symlink_metadata(at)?.kind {
                // A file that only moves keeps its attributes.
                FileKind::File => {
                    let xattrs = self.base.list_xattrs(at).unwrap_or_default();
                    file(self.base.open(at), xattrs)
                }
                _ => Ok(Object::Nothing),
            },
        });
        match seen {
            // It went, or became something else, since the list was made.
            Err(error) if is_gone(&error) => Ok(Object::Nothing),
            seen => seen,
        }
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link | ErrorKind::Kind
    )
}
