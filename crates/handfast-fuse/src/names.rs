//! Requests about names: looked up, made, moved and removed.

use std::sync::PoisonError;

use fuser::{Errno, FileAttr};
use handfast::files::{At, Entry, Node, WhatToRemove};
use handfast::{Error, ErrorKind, NameRef, OpenOptions, RenameMode};

use crate::errno::{errno, errno_of_feature};
use crate::face::{Face, patiently};
use crate::open_files::OpenFile;

/// A name in a directory that the kernel knows.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) dir: u64,
    pub(crate) name: NameRef<'a>,
}

impl Face {
    /// Looks a name up and counts the kernel's new reference to it.
    pub(crate) fn lookup(&self, place: Place<'_>) -> Result<FileAttr, Errno> {
        let _still = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let node = self.in_dir(place, |at| self.files.lookup(at.dir, at.name), errno)?;
        Ok(self.told(place, node))
    }

    /// Takes in a node under its name.
    pub(crate) fn told(&self, place: Place<'_>, node: Node) -> FileAttr {
        let metadata = *node.metadata();
        let number = self.table().told(place.dir, place.name, node);
        self.attr_of(number, &metadata)
    }

    /// Does something with a name in a directory.
    fn in_dir<T>(
        &self,
        place: Place<'_>,
        act: impl Fn(At<'_>) -> Result<T, Error>,
        told: impl Fn(&Error) -> Errno,
    ) -> Result<T, Errno> {
        let name = place.name;
        let dir = self.node(place.dir)?;
        match patiently(|| act(At { dir: &dir, name })) {
            // The directory itself may be another one by now.
            Err(error) if matches!(error.kind(), ErrorKind::Raced | ErrorKind::Stale) => {
                self.on_node_with(place.dir, |dir| act(At { dir, name }), told)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_there = self.files.metadata_of(&dir).is_ok();
                match is_there {
                    true => Err(Errno::ENOENT),
                    false => self.on_node_with(place.dir, |dir| act(At { dir, name }), told),
                }
            }
            done => done.map_err(|error| told(&error)),
        }
    }

    /// Creates a file, or opens the one that is there.
    pub(crate) fn create(
        &self,
        place: Place<'_>,
        how: OpenOptions,
    ) -> Result<(FileAttr, u64), Errno> {
        let _still = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let (node, file) = self.in_dir(place, |at| self.files.create_node_at(at, how), errno)?;
        let attr = self.told(place, node);
        self.table().opened(attr.ino.0);
        let (id, _) = self.open.add(OpenFile::new(attr.ino.0, true, file));
        Ok((attr, id))
    }

    pub(crate) fn create_dir(&self, place: Place<'_>, mode: u32) -> Result<FileAttr, Errno> {
        let _still = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let node = self.in_dir(place, |at| self.files.create_dir_at(at, mode), errno)?;
        Ok(self.told(place, node))
    }

    pub(crate) fn symlink(&self, target: &[u8], place: Place<'_>) -> Result<FileAttr, Errno> {
        let _still = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let make = |at: At<'_>| {
            self.files.symlink_at(target, at)?;
            self.files.lookup(at.dir, at.name)
        };
        let node = self.in_dir(place, make, errno_of_feature)?;
        Ok(self.told(place, node))
    }

    pub(crate) fn link(&self, number: u64, place: Place<'_>) -> Result<FileAttr, Errno> {
        let _still = self.moving.read().unwrap_or_else(PoisonError::into_inner);
        let file = self.node(number)?;
        let make = |at: At<'_>| {
            self.files.hard_link_at(&file, at)?;
            self.files.lookup(at.dir, at.name)
        };
        let node = self.in_dir(place, make, errno_of_feature)?;
        let metadata = *node.metadata();
        self.table().linked(number, place.dir, place.name, node);
        Ok(self.attr_of(number, &metadata))
    }

    pub(crate) fn remove(&self, place: Place<'_>, what: WhatToRemove<'_>) -> Result<(), Errno> {
        let _alone = self.moving.write().unwrap_or_else(PoisonError::into_inner);
        self.in_dir(place, |at| self.files.remove_at(at, what), errno)?;
        self.table().removed(place.dir, place.name);
        Ok(())
    }

    pub(crate) fn rename(
        &self,
        from: Place<'_>,
        to: Place<'_>,
        mode: RenameMode,
    ) -> Result<(), Errno> {
        let _alone = self.moving.write().unwrap_or_else(PoisonError::into_inner);
        let target = self.node(to.dir)?;
        let rename = |at: At<'_>| {
            let to = At {
                dir: &target,
                name: to.name,
            };
            self.files.rename_at(at, to, mode)
        };
        self.in_dir(from, rename, errno)?;
        let (one, other) = ((from.dir, from.name), (to.dir, to.name));
        match mode {
            RenameMode::Exchange => self.table().exchanged(one, other),
            _ => self.table().renamed(one, other),
        }
        // A handle remembers how it was found: the moved object is looked up under its new name.
        for place in [from, to] {
            self.renew(place);
        }
        Ok(())
    }

    fn renew(&self, place: Place<'_>) {
        let number = self.table().child(place.dir, place.name);
        let found = self
            .node(place.dir)
            .ok()
            .and_then(|dir| self.files.lookup(&dir, place.name).ok());
        // What cannot be looked up now is looked up, and told, when it is used.
        if let (Some(number), Some(node)) = (number, found) {
            self.table().renew(number, node);
        }
    }

    /// Everything in a directory.
    pub(crate) fn list(&self, number: u64) -> Result<Vec<Entry>, Errno> {
        self.on_node(number, |dir| self.files.entries_of(dir)?.collect())
    }
}
