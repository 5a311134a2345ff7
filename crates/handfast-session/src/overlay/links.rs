//! Hard links: names of one object.
//!
//! The first link marks the entries that name the object. From then on the object is what tells the
//! file from others, and it goes with its last name. Names that are committed together are names of one file in the base.

use std::collections::BTreeMap;
use std::sync::Arc;

use handfast::{ErrorKind, FileKind, RelPath};

use super::Overlay;
use super::base::Standing;
use super::change::{put, refuse_dir_name, refuse_top, taken};
use super::store::fresh_id;
use super::tree::{Change, ContentLocation, FileNode, NodeEntry, Now, Tree, base_path};
use crate::error::Error;
use crate::pipeline::Moving;
use crate::place::Guard;

/// As many names as ext4 gives a file.
const MAX_NAMES: u32 = 65_000;

/// How many names an object has, for those that were linked.
pub(super) type LinkCounts = Arc<BTreeMap<u64, u32>>;

impl Overlay {
    /// Gives a file another name. Both names must be ones under which it may be changed, and so must
    /// all others that it has.
    pub(crate) fn hard_link(&self, linking: &Moving<'_>) -> Result<(), Error> {
        let locked = self.begin()?;
        let from = &self.judged(&locked, linking.from.spot(), &linking.from_guard)?;
        let to = &self.judged(&locked, linking.to.spot(), &linking.to_guard)?;
        refuse_top(from)?;
        refuse_top(to)?;
        linking.to_guard.check_new(to, Some(FileKind::File))?;
        let tree = locked.state().tree.clone_spine(from);
        match self.standing(&tree, from)? {
            Standing::File(_) => {}
            Standing::Missing => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            Standing::Dir => return Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
            Standing::Link => return Err(super::tree::link()),
        }
        let tree = locked.state().tree.clone_spine(to);
        if !matches!(self.standing(&tree, to)?, Standing::Missing) {
            return Err(taken(to));
        }
        refuse_dir_name(to)?;
        let id = self.own_object(&locked, from, Some(&linking.from_guard))?;
        let was = self.was(&tree, to.as_bytes(), &Standing::Missing)?;
        let (source, names) = {
            let state = locked.state();
            state.tree.judge_names(id, &linking.from_guard)?;
            (
                state.tree.entry(from.as_bytes()).cloned(),
                state.tree.names(id),
            )
        };
        if names >= MAX_NAMES {
            return Err(Error::refused(
                ErrorKind::Limit,
                "the file has too many names",
            ));
        }
        let mut changes = Vec::new();
        if let Some(NodeEntry {
            was,
            now: Now::File(file),
        }) = source
            && let ContentLocation::Object { linked: None, .. } = file.content
        {
            let now = self.linked(id, file.origin)?;
            changes.push(put(from, NodeEntry { was, now }));
        }
        let now = self.linked(id, None)?;
        changes.push(put(to, NodeEntry { was, now }));
        self.record(&locked, changes)
    }

    /// A name of an object. It is charged like any name.
    pub(super) fn linked(&self, id: u64, origin: Option<(Vec<u8>, String)>) -> Result<Now, Error> {
        let name = fresh_id()?;
        self.account.charge(self.key(name), 0, true, None)?;
        let content = ContentLocation::Object {
            id,
            sealed: false,
            linked: Some(name),
        };
        Ok(Now::File(FileNode { content, origin }))
    }

    /// As [`Tree::judge_names`], for the file under a path.
    pub(super) fn judge_all_names(
        &self,
        tree: &Tree,
        path: &RelPath,
        guard: &Guard<'_>,
    ) -> Result<(), Error> {
        match tree.object(path.as_bytes()) {
            Some((id, Some(_))) => tree.judge_names(id, guard),
            _ => Ok(()),
        }
    }
}

impl Tree {
    /// How many names an object has.
    pub(super) fn names(&self, id: u64) -> u32 {
        self.links.get(&id).copied().unwrap_or(1)
    }

    /// The object under a path, and the mark of its name if it was linked.
    pub(super) fn object(&self, path: &[u8]) -> Option<(u64, Option<u64>)> {
        match &self.entry(path)?.now {
            Now::File(file) => match file.content {
                ContentLocation::Object { id, linked, .. } => Some((id, linked)),
                ContentLocation::Base => None,
            },
            _ => None,
        }
    }

    /// Whether two paths are names of one file.
    pub(super) fn are_one_file(&self, one: &RelPath, other: &RelPath) -> bool {
        match (self.object(one.as_bytes()), self.object(other.as_bytes())) {
            (Some((one, Some(_))), Some((other, Some(_)))) => one == other,
            _ => false,
        }
    }

