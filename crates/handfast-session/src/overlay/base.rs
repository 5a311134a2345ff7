//! What a name refers to in the merged view, and what the base has there.

use handfast::{ErrorKind, FileKind, Metadata, RelPath, Version};

use super::Overlay;
use super::tree::{ContentLocation, Now, Tree, TreeLookup, Was, base_path};
use crate::error::Error;

/// What a name refers to.
pub(super) enum Standing {
    Missing,
    Dir,
    Link,
    File(FileAt),
}

/// A file, and where its content is.
pub(super) struct FileAt {
    /// In the store, or else in the base.
    pub(super) object: Option<u64>,
    /// Whether it belongs to a snapshot too.
    pub(super) sealed: bool,
    pub(super) base: Option<RelPath>,
}

impl Overlay {
    /// What a path without links leads to. The directory that holds the name is there.
    pub(super) fn standing(&self, tree: &Tree, path: &RelPath) -> Result<Standing, Error> {
        let found = match tree.find(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return self.missing(tree, path),
            found => found?,
        };
        match found {
            TreeLookup::Top => Ok(Standing::Dir),
            TreeLookup::Here(now) => Ok(match now {
                Now::Gone => Standing::Missing,
                Now::Dir(_) => Standing::Dir,
                Now::Link { .. } => Standing::Link,
                Now::File(file) => Standing::File(match file.content {
                    ContentLocation::Object { id, sealed, .. } => FileAt {
                        object: Some(id),
                        sealed,
                        base: None,
                    },
                    ContentLocation::Base => FileAt {
                        object: None,
                        sealed: false,
                        base: match &file.origin {
                            Some((path, _)) => Some(base_path(path)?),
                            None => None,
                        },
                    },
                }),
            }),
            TreeLookup::Base(at) => match self.base.symlink_metadata(&at) {
                Ok(status) => standing_in_base(at, &status),
                Err(error) if error.kind() == ErrorKind::NotFound => self.missing(tree, path),
                Err(error) => Err(error),
            },
        }
    }

    /// Nothing stands there; but is there a directory in which something could?
    fn missing(&self, tree: &Tree, path: &RelPath) -> Result<Standing, Error> {
        let parent = parent_of(path)?;
        let found = match tree.find(&parent)? {
            TreeLookup::Top | TreeLookup::Here(Now::Dir(_)) => return Ok(Standing::Missing),
            TreeLookup::Here(Now::Link { .. }) => return Err(super::tree::link()),
            TreeLookup::Here(_) => None,
            TreeLookup::Base(at) => Some(self.base.symlink_metadata(&at)?.kind),
        };
        match found {
            Some(FileKind::Dir) => Ok(Standing::Missing),
            Some(FileKind::Symlink) => Err(super::tree::link()),
            _ => Err(Error::refused(
                ErrorKind::NotADirectory,
                "something on the way is not a directory",
            )),
        }
    }

    /// What the base has under a name, as far as the overlay does not know it already.
    ///
    /// The rules were checked against `seen`, and another process may replace the object in the base
    /// before this second look. An object of another kind is `Raced`: otherwise a directory could
    /// come where the rules allow only a file, or a change could cover an object that nobody saw.
    pub(super) fn was(&self, tree: &Tree, path: &[u8], seen: &Standing) -> Result<Was, Error> {
        if let Some(entry) = tree.entry(path) {
            return Ok(entry.was.clone());
        }
        let Some(at) = tree.base_of(path) else {
            return Ok(Was::Absent);
        };
        let at = base_path(&at)?;
        let found = match seen {
            Standing::File(_) => self.base_version(&at).map(Was::File),
            Standing::Link => {
                let target = self.base.read_link(&at);
                target.map(|target| Was::Link(target.as_bytes().to_vec()))
            }
            Standing::Dir => self
                .base
                .symlink_metadata(&at)
                .and_then(|now| match now.kind {
                    FileKind::Dir => Ok(Was::Kept),
                    _ => Err(replaced()),
                }),
            Standing::Missing => match self.base.symlink_metadata(&at) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Was::Absent),
                Ok(_) => Err(replaced()),
                Err(error) => Err(error),
            },
        };
        found.map_err(|error| match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::IsADirectory
            | ErrorKind::Link
            | ErrorKind::Kind
            | ErrorKind::Invalid => replaced(),
            _ => error,
        })
    }

    /// As [`Overlay::was`]; but of a file of the base that is covered on the condition that it is
    /// a version, it is that version: the base may change after the look.
    pub(super) fn was_given(
        &self,
        tree: &Tree,
        path: &RelPath,
        file: Option<&FileAt>,
        given: Option<&Version>,
    ) -> Result<Was, Error> {
        match (file, given) {
            (Some(FileAt { object: None, .. }), Some(version))
                if tree.entry(path.as_bytes()).is_none() =>
            {
                Ok(Was::File(version.to_string()))
            }
            (Some(file), _) => {
                let seen = Standing::File(FileAt {
                    base: file.base.clone(),
                    ..*file
                });
                self.was(tree, path.as_bytes(), &seen)
            }
            (None, _) => self.was(tree, path.as_bytes(), &Standing::Missing),
        }
    }

    /// The version of a file of the base.
    pub(super) fn base_version(&self, at: &RelPath) -> Result<String, Error> {
        Ok(self.base.version(at)?.to_string())
    }

    /// Whether the file that holds the content is still a version somebody saw.
    pub(super) fn is_version(&self, file: &FileAt, seen: &Version) -> Result<bool, Error> {
        let (root, path) = self.backing(file)?;
        // A version with a digest is compared with the digest; one without is of a file that was
        // not young, and a young one differs in its times.
        let now = match seen.digest() {
            Some(_) => root.version_with_digest(&path)?,
            None => root.version(&path)?,
        };
        Ok(now == *seen)
    }

    /// The root and the path of the file that holds the content.
    pub(super) fn backing(&self, file: &FileAt) -> Result<(&handfast::Root, RelPath), Error> {
        match (file.object, &file.base) {
            (Some(id), _) => Ok((&self.store, super::store::object_path(id))),
            (None, Some(at)) => Ok((&self.base, at.clone())),
            (None, None) => Err(Error::refused(
                ErrorKind::Stale,
                "the journal names a file without content",
            )),
        }
    }
}

