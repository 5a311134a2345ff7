//! Directories and files of an overlay, named so that a rename does not matter.
//!
//! A directory that the overlay made has a number; one of the base is known by where it lies in the
//! base. Where it is seen now is asked of the tree each time, so a handle follows its directory.

use std::sync::{Arc, Mutex, PoisonError};

use handfast::{ErrorKind, RelPath, RelPathRef};

use super::tree::{ContentLocation, Now, Tree, TreeLookup, Was, base_path};
use crate::error::Error;

/// Which directory of an overlay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum DirKey {
    /// The top of the mount.
    Top,
    /// One that the overlay made.
    Own(u64),
    /// One of the base, by where it lies there.
    Base(RelPath),
}

/// A handle on a directory of an overlay.
#[derive(Debug)]
pub(crate) struct DirHandle {
    key: DirKey,
    /// Where it was seen last: usually it still is there.
    seen_at: Mutex<RelPath>,
}

/// Which file or link of an overlay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum FileKey {
    /// One that the overlay made.
    Own(u64),
    /// One of the base, changed or not, by where it lies there.
    Base(RelPath),
}

impl DirHandle {
    pub(super) fn new(key: DirKey, seen_at: RelPath) -> Arc<Self> {
        Arc::new(Self {
            key,
            seen_at: Mutex::new(seen_at),
        })
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Tree {
    /// Where a directory is seen now.
    pub(super) fn path_of(&self, dir: &DirHandle) -> Result<RelPath, Error> {
        let mut seen_at = dir.seen_at.lock().unwrap_or_else(PoisonError::into_inner);
        if self.dir_key(&seen_at).as_ref() == Some(&dir.key) {
            return Ok(seen_at.clone());
        }
        let found = self.search(&dir.key).ok_or_else(|| {
            Error::refused(ErrorKind::NotFound, "the directory was removed meanwhile")
        })?;
        *seen_at = found.clone();
        Ok(found)
    }

    /// Which directory a path leads to; `None` if it leads to none.
    pub(super) fn dir_key(&self, path: &RelPath) -> Option<DirKey> {
        match self.find(path).ok()? {
            TreeLookup::Top => Some(DirKey::Top),
            TreeLookup::Here(Now::Dir(dir)) if dir.id != 0 => Some(DirKey::Own(dir.id)),
            TreeLookup::Here(Now::Dir(dir)) => {
                let origin = dir.origin.as_deref()?;
                Some(DirKey::Base(base_path(origin).ok()?))
            }
            TreeLookup::Here(_) => None,
            // Whether it is a directory there, the base says when it is asked.
            TreeLookup::Base(at) => Some(DirKey::Base(at)),
        }
    }

    fn search(&self, wanted: &DirKey) -> Option<RelPath> {
        let mut found = None;
        self.each(&mut |path, entry| {
            if found.is_some() {
                return;
            }
            let Now::Dir(dir) = &entry.now else {
                return;
            };
            let candidate = match wanted {
                DirKey::Own(id) if dir.id == *id => base_path(path).ok(),
                DirKey::Base(origin) => shown_below(path, dir.origin.as_deref(), origin.as_ref()),
                _ => None,
            };
            found = candidate.filter(|path| self.dir_key(path).as_ref() == Some(wanted));
        });
        match wanted {
            DirKey::Base(origin) => found.or_else(|| {
                (self.dir_key(origin).as_ref() == Some(wanted)).then(|| origin.clone())
            }),
            _ => found,
        }
    }

    /// Which file or link a path leads to; `None` if it leads to something else.
    pub(super) fn file_key(&self, path: &RelPath) -> Option<FileKey> {
        match self.find(path).ok()? {
            TreeLookup::Top => None,
            TreeLookup::Base(at) => Some(FileKey::Base(at)),
            TreeLookup::Here(Now::Link { id, .. }) => Some(FileKey::Own(*id)),
            TreeLookup::Here(Now::File(file)) => match (&file.origin, file.content) {
                // All names of a file that was linked lead to the same file.
                (
                    _,
                    ContentLocation::Object {
                        id,
                        linked: Some(_),
                        ..
                    },
                ) => Some(FileKey::Own(id)),
                (Some((origin, _)), _) => Some(FileKey::Base(base_path(origin).ok()?)),
                (None, ContentLocation::Object { id, .. }) => Some(self.changed_in_place(path, id)),
                (None, ContentLocation::Base) => None,
            },
            TreeLookup::Here(_) => None,
        }
    }

    /// A file of the base that was changed where it lies is still that file.
    fn changed_in_place(&self, path: &RelPath, id: u64) -> FileKey {
        let was = self.entry(path.as_bytes()).map(|entry| &entry.was);
        let origin = match was {
            Some(Was::File(_)) => self.base_of(path.as_bytes()),
            _ => None,
        };
        match origin.and_then(|origin| base_path(&origin).ok()) {
            Some(origin) => FileKey::Base(origin),
            None => FileKey::Own(id),
        }
    }
}

/// Where a directory of the base is seen, if it is seen below a directory of the overlay.
fn shown_below(path: &[u8], shows: Option<&[u8]>, origin: RelPathRef<'_>) -> Option<RelPath> {
    let shows = base_path(shows?).ok()?;
    let rest = origin.strip_prefix(&shows)?;
    Some(base_path(path).ok()?.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::tree::{Change, DirNode, NodeEntry};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn handle(tree: &Tree, at: &str) -> Arc<DirHandle> {
        DirHandle::new(tree.dir_key(&path(at)).unwrap(), path(at))
    }

    fn kept(origin: &str) -> NodeEntry {
        NodeEntry {
            was: Was::Kept,
            now: Now::Dir(DirNode {
                origin: Some(origin.as_bytes().to_vec()),
                ..DirNode::default()
            }),
        }
    }

    fn moved(tree: &mut Tree, from: &str, to: &str) {
        let put = Change::Put {
            path: from.as_bytes().to_vec(),
            entry: kept(from),
        };
        tree.apply(put).unwrap();
        let left = NodeEntry {
            was: Was::Moved(Box::new(Was::Kept)),
            now: Now::Gone,
        };
        let change = Change::Move {
            from: from.as_bytes().to_vec(),
            to: to.as_bytes().to_vec(),
            was: Was::Absent,
            left: Some(left),
        };
        tree.apply(change).unwrap();
    }

    #[test]
    fn a_handle_follows_its_directory_through_renames() {
        let mut tree = Tree::new();
        let (outer, inner) = (handle(&tree, "a"), handle(&tree, "a/b"));
        assert_eq!(tree.path_of(&inner).unwrap(), path("a/b"));
        moved(&mut tree, "a", "z");
        assert_eq!(tree.path_of(&outer).unwrap(), path("z"));
        assert_eq!(tree.path_of(&inner).unwrap(), path("z/b"));
    }

    #[test]
    fn what_takes_the_place_of_a_directory_is_not_that_directory() {
        let mut tree = Tree::new();
        let old = handle(&tree, "a");
        moved(&mut tree, "a", "z");
        let entry = NodeEntry {
            was: Was::Moved(Box::new(Was::Kept)),
            now: Now::Dir(DirNode {
                id: 7,
                ..DirNode::default()
            }),
        };
        let put = Change::Put {
            path: b"a".to_vec(),
            entry,
        };
        tree.apply(put).unwrap();
        assert_eq!(tree.path_of(&old).unwrap(), path("z"));
        let new = handle(&tree, "a");
        assert_eq!(tree.path_of(&new).unwrap(), path("a"));
        tree.apply(Change::Put {
            path: b"z".to_vec(),
            entry: NodeEntry {
                was: Was::Absent,
                now: Now::Gone,
            },
        })
        .unwrap();
        assert_eq!(tree.path_of(&old).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
