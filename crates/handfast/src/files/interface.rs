//! The interface itself.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::{Name, NameRef, RelPath};
use crate::verb::Verb;
use crate::verbs::{OpenOptions, RenameMode, SymlinkTarget, TreeLimits, WriteOptions, Written};
use crate::version::Version;

use super::content;
use super::copying;
use super::handle::FileHandle;
use super::node::{At, Node};
use super::places::{Places, Trailing, gone};
use super::removal;
use super::resolve::{LastLink, Resolved, Step};
use super::staged::StagedByPath;
use super::types::{
    AbsoluteLink, Attributes, Entries, Put, Space, StagedContent, Watchable, WhatToRemove,
};

/// The interface of everything that serves files; the module [`files`](crate::files) explains it.
///
/// What an implementation cannot do is `Unsupported`; an option that it cannot honour is refused
/// too, never ignored. Errors name paths as the top of these files would say them.
pub trait Files: Send + Sync {
    /// What happens at symbolic links, for the verbs on paths.
    fn links(&self) -> Links;

    /// The largest file that [`Files::read`] reads whole.
    fn read_limit(&self) -> u64;

    // --- handles -------------------------------------------------------------------------------

    /// The top directory.
    ///
    /// # Errors
    /// `Io` if the system does not say what it is now.
    fn top(&self) -> Result<Node, Error>;