pub(super) fn replaced() -> Error {
    Error::refused(
        ErrorKind::Raced,
        "another process replaced the object in the base meanwhile",
    )
}

fn standing_in_base(at: RelPath, status: &Metadata) -> Result<Standing, Error> {
    Ok(match status.kind {
        FileKind::Dir => Standing::Dir,
        FileKind::Symlink => Standing::Link,
        FileKind::File => Standing::File(FileAt {
            object: None,
            sealed: false,
            base: Some(at),
        }),
        _ => {
            return Err(Error::refused(
                ErrorKind::Kind,
                "it is a FIFO, a socket or a device",
            ));
        }
    })
}

/// The directory that holds a path's last name.
pub(super) fn parent_of(path: &RelPath) -> Result<RelPath, Error> {
    if path.is_root() {
        return Err(top_itself());
    }
    base_path(super::tree::split(path.as_bytes()).0)
}

pub(super) fn top_itself() -> Error {
    Error::refused(
        ErrorKind::Invalid,
        "the mount point itself cannot be used here; name something in it",
    )
}

#[cfg(test)]
pub(super) mod tests {
    use handfast::{Root, TempDir};

    use super::*;
    use crate::meter::Account;
    use crate::quota::Quota;

    /// An overlay over an empty base, and the directories that hold both.
    pub(in crate::overlay) fn empty_overlay() -> (Overlay, Root, [TempDir; 2]) {
        let above = Root::open_ambient(std::env::temp_dir()).unwrap();
        let dirs = [(); 2].map(|()| above.temp_dir(&RelPath::root()).unwrap());
        let [base, home] = [0, 1].map(|at: usize| dirs[at].root().clone());
        Overlay::create(&home).unwrap();
        let account = Account::open(None, Quota::new(), vec![Quota::new()]).unwrap();
        let overlay = Overlay::open(base.clone(), home, account, 0).unwrap();
        (overlay, base, dirs)
    }

    #[test]
    fn the_version_that_was_given_is_remembered_and_not_the_one_after() {
        let (overlay, base, _dirs) = empty_overlay();
        let path = RelPath::parse("f").unwrap();
        base.write(&path, "seen").unwrap();
        let seen = base.version(&path).unwrap();
        let tree = Tree::new();
        let Standing::File(file) = overlay.standing(&tree, &path).unwrap() else {
            panic!("a file stands there");
        };
        assert!(overlay.is_version(&file, &seen).unwrap());
        // Between the look and what depends on it.
        base.write(&path, "theirs").unwrap();
        let was = overlay.was_given(&tree, &path, Some(&file), Some(&seen));
        assert_eq!(was.unwrap(), Was::File(seen.to_string()));
        let was = overlay.was_given(&tree, &path, Some(&file), None).unwrap();
        assert_ne!(was, Was::File(seen.to_string()));
    }

    /// The rules were checked against one kind of object, and the base has another kind by then.
    #[test]
    fn a_second_look_that_finds_another_kind_is_raced() {
        let (overlay, base, _dirs) = empty_overlay();
        let path = RelPath::parse("x").unwrap();
        type Maker = (&'static str, fn(&Root, &RelPath));
        let makers: [Maker; 4] = [
            ("nothing", |_, _| {}),
            ("a file", |base, at| drop(base.write(at, "text").unwrap())),
            ("a directory", |base, at| {
                drop(base.create_dir(at).unwrap());
            }),
            ("a link", |base, at| base.symlink("t", at).unwrap()),
        ];
        let clear = || {
            drop(base.remove_file(&path));
            drop(base.remove_dir(&path));
        };
        for (before, make) in makers {
            for (after, make_other) in makers {
                clear();
                make(&base, &path);
                let tree = Tree::new();
                let seen = overlay.standing(&tree, &path).unwrap();
                clear();
                make_other(&base, &path);
                let was = overlay.was(&tree, path.as_bytes(), &seen);
                match before == after {
                    true => drop(was.unwrap()),
                    false => assert_eq!(
                        was.unwrap_err().kind(),
                        ErrorKind::Raced,
                        "{before}, then {after}"
                    ),
                }
            }
        }
    }
}
