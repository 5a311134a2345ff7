//! Names of a directory: what each leads to, with a handle that follows it.
//!
//! One look at the tree says where a name leads and which object that is. Several names of one
//! directory share the look, and the directory of the base is opened once for all of them.

use handfast::{Dir, ErrorKind, Metadata, Name, NameRef, RelPath};

use super::Overlay;
use super::keys::{DirHandle, DirKey, FileKey};
use super::look::Where;
use super::tree::Tree;
use crate::error::Error;
use crate::layer::FoundObject;
use crate::place::{LayerDir, ObjectKey, Spot};

/// What the tree says of one name.
struct Located {
    path: RelPath,
    place: Where,
    dir: Option<DirKey>,
    file: Option<FileKey>,
}

impl Overlay {
    /// What one name in a directory refers to.
    pub(crate) fn lookup(&self, dir: &LayerDir, name: NameRef<'_>) -> Result<FoundObject, Error> {
        let rest = RelPath::from(name);
        let spot = in_dir(dir, &rest);
        let located = self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            self.located(tree, path)
        })??;
        match self.status_of(&located.place) {
            Ok(status) => Ok(found(located, status)),
            // It is gone, or it moved between the look at the tree and the one at the disk.
            Err(error) if error.kind() == ErrorKind::NotFound => self.lookup_again(spot),
            Err(error) => Err(error),
        }
    }

    /// What several names in a directory refer to.
    pub(crate) fn lookup_all(
        &self,
        dir: &LayerDir,
        names: &[&Name],
    ) -> Vec<Result<FoundObject, Error>> {
        let here = RelPath::root();
        let located = self.with_tree(|tree| {
            let above = self.path_of(tree, in_dir(dir, &here))?;
            let each = names
                .iter()
                .map(|name| self.located(tree, above.join(*name)));
            Ok::<_, Error>(each.collect::<Vec<_>>())
        });
        let Ok(Ok(located)) = located else {
            // Each name gets the error of its own lookup.
            let each = names.iter();
            return each.map(|name| self.lookup(dir, name.as_ref())).collect();
        };
        let mut base: Option<(RelPath, Dir)> = None;
        let each = names.iter().zip(located);
        each.map(|(name, located)| {
            let located = located?;
            let status = match &located.place {
                Where::Base(at) if at.name() == Some(name.as_ref()) => {
                    self.in_base(&mut base, at, name)
                }
                place => self.status_of(place),
            };
            match status {
                Ok(status) => Ok(found(located, status)),
                Err(_) => self.lookup(dir, name.as_ref()),
            }
        })
        .collect()
    }

    /// Facts about a name of the base, whose directory stays open from name to name.
    fn in_base(
        &self,
        open: &mut Option<(RelPath, Dir)>,
        at: &RelPath,
        name: &Name,
    ) -> Result<Metadata, Error> {
        let above = at.parent().unwrap_or_else(RelPath::root);
        let dir = match open {
            Some((known, dir)) if *known == above => dir,
            _ => {
                let dir = self.base.open_dir(&above)?;
                &mut open.insert((above, dir)).1
            }
        };
        dir.metadata_of_name(name)
    }

    fn located(&self, tree: &Tree, path: RelPath) -> Result<Located, Error> {
        let place = self.locate_in(tree, &path, None)?;
        let (dir, file) = match &place {
            Where::Top | Where::Dir(..) => (tree.dir_key(&path), None),
            Where::Object(..) | Where::MovedFile(_) | Where::Link(..) => {
                (None, tree.file_key(&path))
            }
            // What it is, the base says.
            Where::Base(_) => (tree.dir_key(&path), tree.file_key(&path)),
        };
        Ok(Located {
            path,
            place,
            dir,
            file,
        })
    }

    /// As often as it takes until tree and disk agree.
    fn lookup_again(&self, spot: Spot<'_>) -> Result<FoundObject, Error> {
        let status = self.symlink_metadata(spot)?;
        let located = self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            self.located(tree, path)
        })??;
        Ok(found(located, status))
    }
}

fn found(located: Located, metadata: Metadata) -> FoundObject {
    let is_dir = metadata.is_dir();
    let Located {
        path,
        place,
        dir,
        file,
    } = located;
    FoundObject {
        metadata,
        dir: dir
            .filter(|_| is_dir)
            .map(|key| LayerDir::Overlay(DirHandle::new(key, path))),
        key: file.filter(|_| !is_dir).map(ObjectKey::Overlay),
        is_of_base: matches!(place, Where::Base(_) | Where::MovedFile(_)),
    }
}

fn in_dir<'a>(dir: &'a LayerDir, rest: &'a RelPath) -> Spot<'a> {
    Spot {
        dir,
        rest,
        walked: rest,
        expected: None,
        guard: None,
        must_own: false,
    }
}
