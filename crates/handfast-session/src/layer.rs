//! What a mount's paths act on: the directory of the host itself, or an overlay over it.
//!
//! Both refuse links, wherever they stand in a path; links are the resolver's. Every verb takes a
//! [`Spot`]: a directory that is held and a path below it. An overlay asks the guard again under its
//! lock, with the path that the directory has then and the kind of what is there.

mod direct;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use handfast::files::{Attributes, Entry, Put, WhatToRemove};
use handfast::{
    ErrorKind, Identity, LockGuard, LockKind, Metadata, NameRef, OpenOptions, RelPath, RenameMode,
    Root, SymlinkTarget, WriteOptions, Written,
};

pub(crate) use direct::Direct;
use direct::write_direct;

use crate::error::Error;
use crate::meter::{Account, FileMeter, Hold, Key, Making, Temporary};
pub(crate) use crate::overlay::Source;
use crate::overlay::{Overlay, PathLock};
use crate::pipeline::Moving;
use crate::place::{Guard, LayerDir, ObjectKey, Spot};

/// Behind a mount.
pub(crate) enum MountLayer {
    Direct(Direct),
    Overlay(Box<Overlay>),
}

/// A file that a layer opened.
pub(crate) struct OpenedFile {
    // Before the file, see `SessionFile`.
    pub(crate) hold: Option<Hold>,
    pub(crate) file: handfast::File,
    pub(crate) meter: Option<FileMeter>,
}

/// What a layer has under a name.
pub(crate) struct FoundObject {
    pub(crate) metadata: Metadata,
    /// The object as a directory, if it is one.
    pub(crate) dir: Option<LayerDir>,
    pub(crate) key: Option<ObjectKey>,
    /// Whether its content is the base's.
    pub(crate) is_of_base: bool,
}

/// A file that nobody sees.
pub(crate) struct HiddenFile {
    file: std::fs::File,
    /// Takes the file away where it had to be given a name.
    _temp: handfast::TempFile,
}

impl HiddenFile {
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

/// Content that is put under a name.
pub(crate) struct FileContent<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) put: Put<'a>,
    pub(crate) options: WriteOptions,
}

fn unsupported(what: &str) -> Error {
    Error::refused(
        ErrorKind::Unsupported,
        format!("an overlay keeps no {what}; use a read-write mount"),
    )
}

