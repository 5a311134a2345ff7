//! What a mount's paths act on: the directory of the host itself, or an overlay over it.
//!
//! Both refuse links, wherever they stand in a path; links are the pipeline's.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use handfast::{
    ErrorKind, FileKind, LockGuard, LockKind, Metadata, Name, RelPath, RenameMode, Root, Timestamp,
    Version, WriteOptions, Written,
};

use crate::error::Error;
use crate::meter::{Account, FileMeter, Hold, Key, Making, Temporary};
use crate::options::OpenOptions;
use crate::overlay::{Overlay, PathLock};
pub(crate) use crate::overlay::{Put, Source};

/// Behind a mount.
pub(crate) enum Layer {
    Direct {
        root: Root,
        account: Arc<Account>,
        mount: u32,
    },
    Overlay(Box<Overlay>),
}

/// A file that a layer opened.
pub(crate) struct Opened {
    // Before the file, see `SessionFile`.
    pub(crate) hold: Option<Hold>,
    pub(crate) file: std::fs::File,
    pub(crate) metadata: Metadata,
    pub(crate) meter: Option<FileMeter>,
}

/// A file that nobody sees.
pub(crate) struct Scratch {
    file: std::fs::File,
    /// Takes the file away where it had to be given a name.
    _temp: handfast::TempFile,
}

impl Scratch {
    /// In a directory, charged to a mount for as long as it is there.
    pub(crate) fn new(
        root: &Root,
        dir: &RelPath,
        account: &Arc<Account>,
        mount: u32,
    ) -> Result<(Self, Option<Temporary>), Error> {
        let temp = root.temp_file(dir)?;
        let file = std::fs::File::from(temp.as_fd().try_clone_to_owned()?);
        let status = rustix::fs::fstat(&file)?;
        let key = Key {
            mount,
            device: status.st_dev,
            number: status.st_ino,
        };
        let charge = account.temporary(key)?;
        Ok((Self { file, _temp: temp }, charge))
    }

    pub(crate) fn file(&self) -> &std::fs::File {
        &self.file
    }
}

fn opened(file: handfast::File, meter: Option<FileMeter>, hold: Option<Hold>) -> Opened {
    Opened {
        metadata: *file.metadata(),
        file: file.into_std(),
        meter,
        hold,
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("an overlay keeps no {what}; use a read-write mount"),
    )
}

