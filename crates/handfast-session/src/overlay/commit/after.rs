//! What is left of the overlay after a commit.

use std::collections::{BTreeMap, BTreeSet};

use super::roll::Rolled;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::{ContentLocation, DirNode, FileNode, NodeEntry, Now, Tree, Was, join};

/// The tree without what was committed, over the base as it is now.
pub(super) fn after(tree: &Tree, chosen: &[ChangedName], rolled: &Rolled) -> Tree {
    // Places of the base that were left for good.
    let mut left: BTreeSet<Vec<u8>> = rolled.moves.iter().map(|(from, _)| from.clone()).collect();
    for item in chosen {
        if let What::File {
            moved: Some((from, _)),
            ..
        } = &item.what
            && rolled.done.contains(&item.path)
        {
            left.insert(from.clone());
        }
    }
    let context = Context { tree, left, rolled };
    let root = context.dir(&tree.root, b"", Some(b""), true);
    Tree {
        root,
        undo: tree.undo.clone(),
        ..Tree::new()
    }
}

struct Context<'a> {
    tree: &'a Tree,
    left: BTreeSet<Vec<u8>>,
    rolled: &'a Rolled,
}

impl Context<'_> {
    /// A directory whose own change is in the base (`settled`) or is still to be made.
    fn dir(&self, dir: &DirNode, path: &[u8], home: Option<&[u8]>, settled: bool) -> DirNode {
        let origin = match (settled, home) {
            (true, Some(home)) => Some(home.to_vec()),
            _ => dir.origin.as_ref().map(|origin| self.rolled.moved(origin)),
        };
        let mut left = DirNode {
            id: dir.id,
            mode: if settled { None } else { dir.mode },
            old_mode: if settled { None } else { dir.old_mode },
            times: if settled { None } else { dir.times },
            touched: dir.touched,
            children: BTreeMap::new(),
            origin,
        };
        for (name, entry) in &dir.children {
            let child = join(path, name);
            let home = left.origin.as_ref().map(|origin| join(origin, name));
            if let Some(entry) = self.entry(entry, &child, home.as_deref()) {
                left.children.insert(name.clone(), entry);
            }
        }
        left
    }

    fn entry(&self, entry: &NodeEntry, path: &[u8], home: Option<&[u8]>) -> Option<NodeEntry> {
        let done = self.rolled.done.contains(path);
        match &entry.now {
            Now::Dir(dir) => {
                // A directory that was not changed itself stands where it stood.
                let settled = done || (entry.was == Was::Kept && !self.is_pending_mode(dir, path));
                let left = self.dir(dir, path, home, settled);
                if settled && left.children.is_empty() && left.mode.is_none() {
                    return None;
                }
                let was = if settled {
                    Was::Kept
                } else {
                    self.was(entry, path)
                };
                let now = Now::Dir(left);
                Some(NodeEntry { was, now })
            }
            Now::File(file) if done => {
                let version = self.rolled.live.get(path)?;
                Some(NodeEntry {
                    was: Was::File(version.clone()),
                    now: Now::File(FileNode {
                        content: file.content,
                        origin: None,
                    }),
                })
            }
            _ if done => None,
            Now::Gone => match self.was(entry, path) {
                // What it covered has gone elsewhere for good.
                Was::Absent => None,
                was => Some(NodeEntry {
                    was,
                    now: Now::Gone,
                }),
            },
            Now::File(file) => Some(NodeEntry {
                was: self.was(entry, path),
                now: Now::File(FileNode {
                    content: file.content,
                    origin: file
                        .origin
                        .as_ref()
                        .filter(|(origin, _)| {
                            file.content == ContentLocation::Base
                                || !self.rolled.emptied.contains(origin)
                        })
                        .map(|(origin, version)| {
                            let version = self.rolled.stranded.get(origin).unwrap_or(version);
                            (self.rolled.moved(origin), version.clone())
                        }),
                }),
            })
            .filter(|entry| !is_untouched(entry, home)),
            now => Some(NodeEntry {
                was: self.was(entry, path),
                now: now.clone(),
            }),
        }
    }

    fn is_pending_mode(&self, dir: &DirNode, path: &[u8]) -> bool {
        dir.mode.is_some() && !self.rolled.done.contains(path)
    }

    /// What an entry that stays covers: what was moved away for good is not there any more.
    fn was(&self, entry: &NodeEntry, path: &[u8]) -> Was {
        let home = self.tree.base_of(path);
        self.still(&entry.was, home.as_deref())
    }

    fn still(&self, was: &Was, home: Option<&[u8]>) -> Was {
        let is_empty = home.is_some_and(|home| self.rolled.emptied.contains(home));
        match was {
            Was::Moved(_) if home.is_some_and(|home| self.left.contains(home)) => Was::Absent,
            Was::File(_) | Was::Link(_) | Was::Dir(_) if is_empty => Was::Absent,
            Was::Dir(entries) => Was::Dir(
                entries
                    .iter()
                    .map(|(name, was)| {
                        let home = home.map(|home| join(home, name));
                        (name.clone(), self.still(was, home.as_deref()))
                    })
                    .filter(|(_, was)| *was != Was::Absent)
                    .collect(),
            ),
            was => was.clone(),
        }
    }
}

fn is_untouched(entry: &NodeEntry, home: Option<&[u8]>) -> bool {
    matches!(
        (&entry.was, &entry.now),
        (
            Was::File(_),
            Now::File(FileNode {
                content: ContentLocation::Base,
                origin: Some((origin, _)),
            })
        ) if Some(origin.as_slice()) == home
    )
}
