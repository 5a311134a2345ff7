//! Reading: what is seen of the base through the overlay.

use handfast::files::Entry;
use handfast::{ErrorKind, FileKind, Metadata, Name, NameRef, OpenOptions, RelPath, SymlinkTarget};

use super::Overlay;
use super::base::Standing;
use super::dir_times::DirTimes;
use super::tree::{ContentLocation, Now, Tree, TreeLookup, base_path};
use crate::error::Error;
use crate::meter::Hold;
use crate::own_name::open_by_own_name;
use crate::place::{Guard, LayerDir, Spot};

/// How often something that is replaced while we look is looked up again.
const MAX_RETRIES: u32 = 64;

/// What is asked of the base or the store, once the tree has said where.
pub(super) enum Where {
    Top,
    Base(RelPath),
    /// A file of the base that was moved. The session moved a file, so an object of another kind
    /// that another process puts in its place does not follow it.
    MovedFile(RelPath),
    /// An object, and how many names it has.
    Object(u64, u32),
    /// A directory of the overlay: its number, what shows through, its mode and its times.
    Dir(u64, Option<RelPath>, Option<u32>, DirTimes),
    Link(u64, Vec<u8>),
}

impl Overlay {
    fn locate(&self, spot: Spot<'_>) -> Result<Where, Error> {
        self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            self.locate_in(tree, &path, spot.guard)
        })?
    }

    /// Where the tree says that a path leads.
    pub(super) fn locate_in(
        &self,
        tree: &Tree,
        path: &RelPath,
        guard: Option<&Guard<'_>>,
    ) -> Result<Where, Error> {
        Ok(match tree.find(path)? {
            TreeLookup::Top => Where::Top,
            TreeLookup::Base(at) => Where::Base(at),
            TreeLookup::Here(Now::Gone) => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            TreeLookup::Here(Now::Dir(dir)) => Where::Dir(
                dir.id,
                dir.origin.as_deref().map(base_path).transpose()?,
                dir.mode,
                dir.seen_times(),
            ),
            TreeLookup::Here(Now::Link { id, target }) => Where::Link(*id, target.clone()),
            TreeLookup::Here(Now::File(file)) => match (&file.content, &file.origin) {
                (ContentLocation::Object { id, linked, .. }, _) => {
                    if let (Some(_), Some(guard)) = (linked, guard) {
                        tree.judge_names(*id, guard)?;
                    }
                    Where::Object(*id, tree.names(*id))
                }
                (ContentLocation::Base, Some((at, _))) => Where::MovedFile(base_path(at)?),
                (ContentLocation::Base, None) => {
                    return Err(Error::refused(
                        ErrorKind::Stale,
                        "the journal names a file without content",
                    ));
                }
            },
        })
    }

    pub(crate) fn symlink_metadata(&self, spot: Spot<'_>) -> Result<Metadata, Error> {
        self.again(spot, |place| self.status_of(place))
    }

    /// Facts about what the tree has located.
    pub(super) fn status_of(&self, place: &Where) -> Result<Metadata, Error> {
        match place {
            Where::Top => self.top(),
            Where::Base(at) => Ok(self.base.symlink_metadata(at)?),
            Where::MovedFile(at) => match self.base.symlink_metadata(at)? {
                status if status.kind == FileKind::File => Ok(status),
                _ => Err(Error::refused(
                    ErrorKind::Stale,
                    "the file was replaced in the base by something else",
                )),
            },
            Where::Object(id, names) => {
                let mut status = self
                    .store
                    .symlink_metadata(&super::store::object_path(*id))?;
                // However the store keeps it.
                status.nlink = (*names).into();
                Ok(status)
            }
            Where::Dir(id, origin, mode, times) => {
                let mut status = match origin.as_ref().map(|at| self.base.symlink_metadata(at)) {
                    Some(Ok(status)) if status.is_dir() => status,
                    _ => self.made_up(FileKind::Dir, *id, 0o755)?,
                };
                if let Some(mode) = mode {
                    status.mode = *mode;
                }
                times.put_into(&mut status);
                Ok(status)
            }
            Where::Link(id, target) => {
                let mut status = self.made_up(FileKind::Symlink, *id, 0o777)?;
                status.len = target.len() as u64;
                Ok(status)
            }
        }
    }

    /// Facts about what exists in the journal only.
    fn made_up(&self, kind: FileKind, id: u64, mode: u32) -> Result<Metadata, Error> {
        // The kernel asks about a directory before and after every change in it.
        let mut status = match self.template.get() {
            Some(known) => *known,
            None => {
                let status = self.home.symlink_metadata(&RelPath::root())?;
                *self.template.get_or_init(|| status)
            }
        };
        status.kind = kind;
        status.mode = mode;
        status.nlink = 1;
        status.len = 0;
        status.blocks = 0;
        status.identity.inode = id;
        status.identity.born = None;
        status.mount_root = false;
        Ok(status)
    }

    /// Opens a file for reading.
    pub(crate) fn open_read(
        &self,
        spot: Spot<'_>,
    ) -> Result<(handfast::File, Option<Hold>), Error> {
        self.again(spot, |place| match place {
            Where::Base(at) | Where::MovedFile(at) => Ok((self.open_in_base(at)?, None)),
            Where::Object(id, _) => {
                let hold = self.hold(*id);
                Ok((self.store.open(&super::store::object_path(*id))?, hold))
            }
            Where::Top => Err(super::base::top_itself()),
            Where::Dir(..) => Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
            Where::Link(..) => Err(super::tree::link()),
        })
    }

    pub(crate) fn read_link(&self, spot: Spot<'_>) -> Result<SymlinkTarget, Error> {
        self.again(spot, |place| match place {
            Where::Link(_, target) => Ok(SymlinkTarget::from_stored(target.clone())),
            Where::Base(at) => self.base.read_link(at),
            _ => Err(Error::refused(ErrorKind::Kind, "it is not a symbolic link")),
        })
    }

    /// The names in a directory: the overlay's, and the base's that are not covered.
    pub(crate) fn list(&self, spot: Spot<'_>) -> Result<Vec<Entry>, Error> {
        let (origin, covered) = self.with_tree(|tree| {
            let path = &self.path_of(tree, spot)?;
            let covered = tree.dir(path).map(|dir| {
                let names = dir.children.iter().map(|(name, entry)| {
                    let kind = match &entry.now {
                        Now::Gone => None,
                        Now::Dir(_) => Some(FileKind::Dir),
                        Now::File(_) => Some(FileKind::File),
                        Now::Link { .. } => Some(FileKind::Symlink),
                    };
                    (name.clone(), kind)
                });
                (dir.origin.clone(), names.collect::<Vec<_>>())
            });
            match covered {
                Some((origin, covered)) => {
                    let origin = origin.as_deref().map(base_path).transpose()?;
                    Ok((origin, covered))
                }
                None => match tree.find(path)? {
                    TreeLookup::Base(at) => Ok((Some(at), Vec::new())),
                    TreeLookup::Here(Now::Link { .. }) => Err(super::tree::link()),
                    _ => Err(Error::refused(ErrorKind::NotADirectory, "not a directory")),
                },
            }
        })??;
        let mut found: Vec<Entry> = Vec::new();
        for (name, kind) in &covered {
            if let Some(kind) = kind {
                found.push(Entry {
                    name: Name::parse(name)?,
                    kind: *kind,
                    inode: 0,
                });
            }
        }
        if let Some(origin) = origin {
            let is_covered = |name: NameRef<'_>| {
                covered
                    .binary_search_by(|(known, _)| known.as_slice().cmp(name.as_bytes()))
                    .is_ok()
            };
            let mut listing = match self.base.read_dir(&origin) {
                Ok(listing) => listing,
                // The base lost the directory; what the overlay has in it is still there.
                Err(error) if error.kind() == ErrorKind::NotFound && !covered.is_empty() => {
                    return Ok(found);
                }
                Err(error) => return Err(error),
            };
            while let Some(entry) = listing.next_entry()? {
                // What a commit keeps between two places is nobody's to see.
                let is_staging = origin.is_root()
                    && entry
                        .name()
                        .as_bytes()
                        .starts_with(super::STAGING.as_bytes());
                if !is_staging && !is_covered(entry.name()) {
                    crate::layer::room_for_one(found.len())?;
                    found.push(Entry {
                        name: entry.name().to_name(),
                        kind: entry.kind(),
                        inode: entry.inode(),
                    });
                }
            }
        }
        Ok(found)
    }

    /// Looks up and asks. An object that is replaced between the two is looked up again; one that
    /// is still named and not there was removed behind our back.
    pub(super) fn again<T>(
        &self,
        spot: Spot<'_>,
        ask: impl Fn(&Where) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..MAX_RETRIES {
            let place = self.locate(spot)?;
            match (ask(&place), &place) {
                (Err(error), Where::Object(id, _)) if error.kind() == ErrorKind::NotFound => {
                    let now = self.locate(spot)?;
                    if matches!(now, Where::Object(other, _) if other == *id) {
                        // A commit under way moved it into the base.
                        if let Some(at) = self.with_tree(|tree| self.committed(tree, spot))?? {
                            return ask(&Where::Base(at));
                        }
                        return Err(Error::refused(
                            ErrorKind::Stale,
                            "the overlay's content for this file is gone: it was removed from outside",
                        ));
                    }
                }
                // A commit holds a lease on a file that it moves, for a few system calls.
                (Err(error), Where::Object(..) | Where::Base(_))
                    if error.kind() == ErrorKind::Busy =>
                {
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
                // A name may move from base to overlay between the two looks as well.
                (Err(error), Where::Base(at) | Where::MovedFile(at))
                    if error.kind() == ErrorKind::NotFound =>
                {
                    match self.locate(spot)? {
                        Where::Base(now) | Where::MovedFile(now) if now == *at => {
                            return Err(error);
                        }
                        _ => {}
                    }
                }
                (answer, _) => return answer,
            }
        }
        Err(Error::refused(
            ErrorKind::Raced,
            "the file kept being replaced; trying again is sound",
        ))
    }

    /// Where the base has what a spot leads to, if a commit is under way.
    fn committed(&self, tree: &Tree, spot: Spot<'_>) -> Result<Option<RelPath>, Error> {
        match tree.committing {
            Some(_) => self.path_of(tree, spot).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a directory shows nothing.
    pub(super) fn is_empty_dir(&self, path: &RelPath) -> Result<bool, Error> {
        Ok(self.list(whole(path))?.is_empty())
    }

    /// The top of the mount.
    pub(crate) fn top(&self) -> Result<Metadata, Error> {
        let (mode, times) = self.with_tree(|tree| (tree.root.mode, tree.root.seen_times()))?;
        let mut status = self.base.symlink_metadata(&RelPath::root())?;
        status.mode = mode.unwrap_or(status.mode);
        times.put_into(&mut status);
        Ok(status)
    }

    /// Opens a file of the base, for reading, judged by all its names.
    fn open_in_base(&self, at: &RelPath) -> Result<handfast::File, Error> {
        match self.is_judged {
            true => open_by_own_name(&self.base, at),
            false => self.base.open(at),
        }
    }

    /// Opens the file behind a standing, for reading.
    pub(super) fn open_standing(&self, standing: &Standing) -> Result<handfast::File, Error> {
        match standing {
            Standing::File(file) => {
                let (root, path) = self.backing(file)?;
                match file.object {
                    Some(_) => Ok(root.open_with(&path, OpenOptions::new())?),
                    None => self.open_in_base(&path),
                }
            }
            _ => Err(Error::refused(ErrorKind::Kind, "it is not a file")),
        }
    }
}

/// A path from the top of the mount.
pub(super) fn whole(path: &RelPath) -> Spot<'_> {
    Spot {
        dir: &LayerDir::Top,
        rest: path,
        walked: path,
        expected: None,
        guard: None,
        must_own: false,
    }
}
