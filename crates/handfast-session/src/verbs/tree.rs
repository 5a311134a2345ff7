//! Whole trees, entry by entry: every entry is judged by its own path.

use handfast::files::{Files, LastLink, Node, Put, TreeWalk};
use handfast::{ErrorKind, FileKind, TreeLimits, Verb, Version};

use crate::error::Error;
use crate::node::SessionNode;
use crate::place::Guard;
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

/// What a copy made under a path: its kind, and the version of a file.
type CopiedObject = (VirtualPath, FileKind, Option<Version>);

/// One entry of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WalkEntry {
    /// Its virtual path.
    pub path: VirtualPath,
    /// Its kind.
    pub kind: FileKind,
    /// How many directories lie between it and the top of the walk.
    pub depth: usize,
}

/// A walk through a tree, parents before what is in them. Links are not followed; directories
/// that a pattern denies are listed and not entered.
#[derive(Debug)]
pub struct Walk<'a>(TreeWalk<'a>);

impl Walk<'_> {
    /// The next entry.
    ///
    /// # Errors
    /// `Limit` beyond a limit; what stops a directory from being listed.
    pub fn next_entry(&mut self) -> Result<Option<WalkEntry>, Error> {
        let Some(entry) = self.0.next_entry()? else {
            return Ok(None);
        };
        Ok(Some(WalkEntry {
            path: VirtualPath::from(entry.path),
            kind: entry.kind,
            depth: entry.depth,
        }))
    }

    /// How many directories could not be entered: gone meanwhile, or denied.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.0.skipped()
    }
}

