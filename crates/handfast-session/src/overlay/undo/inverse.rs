//! The changes that take a commit back: an overlay's tree over the base as the commit left it, which
//! shows the base as it was.

use std::collections::BTreeMap;

use super::kept::UndoRecord;
use crate::error::Error;
use crate::overlay::commit::STAGING;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::store::fresh_id;
use crate::overlay::tree::{
    Change, ContentLocation, DirNode, FileNode, NodeEntry, Now, Tree, Was, join, split,
};

/// What the inverse is made of.
pub(super) struct CommittedChanges<'a> {
    /// The items that are in the base now.
    pub(super) items: Vec<&'a ChangedName>,
    pub(super) kept: &'a UndoRecord,
    /// The versions of the files that were written or moved, by their path.
    pub(super) versions: &'a BTreeMap<Vec<u8>, String>,
}

/// Why there is no inverse, in words; or what the disk says.
pub(super) enum Impossible {
    Because(String),
    Failed(Error),
}

impl From<Error> for Impossible {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Both sides of a name, by its path in the base as it was.
#[derive(Default)]
struct Sides {
    /// What the commit put there.
    was: Option<Was>,
    /// What was there.
    now: Option<Now>,
}

pub(super) fn inverse(done: &CommittedChanges<'_>) -> Result<Tree, Impossible> {
    let maker = Maker::new(done);
    let mut names: BTreeMap<Vec<u8>, Sides> = BTreeMap::new();
    for item in &done.items {
        if let (Some(was), Some(at)) = (maker.placed(item)?, maker.place(&item.path)) {
            names.entry(at).or_default().was = Some(was);
        }
        for (at, now) in maker.displaced(item)? {
            names.entry(at).or_default().now = Some(now);
        }
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
    let mut tree = Tree::new();
    for (path, sides) in names {
        let entry = NodeEntry {
            was: sides.was.unwrap_or(Was::Absent),
            now: sides.now.unwrap_or(Now::Gone),
        };
        tree.apply(Change::Put { path, entry })?;
    }
    for item in &done.items {
        if let What::DirMode { mode, .. } = &item.what {
            let path = match item.path.is_empty() {
                true => Vec::new(),
                false => maker.place(&item.path).ok_or_else(|| lacks(&item.path))?,
            };
            let home = item.home.as_deref().unwrap_or(&item.path);
            let old = done.kept.modes.get(home).ok_or_else(|| lacks(home))?;
            let (mode, old) = (*old, Some(*mode));
            tree.apply(Change::DirMode { path, mode, old })?;
        }
    }
    Ok(tree)
}

/// What an item removes from the base: where, what it was, and what puts it there again.
pub(super) fn restored(
    item: &ChangedName,
    done: &CommittedChanges<'_>,
) -> Result<Vec<(Vec<u8>, Was, Now)>, Error> {
    let mut found = Vec::new();
    if let Some(home) = &item.home {
        match Maker::new(done).restore(home, &item.was, &mut found) {
            Err(Impossible::Failed(error)) => return Err(error),
            // What is not kept was not removed either.
            Err(Impossible::Because(_)) | Ok(()) => {}
        }
    }
    Ok(found)
}

struct Maker<'a> {
    done: &'a CommittedChanges<'a>,
    new_dirs: BTreeMap<&'a [u8], Vec<&'a ChangedName>>,
    moved_dirs: BTreeMap<&'a [u8], &'a [u8]>,
}

impl<'a> Maker<'a> {
    fn new(done: &'a CommittedChanges<'a>) -> Self {
        let mut maker = Self {
            done,
            new_dirs: BTreeMap::new(),
            moved_dirs: BTreeMap::new(),
        };
        for item in &done.items {
            match &item.what {
                What::NewDir { .. } => drop(maker.new_dirs.insert(&item.path, Vec::new())),
                What::MoveDir { from, .. } => drop(maker.moved_dirs.insert(&item.path, from)),
                _ => {}
            }
        }
        for item in &done.items {
            let parent = split(&item.path).0;
            if let Some(inside) = maker.new_dirs.get_mut(parent)
                && !item.path.is_empty()
            {
                inside.push(item);
            }
        }
        maker
    }

    /// Where a name of the base lay before the commit; nothing inside of a directory that is new.
    fn place(&self, path: &[u8]) -> Option<Vec<u8>> {
        let (parent, name) = split(path);
        let mut rest = name.to_vec();
        let mut dir = parent;
        loop {
            if let Some(from) = self.moved_dirs.get(dir) {
                return Some(join(from, &rest));
            }
            if self.new_dirs.contains_key(dir) {
                return None;
            }
            if dir.is_empty() {
                return Some(rest);
            }
            let (above, name) = split(dir);
            rest = join(name, &rest);
            dir = above;
        }
    }

