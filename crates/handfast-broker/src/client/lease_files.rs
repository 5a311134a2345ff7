//! Files under a lease, behind the interface that every kind of files has.
//!
//! A path counts from `/` of the broker. A node is a path and the object that it led to: the broker
//! walks the path again for every call, and judges it by the lease and the policy of that moment.
//! Where a verb must reach the object that was looked up, the two are compared.

use std::fmt;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast::files::{
    At, Attributes, Entries, Entry, FileHandle, Files, LastLink, Node, NodeData, Put,
    StagedContent, WhatToRemove, read_versioned, read_whole,
};
use handfast::{
    Error, ErrorKind, File, Links, Metadata, Name, NameRef, OpenOptions, RelPath, RenameMode,
    SymlinkTarget, TreeLimits, Verb, Version, WriteOptions, Written,
};
use handfast_session::VirtualPath;
use serde::Deserialize;

use super::staged::Staged;
use super::told::{Linked, Manner, Standing, Status, error_of, kind_of};
use super::{Client, ClientError};

/// The largest file that is read whole where nobody sets a limit, as in a session.
const READ_LIMIT: u64 = 64 << 20;

/// Files that a broker serves under one lease.
pub struct LeaseFiles {
    client: Mutex<Client>,
    lease: String,
    /// Where roots are mounted, and whether links are followed there.
    roots: Vec<(VirtualPath, Links)>,
}