impl Session {
    /// Walks a tree below a directory; the directory itself is not told.
    ///
    /// # Errors
    /// As [`Session::read_dir`].
    pub fn walk(&self, path: impl AsVirtualPath, limits: TreeLimits) -> Result<Walk<'_>, Error> {
        let files: &dyn Files = self;
        let path = self.parse(Verb::Walk, &path)?;
        Ok(Walk(files.walk(path.as_rel(), limits)?))
    }

    /// Removes a directory with everything in it, or any other entry itself.
    ///
    /// Every entry is judged first: if one may not be removed, nothing is.
    ///
    /// # Errors
    /// `Denied` if a rule protects anything in it; otherwise as [`Session::remove_file`]. What was
    /// removed before an error stays removed.
    pub fn remove_tree(&self, path: impl AsVirtualPath) -> Result<(), Error> {
        self.remove_tree_with(path, TreeLimits::new())
    }

    /// As [`Session::remove_tree`], with limits.
    ///
    /// # Errors
    /// As [`Session::remove_tree`]; `Limit`.
    pub fn remove_tree_with(
        &self,
        path: impl AsVirtualPath,
        limits: TreeLimits,
    ) -> Result<(), Error> {
        let path = self.parse(Verb::RemoveTree, &path)?;
        let named = |error: Error| error.on(Verb::RemoveTree, path.to_string());
        let found = self
            .resolve(path.as_rel(), LastLink::Itself, &mut |_| Ok(()))
            .map_err(named)?;
        let place = self.place_of(&found).map_err(named)?;
        self.refuse_mount_point(&place).map_err(named)?;
        let top = place.full();
        self.judge(&top, Access::Change)?;
        if found
            .node
            .as_ref()
            .is_some_and(|node| node.metadata().is_dir())
        {
            let mut walk = self.walk(&top, limits).map_err(named)?;
            while let Some(entry) = walk.next_entry().map_err(named)? {
                self.judge(&entry.path, Access::Change)?;
            }
        }
        let top = top
            .as_rel()
            .clone()
            .with_must_be_dir(path.as_rel().must_be_dir());
        handfast::files::remove_tree(self, &top, limits).map_err(named)
    }

    /// Copies a tree, between mounts too; the name must be free. Every entry is judged first.
    ///
    /// # Errors
    /// `Denied` if anything in it may not be read, or its copy not be made; otherwise as
    /// [`Session::copy`]. What was copied before an error is removed again, but for what others
    /// changed meanwhile.
    pub fn copy_tree(&self, from: impl AsVirtualPath, to: impl AsVirtualPath) -> Result<(), Error> {
        self.copy_tree_with(from, to, TreeLimits::new())
    }

    /// As [`Session::copy_tree`], with limits.
    ///
    /// # Errors
    /// As [`Session::copy_tree`]; `Limit`.
    pub fn copy_tree_with(
        &self,
        from: impl AsVirtualPath,
        to: impl AsVirtualPath,
        limits: TreeLimits,
    ) -> Result<(), Error> {
        let source = self.parse(Verb::CopyTree, &from)?;
        let target = self.parse(Verb::CopyTree, &to)?;
        self.copy_judged(&source, &target, limits).map_err(|error| {
            // The message names the path that the rule is about.
            let error = match error.kind() {
                ErrorKind::Denied => error.or_on(Verb::CopyTree, || source.to_string()),
                _ => error.on(Verb::CopyTree, source.to_string()),
            };
            error.with_destination(Some(target.to_string()))
        })
    }

    /// Others may work in the new tree at once: after an error only what this call made goes again.
    fn copy_judged(
        &self,
        from: &VirtualPath,
        to: &VirtualPath,
        limits: TreeLimits,
    ) -> Result<(), Error> {
        if to.starts_with(from) {
            return Err(into_itself());
        }
        let top = self.node(from.as_rel(), LastLink::Follow)?;
        if !top.metadata().is_dir() {
            return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
        }
        self.require_free(to, &top)?;
        let mut walk = self.walk(from, limits)?;
        while let Some(entry) = walk.next_entry()? {
            let Some(rest) = entry.path.strip_prefix(from) else {
                continue;
            };
            self.judge(&entry.path, Access::Read)?;
            self.judge(&to.join(rest), Access::Change)?;
        }
        let files: &dyn Files = self;
        let mut walk = files.walk(from.as_rel(), limits)?;
        // Private until the whole tree is there; then it gets the source's own bits.
        self.create_dir_with(to, 0o700)?;
        let mut made = vec![(to.clone(), FileKind::Dir, None)];
        let copied = self
            .copy_entries(&mut walk, from, to, &mut made)
            .and_then(|()| self.chmod(to, top.metadata().mode & 0o777));
        if copied.is_err() {
            for (path, kind, version) in made.into_iter().rev() {
                // What others changed or put there meanwhile is theirs.
                drop(match (&version, kind) {
                    (Some(version), _) => self.remove_if(&path, version),
                    (None, FileKind::Dir) => self.remove_dir(&path),
                    (None, _) => self.remove_file(&path),
                });
            }
        }
        copied
    }

    /// A tree is copied to a free name outside of it, whichever way leads there.
    fn require_free(&self, path: &VirtualPath, source: &Node) -> Result<(), Error> {
        let source = source.data::<SessionNode>()?.path();
        let found = self.resolve(path.as_rel(), LastLink::Itself, &mut |_| Ok(()))?;
        let is_inside = match &found.dir {
            Some(dir) => dir.data::<SessionNode>()?.path().starts_with(source),
            None => true,
        };
        if is_inside {
            return Err(into_itself());
        }
        match found.node.map(|node| node.kind()) {
            None => Ok(()),
            Some(FileKind::Dir) => Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
            Some(_) => Err(Error::refused(
                ErrorKind::Exists,
                "something is there already",
            )),
        }
    }

    fn copy_entries(
        &self,
        walk: &mut TreeWalk<'_>,
        from: &VirtualPath,
        to: &VirtualPath,
        made: &mut Vec<CopiedObject>,
    ) -> Result<(), Error> {
        while let Some(entry) = walk.next_entry()? {
            let source = VirtualPath::from(entry.path);
            let Some(rest) = source.strip_prefix(from) else {
                continue;
            };
            let target = to.join(rest);
            let node = entry.node.ok_or_else(|| {
                Error::refused(ErrorKind::Denied, "something in the tree may not be read")
            })?;
            let version = match entry.kind {
                FileKind::Dir => {
                    self.create_dir_with(&target, node.metadata().mode & 0o777 | 0o700)?;
                    None
                }
                FileKind::Symlink => {
                    // Where links are not followed they are not spread either.
                    self.symlink(self.link_to_follow(&node)?.as_bytes(), &target)?;
                    None
                }
                _ => self.copy_with(&source, &target, Put::New)?.version().ok(),
            };
            made.push((target, entry.kind, version));
        }
        match walk.skipped() {
            0 => Ok(()),
            _ => Err(Error::refused(
                ErrorKind::Denied,
                "a directory in the tree may not be read, or vanished",
            )),
        }
    }

    /// May this be done to this path, going by its text alone?
    fn judge(&self, path: &VirtualPath, access: Access) -> Result<(), Error> {
        let verb = match access {
            Access::Read => Verb::Walk,
            Access::Change => Verb::RemoveTree,
        };
        let check = || {
            let place = self.route(path)?;
            let guard = Guard {
                mount: place.mount,
                caller: self.caller(),
                access,
                shape: Shape::MaybeDir,
                is_step: false,
                asked_at: None,
                granted: None,
            };
            guard.check(&place.path).map(drop)
        };
        check().map_err(|error: Error| match error.kind() {
            ErrorKind::Denied => error.on(verb, path.to_string()),
            _ => error.or_on(verb, || path.to_string()),
        })
    }
}

fn into_itself() -> Error {
    Error::refused(
        ErrorKind::Invalid,
        "a directory cannot be copied into itself",
    )
}