    /// The object under one name of a directory. A link is itself.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `Mount`, `Denied`.
    fn lookup(&self, dir: &Node, name: NameRef<'_>) -> Result<Node, Error>;

    /// The objects under several names of a directory, each as [`Files::lookup`] finds it. Layers
    /// that can look at the directory once for all of them do so.
    fn lookup_all(&self, dir: &Node, names: &[&Name]) -> Vec<Result<Node, Error>> {
        let each = names.iter();
        each.map(|name| self.lookup(dir, name.as_ref())).collect()
    }

    /// Records that a lookup of a name was refused. `lookup` itself records nothing: it is a step of
    /// other verbs, which record their own refusals. For servers such as a FUSE mount, whose programs
    /// may make nothing but lookups.
    fn record_refused_look(&self, at: At<'_>, error: &Error) {
        let _ = (at, error);
    }

    /// The same files for one of the processes that a server serves: events name that process. `None`
    /// if these files do not record processes.
    fn asked_by(&self, pid: u32) -> Option<Arc<dyn Files>> {
        let _ = pid;
        None
    }

    /// What has to be watched to notice changes in a directory that other programs make directly, not
    /// through these files. For caches: a server that notices such changes may cache lookups.
    ///
    /// # Errors
    /// `NotADirectory`, `NotFound`, `Raced` if it is not there any more; `Io`.
    fn watchable(&self, dir: &Node) -> Result<Watchable, Error> {
        let _ = dir;
        Ok(Watchable::Unknown)
    }

    /// Counts how often another process changed what these files keep for themselves (an overlay's
    /// names), as far as this one has seen. After a change of the number, every answer may differ.
    ///
    /// # Errors
    /// `Stale` if what they keep was damaged; `Io`.
    fn changes_by_others(&self) -> Result<u64, Error> {
        Ok(0)
    }

    /// What an object is now.
    ///
    /// # Errors
    /// `Denied` if it may not be looked at; `Io`.
    fn metadata_of(&self, node: &Node) -> Result<Metadata, Error>;

    /// The text of a link, as it is stored.
    ///
    /// # Errors
    /// `Kind` if it is no link; `Denied`.
    fn link_of(&self, link: &Node) -> Result<SymlinkTarget, Error>;

    /// The entries of a directory, in no particular order.
    ///
    /// # Errors
    /// `NotADirectory`, `Denied`.
    fn entries_of(&self, dir: &Node) -> Result<Entries<'_>, Error>;

    /// Opens a file that is there. The options must not ask for a new one.
    ///
    /// # Errors
    /// `Raced` if the name leads to another object by now; `Invalid` for options that create;
    /// otherwise as [`Root::open_with`](crate::Root::open_with).
    fn open_node(&self, node: &Node, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error>;

    /// Changes attributes.
    ///
    /// # Errors
    /// `Raced` if the name leads to another object by now; `HardLink`, `Kind`, `Denied`,
    /// `Unsupported`.
    fn set_attributes_of(&self, node: &Node, attributes: &Attributes) -> Result<(), Error>;

    /// Creates a file under a free name and opens it; with [`OpenOptions::create`] a file that is
    /// there is opened.
    ///
    /// # Errors
    /// `Exists`; otherwise as [`Root::open_with`](crate::Root::open_with).
    fn create_at(&self, at: At<'_>, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error>;

    /// As [`Files::create_at`], with the node of the file that was opened.
    ///
    /// # Errors
    /// As [`Files::create_at`]; `Raced` if the name leads to another file by now. The file that was
    /// created stays then, and the error says so.
    fn create_node_at(
        &self,
        at: At<'_>,
        how: OpenOptions,
    ) -> Result<(Node, Box<dyn FileHandle>), Error> {
        super::making::create_node_at(self, at, how)
    }

    /// Puts whole content under a name, all at once.
    ///
    /// # Errors
    /// `Exists`, `Stale` as `put` says; otherwise as [`Root::write`](crate::Root::write).
    fn put_at(
        &self,
        at: At<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error>;

    /// Begins to write content that becomes visible all at once when it is published.
    ///
    /// # Errors
    /// As [`Files::put_at`].
    fn stage_at(
        &self,
        at: At<'_>,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error>;

    /// Adds to the end of a file, creating it if it is missing.
    ///
    /// # Errors
    /// As [`Root::append`](crate::Root::append).
    fn append_at(&self, at: At<'_>, data: &[u8], options: WriteOptions) -> Result<Written, Error>;

    /// Creates a directory under a free name, with a mode that the umask narrows.
    ///
    /// # Errors
    /// `Exists`; otherwise as [`Root::create_dir`](crate::Root::create_dir).
    fn create_dir_at(&self, at: At<'_>, mode: u32) -> Result<Node, Error>;

    /// Creates a symbolic link under a free name.
    ///
    /// # Errors
    /// `Exists`; otherwise as [`Root::symlink`](crate::Root::symlink).
    fn symlink_at(&self, target: &[u8], at: At<'_>) -> Result<(), Error>;

    /// Gives a file another name.
    ///
    /// # Errors
    /// `Exists`, `Mount`; otherwise as [`Root::hard_link`](crate::Root::hard_link).
    fn hard_link_at(&self, file: &Node, at: At<'_>) -> Result<(), Error>;

    /// Renames an entry, or exchanges two.
    ///
    /// # Errors
    /// As [`Root::rename`](crate::Root::rename).
    fn rename_at(&self, from: At<'_>, to: At<'_>, mode: RenameMode) -> Result<(), Error>;

    /// Removes an entry.
    ///
    /// # Errors
    /// `IsADirectory`, `NotADirectory`, `NotEmpty`, `Stale` as `what` says; `NotFound`, `Denied`.
    fn remove_at(&self, at: At<'_>, what: WhatToRemove<'_>) -> Result<(), Error>;

    /// Where an absolute link leads. `None` if it leads outside.
    ///
    /// # Errors
    /// What stops the directories on the way from being looked up.
    fn absolute_link(&self, target: &[u8]) -> Result<Option<AbsoluteLink>, Error> {
        let _ = target;
        Ok(None)
    }

    /// The text of a link that a walk is about to follow: as [`Files::link_of`], unless links are
    /// not followed where this one lies.
    ///
    /// # Errors
    /// `Link` if it is not followed there; otherwise as [`Files::link_of`].
    fn link_to_follow(&self, link: &Node) -> Result<SymlinkTarget, Error> {
        self.link_of(link)
    }

    /// Whether a walk may leave a directory by the `.` or `..` of a link: the kernel asks for the
    /// same permission as for a name in it.
    ///
    /// # Errors
    /// `Denied` if the directory may not be searched.
    fn require_search(&self, dir: &Node) -> Result<(), Error> {
        let _ = dir;
        Ok(())
    }

    /// How much room there is where a directory lies.
    ///
    /// # Errors
    /// `Unsupported` where nobody says.
    fn space_of(&self, dir: &Node) -> Result<Space, Error> {
        let _ = dir;
        Err(unsupported("limits that are known"))
    }

    /// Reads an extended attribute in `user.`; `None` if the object does not have it.
    ///
    /// # Errors
    /// `Unsupported` where there are none; `Denied`.
    fn xattr_of(&self, node: &Node, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let _ = (node, name);
        Err(unsupported("extended attributes"))
    }

    /// The names of the extended attributes in `user.`.
    ///
    /// # Errors
    /// As [`Files::xattr_of`].
    fn xattrs_of(&self, node: &Node) -> Result<Vec<String>, Error> {
        let _ = node;
        Err(unsupported("extended attributes"))
    }

    /// Sets an extended attribute in `user.`, or removes it.
    ///
    /// # Errors
    /// As [`Files::xattr_of`]; `HardLink` if the file has other names.
    fn set_xattr_of(&self, node: &Node, name: &str, value: Option<&[u8]>) -> Result<(), Error> {
        let _ = (node, name, value);
        Err(unsupported("extended attributes"))
    }

    // --- paths ---------------------------------------------------------------------------------

    /// A path as errors say it: of a directory below a root, from the top of that root.
    fn shown_path(&self, path: &RelPath) -> String {
        path.to_string()
    }

    /// Resolves a path to handles. `judge` is asked for every step.
    ///
    /// # Errors
    /// What stops the path from being walked; what the judge says.
    fn resolve(
        &self,
        path: &RelPath,
        last: LastLink,
        judge: &mut dyn FnMut(Step<'_>) -> Result<(), Error>,
    ) -> Result<Resolved, Error> {
        super::resolve::resolve(self, path, last, judge)
            .map_err(|error| error.on(Verb::Resolve, self.shown_path(path)))
    }

    /// The object that a path leads to.
    ///
    /// # Errors
    /// As [`Files::resolve`]; `NotFound`.
    fn node(&self, path: &RelPath, last: LastLink) -> Result<Node, Error> {
        self.with_node(Verb::Resolve, path, last, Ok)
    }

    /// Facts about what a path leads to.
    ///
    /// # Errors
    /// As [`Files::node`].
    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        self.with_node(Verb::Metadata, path, last, |node| Ok(*node.metadata()))
    }

    /// The text of a link.
    ///
    /// # Errors
    /// As [`Files::link_of`].
    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        self.with_node(Verb::ReadLink, path, LastLink::Itself, |node| {
            self.link_of(&node)
        })
    }

    /// Opens a file, creating it as asked.
    ///
    /// # Errors
    /// As [`Files::open_node`] and [`Files::create_at`].
    fn open(&self, path: &RelPath, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        self.open_for(verb_of(how), path, how)
    }

    /// Reads a whole file, up to a limit.
    ///
    /// # Errors
    /// `Limit` if it is larger; otherwise as [`Files::open`].
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        content::read(
            &*self.open_for(Verb::Read, path, OpenOptions::new())?,
            limit,
        )
        .map_err(|error| error.on(Verb::Read, self.shown_path(path)))
    }

    /// Reads a whole file and says which version of it that was: both of one open file.
    ///
    /// # Errors
    /// As [`Files::read`]; `Raced` if it kept changing while it was read.
    fn read_versioned(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Version), Error> {
        content::read_versioned(
            &*self.open_for(Verb::Read, path, OpenOptions::new())?,
            limit,
        )
        .map_err(|error| error.on(Verb::Read, self.shown_path(path)))
    }

    /// Which version a file is; with the digest of the content if `digest` is set.
    ///
    /// # Errors
    /// `Limit` if the file is larger than [`Files::read_limit`] and has to be digested; otherwise
    /// as [`Files::open`].
    fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        let file = self.open_for(Verb::Version, path, OpenOptions::new())?;
        content::version(&*file, digest, self.read_limit())
            .map_err(|error| error.on(Verb::Version, self.shown_path(path)))
    }

    /// Puts whole content under a path, all at once.
    ///
    /// # Errors
    /// As [`Files::put_at`]; `Link` for a link that leads to nothing.
    fn put(
        &self,
        path: &RelPath,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let last = match put {
            // A new file is never looked for behind a link.
            Put::New => LastLink::Itself,
            _ => LastLink::Follow,
        };
        self.with_place(put.verb(), path, last, Trailing::File, |at, _| {
            self.put_at(at, data, put, options)
        })
        .map_err(|error| match put {
            Put::If(_) => gone(error),
            _ => error,
        })
    }

    /// Begins to write content for a path. What it replaces is decided when it is published.
    ///
    /// # Errors
    /// As [`Files::put`].
    fn stage(
        &self,
        path: &RelPath,
        options: WriteOptions,
    ) -> Result<Box<dyn StagedContent + '_>, Error> {
        let file = Trailing::File;
        let staged = self.with_place(Verb::Write, path, LastLink::Follow, file, |at, _| {
            // The directory's node may go: what is staged holds what it needs.
            self.stage_at(at, options)
        })?;
        Ok(Box::new(StagedByPath::new(staged, self.shown_path(path))))
    }

    /// Adds to the end of a file, creating it if it is missing.
    ///
    /// # Errors
    /// As [`Files::append_at`].
    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        let file = Trailing::File;
        self.with_place(Verb::Append, path, LastLink::Follow, file, |at, _| {
            self.append_at(at, data, options)
        })
    }

    /// The entries of a directory.
    ///
    /// # Errors
    /// As [`Files::entries_of`].
    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        self.with_node(Verb::ReadDir, path, LastLink::Follow, |node| {
            self.entries_of(&node)
        })
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// As [`Files::create_dir_at`].
    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.with_entry(Verb::CreateDir, path, Trailing::Any, |at| {
            self.create_dir_at(at, mode).map(drop)
        })
    }

    /// Creates a directory and its missing parents. A directory that is there is what was wanted.
    ///
    /// # Errors
    /// As [`Files::create_dir_at`]; `NotADirectory`. What was made before an error is removed again
    /// if it is still empty; the error says if it could not be.
    fn create_dir_all(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        super::making::create_dir_all(self, path, mode)
            .map_err(|error| error.on(Verb::CreateDirAll, self.shown_path(path)))
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// As [`Files::symlink_at`].
    fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        self.with_entry(Verb::Symlink, path, Trailing::File, |at| {
            self.symlink_at(target, at)
        })
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// As [`Files::hard_link_at`].
    fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        self.with_node(Verb::HardLink, source, LastLink::Itself, Ok)
            .and_then(|file| {
                self.with_entry(Verb::HardLink, new, Trailing::File, |at| {
                    self.hard_link_at(&file, at)
                })
            })
            .map_err(|error| self.named_two(error, Verb::HardLink, source, new))
    }

    /// Renames an entry, or exchanges two.
    ///
    /// # Errors
    /// As [`Files::rename_at`].
    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        removal::rename(self, from, to, mode)
            .map_err(|error| self.named_two(error, Verb::Rename, from, to))
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// As [`Files::remove_at`].
    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        let trailing = match what {
            WhatToRemove::Dir => Trailing::Any,
            _ => Trailing::File,
        };
        self.with_entry(what.verb(), path, trailing, |at| self.remove_at(at, what))
            .map_err(|error| match what {
                WhatToRemove::FileIf(_) if !path.must_be_dir() => gone(error),
                _ => error,
            })
    }

    /// Removes a directory with everything in it, or any other entry itself.
    ///
    /// # Errors
    /// `Limit` beyond a limit; otherwise as [`Files::remove_at`]. What was removed before an error
    /// stays removed, and the error says so.
    fn remove_tree(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        removal::remove_tree(self, path, limits)
            .map_err(|error| error.on(Verb::RemoveTree, self.shown_path(path)))
    }

    /// Copies a file. A new file has the source's permission bits, which the umask narrows; one
    /// that is replaced keeps its own.
    ///
    /// # Errors
    /// As [`Files::open`] and [`Files::put`].
    fn copy(&self, from: &RelPath, to: &RelPath, put: Put<'_>) -> Result<Written, Error> {
        copying::copy(self, from, to, put)
            .map_err(|error| self.named_two(error, Verb::Copy, from, to))
    }

    /// Copies a tree to a free name. Permission bits are copied; links are copied where links may
    /// be followed and they stay beneath, and are `Link` otherwise.
    ///
    /// # Errors
    /// `IsADirectory` or `Exists` if the destination is taken; `Invalid` if it lies inside the
    /// source; otherwise as [`Files::copy`]. What was copied before an error is removed again as
    /// far as nobody else changed it; the error says if something stays.
    fn copy_tree(&self, from: &RelPath, to: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        copying::copy_tree(self, from, to, limits)
            .map_err(|error| self.named_two(error, Verb::CopyTree, from, to))
    }

    /// Changes attributes of what a path leads to.
    ///
    /// # Errors
    /// As [`Files::set_attributes_of`].
    fn set_attributes(&self, path: &RelPath, attributes: &Attributes) -> Result<(), Error> {
        self.with_node(attributes.verb(), path, LastLink::Follow, |node| {
            self.set_attributes_of(&node, attributes)
        })
    }
}

pub(super) fn verb_of(how: OpenOptions) -> Verb {
    match how.changes() {
        true => Verb::OpenWrite,
        false => Verb::Open,
    }
}

fn unsupported(what: &str) -> Error {
    Error::refused(ErrorKind::Unsupported, format!("there are no {what} here"))
}