impl Layer {
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::Direct { .. } => None,
            Self::Overlay(overlay) => Some(overlay),
        }
    }

    pub(crate) fn symlink_metadata(&self, path: &RelPath) -> Result<Metadata, Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.symlink_metadata(path)?),
            Self::Overlay(overlay) => overlay.symlink_metadata(path),
        }
    }

    /// Facts about something that is not a link.
    pub(crate) fn metadata(&self, path: &RelPath) -> Result<Metadata, Error> {
        let status = self.symlink_metadata(path)?;
        if status.is_symlink() {
            return Err(Error::new(ErrorKind::Link, "a symbolic link is in the way"));
        }
        Ok(status)
    }

    pub(crate) fn read_link(&self, path: &RelPath) -> Result<Vec<u8>, Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.read_link(path)?.as_bytes().to_vec()),
            Self::Overlay(overlay) => overlay.read_link(path),
        }
    }

    pub(crate) fn open_read(&self, path: &RelPath) -> Result<Opened, Error> {
        let (file, hold) = match self {
            Self::Direct {
                root,
                account,
                mount,
            } => {
                let file = root.open(path)?;
                let hold = account.hold(Key::of(*mount, file.metadata()));
                (file, hold)
            }
            Self::Overlay(overlay) => overlay.open_read(path)?,
        };
        Ok(opened(file, None, hold))
    }

    /// Opens for writing, without truncating what the session has not judged yet.
    pub(crate) fn open_write(&self, path: &RelPath, how: OpenOptions) -> Result<Opened, Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => {
                let open = || Ok(root.open_with(path, how.to_library())?);
                let file = if how.create || how.create_new {
                    let len = root.symlink_metadata(path).map_or(0, |old| old.len);
                    account.around_making(root, *mount, path, (len, Making::InPlace), open)?
                } else {
                    open()?
                };
                let key = Key::of(*mount, file.metadata());
                let hold = account.hold(key);
                let meter = account.meter(key, file.metadata().len)?;
                Ok(opened(file, meter, hold))
            }
            Self::Overlay(overlay) => {
                let (file, id) = overlay.open_write(path, how)?;
                let hold = overlay.hold(id);
                let meter = overlay.meter(id, file.metadata().len)?;
                Ok(opened(file, meter, hold))
            }
        }
    }

    pub(crate) fn list(&self, path: &RelPath) -> Result<Vec<(Name, FileKind)>, Error> {
        match self {
            Self::Direct { root, .. } => {
                let mut found = Vec::new();
                let mut listing = root.read_dir(path)?;
                while let Some(entry) = listing.next_entry()? {
                    room_for_one(found.len())?;
                    found.push((entry.name().to_name(), entry.kind()));
                }
                Ok(found)
            }
            Self::Overlay(overlay) => overlay.list(path),
        }
    }

    pub(crate) fn write(
        &self,
        path: &RelPath,
        source: Source<'_>,
        put: Put<'_>,
        options: WriteOptions,
        mode: Option<u32>,
    ) -> Result<Written, Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => {
                let len = source.len();
                account.around_making(root, *mount, path, (len, Making::Replaces), || {
                    write_direct(root, path, source, put, options)
                })
            }
            Self::Overlay(overlay) => overlay.write(path, source, put, mode),
        }
    }

    pub(crate) fn append(&self, path: &RelPath, data: &[u8]) -> Result<Written, Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => {
                let old = root.symlink_metadata(path).map_or(0, |old| old.len);
                let len = old.saturating_add(data.len() as u64);
                account.around_making(root, *mount, path, (len, Making::InPlace), || {
                    Ok(root.append(path, data)?)
                })
            }
            Self::Overlay(overlay) => overlay.append(path, data),
        }
    }

    /// A file that nobody sees, for a directory.
    pub(crate) fn scratch(&self, dir: &RelPath) -> Result<(Scratch, Option<Temporary>), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => Scratch::new(root, dir, account, *mount),
            Self::Overlay(overlay) => {
                require_dir(&self.metadata(dir)?)?;
                overlay.scratch()
            }
        }
    }

    /// Locks a file, which is there, or a directory.
    pub(crate) fn lock(
        &self,
        path: &RelPath,
        kind: LockKind,
        patience: Duration,
        is_dir: bool,
    ) -> Result<Lock, Error> {
        match self {
            Self::Direct { root, .. } if is_dir => {
                Ok(Lock::Direct(root.lock_dir(path, kind, patience)?))
            }
            Self::Direct { root, .. } => Ok(Lock::Direct(root.lock(path, kind, patience)?)),
            Self::Overlay(overlay) => {
                if is_dir {
                    require_dir(&self.metadata(path)?)?;
                }
                Ok(Lock::Overlay(overlay.lock_path(path, kind, patience)?))
            }
        }
    }

    pub(crate) fn create_dir(&self, path: &RelPath, mode: Option<u32>) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_making(root, *mount, path, (0, Making::Replaces), || {
                match mode {
                    Some(mode) => root.create_dir_with(path, mode)?,
                    None => root.create_dir(path)?,
                };
                Ok(())
            }),
            Self::Overlay(overlay) => overlay.create_dir(path, mode),
        }
    }

    pub(crate) fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_making(root, *mount, path, (0, Making::Replaces), || {
                Ok(root.symlink(target, path)?)
            }),
            Self::Overlay(overlay) => overlay.symlink(target, path),
        }
    }

    pub(crate) fn remove_file(&self, path: &RelPath) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_removing(root, *mount, path, || Ok(root.remove_file(path)?)),
            Self::Overlay(overlay) => overlay.remove_file(path),
        }
    }

    pub(crate) fn remove_if(&self, path: &RelPath, version: &Version) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_removing(root, *mount, path, || Ok(root.remove_if(path, version)?)),
            Self::Overlay(overlay) => overlay.remove_file_if(path, Some(version)),
        }
    }

    pub(crate) fn remove_dir(&self, path: &RelPath) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_removing(root, *mount, path, || Ok(root.remove_dir(path)?)),
            Self::Overlay(overlay) => overlay.remove_dir(path),
        }
    }

    pub(crate) fn rename(
        &self,
        from: &RelPath,
        to: &RelPath,
        mode: RenameMode,
    ) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => {
                let rename = || Ok(root.rename(from, to, mode)?);
                match mode {
                    // What stood there is gone, unless it is the same object under both names.
                    RenameMode::Replace => account.around_removing(root, *mount, to, rename),
                    _ => rename(),
                }
            }
            Self::Overlay(overlay) => overlay.rename(from, to, mode),
        }
    }

    pub(crate) fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        match self {
            Self::Direct {
                root,
                account,
                mount,
            } => account.around_linking(root, *mount, source, || Ok(root.hard_link(source, new)?)),
            Self::Overlay(_) => Err(unsupported("hard links")),
        }
    }

    pub(crate) fn chmod(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.chmod(path, mode)?),
            Self::Overlay(overlay) => overlay.chmod(path, mode),
        }
    }

    pub(crate) fn chown(
        &self,
        path: &RelPath,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<(), Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.chown(path, uid, gid)?),
            Self::Overlay(_) => Err(unsupported("owners")),
        }
    }

    pub(crate) fn set_times(
        &self,
        path: &RelPath,
        accessed: Option<Timestamp>,
        modified: Option<Timestamp>,
    ) -> Result<(), Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.set_times(path, accessed, modified)?),
            Self::Overlay(overlay) => overlay.set_times(path, accessed, modified),
        }
    }

    pub(crate) fn get_xattr(&self, path: &RelPath, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.get_xattr(path, name)?),
            Self::Overlay(overlay) => overlay.backing_of(path, |root, at| root.get_xattr(at, name)),
        }
    }

    pub(crate) fn list_xattrs(&self, path: &RelPath) -> Result<Vec<String>, Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.list_xattrs(path)?),
            Self::Overlay(overlay) => overlay.backing_of(path, Root::list_xattrs),
        }
    }

    pub(crate) fn set_xattr(&self, path: &RelPath, name: &str, value: &[u8]) -> Result<(), Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.set_xattr(path, name, value)?),
            Self::Overlay(_) => Err(unsupported("extended attributes")),
        }
    }

    pub(crate) fn remove_xattr(&self, path: &RelPath, name: &str) -> Result<(), Error> {
        match self {
            Self::Direct { root, .. } => Ok(root.remove_xattr(path, name)?),
            Self::Overlay(_) => Err(unsupported("extended attributes")),
        }
    }

    pub(crate) fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        match self {
            Self::Direct { root, .. } if digest => Ok(root.version_with_digest(path)?),
            Self::Direct { root, .. } => Ok(root.version(path)?),
            Self::Overlay(overlay) => overlay.version(path, digest),
        }
    }
}

