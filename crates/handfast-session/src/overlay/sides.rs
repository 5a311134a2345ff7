//! Both sides of a change: what the base has, and what a commit puts there.

use handfast::{ErrorKind, FileKind, Metadata, RelPath, Root};

use super::look::Where;
use super::tree::base_path;
use super::{DiffChange, DiffKind, Overlay};
use crate::error::Error;

/// What stands on one side.
pub(crate) enum SideObject {
    Nothing,
    /// A directory; its mode, unless the umask decides at commit.
    Dir(Option<u32>),
    Link(Vec<u8>),
    File(Box<FileSide>),
    /// Something that an overlay does not cover.
    Other(Metadata),
    /// A file whose content is kept from us, by a rule or by its mode: what is known of it, and why.
    Kept(Box<Metadata>, String),
}

/// A file that is open for reading.
pub(crate) struct FileSide {
    pub(crate) file: handfast::File,
    pub(crate) xattrs: Vec<String>,
    /// How many names it has.
    pub(crate) names: u64,
}

impl FileSide {
    fn of(file: handfast::File) -> Self {
        let xattrs = super::attributes::shown_xattrs(&file);
        let names = file.metadata().nlink;
        Self {
            file,
            xattrs,
            names,
        }
    }
}

impl Overlay {
    /// What the base has where a change was made.
    pub(crate) fn side_before(&self, change: &DiffChange) -> Result<SideObject, Error> {
        let Some(at) = change.from.as_ref().or(change.home.as_ref()) else {
            return Ok(SideObject::Nothing);
        };
        if change.kind == DiffKind::Added {
            return Ok(SideObject::Nothing);
        }
        let at = base_path(at)?;
        let status = match self.base.symlink_metadata(&at) {
            Ok(status) => status,
            Err(error) if is_gone(&error) => return Ok(SideObject::Nothing),
            Err(error) => return Err(error),
        };
        Ok(match status.kind {
            FileKind::Dir => SideObject::Dir(Some(status.mode & 0o7777)),
            FileKind::Symlink => match self.base.read_link(&at) {
                Ok(target) => SideObject::Link(target.as_bytes().to_vec()),
                Err(error) if is_gone(&error) => SideObject::Nothing,
                Err(error) => return Err(error),
            },
            FileKind::File => match self.base.open(&at) {
                Ok(file) => SideObject::File(Box::new(FileSide::of(file))),
                Err(error) if is_gone(&error) => SideObject::Nothing,
                Err(error) if error.kind() == ErrorKind::Denied => kept(status, &error),
                Err(error) => return Err(error),
            },
            _ => SideObject::Other(status),
        })
    }

    /// What a commit of a change puts there.
    pub(crate) fn side_after(&self, change: &DiffChange) -> Result<SideObject, Error> {
        if change.kind == DiffKind::Deleted {
            return Ok(SideObject::Nothing);
        }
        let path = base_path(&change.path)?;
        let file = |root: &Root, at: &RelPath| match root.open(at) {
            Ok(file) => Ok(SideObject::File(Box::new(FileSide::of(file)))),
            Err(error) if error.kind() == ErrorKind::Denied => {
                Ok(kept(root.symlink_metadata(at)?, &error))
            }
            Err(error) => Err(error),
        };
        let seen = self.again(super::look::whole(&path), |place| match place {
            Where::Top => Ok(SideObject::Dir(self.top()?.mode.checked_rem(0o10000))),
            Where::Object(id, names) => {
                let mut side = file(&self.store, &super::store::object_path(*id))?;
                match &mut side {
                    SideObject::File(side) => side.names = (*names).into(),
                    SideObject::Kept(status, _) => status.nlink = (*names).into(),
                    _ => {}
                }
                Ok(side)
            }
            Where::Link(_, target) => Ok(SideObject::Link(target.clone())),
            Where::Dir(_, None, mode, _) => Ok(SideObject::Dir(*mode)),
            Where::Dir(_, Some(at), mode, _) => Ok(SideObject::Dir(match mode {
                Some(mode) => Some(*mode),
                None => Some(self.base.symlink_metadata(at)?.mode & 0o7777),
            })),
            Where::Base(at) | Where::MovedFile(at) => match self.base.symlink_metadata(at)?.kind {
                // A file that only moves keeps its attributes.
                FileKind::File => file(&self.base, at),
                _ => Ok(SideObject::Nothing),
            },
        });
        match seen {
            // It went, or became something else, since the list was made.
            Err(error) if is_gone(&error) => Ok(SideObject::Nothing),
            seen => seen,
        }
    }
}

/// A file that cannot be opened. A mode that a program gave it is a reason that a person can do something about.
fn kept(status: Metadata, error: &Error) -> SideObject {
    let why = match status.mode & 0o400 {
        0 => format!(
            "it cannot be read, its mode {:04o} forbids it",
            status.mode & 0o7777
        ),
        _ => error.detail(),
    };
    SideObject::Kept(Box::new(status), why)
}

fn is_gone(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link | ErrorKind::Kind
    )
}
