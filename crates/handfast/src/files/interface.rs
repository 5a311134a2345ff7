//! The interface itself.

use std::io;

use crate::error::{Error, ErrorKind};
use crate::metadata::{FileKind, Metadata, Timestamp};
use crate::options::Links;
use crate::path::{Name, NameRef, RelPath};
use crate::verb::Verb;
use crate::verbs::{OpenOptions, RenameMode, SymlinkTarget, TreeLimits, WriteOptions, Written};
use crate::version::Version;

use super::handle::FileHandle;
use super::node::{At, Node};
use super::resolve::{LastLink, Resolved, Step};
use super::tree::{self, TreeWalk};

/// How content is put under a name.
#[derive(Clone, Copy, Debug)]
pub enum Put<'a> {
    /// Whatever file is there is replaced; a missing one is created.
    Replace,
    /// The name must be free.
    New,
    /// The file must still be the version that was seen.
    If(&'a Version),
}

impl Put<'_> {
    /// The verb that it is.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::Replace => Verb::Write,
            Self::New => Verb::WriteNew,
            Self::If(_) => Verb::WriteIf,
        }
    }
}

impl WhatToRemove<'_> {
    /// The verb that it is.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::File => Verb::RemoveFile,
            Self::FileIf(_) => Verb::RemoveIf,
            Self::Dir => Verb::RemoveDir,
        }
    }
}

/// What is removed.
#[derive(Clone, Copy, Debug)]
pub enum WhatToRemove<'a> {
    /// A file, a link or something else that is no directory.
    File,
    /// A file that is still the version that was seen.
    FileIf(&'a Version),
    /// An empty directory.
    Dir,
}

/// Attributes to change; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Attributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// When the object was last read.
    pub accessed: Option<Timestamp>,
    /// When the content last changed.
    pub modified: Option<Timestamp>,
}

impl Attributes {
    /// Nothing is changed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the permission bits.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Changes the owner, the group, or both.
    #[must_use]
    pub fn owner(mut self, uid: Option<u32>, gid: Option<u32>) -> Self {
        (self.uid, self.gid) = (uid, gid);
        self
    }

    /// Changes the times, or one of them.
    #[must_use]
    pub fn times(mut self, accessed: Option<Timestamp>, modified: Option<Timestamp>) -> Self {
        (self.accessed, self.modified) = (accessed, modified);
        self
    }
}

/// One entry of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Its kind as the directory tells it: a hint, and `Unknown` on some filesystems.
    pub kind: FileKind,
    /// Its inode as the directory tells it; 0 where it does not.
    pub inode: u64,
}

/// Where an absolute link leads.
#[derive(Clone, Debug)]
pub struct AbsoluteLink {
    /// The directories from the top down to the one that the walk goes on from.
    pub way: Vec<Node>,
    /// What is left of the link's target.
    pub rest: Vec<u8>,
}

/// The entries of a directory, as a stream.
pub type Entries<'a> = Box<dyn Iterator<Item = Result<Entry, Error>> + Send + 'a>;

/// Content on its way to a name, which nobody sees yet. Dropping it drops the content.
pub trait StagedContent: io::Write + Send {
    /// Puts the content under its name, all at once. Everything is decided again on what is there
    /// then.
    ///
    /// # Errors
    /// As [`Files::put_at`].
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error>;
}

