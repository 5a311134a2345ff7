//! Entries that are renamed, and trees that are removed, over handles alone.

use crate::error::{Effect, Error, ErrorKind};
use crate::metadata::FileKind;
use crate::path::{Name, RelPath};
use crate::tree::Budget;
use crate::verbs::{RenameMode, TreeLimits};

use super::interface::Files;
use super::node::{At, Node};
use super::places::{missing, place_of};
use super::resolve::{LastLink, Resolved, bare};
use super::types::{Entry, WhatToRemove};

/// How often directories may turn out not to be empty after all.
const MAX_PASSES: u32 = 64;

/// Renames an entry, or exchanges two. Both directories are held before anything is renamed.
pub(super) fn rename<F: Files + ?Sized>(
    files: &F,
    from: &RelPath,
    to: &RelPath,
    mode: RenameMode,
) -> Result<(), Error> {
    let itself = |path| files.resolve(path, LastLink::Itself, &mut |_| Ok(()));
    let (source, target) = (itself(from)?, itself(to)?);
    let (source_dir, source_name) = place_of(from, &source)?;
    let (target_dir, target_name) = place_of(to, &target)?;
    if from.must_be_dir() || to.must_be_dir() {
        require_dir(&source)?;
    }
    if to.must_be_dir() && mode == RenameMode::Exchange {
        require_dir(&target)?;
    }
    let (from, to) = (
        At::new(source_dir, source_name),
        At::new(target_dir, target_name),
    );
    files.rename_at(from, to, mode)
}

/// `a/` must be a directory. What it is may change before the rename; it is the entry that moves
/// in any case, and nothing is followed.
fn require_dir(found: &Resolved) -> Result<(), Error> {
    let node = found.node.as_ref().ok_or_else(missing)?;
    match node.metadata().is_dir() {
        true => Ok(()),
        false => Err(Error::refused(ErrorKind::NotADirectory, "")),
    }
}

/// A directory that is being emptied.
struct Emptying {
    parent: Node,
    name: Name,
    dir: Node,
    left: Vec<Entry>,
}

/// Removes a tree, from the leaves up, over handles alone.
///
/// # Errors
/// As [`Files::remove_tree`].
pub fn remove_tree<F: Files + ?Sized>(
    files: &F,
    path: &RelPath,
    limits: TreeLimits,
) -> Result<(), Error> {
    let found = files.resolve(path, LastLink::Itself, &mut |_| Ok(()))?;
    let (parent, name) = place_of(path, &found)?;
    let node = found.node.as_ref().ok_or_else(missing)?;
    if !node.metadata().is_dir() {
        if path.must_be_dir() {
            return Err(Error::refused(ErrorKind::NotADirectory, ""));
        }
        return files.remove_at(At::new(parent, name), WhatToRemove::File);
    }
    remove_dir(files, At::new(parent, name), node, limits)
}

/// Removes a directory that is held, with everything in it. If another object has
/// its name by then, that object stays.
///
/// # Errors
/// As [`Files::remove_tree`].
pub fn remove_dir<F: Files + ?Sized>(
    files: &F,
    at: At<'_>,
    dir: &Node,
    limits: TreeLimits,
) -> Result<(), Error> {
    let mut removal = Removal {
        files,
        budget: Budget::new(limits),
        stack: Vec::new(),
        removed: 0,
        passes: 0,
    };
    let done = removal.run(at, dir);
    done.map_err(|error| match (error.effect(), removal.removed) {
        (Effect::None, 1..) => error.with_effect(Effect::Visible),
        _ => error,
    })
}

struct Removal<'a, F: Files + ?Sized> {
    files: &'a F,
    budget: Budget,
    stack: Vec<Emptying>,
    removed: u64,
    passes: u32,
}

impl<F: Files + ?Sized> Removal<'_, F> {
    fn run(&mut self, at: At<'_>, dir: &Node) -> Result<(), Error> {
        self.enter(at.dir.clone(), at.name.to_name(), dir.clone())?;
        while let Some(top) = self.stack.last_mut() {
            let Some(entry) = top.left.pop() else {
                self.leave()?;
                continue;
            };
            let parent = top.dir.clone();
            if entry.kind != FileKind::Dir && self.remove_file(&parent, &entry.name)? {
                continue;
            }
            // A directory, as far as the listing knows.
            match self.files.lookup(&parent, entry.name.as_ref()) {
                Ok(dir) if dir.metadata().is_dir() => {
                    let depth = self.stack.len();
                    self.budget.check_depth(depth).map_err(bare)?;
                    self.enter(parent, entry.name, dir)?;
                }
                // Something else is there by now: only its own name goes.
                Ok(_) => drop(self.remove_file(&parent, &entry.name)?),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes an entry that is no directory; `false` if it is one.
    fn remove_file(&mut self, parent: &Node, name: &Name) -> Result<bool, Error> {
        match self
            .files
            .remove_at(At::new(parent, name), WhatToRemove::File)
        {
            Ok(()) => self.removed += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::IsADirectory => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn enter(&mut self, parent: Node, name: Name, dir: Node) -> Result<(), Error> {
        let mut left = Vec::new();
        for entry in self.files.entries_of(&dir)? {
            self.budget.spend_entry().map_err(bare)?;
            left.push(entry?);
        }
        // Taken from the end: what is no directory comes first.
        left.sort_by_key(|entry| entry.kind != FileKind::Dir);
        self.stack.push(Emptying {
            parent,
            name,
            dir,
            left,
        });
        Ok(())
    }

    /// Removes the directory on top, which is empty unless another process added to it meanwhile.
    fn leave(&mut self) -> Result<(), Error> {
        let done = self.stack.pop().expect("it was just looked at");
        let at = At::new(&done.parent, &done.name);
        match self.files.remove_at(at, WhatToRemove::Dir) {
            Err(error) if error.kind() == ErrorKind::NotEmpty => {
                self.passes += 1;
                if self.passes > MAX_PASSES {
                    return Err(Error::refused(
                        ErrorKind::Busy,
                        "another process keeps adding entries",
                    ));
                }
                self.enter(done.parent, done.name, done.dir)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => {
                removed?;
                self.removed += 1;
                Ok(())
            }
        }
    }
}
