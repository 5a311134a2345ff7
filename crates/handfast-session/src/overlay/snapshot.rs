//! Snapshots: a tree under a label, and objects that are never changed in place again.

use std::collections::BTreeSet;

use handfast::{Durability, ErrorKind, Name, RelPath};

use super::store::{NewMode, Source};
use super::tree::{Change, ContentLocation, FileNode, Now, Tree};
use super::{JOURNAL, OBJECTS, Overlay, SNAPSHOTS, State, record};
use crate::error::Error;
use crate::gate::Locked;
use crate::log::Log;

impl Overlay {
    /// Keeps the state of the overlay under a label.
    pub(crate) fn snapshot(&self, label: &Name) -> Result<(), Error> {
        let locked = self.begin()?;
        self.snapshot_locked(&locked, label)
    }

    fn snapshot_locked(&self, locked: &Locked<'_, State>, label: &Name) -> Result<(), Error> {
        let tree = self.sealed_tree(locked)?;
        let home = self.snapshots()?;
        let text = text_of(label)?;
        Log::create(&home, &text, &record::of_tree(&tree)).map_err(|error| match error.kind() {
            ErrorKind::Exists => Error::refused(
                ErrorKind::Exists,
                format!("there is a snapshot `{label}` already"),
            ),
            _ => error,
        })
    }

    /// The tree with every object sealed. An object that somebody writes to is copied: the copy
    /// is the snapshot's, and the writer goes on with its own.
    fn sealed_tree(&self, locked: &Locked<'_, State>) -> Result<Tree, Error> {
        let mut copies: Vec<(u64, u64)> = Vec::new();
        for id in locked.state().tree.objects() {
            if self.is_being_written(id)? {
                let file = self.store.open(&super::store::object_path(id))?;
                let mode = NewMode::Exact(file.metadata().mode & 0o777);
                let content = file.into_std();
                let content = Source::of_file(&content)?;
                let (copy, _) = self.put_object(content, mode, None, Durability::None)?;
                copies.push((id, copy));
            }
        }
        let but = copies.iter().map(|(id, _)| *id).collect();
        self.record(locked, vec![Change::Seal { but }])?;
        let mut tree = locked.state().tree.clone();
        // Only the session itself takes its commits back.
        tree.undo.clear();
        let mut pending = vec![&mut tree.root];
        while let Some(dir) = pending.pop() {
            for entry in dir.children.values_mut() {
                match &mut entry.now {
                    Now::Dir(next) => pending.push(next),
                    Now::File(FileNode {
                        content: ContentLocation::Object { id, sealed, .. },
                        ..
                    }) => {
                        if let Some((_, copy)) = copies.iter().find(|(live, _)| live == id) {
                            *id = *copy;
                        }
                        *sealed = true;
                    }
                    _ => {}
                }
            }
        }
        Ok(tree)
    }

    /// Goes back to a snapshot. What was changed since is gone, or kept under another label: nothing
    /// can be written between the two.
    pub(crate) fn rollback(&self, label: &Name, keep_as: Option<&Name>) -> Result<(), Error> {
        let locked = self.begin()?;
        let tree = self.snapshot_tree(label)?;
        if let Some(keep_as) = keep_as {
            self.snapshot_locked(&locked, keep_as)?;
        }
        self.become_tree(&locked, &tree)
    }

    /// Drops all changes, or those at and below some paths; nothing if one of them may not be.
    pub(crate) fn discard(
        &self,
        paths: &[Vec<u8>],
        may: &dyn Fn(&[u8]) -> Result<(), Error>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let locked = self.begin()?;
        let tree = locked.state().tree.clone();
        let all = super::items::items(&tree);
        if paths.is_empty() {
            all.iter().try_for_each(|item| may(&item.path))?;
            self.become_tree(&locked, &Tree::new())?;
            return Ok(all.into_iter().map(|item| item.path).collect());
        }
        let next = super::discard::without(&tree, &all, paths)?;
        let left: BTreeSet<Vec<u8>> = super::items::items(&next)
            .into_iter()
            .map(|item| item.path)
            .collect();
        let dropped: Vec<Vec<u8>> = all
            .into_iter()
            .map(|item| item.path)
            .filter(|path| !left.contains(path))
            .collect();
        dropped.iter().try_for_each(|path| may(path))?;
        self.become_tree(&locked, &next)?;
        Ok(dropped)
    }

