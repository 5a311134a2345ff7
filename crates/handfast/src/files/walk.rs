//! A walk through a tree, over handles alone.

use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::FileKind;
use crate::path::RelPath;
use crate::tree::Budget;
use crate::verb::Verb;
use crate::verbs::TreeLimits;

use super::interface::Files;
use super::node::Node;
use super::resolve::{LastLink, bare};
use super::types::Entry;

/// One entry of a tree.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// Its path, from the top of the files.
    pub path: RelPath,
    /// The object. Denied objects and those that vanished meanwhile have none.
    pub node: Option<Node>,
    /// Its kind.
    pub kind: FileKind,
    /// How many directories lie between it and the top of the walk.
    pub depth: usize,
}

/// A walk through a tree, parents before what is in them. Links are not followed.
pub struct TreeWalk<'a, F: Files + ?Sized = dyn Files + 'a> {
    files: &'a F,
    budget: Budget,
    /// A limit was reached: no more entries are returned.
    failed: bool,
    /// Entries that are still to be returned, last first, with the directory that holds them.
    pending: Vec<(Node, RelPath, Entry, usize)>,
    /// The directory that was returned last and is not entered yet.
    next: Option<(Node, RelPath, usize)>,
    skipped: u64,
}

impl dyn Files + '_ {
    /// Walks a tree below a directory, parents before what is in them. Links are not followed.
    ///
    /// # Errors
    /// As [`Files::entries`].
    pub fn walk(&self, path: &RelPath, limits: TreeLimits) -> Result<TreeWalk<'_>, Error> {
        TreeWalk::new(self, path, limits)
            .map_err(|error| error.on(Verb::Walk, self.shown_path(path)))
    }
}

impl<'a, F: Files + ?Sized> TreeWalk<'a, F> {
    pub(super) fn new(files: &'a F, path: &RelPath, limits: TreeLimits) -> Result<Self, Error> {
        let top = files.node(path, LastLink::Follow)?;
        if !top.metadata().is_dir() {
            return Err(Error::refused(ErrorKind::NotADirectory, ""));
        }
        let path = path.clone().with_must_be_dir(false);
        let mut walk = Self {
            files,
            budget: Budget::new(limits),
            failed: false,
            pending: Vec::new(),
            next: None,
            skipped: 0,
        };
        walk.enter(&top, &path, 0)?;
        Ok(walk)
    }

    /// The next entry.
    ///
    /// # Errors
    /// `Limit` beyond a limit; what stops a directory from being listed.
    pub fn next_entry(&mut self) -> Result<Option<TreeEntry>, Error> {
        if self.failed {
            return Ok(None);
        }
        if let Some((dir, path, depth)) = self.next.take() {
            match self.enter(&dir, &path, depth) {
                // Gone meanwhile, or not ours to look into: counted, so that the caller can say so.
                Err(error) if is_passing(&error) => self.skipped += 1,
                entered => entered?,
            }
        }
        let Some((dir, above, entry, depth)) = self.pending.pop() else {
            return Ok(None);
        };
        let path = above.join(&entry.name);
        let node = match self.files.lookup(&dir, entry.name.as_ref()) {
            Ok(node) => Some(node),
            Err(error) if is_passing(&error) => None,
            Err(error) => return Err(self.told(error, &path)),
        };
        let kind = node.as_ref().map_or(entry.kind, Node::kind);
        if let (FileKind::Dir, Some(node)) = (kind, &node) {
            self.next = Some((node.clone(), path.clone(), depth + 1));
        }
        Ok(Some(TreeEntry {
            path,
            node,
            kind,
            depth,
        }))
    }

    /// Skips the content of the directory that was returned last.
    pub fn skip_dir(&mut self) {
        self.next = None;
    }

    /// How many directories could not be entered: gone meanwhile, or denied.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn enter(&mut self, dir: &Node, path: &RelPath, depth: usize) -> Result<(), Error> {
        self.enter_within(dir, path, depth)
            .map_err(|error| self.told(error, path))
    }

    fn enter_within(&mut self, dir: &Node, path: &RelPath, depth: usize) -> Result<(), Error> {
        self.within(|budget| budget.check_depth(depth))?;
        let mut entries = Vec::new();
        for entry in self.files.entries_of(dir)? {
            self.within(Budget::spend_entry)?;
            entries.push(entry?);
        }
        entries.sort_by(|one, other| other.name.cmp(&one.name));
        let told = entries.into_iter();
        self.pending
            .extend(told.map(|entry| (dir.clone(), path.clone(), entry, depth)));
        Ok(())
    }

    /// Beyond a limit the walk is over.
    fn within(&mut self, spend: impl Fn(&mut Budget) -> Result<(), Fault>) -> Result<(), Error> {
        spend(&mut self.budget).map_err(|fault| {
            self.failed = true;
            bare(fault)
        })
    }

    fn told(&self, error: Error, path: &RelPath) -> Error {
        error.on(Verb::Walk, self.files.shown_path(path))
    }
}

impl<F: Files + ?Sized> std::fmt::Debug for TreeWalk<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeWalk")
            .field("pending", &self.pending.len())
            .finish()
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied)
}