    /// Every path of an object that was linked.
    pub(super) fn paths_of(&self, id: u64) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        self.each(&mut |path, entry| {
            if let Some((object, Some(_))) = object_in(entry)
                && object == id
            {
                found.push(path.to_vec());
            }
        });
        found
    }

    /// Asks about every name of an object: the narrowest rule of all its names holds.
    pub(super) fn judge_names(&self, id: u64, guard: &Guard<'_>) -> Result<(), Error> {
        if self.names(id) < 2 {
            return Ok(());
        }
        for path in self.paths_of(id) {
            guard.check_in(&base_path(&path)?, self)?;
        }
        Ok(())
    }

    /// The changes that give all names of an object another one.
    pub(super) fn renumber(&self, old: u64, new: u64) -> Vec<Change> {
        let again = |path: Vec<u8>| {
            let mut entry = self.entry(&path)?.clone();
            if let Now::File(FileNode {
                content: ContentLocation::Object { id, sealed, .. },
                ..
            }) = &mut entry.now
            {
                (*id, *sealed) = (new, false);
            }
            Some(Change::Put { path, entry })
        };
        self.paths_of(old).into_iter().filter_map(again).collect()
    }

    /// Counts the names that come or go with an entry and all below it.
    pub(super) fn count_names(&mut self, entry: &NodeEntry, comes: bool) {
        let mut pending = vec![entry];
        while let Some(entry) = pending.pop() {
            if let Now::Dir(dir) = &entry.now {
                pending.extend(dir.children.values());
            }
            let Some((id, Some(_))) = object_in(entry) else {
                continue;
            };
            let names = Arc::make_mut(&mut self.links);
            let count = names.entry(id).or_insert(0);
            match comes {
                true => *count += 1,
                false => *count = count.saturating_sub(1),
            }
            if *count == 0 {
                names.remove(&id);
            }
        }
    }
}

fn object_in(entry: &NodeEntry) -> Option<(u64, Option<u64>)> {
    match &entry.now {
        Now::File(FileNode {
            content: ContentLocation::Object { id, linked, .. },
            ..
        }) => Some((*id, *linked)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::record;
    use crate::overlay::tree::Was;

    fn named(path: &str, id: u64, name: u64) -> Change {
        let content = ContentLocation::Object {
            id,
            sealed: false,
            linked: Some(name),
        };
        Change::Put {
            path: path.as_bytes().to_vec(),
            entry: NodeEntry {
                was: Was::Absent,
                now: Now::File(FileNode {
                    content,
                    origin: None,
                }),
            },
        }
    }

    #[test]
    fn names_are_counted_through_every_change_and_read_back() {
        let mut tree = Tree::new();
        for change in [
            named("a", 7, 1),
            named("d/b", 7, 2),
            named("d/c", 7, 3),
            named("other", 8, 4),
        ] {
            tree.apply(change).unwrap();
        }
        assert_eq!((tree.names(7), tree.names(8), tree.names(9)), (3, 1, 1));
        let moved = Change::Move {
            from: b"d".to_vec(),
            to: b"e".to_vec(),
            was: Was::Absent,
            left: None,
        };
        tree.apply(moved).unwrap();
        assert_eq!(tree.names(7), 3);
        tree.apply(named("a", 8, 5)).unwrap();
        assert_eq!((tree.names(7), tree.names(8)), (2, 2));
        let path = b"e/b".to_vec();
        tree.apply(Change::Drop { path }).unwrap();
        assert_eq!(tree.paths_of(7), [b"e/c".to_vec()]);
        let mut read = Tree::new();
        for bytes in record::of_tree(&tree) {
            for change in record::read(&bytes).unwrap() {
                read.apply(change).unwrap();
            }
        }
        assert_eq!(read, tree);
        let path = b"e".to_vec();
        tree.apply(Change::Drop { path }).unwrap();
        assert!(tree.paths_of(7).is_empty() && !tree.links.contains_key(&7));
    }

    #[test]
    fn all_names_get_the_object_that_was_copied() {
        let mut tree = Tree::new();
        tree.apply(named("a", 7, 1)).unwrap();
        tree.apply(named("b", 7, 2)).unwrap();
        for change in tree.renumber(7, 9) {
            tree.apply(change).unwrap();
        }
        assert_eq!(tree.object(b"a"), Some((9, Some(1))));
        assert_eq!(tree.object(b"b"), Some((9, Some(2))));
        assert_eq!((tree.names(9), tree.names(7)), (2, 1));
    }
}
