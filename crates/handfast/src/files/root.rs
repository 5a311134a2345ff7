//! A root's files: nodes are pinned objects.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::{Name, NameRef, RelPath};
use crate::resolve::{self as paths, Last};
use crate::root::{Below, Root};
use crate::sys;
use crate::verb::Verb;
use crate::verbs::{
    OpenOptions, ReadDir, RenameMode, Staged, SymlinkTarget, TreeLimits, WriteOptions, Written,
};
use crate::version::Version;

use super::content;
use super::copying;
use super::handle::FileHandle;
use super::interface::Files;
use super::node::{At, Node, NodeData};
use super::places::Places;
use super::resolve::LastLink;
use super::types::{
    AbsoluteLink, Attributes, Entries, Entry, Put, Space, StagedContent, WhatToRemove,
};

/// A pinned object of a root.
#[derive(Debug)]
struct RootNode {
    metadata: Metadata,
    /// The directory that holds the name it was found under, and the name; nothing for the top.
    found: Option<(Root, Name)>,
    object: Object,
}

#[derive(Debug)]
enum Object {
    /// A directory: verbs on its names go through this root.
    Dir(Root),
    /// Anything else, pinned.
    Other(OwnedFd),
}

impl NodeData for RootNode {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl RootNode {
    fn dir(&self) -> Result<&Root, Error> {
        match &self.object {
            Object::Dir(root) => Ok(root),
            Object::Other(_) => Err(Error::refused(ErrorKind::NotADirectory, "")),
        }
    }

    /// The directory and the path of one name by which a verb reaches the object again; the verb
    /// answers `Raced` if the name leads to another object by now.
    fn again(&self) -> Result<(Root, RelPath), Error> {
        match (&self.found, &self.object) {
            (Some((dir, name)), _) => {
                Ok((dir.expecting(self.metadata.identity), RelPath::from(name)))
            }
            (None, Object::Dir(root)) => Ok((root.clone(), RelPath::root())),
            (None, Object::Other(_)) => Err(Error::refused(ErrorKind::Invalid, "")),
        }
    }

    /// The path as errors say it.
    fn shown(&self) -> String {
        match (&self.found, &self.object) {
            (Some((dir, name)), _) => dir.full(&RelPath::from(name)).to_string(),
            (None, Object::Dir(root)) => root.full(&RelPath::root()).to_string(),
            (None, Object::Other(_)) => String::new(),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.object {
            Object::Dir(root) => root.pinned.fd.as_fd(),
            Object::Other(pin) => pin.as_fd(),
        }
    }

    /// The text of a link, read from the object that was looked up: nothing is looked up again.
    fn read_link(&self) -> Result<SymlinkTarget, Error> {
        let Some((dir, name)) = &self.found else {
            return Err(not_a_link().on(Verb::ReadLink, self.shown()));
        };
        dir.act(Verb::ReadLink, &RelPath::from(name), |op| {
            if !self.metadata.is_symlink() {
                return Err(Fault::rule(ErrorKind::Kind, "it is not a symbolic link"));
            }
            op.allow(Some(&self.metadata))?;
            sys::readlink_pinned(self.descriptor()).map(SymlinkTarget::from_stored)
        })
    }
}

fn not_a_link() -> Error {
    Error::refused(ErrorKind::Kind, "it is not a symbolic link")
}

/// The directory behind a node.
pub(crate) fn dir_of(node: &Node) -> Result<&Root, Error> {
    node.data::<RootNode>()?.dir()
}

fn path_of(at: &At<'_>) -> RelPath {
    RelPath::from(at.name)
}

fn last_of(last: LastLink) -> Last {
    match last {
        LastLink::Follow => Last::Follow,
        LastLink::Itself => Last::Itself,
    }
}

impl Root {
    /// Pins the object under one name of this directory; a link is itself.
    ///
    /// # Errors
    /// `NotFound`, `Mount`, `Denied`.
    pub fn lookup_name(&self, name: NameRef<'_>) -> Result<Node, Error> {
        let here = self;
        let path = RelPath::from(name);
        let (pin, metadata) = here.act(Verb::Resolve, &path, |op| {
            let (pin, status) = paths::pin(here, &path, sys::PIN, Last::Itself)?;
            op.allow(Some(&status))?;
            Ok((pin, status))
        })?;
        let object = if metadata.is_dir() {
            let below = Below {
                path: here.full(&path),
                depth: here.depth() + 1,
                top: here.top_identity(),
            };
            Object::Dir(here.at_dir(pin, metadata.identity, below))
        } else {
            Object::Other(pin)
        };
        Ok(Node::new(RootNode {
            metadata,
            found: Some((here.clone(), name.to_name())),
            object,
        }))
    }
}

impl Files for Root {
    fn links(&self) -> Links {
        self.link_policy()
    }

