//! A directory of the host itself, behind a mount.

use std::sync::Arc;

use handfast::files::Put;
use handfast::{Dir, ErrorKind, Metadata, NameRef, OpenOptions, RelPath, Root, Written};

use super::{FileContent, FoundObject, OpenedFile, Source};
use crate::error::Error;
use crate::meter::{Account, Key, Making};
use crate::own_name::open_by_own_name;
use crate::place::{LayerDir, ObjectKey, Spot};

/// A directory of the host itself.
pub(crate) struct Direct {
    pub(super) root: Root,
    pub(super) account: Arc<Account>,
    pub(super) mount: u32,
    /// Whether rules speak of its files: see [`crate::own_name`].
    is_judged: bool,
}

/// A root to work in: the mount's own, or the one of a directory that is held.
pub(super) enum RootAt<'a> {
    Top(&'a Root),
    Dir(Box<Dir>),
}

impl std::ops::Deref for RootAt<'_> {
    type Target = Root;

    fn deref(&self) -> &Root {
        match self {
            Self::Top(root) => root,
            Self::Dir(dir) => dir,
        }
    }
}

impl Direct {
    pub(crate) fn new(root: Root, account: Arc<Account>, mount: u32, is_judged: bool) -> Self {
        Self {
            root,
            account,
            mount,
            is_judged,
        }
    }

    pub(super) fn open_read(&self, spot: Spot<'_>) -> Result<handfast::File, Error> {
        let root = self.at(spot)?;
        match self.is_judged {
            true => open_by_own_name(&root, spot.rest),
            false => root.open(spot.rest),
        }
    }

    pub(super) fn key(&self, object: &Metadata) -> Key {
        Key::of(self.mount, object)
    }

    /// The root from which a spot's path counts, expecting the object that was looked up.
    pub(super) fn at(&self, spot: Spot<'_>) -> Result<RootAt<'_>, Error> {
        let held = match spot.dir {
            LayerDir::Top => None,
            LayerDir::Direct(dir) => Some(dir),
            LayerDir::Overlay(_) => {
                return Err(Error::refused(
                    ErrorKind::Invalid,
                    "the handle belongs to another mount",
                ));
            }
        };
        Ok(match (held, spot.expected) {
            (Some(dir), Some(ObjectKey::Direct(identity))) => {
                RootAt::Dir(Box::new(dir.expecting(*identity)))
            }
            (Some(dir), _) => RootAt::Dir(dir.clone()),
            (None, Some(ObjectKey::Direct(identity))) => {
                RootAt::Dir(Box::new(self.root.as_dir()?.expecting(*identity)))
            }
            (None, _) => RootAt::Top(&self.root),
        })
    }

    /// Opens a directory below the one that a spot begins at.
    pub(crate) fn open_dir(&self, spot: Spot<'_>, path: &RelPath) -> Result<Dir, Error> {
        self.at(spot)?.open_dir(path)
    }

    pub(super) fn lookup(&self, dir: &LayerDir, name: NameRef<'_>) -> Result<FoundObject, Error> {
        let here = match dir {
            LayerDir::Top => Box::new(self.root.as_dir()?),
            LayerDir::Direct(dir) => dir.clone(),
            LayerDir::Overlay(_) => return Err(Error::refused(ErrorKind::Invalid, "")),
        };
        let found = here.lookup_name(name)?;
        Ok(FoundObject {
            is_of_base: true,
            metadata: *found.metadata(),
            key: Some(ObjectKey::Direct(found.metadata().identity)),
            dir: match found.metadata().is_dir() {
                true => Some(LayerDir::Direct(Box::new(here.dir_of_node(&found)?))),
                false => None,
            },
        })
    }

    pub(super) fn open_write(&self, spot: Spot<'_>, how: OpenOptions) -> Result<OpenedFile, Error> {
        let root = self.at(spot)?;
        let open = || root.open_with(spot.rest, how.truncate(false));
        let file = if how.creates() {
            let len = root.symlink_metadata(spot.rest).map_or(0, |old| old.len);
            self.making(&root, spot, (len, Making::InPlace), open)?
        } else {
            open()?
        };
        let key = self.key(file.metadata());
        let hold = self.account.hold(key);
        let meter = self.account.meter(key, file.metadata().len)?;
        Ok(OpenedFile { file, hold, meter })
    }

    pub(super) fn making<T>(
        &self,
        root: &Root,
        spot: Spot<'_>,
        made: (u64, Making),
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let place = crate::meter::CreationSite {
            root,
            mount: self.mount,
            path: spot.rest,
            walked: spot.walked,
        };
        self.account.around_making(&place, made, make)
    }

    pub(super) fn removing<T>(
        &self,
        root: &Root,
        spot: Spot<'_>,
        remove: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.account
            .around_removing(root, self.mount, spot.rest, remove)
    }
}

pub(super) fn write_direct(
    root: &Root,
    path: &RelPath,
    content: FileContent<'_>,
) -> Result<Written, Error> {
    let FileContent {
        source,
        put,
        options,
    } = content;
    if let Source::Bytes(bytes) = source {
        return match put {
            Put::Replace => root.write_with(path, bytes, options),
            Put::New => root.write_new_with(path, bytes, options),
            Put::If(version) => root.write_if_with(path, version, bytes, options),
        };
    }
    if let Put::New = put
        && root
            .symlink_metadata(path)
            .is_ok_and(|there| there.is_symlink())
    {
        // Staging says that a link is in the way; of a new file it is taken.
        return Err(Error::refused(
            ErrorKind::Exists,
            "something is there already",
        ));
    }
    let mut staged = root.stage(path, options)?;
    source.fill(&mut staged)?;
    match put {
        Put::Replace => staged.commit(),
        Put::New => staged.commit_new(),
        Put::If(version) => staged.commit_if(version),
    }
}
