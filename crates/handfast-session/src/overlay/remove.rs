//! Removing: a name of the base is covered, one of the overlay goes.

use std::collections::BTreeMap;

use handfast::files::WhatToRemove;
use handfast::{ErrorKind, RelPath, Version};

use super::base::Standing;
use super::change::{put, refuse_top};
use super::tree::{Change, ContentLocation, FileNode, NodeEntry, Now, Tree, Was};
use super::{Overlay, State};
use crate::error::Error;
use crate::gate::Locked;
use crate::place::{Guard, Spot};

impl Overlay {
    /// Removes an entry.
    pub(crate) fn remove(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        what: WhatToRemove<'_>,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        let path = self.judged(&locked, spot, guard)?;
        refuse_top(&path)?;
        match what {
            WhatToRemove::File => self.remove_file(&locked, &path, None),
            WhatToRemove::FileIf(version) => self.remove_file(&locked, &path, Some(version)),
            WhatToRemove::Dir => self.remove_dir(&locked, &path),
        }
    }

    /// Removes a file or link; a file only if it is still a version that somebody saw.
    fn remove_file(
        &self,
        locked: &Locked<'_, State>,
        path: &RelPath,
        version: Option<&Version>,
    ) -> Result<(), Error> {
        let tree = locked.state().tree.clone_spine(path);
        let gone = || Error::refused(ErrorKind::Stale, "the file is gone");
        let standing = match (self.standing(&tree, path), version) {
            (Err(error), Some(_)) if error.kind() == ErrorKind::NotFound => return Err(gone()),
            (standing, _) => standing?,
        };
        match (&standing, version) {
            (Standing::Missing, Some(_)) if !path.must_be_dir() => return Err(gone()),
            (Standing::Missing, _) => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            (Standing::Dir, None) => {
                return Err(Error::refused(ErrorKind::IsADirectory, "is a directory"));
            }
            (Standing::Dir, Some(_)) if path.must_be_dir() => {
                return Err(Error::refused(ErrorKind::IsADirectory, "is a directory"));
            }
            (Standing::File(file), Some(version)) if !self.is_version(file, version)? => {
                return Err(Error::refused(ErrorKind::Stale, "the content was changed"));
            }
            (Standing::Link | Standing::Dir, Some(_)) => {
                return Err(Error::refused(ErrorKind::Stale, "the name is not a file"));
            }
            _ => {}
        }
        let was = match &standing {
            Standing::File(file) => self.was_given(&tree, path, Some(file), version)?,
            _ => self.was(&tree, path.as_bytes(), &standing)?,
        };
        let (changes, freed) = removal(&tree, path, was);
        self.record(locked, changes)?;
        self.drop_objects(freed)
    }

    fn remove_dir(&self, locked: &Locked<'_, State>, path: &RelPath) -> Result<(), Error> {
        let tree = locked.state().tree.clone();
        match self.standing(&tree, path)? {
            Standing::Dir => {}
            Standing::Missing => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            Standing::Link | Standing::File(_) => {
                return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
            }
        }
        if !self.is_empty_dir(path)? {
            return Err(Error::refused(
                ErrorKind::NotEmpty,
                "the directory is not empty",
            ));
        }
        let (changes, freed) = self.removal(&tree, path, &Standing::Dir)?;
        self.record(locked, changes)?;
        self.drop_objects(freed)
    }

    /// As the free function of that name, for what stands there now.
    pub(super) fn removal(
        &self,
        tree: &Tree,
        path: &RelPath,
        seen: &Standing,
    ) -> Result<(Vec<Change>, Vec<u64>), Error> {
        let was = self.was(tree, path.as_bytes(), seen)?;
        Ok(removal(tree, path, was))
    }
}

/// The changes that take a name away, and the objects that nothing names then. A directory
/// must be empty. `was` is what the base has there.
fn removal(tree: &Tree, path: &RelPath, mut was: Was) -> (Vec<Change>, Vec<u64>) {
    let bytes = path.as_bytes();
    let entry = tree.entry(bytes);
    let mut changes = Vec::new();
    let mut freed = Vec::new();
    match entry.map(|entry| &entry.now) {
        Some(Now::File(FileNode {
            content: ContentLocation::Object { id, sealed, linked },
            ..
        })) => {
            // The content goes with the last name.
            freed.extend((!sealed && tree.names(*id) < 2).then_some(*id));
            freed.extend(*linked);
        }
        Some(Now::Dir(dir)) => {
            let entries = dir
                .children
                .iter()
                .map(|(name, entry)| (name.clone(), entry.was.clone()))
                .collect();
            match &dir.origin {
                // A directory of the base, in its place: it goes with all that was in it.
                Some(_) if was == Was::Kept => was = Was::Dir(entries),
                // It was moved here: the place it came from learns what became of it.
                Some(origin) => {
                    changes.extend(tree.cover(origin, entries));
                }
                None => {}
            }
            freed.extend((dir.id != 0).then_some(dir.id));
        }
        Some(Now::Link { id, .. }) => freed.push(*id),
        None if was == Was::Kept => was = Was::Dir(BTreeMap::new()),
        _ => {}
    }
    changes.push(if was == Was::Absent {
        Change::Drop {
            path: bytes.to_vec(),
        }
    } else {
        put(
            path,
            NodeEntry {
                was,
                now: Now::Gone,
            },
        )
    });
    (changes, freed)
}
