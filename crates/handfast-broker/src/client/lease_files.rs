//! Files under a lease, behind the interface that every kind of files has.
//!
//! A path counts from `/` of the broker. A node is a path and the handle of the object that it led to.
//! A verb on a node sends both: the broker walks the path again, judges it by the lease and the
//! policy of that moment, compares what it found with the handle, and acts on what it holds then. If
//! another object has the path, nothing is done and the answer is `Raced`.
//!
//! So a node follows its path, not its object: after a rename of a directory above it, its verbs
//! answer `Raced` or `NotFound`, where those of a root go on.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast::files::{
    At, Attributes, Entries, FileHandle, Files, LastLink, Node, NodeData, Put, StagedContent,
    WhatToRemove, read_versioned, read_whole,
};
use handfast::{
    Effect, Error, ErrorKind, FileKind, Links, Metadata, NameRef, OpenOptions, RelPath, RenameMode,
    SymlinkTarget, TreeLimits, Verb, Version, WriteOptions, Written,
};
use handfast_session::VirtualPath;
use serde::Deserialize;

use super::Client;
use super::lease_calls::{not_the_top, unsupported};
use super::staged::Staged;
use super::told::error_of;

/// The largest file that is read whole where nobody sets a limit, as in a session.
const READ_LIMIT: u64 = 64 << 20;

/// Files that a broker serves under one lease.
pub struct LeaseFiles {
    client: Mutex<Client>,
    pub(super) lease: String,
    /// Where roots are mounted, and whether links are followed there.
    roots: Vec<(VirtualPath, Links)>,
}

/// An object under a lease.
#[derive(Debug)]
struct LeaseNode {
    path: RelPath,
    metadata: Metadata,
    /// What the broker calls the object.
    handle: String,
    is_boundary: bool,
    /// What the last name of the path means.
    last: LastLink,
}

impl NodeData for LeaseNode {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn is_boundary(&self) -> bool {
        self.is_boundary
    }
}

#[derive(Deserialize)]
struct Served {
    roots: Vec<ServedRoot>,
}

#[derive(Deserialize)]
struct ServedRoot {
    mount: String,
    links: String,
}

impl LeaseFiles {
    /// The files under a lease, by its id or a token.
    ///
    /// # Errors
    /// If the broker does not say what it serves.
    pub fn new(mut client: Client, lease: impl Into<String>) -> Result<Self, Error> {
        let served: Served = client
            .call("Info", &serde_json::json!({}))
            .map_err(error_of)?;
        let mut roots = Vec::new();
        for root in served.roots {
            let links = match root.links.as_str() {
                "refuse" => Links::Refuse,
                _ => Links::Beneath,
            };
            roots.push((VirtualPath::parse(root.mount)?, links));
        }
        Ok(Self {
            client: Mutex::new(client),
            lease: lease.into(),
            roots,
        })
    }

    /// The connection. After trouble it is of no use, and says so at every call.
    pub(super) fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node_at(&self, path: RelPath, last: LastLink) -> Result<Node, Error> {
        let (metadata, handle) = self.stat(Verb::Resolve, &path, last)?;
        let path = path.with_must_be_dir(false);
        let here = VirtualPath::from(path.clone());
        Ok(Node::new(LeaseNode {
            path,
            metadata,
            handle,
            is_boundary: self.roots.iter().any(|(mount, _)| *mount == here),
            last,
        }))
    }
}

impl Files for LeaseFiles {
    fn links(&self) -> Links {
        match self.roots.iter().all(|(_, links)| *links == Links::Refuse) {
            true => Links::Refuse,
            false => Links::Beneath,
        }
    }

    fn read_limit(&self) -> u64 {
        READ_LIMIT
    }