    fn read_limit(&self) -> u64 {
        self.options.read_limit.0
    }

    fn absolute_link(&self, target: &[u8]) -> Result<Option<AbsoluteLink>, Error> {
        if self.link_policy() != Links::InRoot {
            return Ok(None);
        }
        Ok(Some(AbsoluteLink {
            way: vec![self.top()?],
            rest: target.to_vec(),
        }))
    }

    fn top(&self) -> Result<Node, Error> {
        let root = self.without_links();
        let metadata =
            sys::status(&root.pinned.fd).map_err(|fault| Error::new(Verb::Metadata, ".", fault))?;
        Ok(Node::new(RootNode {
            metadata,
            found: None,
            object: Object::Dir(root),
        }))
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        dir_of(dir)?.lookup_name(name)
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        let node = node.data::<RootNode>()?;
        sys::status(node.descriptor())
            .map_err(|fault| Error::new(Verb::Metadata, node.shown(), fault))
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        link.data::<RootNode>()?.read_link()
    }

    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        let link = link.data::<RootNode>()?;
        let dir = match &link.found {
            Some((dir, _)) => dir,
            None => self,
        };
        sys::check_links_followed(link.descriptor(), &dir.pinned.fd)
            .map_err(|fault| Error::new(Verb::ReadLink, link.shown(), fault))?;
        link.read_link()
    }

    fn require_search(&self, dir: &Node) -> Result<(), Error> {
        let dir = dir.data::<RootNode>()?;
        sys::status_at(dir.descriptor(), c".")
            .map(drop)
            .map_err(|fault| Error::new(Verb::Resolve, dir.shown(), fault))
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        Ok(Box::new(Listed(dir_of(dir)?.read_dir(&RelPath::root())?)))
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        if how.creates() {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "a file that is there is not created",
            ));
        }
        let (dir, path) = node.data::<RootNode>()?.again()?;
        Ok(Box::new(dir.open_with(&path, how)?))
    }

    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error> {
        let (dir, path) = node.data::<RootNode>()?.again()?;
        set_attributes(&dir, &path, attributes)
    }

    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        Ok(Box::new(dir_of(at.dir)?.open_with(&path_of(&at), how)?))
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        put_in(dir_of(at.dir)?, &path_of(&at), data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        Ok(Box::new(dir_of(at.dir)?.stage(&path_of(&at), options)?))
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        dir_of(at.dir)?.append_with(&path_of(&at), data, options)
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        let here = dir_of(at.dir)?;
        let dir = here.create_dir_with(&path_of(&at), mode)?;
        Ok(Node::new(RootNode {
            metadata: *dir.opened_metadata(),
            found: Some((here.clone(), at.name.to_name())),
            object: Object::Dir((*dir).clone()),
        }))
    }

    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error> {
        dir_of(at.dir)?.symlink(target, &path_of(&at))
    }

    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error> {
        let (dir, path) = file.data::<RootNode>()?.again()?;
        dir.hard_link_to(&path, dir_of(at.dir)?, &path_of(&at))
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        let (source, target) = (dir_of(from.dir)?, dir_of(to.dir)?);
        source.rename_to(&path_of(&from), target, &path_of(&to), mode)
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        remove(dir_of(at.dir)?, &path_of(&at), what)
    }

    fn space_of(&self, dir: &Node) -> Result<Space, Error> {
        let dir = dir_of(dir)?;
        let told = rustix::fs::fstatvfs(&dir.pinned.fd)
            .map_err(|errno| Error::new(Verb::Metadata, "", Fault::sys("fstatvfs", errno)))?;
        Ok(Space {
            bytes: told.f_blocks.saturating_mul(told.f_frsize),
            bytes_free: told.f_bavail.saturating_mul(told.f_frsize),
            names: told.f_files,
            names_free: told.f_favail,
        })
    }

    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let (dir, path) = node.data::<RootNode>()?.again()?;
        dir.get_xattr(&path, name)
    }

    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        let (dir, path) = node.data::<RootNode>()?.again()?;
        dir.list_xattrs(&path)
    }

    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        let (dir, path) = node.data::<RootNode>()?.again()?;
        match value {
            Some(value) => dir.set_xattr(&path, name, value),
            None => dir.remove_xattr(&path, name),
        }
    }

    fn shown_path(&self, path: &RelPath) -> String {
        self.full(path).to_string()
    }

    // The shorter ways: one lookup of the whole path, and the verb on what was reached.

    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        match last_of(last) {
            Last::Follow => Root::metadata(self, path),
            Last::Itself => self.symlink_metadata(path),
        }
    }

    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        Root::read_link(self, path)
    }

    fn open(&self, path: &RelPath, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        Ok(Box::new(self.open_with(path, how)?))
    }

    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        self.read_to_limit(path, limit)
    }

    fn read_versioned(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Version), Error> {
        if limit == self.options.read_limit.0 {
            return Root::read_versioned(self, path);
        }
        content::read_versioned(
            &*self.open_for(Verb::Read, path, OpenOptions::new())?,
            limit,
        )
        .map_err(|error| error.on(Verb::Read, self.shown_path(path)))
    }

    fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        match digest {
            true => self.version_with_digest(path),
            false => Root::version(self, path),
        }
    }

    fn put(
        &self,
        path: &RelPath,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        put_in(self, path, data, put, options)
    }

    fn stage(
        &self,
        path: &RelPath,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        Ok(Box::new(Root::stage(self, path, options)?))
    }

    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.append_with(path, data, options)
    }

    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        Ok(Box::new(Listed(self.read_dir(path)?)))
    }

    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.create_dir_with(path, mode).map(drop)
    }

    fn create_dir_all(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.create_dir_all_with(path, mode).map(drop)
    }

    fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        Root::symlink(self, target, path)
    }

    fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        Root::hard_link(self, source, new)
    }

    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        Root::rename(self, from, to, mode)
    }

    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        remove(self, path, what)
    }

    fn remove_tree(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        self.remove_tree_with(path, limits)
    }

    fn copy(&self, from: &RelPath, to: &RelPath, put: Put<'_>) -> Result<Written, Error> {
        match put {
            Put::Replace => Root::copy(self, from, to),
            put => copying::copy(self, from, to, put)
                .map_err(|error| self.named_two(error, Verb::Copy, from, to)),
        }
    }

    fn copy_tree(&self, from: &RelPath, to: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        self.copy_tree_with(from, to, limits)
    }

    fn set_attributes(&self, path: &RelPath, attributes: &Attributes) -> Result<(), Error> {
        if attributes.changes() == 1 {
            return set_attributes(self, path, attributes);
        }
        // Several changes are several calls: all of them are made to one object.
        self.with_node(attributes.verb(), path, LastLink::Follow, |node| {
            self.set_attributes_of(&node, attributes)
        })
    }
}