    /// What the commit put under an item's name.
    fn placed(&self, item: &ChangedName) -> Result<Option<Was>, Impossible> {
        Ok(match &item.what {
            What::Delete | What::DirMode { .. } => None,
            What::Link { target } => Some(Was::Link(target.clone())),
            What::File { .. } => Some(Was::File(self.version(&item.path)?)),
            What::MoveFile { .. } => {
                let was = Was::File(self.version(&item.path)?);
                Some(Was::Moved(Box::new(was)))
            }
            What::MoveDir { .. } => Some(Was::Moved(Box::new(Was::Kept))),
            What::NewDir { .. } => {
                let mut entries = BTreeMap::new();
                for inside in self
                    .new_dirs
                    .get(item.path.as_slice())
                    .into_iter()
                    .flatten()
                {
                    if let Some(was) = self.placed(inside)? {
                        entries.insert(split(&inside.path).1.to_vec(), was);
                    }
                }
                Some(Was::Dir(entries))
            }
        })
    }

    /// What an item took away, by where it was.
    fn displaced(&self, item: &ChangedName) -> Result<Vec<(Vec<u8>, Now)>, Impossible> {
        let mut found = Vec::new();
        if let Some(home) = &item.home {
            let mut restored = Vec::new();
            self.restore(home, &item.was, &mut restored)?;
            found.extend(restored.into_iter().map(|(at, _, now)| (at, now)));
        }
        match &item.what {
            What::MoveFile { from, .. } => {
                let origin = Some((item.path.clone(), self.version(&item.path)?));
                let content = ContentLocation::Base;
                let now = Now::File(FileNode { content, origin });
                found.push((unstaged(from)?, now));
            }
            What::MoveDir { from, mode, .. } => {
                let mut dir = DirNode {
                    origin: Some(item.path.clone()),
                    ..DirNode::default()
                };
                if let Some(mode) = mode {
                    let old = self.done.kept.modes.get(from);
                    dir.mode = Some(*old.ok_or_else(|| lacks(from))?);
                    dir.old_mode = Some(*mode);
                }
                found.push((unstaged(from)?, Now::Dir(dir)));
            }
            What::File {
                moved: Some((from, _)),
                ..
            } => found.push((unstaged(from)?, self.file(from)?)),
            _ => {}
        }
        Ok(found)
    }

    fn restore(
        &self,
        home: &[u8],
        was: &Was,
        found: &mut Vec<(Vec<u8>, Was, Now)>,
    ) -> Result<(), Impossible> {
        let mut pending = vec![(home.to_vec(), was)];
        while let Some((at, was)) = pending.pop() {
            let now = match was {
                Was::Absent | Was::Kept | Was::Moved(_) => continue,
                Was::File(_) => self.file(&at)?,
                Was::Link(target) => Now::Link {
                    id: fresh_id()?,
                    target: target.clone(),
                },
                Was::Dir(entries) => {
                    let inside = entries.iter();
                    pending.extend(inside.map(|(name, was)| (join(&at, name), was)));
                    let mode = self.done.kept.modes.get(&at);
                    Now::Dir(DirNode {
                        id: fresh_id()?,
                        mode: Some(*mode.ok_or_else(|| lacks(&at))?),
                        ..DirNode::default()
                    })
                }
            };
            found.push((at, was.clone(), now));
        }
        Ok(())
    }

    fn file(&self, at: &[u8]) -> Result<Now, Impossible> {
        let file = self.done.kept.files.get(at).ok_or_else(|| lacks(at))?;
        let content = ContentLocation::Object {
            id: file.id,
            sealed: false,
            linked: None,
        };
        let origin = None;
        Ok(Now::File(FileNode { content, origin }))
    }

    fn version(&self, path: &[u8]) -> Result<String, Impossible> {
        let version = self.done.versions.get(path).cloned();
        version.ok_or_else(|| {
            let path = handfast::escape(path);
            Impossible::Because(format!("others changed `{path}` while it was committed"))
        })
    }
}

/// A place of the base proper, not one in which an earlier commit had to leave something.
fn unstaged(from: &[u8]) -> Result<Vec<u8>, Impossible> {
    if from.starts_with(STAGING.as_bytes()) {
        let why = "it ended a commit that had left a file between two places";
        return Err(Impossible::Because(why.to_owned()));
    }
    Ok(from.to_vec())
}

fn lacks(path: &[u8]) -> Impossible {
    let path = handfast::escape(path);
    Impossible::Because(format!("what was at `{path}` is not kept"))
}