/// Files that somebody serves: see the [module](self) for how it is meant.
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
    }

    /// The object that a path leads to.
    ///
    /// # Errors
    /// As [`Files::resolve`]; `NotFound`.
    fn node(&self, path: &RelPath, last: LastLink) -> Result<Node, Error> {
        let named = |error: Error| error.or_on(Verb::Resolve, || path.escaped());
        let found = self.resolve(path, last, &mut |_| Ok(())).map_err(named)?;
        let node = found.node.ok_or_else(|| named(missing()))?;
        if found.must_be_dir && !node.metadata().is_dir() {
            return Err(named(Error::refused(ErrorKind::NotADirectory, "")));
        }
        Ok(node)
    }

    /// Facts about what a path leads to.
    ///
    /// # Errors
    /// As [`Files::node`].
    fn metadata(&self, path: &RelPath, last: LastLink) -> Result<Metadata, Error> {
        Ok(*self.node(path, last)?.metadata())
    }

    /// The text of a link.
    ///
    /// # Errors
    /// As [`Files::link_of`].
    fn read_link(&self, path: &RelPath) -> Result<SymlinkTarget, Error> {
        self.link_of(&self.node(path, LastLink::Itself)?)
    }

    /// Opens a file, creating it as asked.
    ///
    /// # Errors
    /// As [`Files::open_node`] and [`Files::create_at`].
    fn open(&self, path: &RelPath, how: OpenOptions) -> Result<Box<dyn FileHandle>, Error> {
        if !how.creates() {
            return self.open_node(&self.node(path, LastLink::Follow)?, how);
        }
        let last = match how.creates_new() {
            true => LastLink::Itself,
            false => LastLink::Follow,
        };
        self.with_place(Verb::OpenWrite, path, last, |at, found| {
            match (&found.node, how.creates_new()) {
                (Some(node), false) => self.open_node(node, how.create(false)),
                _ => self.create_at(at, how),
            }
        })
    }

    /// Reads a whole file, up to a limit.
    ///
    /// # Errors
    /// `Limit` if it is larger; otherwise as [`Files::open`].
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, Error> {
        tree::read_whole(&*self.open(path, OpenOptions::new())?, limit)
    }

    /// Reads a whole file and says which version of it that was: both of one open file.
    ///
    /// # Errors
    /// As [`Files::read`]; `Raced` if it kept changing while it was read.
    fn read_versioned(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Version), Error> {
        tree::read_versioned(&*self.open(path, OpenOptions::new())?, limit)
    }

    /// Which version a file is; with the digest of the content if `digest` is set.
    ///
    /// # Errors
    /// As [`Files::open`].
    fn version(&self, path: &RelPath, digest: bool) -> Result<Version, Error> {
        self.open(path, OpenOptions::new())?.version(digest)
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
        self.with_place(put.verb(), path, last, |at, _| {
            self.put_at(at, data, put, options)
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
        self.with_place(Verb::Write, path, LastLink::Follow, |at, _| {
            self.stage_at(at, options)
        })
    }

    /// Adds to the end of a file, creating it if it is missing.
    ///
    /// # Errors
    /// As [`Files::append_at`].
    fn append(&self, path: &RelPath, data: &[u8], options: WriteOptions) -> Result<Written, Error> {
        self.with_place(Verb::Append, path, LastLink::Follow, |at, _| {
            self.append_at(at, data, options)
        })
    }

    /// The entries of a directory.
    ///
    /// # Errors
    /// As [`Files::entries_of`].
    fn entries(&self, path: &RelPath) -> Result<Entries<'_>, Error> {
        self.entries_of(&self.node(path, LastLink::Follow)?)
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// As [`Files::create_dir_at`].
    fn create_dir(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        self.with_entry(Verb::CreateDir, path, |at| {
            self.create_dir_at(at, mode).map(drop)
        })
    }

    /// Creates a directory and its missing parents. A directory that is there is what was wanted.
    ///
    /// # Errors
    /// As [`Files::create_dir_at`]; `NotADirectory`. What was made before an error stays.
    fn create_dir_all(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        let mut at = RelPath::root();
        for name in path.segments() {
            at = at.join(name);
            match Files::create_dir(self, &at, mode) {
                Err(error) if error.kind() == ErrorKind::Exists => {
                    let there = Files::metadata(self, &at, LastLink::Follow)?;
                    if !there.is_dir() {
                        return Err(Error::refused(
                            ErrorKind::NotADirectory,
                            "something on the way is not a directory",
                        ));
                    }
                }
                made => made?,
            }
        }
        Ok(())
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// As [`Files::symlink_at`].
    fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        self.with_entry(Verb::Symlink, path, |at| self.symlink_at(target, at))
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// As [`Files::hard_link_at`].
    fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        let file = self.node(source, LastLink::Itself)?;
        self.with_entry(Verb::HardLink, new, |at| self.hard_link_at(&file, at))
    }

    /// Renames an entry, or exchanges two.
    ///
    /// # Errors
    /// As [`Files::rename_at`].
    fn rename(&self, from: &RelPath, to: &RelPath, mode: RenameMode) -> Result<(), Error> {
        self.with_entry(Verb::Rename, from, |from| {
            self.with_entry(Verb::Rename, to, |to| self.rename_at(from, to, mode))
        })
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// As [`Files::remove_at`].
    fn remove(&self, path: &RelPath, what: WhatToRemove<'_>) -> Result<(), Error> {
        self.with_entry(what.verb(), path, |at| self.remove_at(at, what))
    }

    /// Removes a directory with everything in it, or any other entry itself.
    ///
    /// # Errors
    /// `Limit` beyond a limit; otherwise as [`Files::remove_at`]. What was removed before an error
    /// stays removed, and the error says so.
    fn remove_tree(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        tree::remove_tree(self, path, limits)
    }

    /// Copies a file. The new file has the source's permission bits.
    ///
    /// # Errors
    /// As [`Files::open`] and [`Files::put`].
    fn copy(&self, from: &RelPath, to: &RelPath, put: Put<'_>) -> Result<Written, Error> {
        tree::copy(self, from, to, put)
    }

    /// Copies a tree to a free name.
    ///
    /// # Errors
    /// As [`Files::copy`]. What was copied before an error is removed again as far as nobody else
    /// changed it.
    fn copy_tree(&self, from: &RelPath, to: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        tree::copy_tree(self, from, to, limits)
    }

    /// Changes attributes of what a path leads to.
    ///
    /// # Errors
    /// As [`Files::set_attributes_of`].
    fn set_attributes(&self, path: &RelPath, attributes: &Attributes) -> Result<(), Error> {
        self.set_attributes_of(&self.node(path, LastLink::Follow)?, attributes)
    }
}

impl dyn Files + '_ {
    /// Walks a tree below a directory, parents before what is in them. Links are not followed.
    ///
    /// # Errors
    /// As [`Files::entries`].
    pub fn walk(&self, path: &RelPath, limits: TreeLimits) -> Result<TreeWalk<'_>, Error> {
        TreeWalk::new(self, path, limits)
    }
}