    fn become_tree(&self, locked: &Locked<'_, State>, tree: &Tree) -> Result<(), Error> {
        let mut tree = tree.clone();
        // What was committed stays committed.
        tree.undo.clone_from(&locked.state().tree.undo);
        Log::replace(&self.home, JOURNAL, &record::of_tree(&tree))?;
        *locked.state() = State::open(&self.home)?;
        self.collect(locked)?;
        self.recount(locked)
    }

    /// The labels there are, in byte order.
    pub(crate) fn labels(&self) -> Result<Vec<String>, Error> {
        Ok(self
            .snapshot_trees()?
            .into_iter()
            .map(|(label, _)| label)
            .collect())
    }

    pub(super) fn snapshot_trees(&self) -> Result<Vec<(String, Tree)>, Error> {
        let home = self.snapshots()?;
        let mut names = Vec::new();
        let mut listing = home.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            if let Ok(name) = std::str::from_utf8(entry.name().as_bytes())
                && !name.starts_with(".handfast-")
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        let mut found = Vec::new();
        for name in names {
            let tree = read_tree(&home, &name)?;
            found.push((name, tree));
        }
        Ok(found)
    }

    fn snapshot_tree(&self, label: &Name) -> Result<Tree, Error> {
        read_tree(&self.snapshots()?, &text_of(label)?).map_err(|error| match error.kind() {
            ErrorKind::Stale => Error::refused(
                ErrorKind::NotFound,
                format!("there is no snapshot `{label}`"),
            ),
            _ => error,
        })
    }

    fn snapshots(&self) -> Result<handfast::Root, Error> {
        Ok(self.home.open_dir(&RelPath::parse(SNAPSHOTS)?)?.into_root())
    }

    /// Fills the home of a new overlay with the state of this one, or of a snapshot. Content is
    /// shared where the filesystem can share blocks, and copied otherwise.
    pub(crate) fn fork_into(
        &self,
        home: &handfast::Root,
        label: Option<&Name>,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        let tree = match label {
            Some(label) => self.snapshot_tree(label)?,
            None => self.sealed_tree(&locked)?,
        };
        home.create_dir_with(&RelPath::parse(OBJECTS)?, 0o700)?;
        home.create_dir_with(&RelPath::parse(SNAPSHOTS)?, 0o700)?;
        let store = home.open_dir(&RelPath::parse(OBJECTS)?)?.into_root();
        for id in tree.objects() {
            let path = super::store::object_path(id);
            let file = self.store.open(&path).map_err(super::store::lost)?;
            let options = handfast::WriteOptions::new()
                .mode(file.metadata().mode & 0o777)
                .durability(handfast::Durability::None);
            let mut staged = store.stage(&path, options)?;
            Source::of_file(&file.into_std())?.fill(&mut staged)?;
            staged.commit_new()?;
        }
        Log::create(home, JOURNAL, &record::of_tree(&tree))
    }
}

fn read_tree(home: &handfast::Root, name: &str) -> Result<Tree, Error> {
    let mut tree = Tree::new();
    let mut log = Log::open(home, name)?;
    log.catch_up(false, |bytes| {
        for change in record::read(bytes)? {
            tree.apply(change)?;
        }
        Ok(())
    })?;
    if log.news()? != crate::log::News::None {
        return Err(Error::refused(
            ErrorKind::Stale,
            "the snapshot was changed from outside",
        ));
    }
    Ok(tree)
}

fn text_of(label: &Name) -> Result<String, Error> {
    String::from_utf8(label.as_bytes().to_vec())
        .map_err(|_| Error::refused(ErrorKind::Invalid, "a label is plain text"))
}