/// An object under a lease.
#[derive(Debug)]
struct LeaseNode {
    path: RelPath,
    metadata: Metadata,
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
    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something at a path, and names both in the error.
    fn ask<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        ask: impl FnOnce(&mut Client, &str, &[u8]) -> Result<T, ClientError>,
    ) -> Result<T, Error> {
        ask(&mut self.client(), &self.lease, &wire_path(path))
            .map_err(|error| error_of(error).on(verb, self.shown_path(path)))
    }

    fn stat(&self, verb: Verb, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        let status: Status = self.ask(verb, path, |client, lease, at| {
            client.status(lease, at, last == LastLink::Follow)
        })?;
        status.metadata().ok_or_else(|| {
            let why = "the broker's answer is not understood";
            Error::refused(ErrorKind::Io, why).on(verb, self.shown_path(path))
        })
    }

    fn node_of(&self, path: RelPath, metadata: Metadata, last: LastLink) -> Node {
        let here = VirtualPath::from(path.clone());
        let is_boundary = self.roots.iter().any(|(mount, _)| *mount == here);
        Node::new(LeaseNode {
            path,
            metadata,
            is_boundary,
            last,
        })
    }

    /// A name in a directory. What is under it may be a link: then nothing is done behind it.
    fn name_at(&self, at: At<'_>) -> Result<RelPath, Error> {
        let path = self.below(at)?;
        match self.stat(Verb::Resolve, &path, LastLink::Itself) {
            Ok(found) if found.is_symlink() => Err(Error::refused(
                ErrorKind::Link,
                "a link is there, and is not followed",
            )),
            Ok(_) => Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(path),
            Err(error) => Err(error),
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "a node belongs to the files that gave it"
    )]
    fn below(&self, at: At<'_>) -> Result<RelPath, Error> {
        let dir = at.dir.data::<LeaseNode>()?;
        match dir.metadata.is_dir() {
            true => Ok(dir.path.join(at.name)),
            false => Err(Error::refused(ErrorKind::NotADirectory, "")),
        }
    }

    fn open_at(
        &self,
        verb: Verb,
        path: &RelPath,
        how: OpenOptions,
    ) -> Result<Box<dyn FileHandle>, Error> {
        let opened = match how.changes() {
            false => self.ask(verb, path, |client, lease, at| client.open(lease, at))?,
            true if how == OpenOptions::new().write(true) => {
                self.ask(verb, path, |client, lease, at| {
                    client.open_direct(lease, at)
                })?
            }
            true => {
                let why = "the broker opens a file for writing as it is, or takes whole content";
                return Err(unsupported(why).on(verb, self.shown_path(path)));
            }
        };
        let file = File::received(opened.file.into(), path.clone())
            .map_err(|error| error.on(verb, self.shown_path(path)))?;
        Ok(Box::new(file))
    }

    fn publish(
        &self,
        path: &RelPath,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let manner = Manner::of(options);
        let done = self.ask(put.verb(), path, |client, lease, at| {
            let draft = client.begin_with(lease, at, data.len() as u64, put, &manner)?;
            draft.file.write_all_at(data, 0)?;
            client.publish(&draft, data.len() as u64)
        })?;
        done.written(path)
            .map_err(|error| error.on(put.verb(), self.shown_path(path)))
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
        let path = self.below(At { dir, name })?;
        let metadata = self.stat(Verb::Resolve, &path, LastLink::Itself)?;
        Ok(self.node_of(path, metadata, LastLink::Itself))
    }

    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error> {
        let data = node.data::<LeaseNode>()?;
        let now = self.stat(Verb::Metadata, &data.path, data.last)?;
        same_object(node, &now)?;
        Ok(now)
    }

    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.read_link(&link.data::<LeaseNode>()?.path)
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
        self.entries(&dir.data::<LeaseNode>()?.path)
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
        let path = match put {
            Put::New => self.below(at)?,
            _ => self.name_at(at)?,
        };
        self.publish(&path, data, put, options)
    }

    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        let path = self.name_at(at)?;
        match self.stat(Verb::Resolve, &path, LastLink::Itself) {
            Ok(found) if found.is_dir() => return Err(Error::refused(ErrorKind::IsADirectory, "")),
            Ok(found) if !found.is_file() => return Err(Error::refused(ErrorKind::Kind, "")),
            _ => {}
        }
        Ok(Box::new(Staged::new(self, at, options)))
    }

    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        let path = self.name_at(at)?;
        self.append(&path, data, options)
    }

    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error> {
        let path = self.below(at)?;
        self.create_dir(&path, mode)?;
        self.lookup(at.dir, at.name)
    }

    fn symlink_at(&self, _: &[u8], _: At<'_>) -> Result<(), Error> {
        Err(unsupported("the broker makes no links"))
    }

    fn hard_link_at(&self, _: &Node, _: At<'_>) -> Result<(), Error> {
        Err(unsupported("the broker makes no links"))
    }

    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error> {
        self.rename(&self.below(from)?, &self.below(to)?, mode)
    }

    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error> {
        self.remove(&self.below(at)?, what)
    }

    fn shown_path(&self, path: &RelPath) -> String {
        VirtualPath::from(path.clone()).to_string()
    }

    // The shorter ways: one question to the broker, which walks and judges by itself.

    fn node(&self, path: &RelPath, last: LastLink) -> Result<Node, Error> {
        let metadata = self.stat(Verb::Resolve, path, last)?;
        let path = path.clone().with_must_be_dir(false);
        Ok(self.node_of(path, metadata, last))
    }

    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        self.stat(Verb::Metadata, path, last)
    }

    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        let linked: Linked = self.ask(Verb::ReadLink, path, |client, lease, at| {
            client.link(lease, at)
        })?;
        Ok(SymlinkTarget::from_stored(linked.target()))
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
        self.publish(path, data, put, options)
    }

    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        let manner = Manner::of(options);
        let done: Standing = self.ask(Verb::Append, path, |client, lease, at| {
            client.append_with(lease, at, data, &manner)
        })?;
        done.written(path)
            .map_err(|error| error.on(Verb::Append, self.shown_path(path)))
    }

    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        let found = self.ask(Verb::ReadDir, path, |client, lease, at| {
            client.list_dir(lease, at)
        })?;
        let entries = found.into_iter().map(|told| {
            Ok(Entry {
                name: Name::parse(told.name())?,
                kind: kind_of(&told.kind),
                inode: 0,
            })
        });
        Ok(Box::new(entries.collect::<Vec<_>>().into_iter()))
    }

    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.ask(Verb::CreateDir, path, |client, lease, at| {
            client.mkdir_with(lease, at, mode)
        })
    }

    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        let word = match mode {
            RenameMode::NoReplace => "no-replace",
            RenameMode::Replace => "replace",
            RenameMode::Exchange => "exchange",
        };
        not_the_top(from)
            .and_then(|()| not_the_top(to))
            .map_err(|error| error.on(Verb::Rename, self.shown_path(from)))
            .and_then(|()| {
                self.ask(Verb::Rename, from, |client, lease, at| {
                    client.rename(lease, at, wire_path(to), word)
                })
            })
            .map_err(|error| error.with_destination(Some(self.shown_path(to))))
    }

    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        not_the_top(path).map_err(|error| error.on(what.verb(), self.shown_path(path)))?;
        self.ask(what.verb(), path, |client, lease, at| {
            client.remove_what(lease, at, what)
        })
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

/// A path as the broker reads it.
fn wire_path(path: &RelPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_bytes());
    if path.must_be_dir() && !text.ends_with(b"/") {
        text.push(b'/');
    }
    text
}

/// The top has no name that could be changed.
fn not_the_top(path: &RelPath) -> Result<(), Error> {
    match path.is_root() {
        true => Err(Error::refused(
            ErrorKind::Invalid,
            "the top itself cannot be used here; name something in it",
        )),
        false => Ok(()),
    }
}

fn same_object(node: &Node, now: &Metadata) -> Result<(), Error> {
    match node.metadata().identity.same_object(&now.identity) {
        true => Ok(()),
        false => Err(Error::refused(
            ErrorKind::Raced,
            "the name leads to another object by now",
        )),
    }
}

fn verb_of(how: OpenOptions) -> Verb {
    match how.changes() {
        true => Verb::OpenWrite,
        false => Verb::Open,
    }
}

fn unsupported(why: &'static str) -> Error {
    Error::refused(ErrorKind::Unsupported, why)
}

impl fmt::Debug for LeaseFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The lease's id is a secret.
        f.debug_struct("LeaseFiles")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}
