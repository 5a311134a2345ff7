//! Requests about names: looked up, made, moved and removed.

use std::time::Duration;

use fuser::{Errno, FileAttr};
use handfast::files::{At, Entry, Node, WhatToRemove};
use handfast::{Error, ErrorKind, FileKind, Name, NameRef, OpenOptions, RenameMode};

use crate::errno::{errno, errno_of_feature};
use crate::face::{Asked, is_told_by_name, patiently};
use crate::open_files::OpenFile;
use crate::table::is_replaced;

/// A name in a directory that the kernel knows.
#[derive(Clone, Copy)]
pub(crate) struct NamePlace<'a> {
    pub(crate) dir: u64,
    pub(crate) name: NameRef<'a>,
}

impl<'a> NamePlace<'a> {
    fn new(dir: u64, name: &'a Name) -> Self {
        let name = name.as_ref();
        Self { dir, name }
    }
}

/// What a name leads to, and how long the kernel believes that.
#[derive(Clone, Copy)]
pub(crate) struct LookedUp {
    pub(crate) attr: FileAttr,
    pub(crate) name_time: Duration,
    pub(crate) facts_time: Duration,
}

impl Asked<'_> {
    /// Looks a name up and counts the kernel's new reference to it. How long that is believed comes
    /// with it.
    pub(crate) fn lookup(&self, place: NamePlace<'_>) -> Result<LookedUp, Errno> {
        let _still = self.names.still();
        if let Some(found) = self.special_at(place) {
            return Ok(found);
        }
        let in_watched = self.watch_dir(place.dir);
        let was_watched = self.watched_child(place);
        let look = |at: At<'_>| self.files.lookup(at.dir, at.name);
        let refused = |error: &Error| {
            if let Ok(dir) = self.node(place.dir) {
                let at = At {
                    dir: &dir,
                    name: place.name,
                };
                self.files.record_refused_look(at, error);
            }
            errno(error)
        };
        let node = self.in_dir(place, look, refused)?;
        Ok(self.found(place, node, in_watched, was_watched))
    }

    /// Looks several names of a directory up, each as [`Face::lookup`].
    pub(crate) fn lookup_all(&self, dir: u64, names: &[&Name]) -> Vec<Option<LookedUp>> {
        let _still = self.names.still();
        let in_watched = self.watch_dir(dir);
        let each = names.iter();
        let were_watched: Vec<_> = each
            .map(|name| self.watched_child(NamePlace::new(dir, name)))
            .collect();
        let Ok(node) = self.node(dir) else {
            return names.iter().map(|_| None).collect();
        };
        let found = self.files.lookup_all(&node, names);
        let each = names.iter().zip(found).zip(were_watched);
        each.map(|((name, found), was_watched)| {
            let place = NamePlace::new(dir, name);
            Some(self.found(place, found.ok()?, in_watched, was_watched))
        })
        .collect()
    }

    /// The number of a directory that has the name, if it is watched already.
    fn watched_child(&self, place: NamePlace<'_>) -> Option<u64> {
        self.watch.as_ref()?;
        let number = self.table().child(place.dir, place.name)?;
        self.is_watched(number).then_some(number)
    }

    fn found(
        &self,
        place: NamePlace<'_>,
        node: Node,
        in_watched: bool,
        was_watched: Option<u64>,
    ) -> LookedUp {
        let is_dir = node.kind() == FileKind::Dir;
        let is_told = is_told_by_name(&node, node.metadata());
        let mut attr = self.told(place, node);
        let is_told = match is_dir {
            false => is_told && in_watched,
            true => was_watched == Some(attr.ino.0) || self.watch_new(place, &mut attr),
        };
        let time = |is_told, otherwise| match is_told {
            true => self.times.watched,
            false => otherwise,
        };
        LookedUp {
            attr,
            name_time: time(in_watched, self.times.names),
            facts_time: time(is_told, self.times.facts),
        }
    }

    /// Watches a directory that was just looked up, and looks at it again: it may have changed before
    /// it was watched.
    fn watch_new(&self, place: NamePlace<'_>, attr: &mut FileAttr) -> bool {
        let number = attr.ino.0;
        if !self.watch_dir(number) {
            return false;
        }
        let Ok(now) = self.on_node(number, |node| self.files.metadata_of(node)) else {
            return false;
        };
        let is_same = self.table().child(place.dir, place.name) == Some(number);
        *attr = self.attr_of(number, &now);
        is_same
    }

    /// Takes in a node under its name.
    pub(crate) fn told(&self, place: NamePlace<'_>, node: Node) -> FileAttr {
        let metadata = *node.metadata();
        let number = self.table().told(place.dir, place.name, node);
        self.attr_of(number, &metadata)
    }

    /// Does something with a name in a directory.
    fn in_dir<T>(
        &self,
        place: NamePlace<'_>,
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
        place: NamePlace<'_>,
        how: OpenOptions,
    ) -> Result<(FileAttr, u64), Errno> {
        let _still = self.names.still();
        let (node, file) = self.in_dir(place, |at| self.files.create_node_at(at, how), errno)?;
        let attr = self.told(place, node);
        self.table().opened(attr.ino.0);
        let (id, _) = self.open.add(OpenFile::new(attr.ino.0, true, file));
        Ok((attr, id))
    }

    pub(crate) fn create_dir(&self, place: NamePlace<'_>, mode: u32) -> Result<FileAttr, Errno> {
        let _still = self.names.still();
        let node = self.in_dir(place, |at| self.files.create_dir_at(at, mode), errno)?;
        Ok(self.told(place, node))
    }

    pub(crate) fn symlink(&self, target: &[u8], place: NamePlace<'_>) -> Result<FileAttr, Errno> {
        let _still = self.names.still();
        let make = |at: At<'_>| {
            self.files.symlink_at(target, at)?;
            self.files.lookup(at.dir, at.name)
        };
        let node = self.in_dir(place, make, errno_of_feature)?;
        Ok(self.told(place, node))
    }

    pub(crate) fn link(&self, number: u64, place: NamePlace<'_>) -> Result<FileAttr, Errno> {
        let _still = self.names.still();
        if self.special(number).is_some() {
            return Err(Errno::EPERM);
        }
        let file = self.node(number)?;
        let make = |at: At<'_>| {
            self.files.hard_link_at(&file, at)?;
            self.files.lookup(at.dir, at.name)
        };
        let node = self.in_dir(place, make, errno_of_feature)?;
        // Others may have put another file under the new name, or under the old one.
        let is_it = !is_replaced(&file, &node)
            && self.node_now(number).is_some_and(|now| now.is_same(&node));
        if !is_it {
            return Ok(self.told(place, node));
        }
        let metadata = *node.metadata();
        self.table().linked(number, place.dir, place.name, node);
        Ok(self.attr_of(number, &metadata))
    }

    /// What the last known name of an object leads to, if that is still the object. A file that gets a
    /// second name may be another one to its layer from then on.
    fn node_now(&self, number: u64) -> Option<Node> {
        let seen = self.seen(number).ok()?;
        let (dir, name) = seen.place?;
        let dir = self.node(dir).ok()?;
        self.files.lookup(&dir, name.as_ref()).ok()
    }

    pub(crate) fn remove(&self, place: NamePlace<'_>, what: WhatToRemove<'_>) -> Result<(), Errno> {
        let _alone = self.names.alone();
        if self.holds_specials(place) {
            return Err(Errno::ENOTEMPTY);
        }
        if self.remove_special(place) {
            return Ok(());
        }
        self.in_dir(place, |at| self.files.remove_at(at, what), errno)?;
        self.table().removed(place.dir, place.name);
        Ok(())
    }

    pub(crate) fn rename(
        &self,
        from: NamePlace<'_>,
        to: NamePlace<'_>,
        mode: RenameMode,
    ) -> Result<(), Errno> {
        let _alone = self.names.alone();
        if let Some(done) = self.rename_special(from, to, mode) {
            return done;
        }
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
        // What was renamed took the place of a FIFO or a socket.
        if mode == RenameMode::Replace {
            self.remove_special(to);
        }
        // A handle remembers how it was found: the moved object is looked up under its new name.
        for place in [from, to] {
            self.renew(place);
        }
        Ok(())
    }

    fn renew(&self, place: NamePlace<'_>) {
        let number = self.table().child(place.dir, place.name);
        let found = self
            .node(place.dir)
            .ok()
            .and_then(|dir| self.files.lookup(&dir, place.name).ok());
        // What cannot be looked up now is looked up, and told, when it is used.
        if let (Some(number), Some(node)) = (number, found) {
            let mut table = self.table();
            // Others may have put another object under the name meanwhile.
            let is_it = table.get(number).is_some_and(|known| {
                let are_dirs = [&known.node, &node].map(Node::kind) == [FileKind::Dir; 2];
                are_dirs || known.node.is_same(&node) && !is_replaced(&known.node, &node)
            });
            if is_it {
                table.renew(number, node);
            }
        }
    }

    /// Everything in a directory.
    pub(crate) fn list(&self, number: u64) -> Result<Vec<Entry>, Errno> {
        let listed: Result<Vec<_>, _> =
            self.on_node(number, |dir| self.files.entries_of(dir)?.collect());
        let mut entries = listed?;
        self.add_specials(number, &mut entries);
        Ok(entries)
    }
}