/// A lock of a layer.
pub(crate) enum Lock {
    Direct(LockGuard),
    Overlay(PathLock),
}

fn require_dir(status: &Metadata) -> Result<(), Error> {
    if !status.is_dir() {
        return Err(Error::new(ErrorKind::NotADirectory, "not a directory"));
    }
    Ok(())
}

/// How many entries of a directory are listed at once: they are held in memory.
const LISTED: usize = 1_000_000;

/// Refuses a listing that has as many entries as one may have.
pub(crate) fn room_for_one(listed: usize) -> Result<(), Error> {
    if listed >= LISTED {
        return Err(Error::new(
            ErrorKind::Limit,
            "the directory has more than a million entries",
        ));
    }
    Ok(())
}

fn write_direct(
    root: &Root,
    path: &RelPath,
    source: Source<'_>,
    put: Put<'_>,
    options: WriteOptions,
) -> Result<Written, Error> {
    if let Source::Bytes(bytes) = source {
        return Ok(match put {
            Put::Replace => root.write_with(path, bytes, options)?,
            Put::New => root.write_new_with(path, bytes, options)?,
            Put::If(version) => root.write_if_with(path, version, bytes, options)?,
        });
    }
    let mut staged = root.stage(path, options)?;
    source.fill(&mut staged)?;
    Ok(match put {
        Put::Replace => staged.commit()?,
        Put::New => staged.commit_new()?,
        Put::If(version) => staged.commit_if(version)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_ends_at_a_million() {
        assert!(room_for_one(LISTED - 1).is_ok());
        let error = room_for_one(LISTED).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