    fn top(&self) -> Result<Node, Error> {
        self.node(&RelPath::root(), LastLink::Itself)
    }

    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error> {
        let (path, _) = place_of(At { dir, name })?;
        self.node_at(path, LastLink::Itself)
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        let data = node.data::<LeaseNode>()?;
        let (now, _) = self.stat(Verb::Metadata, &data.path, data.last)?;
        same_object(node, &now)?;
        Ok(now)
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        let data = link.data::<LeaseNode>()?;
        self.link_text(&data.path, Some(&data.handle))
    }

    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        let here = VirtualPath::from(link.data::<LeaseNode>()?.path.clone());
        let above = self.roots.iter().filter(|(at, _)| here.starts_with(at));
        let root = above.max_by_key(|(at, _)| at.as_rel().depth());
        if root.is_some_and(|(_, links)| *links == Links::Refuse) {
            let why = "a link is on the way, and links are not followed in this root";
            return Err(Error::refused(ErrorKind::Link, why));
        }
        self.link_of(link)
    }

    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error> {
        let data = dir.data::<LeaseNode>()?;
        self.list(&data.path, Some(&data.handle))
    }

    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        if how.creates() {
            let why = "a file that is there is not created";
            return Err(Error::refused(ErrorKind::Invalid, why));
        }
        let path = &node.data::<LeaseNode>()?.path;
        let file = self.open_at(verb_of(how), path, how)?;
        same_object(node, file.opened_metadata())?;
        Ok(file)
    }

    fn set_attributes_of(&self, _: &Node, _: &Attributes) -> Result<(), Error> {
        Err(unsupported("the broker changes no attributes"))
    }

    fn create_at(&self, _: At<'_>, _: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        Err(unsupported("the broker creates files with whole content"))
    }

    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let (path, dir) = place_of(at)?;
        self.publish((&path, Some(dir)), data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        // Said early; what counts is what is there when it is published.
        let kind = match self.lookup(at.dir, at.name) {
            Ok(found) => found.kind(),
            Err(error) if error.kind() == ErrorKind::NotFound => FileKind::File,
            Err(error) => return Err(error),
        };
        match kind {
            FileKind::File => Ok(Box::new(Staged::new(self, at, options))),
            FileKind::Dir => Err(Error::refused(ErrorKind::IsADirectory, "")),
            FileKind::Symlink => {
                let why = "a link is there, and is not followed";
                Err(Error::refused(ErrorKind::Link, why))
            }
            _ => Err(Error::refused(ErrorKind::Kind, "")),
        }
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        let (path, dir) = place_of(at)?;
        self.append_in((&path, Some(dir)), data, options)
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        let (path, dir) = place_of(at)?;
        let made = self.ask(Verb::CreateDir, &path, |client, lease, place| {
            client.mkdir_with(lease, place, mode, Some(dir))
        })?;
        let raced = |error: Error| error.with_effect(Effect::Visible);
        let node = self.lookup(at.dir, at.name).map_err(raced)?;
        match made.handle.as_ref() == Some(&node.data::<LeaseNode>()?.handle) {
            true => Ok(node),
            false => Err(raced(moved())),
        }
    }

    fn symlink_at(&self, _: &[u8], _: At<'_>) -> Result<(), Error> {
        Err(unsupported("the broker makes no links"))
    }

    fn hard_link_at(&self, _: &Node, _: At<'_>) -> Result<(), Error> {
        Err(unsupported("the broker makes no links"))
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        let ((from, dir), (to, to_dir)) = (place_of(from)?, place_of(to)?);
        self.rename_in((&from, &to), mode, Some((dir, to_dir)))
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        let (path, dir) = place_of(at)?;
        self.remove_in((&path, Some(dir)), what)
    }

    fn shown_path(&self, path: &RelPath) -> String {
        VirtualPath::from(path.clone()).to_string()
    }

    // The shorter ways: one question to the broker, which walks and judges by itself.

    fn node(&self, path: &RelPath, last: LastLink) -> Result<Node, Error> {
        self.node_at(path.clone(), last)
    }

    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        self.stat(Verb::Metadata, path, last)
            .map(|(found, _)| found)
    }

    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        self.link_text(path, None)
    }

    fn open(&self, path: &RelPath, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        self.open_at(verb_of(how), path, how)
    }

    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        let file = self.open_at(Verb::Read, path, OpenOptions::new())?;
        read_whole(&*file, limit).map_err(|error| error.on(Verb::Read, self.shown_path(path)))
    }

    fn read_versioned(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Version), Error> {
        let file = self.open_at(Verb::Read, path, OpenOptions::new())?;
        read_versioned(&*file, limit).map_err(|error| error.on(Verb::Read, self.shown_path(path)))
    }

    fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        let file = self.open_at(Verb::Version, path, OpenOptions::new())?;
        file.version(digest)
            .map_err(|error| error.on(Verb::Version, self.shown_path(path)))
    }

    fn put(
        &self,
        path: &RelPath,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.publish((path, None), data, put, options)
    }

    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.append_in((path, None), data, options)
    }

    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        self.list(path, None)
    }

    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.ask(Verb::CreateDir, path, |client, lease, at| {
            client.mkdir_with(lease, at, mode, None)
        })
        .map(drop)
    }

    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        self.rename_in((from, to), mode, None)
    }

    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        self.remove_in((path, None), what)
    }

    fn remove_tree(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        if limits != TreeLimits::new() {
            // The broker has no such limits: entry by entry, as far as they go.
            return handfast::files::remove_tree(self, path, limits)
                .map_err(|error| error.on(Verb::RemoveTree, self.shown_path(path)));
        }
        not_the_top(path).map_err(|error| error.on(Verb::RemoveTree, self.shown_path(path)))?;
        self.ask(Verb::RemoveTree, path, |client, lease, at| {
            client.remove(lease, at, "tree")
        })
    }
}

/// The path of a name in a directory, and the directory's handle.
fn place_of(at: At<'_>) -> Result<(RelPath, &str), Error> {
    let dir = at.dir.data::<LeaseNode>()?;
    match dir.metadata.is_dir() {
        true => Ok((dir.path.join(at.name), &dir.handle)),
        false => Err(Error::refused(ErrorKind::NotADirectory, "")),
    }
}

fn same_object(node: &Node, now: &Metadata) -> Result<(), Error> {
    match node.metadata().identity.same_object(&now.identity) {
        true => Ok(()),
        false => Err(moved()),
    }
}

fn moved() -> Error {
    let why = "the name leads to another object by now";
    Error::refused(ErrorKind::Raced, why)
}

fn verb_of(how: OpenOptions) -> Verb {
    match how.changes() {
        true => Verb::OpenWrite,
        false => Verb::Open,
    }
}

impl fmt::Debug for LeaseFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The lease's id is a secret.
        f.debug_struct("LeaseFiles")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}