impl MountLayer {
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        match self {
            Self::Direct(_) => None,
            Self::Overlay(overlay) => Some(overlay),
        }
    }

    /// The top of the mount.
    pub(crate) fn top(&self) -> Result<Metadata, Error> {
        match self {
            Self::Direct(direct) => direct.root.symlink_metadata(&RelPath::root()),
            Self::Overlay(overlay) => overlay.top(),
        }
    }

    /// What one name in a held directory refers to; a link is itself.
    pub(crate) fn lookup(&self, dir: &LayerDir, name: NameRef<'_>) -> Result<FoundObject, Error> {
        match self {
            Self::Direct(direct) => direct.lookup(dir, name),
            Self::Overlay(overlay) => overlay.lookup(dir, name),
        }
    }

    pub(crate) fn symlink_metadata(&self, spot: Spot<'_>) -> Result<Metadata, Error> {
        match self {
            Self::Direct(direct) => direct.at(spot)?.symlink_metadata(spot.rest),
            Self::Overlay(overlay) => overlay.symlink_metadata(spot),
        }
    }

    /// Facts about something that is not a link.
    pub(crate) fn metadata(&self, spot: Spot<'_>) -> Result<Metadata, Error> {
        // `link/` is a link in the way, and not something that is no directory.
        let name;
        let spot = match spot.rest.must_be_dir() {
            true => {
                name = spot.rest.clone().with_must_be_dir(false);
                Spot {
                    rest: &name,
                    ..spot
                }
            }
            false => spot,
        };
        let status = self.symlink_metadata(spot)?;
        if status.is_symlink() {
            return Err(Error::refused(
                ErrorKind::Link,
                "a symbolic link is in the way",
            ));
        }
        Ok(status)
    }

    pub(crate) fn read_link(&self, spot: Spot<'_>) -> Result<SymlinkTarget, Error> {
        match self {
            Self::Direct(direct) => direct.at(spot)?.read_link(spot.rest),
            Self::Overlay(overlay) => overlay.read_link(spot),
        }
    }

    pub(crate) fn open_read(&self, spot: Spot<'_>) -> Result<OpenedFile, Error> {
        let (file, hold) = match self {
            Self::Direct(direct) => {
                let file = direct.open_read(spot)?;
                let hold = direct.account.hold(direct.key(file.metadata()));
                (file, hold)
            }
            Self::Overlay(overlay) => overlay.open_read(spot)?,
        };
        Ok(OpenedFile {
            file,
            hold,
            meter: None,
        })
    }

    /// Opens for writing, without truncating what the session has not judged yet.
    pub(crate) fn open_write(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        how: OpenOptions,
    ) -> Result<OpenedFile, Error> {
        match self {
            Self::Direct(direct) => direct.open_write(spot, how),
            Self::Overlay(overlay) => {
                let (file, id) = overlay.open_write(spot, guard, how)?;
                let hold = overlay.hold(id);
                let meter = overlay.meter(id, file.metadata().len)?;
                Ok(OpenedFile { file, hold, meter })
            }
        }
    }

    pub(crate) fn list(&self, spot: Spot<'_>) -> Result<Vec<Entry>, Error> {
        match self {
            Self::Direct(direct) => {
                let mut found = Vec::new();
                let mut listing = direct.at(spot)?.read_dir(spot.rest)?;
                while let Some(entry) = listing.next_entry()? {
                    room_for_one(found.len())?;
                    found.push(Entry {
                        name: entry.name().to_name(),
                        kind: entry.kind(),
                        inode: entry.inode(),
                    });
                }
                Ok(found)
            }
            Self::Overlay(overlay) => overlay.list(spot),
        }
    }

    pub(crate) fn write(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        content: FileContent<'_>,
    ) -> Result<Written, Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                let made = (content.source.len(), Making::Replaces);
                direct.making(&root, spot, made, || {
                    write_direct(&root, spot.rest, content)
                })
            }
            Self::Overlay(overlay) => overlay.write(spot, guard, content),
        }
    }

    pub(crate) fn append(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        data: &[u8],
        options: WriteOptions,
    ) -> Result<Written, Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                let old = root.symlink_metadata(spot.rest).map_or(0, |old| old.len);
                let len = old.saturating_add(data.len() as u64);
                direct.making(&root, spot, (len, Making::InPlace), || {
                    root.append_with(spot.rest, data, options)
                })
            }
            Self::Overlay(overlay) => overlay.append(spot, guard, data, options),
        }
    }

    /// A file that nobody sees, for a directory.
    pub(crate) fn scratch(&self, dir: Spot<'_>) -> Result<(HiddenFile, Option<Temporary>), Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(dir)?;
                HiddenFile::new(&root, dir.rest, &direct.account, direct.mount)
            }
            Self::Overlay(overlay) => {
                require_dir(&self.metadata(dir)?)?;
                overlay.scratch()
            }
        }
    }

    /// Locks a file, which is there, or a directory.
    pub(crate) fn lock(
        &self,
        spot: Spot<'_>,
        kind: LockKind,
        patience: Duration,
        is_dir: bool,
    ) -> Result<LayerLock, Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                Ok(LayerLock::Direct(match is_dir {
                    true => root.lock_dir(spot.rest, kind, patience)?,
                    false => root.lock(spot.rest, kind, patience)?,
                }))
            }
            Self::Overlay(overlay) => {
                if is_dir {
                    require_dir(&self.metadata(spot)?)?;
                }
                Ok(LayerLock::Overlay(overlay.lock_path(spot, kind, patience)?))
            }
        }
    }

    /// Makes a directory, and says which one it is where others may rename theirs over it.
    pub(crate) fn create_dir(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        mode: u32,
    ) -> Result<Option<Identity>, Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                direct.making(&root, spot, (0, Making::Replaces), || {
                    let made = root.create_dir_with(spot.rest, mode)?;
                    Ok(Some(made.identity()))
                })
            }
            Self::Overlay(overlay) => overlay.create_dir(spot, guard, mode).map(|()| None),
        }
    }

    pub(crate) fn symlink(
        &self,
        target: &[u8],
        spot: Spot<'_>,
        guard: &Guard<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                direct.making(&root, spot, (0, Making::Replaces), || {
                    root.symlink(target, spot.rest)
                })
            }
            Self::Overlay(overlay) => overlay.symlink(target, spot, guard),
        }
    }

    pub(crate) fn remove(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        what: WhatToRemove<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                direct.removing(&root, spot, || match what {
                    WhatToRemove::File => root.remove_file(spot.rest),
                    WhatToRemove::FileIf(version) => root.remove_if(spot.rest, version),
                    WhatToRemove::Dir => root.remove_dir(spot.rest),
                })
            }
            Self::Overlay(overlay) => overlay.remove(spot, guard, what),
        }
    }

    pub(crate) fn rename(&self, moving: &Moving<'_>, mode: RenameMode) -> Result<(), Error> {
        let (from, to) = (moving.from.spot(), moving.to.spot());
        match self {
            Self::Direct(direct) => {
                // What is renamed is not held: it may be another object by then. So its kind is
                // not asked for, and the patterns alone decide.
                let (from_guard, to_guard) = (&moving.from_guard, &moving.to_guard);
                from_guard.check_move(from.walked, to.walked, None)?;
                if mode == RenameMode::Exchange {
                    to_guard.check_move(to.walked, from.walked, None)?;
                }
                let (source, target) = (direct.at(from)?, direct.at(to)?);
                for (root, spot, guard) in [(&source, from, from_guard), (&target, to, to_guard)] {
                    if let Ok(status) = root.symlink_metadata(spot.rest) {
                        guard.refuse_kept(&status)?;
                    }
                }
                let rename = || source.rename_to(from.rest, &target, to.rest, mode);
                match mode {
                    // What stood there is gone, unless it is the same object under both names.
                    RenameMode::Replace => direct.removing(&target, to, rename),
                    _ => rename(),
                }
            }
            Self::Overlay(overlay) => overlay.rename(moving, mode),
        }
    }

    pub(crate) fn hard_link(&self, moving: &Moving<'_>) -> Result<(), Error> {
        let (from, to) = (moving.from.spot(), moving.to.spot());
        let direct = match self {
            Self::Direct(direct) => direct,
            Self::Overlay(overlay) => return overlay.hard_link(moving),
        };
        let (source, target) = (direct.at(from)?, direct.at(to)?);
        direct
            .account
            .around_linking(&source, direct.mount, from.rest, || {
                source.hard_link_to(from.rest, &target, to.rest)
            })
    }

    pub(crate) fn set_attributes(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        attributes: &Attributes,
    ) -> Result<(), Error> {
        match self {
            Self::Direct(direct) => {
                let root = direct.at(spot)?;
                handfast::Files::set_attributes(&*root, spot.rest, attributes)
            }
            Self::Overlay(_) if attributes.uid.is_some() || attributes.gid.is_some() => {
                Err(unsupported("owners"))
            }
            Self::Overlay(overlay) => overlay.set_attributes(spot, guard, attributes),
        }
    }

    pub(crate) fn get_xattr(&self, spot: Spot<'_>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Direct(direct) => direct.at(spot)?.get_xattr(spot.rest, name),
            Self::Overlay(overlay) => overlay.get_xattr(spot, name),
        }
    }

    pub(crate) fn list_xattrs(&self, spot: Spot<'_>) -> Result<Vec<String>, Error> {
        match self {
            Self::Direct(direct) => direct.at(spot)?.list_xattrs(spot.rest),
            Self::Overlay(overlay) => overlay.list_xattrs(spot),
        }
    }

    pub(crate) fn set_xattr(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let direct = match self {
            Self::Direct(direct) => direct,
            Self::Overlay(overlay) => return overlay.set_xattr(spot, guard, name, value),
        };
        let root = direct.at(spot)?;
        match value {
            Some(value) => root.set_xattr(spot.rest, name, value),
            None => root.remove_xattr(spot.rest, name),
        }
    }
}

/// A lock of a layer.
pub(crate) enum LayerLock {
    Direct(LockGuard),
    Overlay(PathLock),
}

fn require_dir(status: &Metadata) -> Result<(), Error> {
    if !status.is_dir() {
        return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
    }
    Ok(())
}

/// How many entries of a directory are listed at once: they are held in memory.
const MAX_ENTRIES: usize = 1_000_000;

/// Refuses a listing that has as many entries as one may have.
pub(crate) fn room_for_one(listed: usize) -> Result<(), Error> {
    if listed >= MAX_ENTRIES {
        return Err(Error::refused(
            ErrorKind::Limit,
            "the directory has more than a million entries",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_ends_at_a_million() {
        assert!(room_for_one(MAX_ENTRIES - 1).is_ok());
        let error = room_for_one(MAX_ENTRIES).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