/// What the provided verbs share; every implementation has it.
pub(super) trait Places: Files {
    /// Resolves a path to a name in a directory, and acts on that.
    fn with_place<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        last: LastLink,
        act: impl FnOnce(At<'_>, &Resolved) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let named = |error: Error| error.or_on(verb, || path.escaped());
        let found = self.resolve(path, last, &mut |_| Ok(())).map_err(named)?;
        let (Some(dir), Some(name)) = (&found.dir, &found.name) else {
            return Err(named(Error::refused(
                ErrorKind::Invalid,
                "the root itself cannot be used here; name something in it",
            )));
        };
        if found.must_be_dir && last == LastLink::Follow {
            return Err(named(match &found.node {
                Some(node) if node.metadata().is_dir() => {
                    Error::refused(ErrorKind::IsADirectory, "")
                }
                Some(_) => Error::refused(ErrorKind::NotADirectory, ""),
                None => missing(),
            }));
        }
        if found.through_link && found.node.is_none() {
            let nothing = Error::refused(ErrorKind::Link, "the link leads to nothing");
            return Err(named(nothing));
        }
        act(At::new(dir, name), &found).map_err(named)
    }

    /// As [`Places::with_place`], for an entry itself.
    fn with_entry<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        act: impl FnOnce(At<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_place(verb, path, LastLink::Itself, |at, _| act(at))
    }
}

impl<F: Files + ?Sized> Places for F {}

fn missing() -> Error {
    Error::refused(ErrorKind::NotFound, "")
}

pub(super) fn unsupported(what: &str) -> Error {
    Error::refused(ErrorKind::Unsupported, format!("there are no {what} here"))
}