fn put_in(
    root: &Root,
    path: &RelPath,
    data: &[u8],
    put: Put<'_>,
    options: WriteOptions,
) -> Result<Written, Error> {
    match put {
        Put::Replace => root.write_with(path, data, options),
        Put::New => root.write_new_with(path, data, options),
        Put::If(version) => root.write_if_with(path, version, data, options),
    }
}

fn remove(root: &Root, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
    match what {
        WhatToRemove::File => root.remove_file(path),
        WhatToRemove::FileIf(version) => root.remove_if(path, version),
        WhatToRemove::Dir => root.remove_dir(path),
    }
}

fn set_attributes(root: &Root, path: &RelPath, attributes: &Attributes) -> Result<(), Error> {
    let mut changed = false;
    let mut told = |done: Result<(), Error>| match (done, changed) {
        (Err(error), true) => Err(error.with_effect(Effect::Visible)),
        (done, _) => {
            changed = true;
            done
        }
    };
    // The mode comes last: giving a file away may take bits from it.
    if attributes.uid.is_some() || attributes.gid.is_some() {
        told(root.chown(path, attributes.uid, attributes.gid))?;
    }
    if attributes.accessed.is_some() || attributes.modified.is_some() {
        told(root.set_times(path, attributes.accessed, attributes.modified))?;
    }
    match attributes.mode {
        Some(mode) => told(root.chmod(path, mode)),
        None => Ok(()),
    }
}

/// A listing as an iterator of owned entries.
struct Listed(ReadDir);

impl Iterator for Listed {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.next_entry() {
            Ok(Some(entry)) => Some(Ok(Entry {
                name: entry.name().to_name(),
                kind: entry.kind(),
                inode: entry.inode(),
            })),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl StagedContent for Staged {
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error> {
        match put {
            Put::Replace => self.commit(),
            Put::New => self.commit_new(),
            Put::If(version) => self.commit_if(version),
        }
    }
}
