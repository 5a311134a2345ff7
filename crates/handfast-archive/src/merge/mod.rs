//! A staged tree goes into a directory that is there already.
//!
//! The steps are planned, written down, and done: what is new gets its name with one rename, a file that is
//! replaced changes places with the new one. A step that fails undoes those before it. A process that dies
//! leaves the journal beside the staged tree, and [`recover`](crate::recover) finishes what it says, or
//! undoes it where another process changed the directory since.

mod action;
mod journal;
mod plan;
mod recover;

use handfast::files::{At, Attributes};
use handfast::{Effect, Error, ErrorKind, Files, Identity, Name, Node, RelPath, RenameMode, Root};

pub(crate) use action::{Action, Deed, IN_THE_WAY, MergedObject, may_replace};
pub(crate) use journal::Journal;
pub(crate) use plan::plan;
pub use recover::recover;

/// The directory of a merge that has begun: this and a number. `Root::recover` does not know the name and
/// leaves it alone, and sessions make no names that begin so.
pub(crate) const MERGE: &str = ".handfast-merge-";

/// What is in that directory: the staged tree, and the journal, which gets another name when it is done.
pub(crate) const TREE: &str = "tree";
pub(crate) const JOURNAL: &str = "journal";
const DONE: &str = "done";

/// The longest journal that is written or read: a hundred thousand paths of moderate length.
pub(crate) const MAX_JOURNAL: u64 = 256 << 20;

/// Both trees of a merge, in the same files.
pub(crate) struct Merge<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) target: Node,
    pub(crate) staged: Node,
}

/// How far one step is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It can be done.
    Open,
    /// It is done, whatever became of its place since.
    Done,
    /// Another process changed one of the two places before.
    Changed,
}

impl<'a> Merge<'a> {
    /// A merge whose own directory has this name in the target, and is this object.
    pub(crate) fn begin(
        files: &'a dyn Files,
        target: Node,
        name: &Name,
        own_dir: &Identity,
    ) -> Result<Self, Error> {
        let dir = files.lookup(&target, name.as_ref())?;
        if !dir.metadata().identity.same_object(own_dir) {
            return Err(changed());
        }
        let staged = files.lookup(&dir, own(TREE)?.as_ref())?;
        Ok(Self {
            files,
            target,
            staged,
        })
    }

    /// Does all steps. One that fails undoes those before it.
    pub(crate) fn run(&self, actions: &[Action]) -> Result<(), Error> {
        for (number, action) in actions.iter().enumerate() {
            let Err(error) = self.step(action) else {
                continue;
            };
            return Err(match self.undo(&actions[..=number]) {
                true => error.with_effect(Effect::None),
                false => error.with_effect(Effect::Visible),
            });
        }
        Ok(())
    }

    /// Does one step, unless it is done already.
    fn step(&self, action: &Action) -> Result<(), Error> {
        match self.state(action)? {
            State::Done => return Ok(()),
            State::Changed => return Err(changed()),
            State::Open => {}
        }
        match action.deed {
            Deed::Add => self.rename(&action.path, RenameMode::NoReplace)?,
            Deed::Exchange(_) => self.rename(&action.path, RenameMode::Exchange)?,
            Deed::Mode(mode) => self.set_mode(action, mode)?,
        }
        // Another process may have been faster than the rename.
        let (there, _) = self.both(&action.path)?;
        match action.new.is(there.as_ref()) && self.state(action)? == State::Done {
            true => Ok(()),
            false => Err(changed()),
        }
    }

    /// Undoes steps that were done, the last first; says whether everything is as it was before.
    pub(crate) fn undo(&self, actions: &[Action]) -> bool {
        // All of them, whatever becomes of one: each that succeeds is one place less that is wrong.
        let mut is_whole = true;
        for action in actions.iter().rev() {
            is_whole &= self.undo_step(action).unwrap_or(false);
        }
        is_whole
    }

    fn undo_step(&self, action: &Action) -> Result<bool, Error> {
        let (there, staged) = self.both(&action.path)?;
        let is_ours = action.new.is(there.as_ref());
        match action.deed {
            Deed::Mode(mode) if is_ours => self.set_mode(action, mode | 0o700)?,
            Deed::Add if is_ours && staged.is_none() => {
                self.rename_back(&action.path, RenameMode::NoReplace)?;
            }
            // Whatever was displaced gets its name back, also if it is not what was expected.
            Deed::Exchange(_) if is_ours && staged.is_some() => {
                self.rename_back(&action.path, RenameMode::Exchange)?;
            }
            // It was not done, or what it put there is gone. Then the displaced file must not be lost.
            Deed::Exchange(old) => return Ok(!old.is(staged.as_ref())),
            Deed::Add | Deed::Mode(_) => {}
        }
        Ok(true)
    }

    /// The staged tree shows whether a step was done: people may have changed the target since.
    fn state(&self, action: &Action) -> Result<State, Error> {
        let (there, staged) = self.both(&action.path)?;
        let is_staged = action.new.is(staged.as_ref());
        Ok(match action.deed {
            Deed::Add if staged.is_none() => State::Done,
            Deed::Add if is_staged && there.is_none() => State::Open,
            Deed::Exchange(old) if old.is(staged.as_ref()) => State::Done,
            Deed::Exchange(old) if is_staged && old.is(there.as_ref()) => State::Open,
            Deed::Mode(mode) => match there {
                Some(node)
                    if action.new.is(Some(&node)) && node.metadata().mode & 0o777 != mode =>
                {
                    State::Open
                }
                _ => State::Done,
            },
            _ => State::Changed,
        })
    }

    /// What is under a path in the target, and in the staged tree.
    fn both(&self, path: &RelPath) -> Result<(Option<Node>, Option<Node>), Error> {
        let there = find(self.files, &self.target, path)?;
        Ok((there, find(self.files, &self.staged, path)?))
    }

    fn rename(&self, path: &RelPath, mode: RenameMode) -> Result<(), Error> {
        self.between(path, |files, staged, there| {
            files.rename_at(staged, there, mode)
        })
    }

    fn rename_back(&self, path: &RelPath, mode: RenameMode) -> Result<(), Error> {
        self.between(path, |files, staged, there| {
            files.rename_at(there, staged, mode)
        })
    }

    fn between(
        &self,
        path: &RelPath,
        act: impl Fn(&dyn Files, At<'_>, At<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some((above, name)) = path.as_ref().split_last() else {
            return Err(changed());
        };
        let (above, name) = (above.to_path(), name.to_name());
        let staged = find(self.files, &self.staged, &above)?.ok_or_else(changed)?;
        let there = find(self.files, &self.target, &above)?.ok_or_else(changed)?;
        act(self.files, At::new(&staged, &name), At::new(&there, &name))
    }

    fn set_mode(&self, action: &Action, mode: u32) -> Result<(), Error> {
        let node = find(self.files, &self.target, &action.path)?;
        match node.filter(|node| action.new.is(Some(node))) {
            Some(node) => {
                let attributes = Attributes::new().mode(mode);
                self.files.set_attributes_of(&node, &attributes)
            }
            None => Err(changed()),
        }
    }
}

/// Looks a path up name by name, through directories alone: a link on the way leads nowhere.
pub(crate) fn find(files: &dyn Files, top: &Node, path: &RelPath) -> Result<Option<Node>, Error> {
    let mut at = top.clone();
    for name in path.segments() {
        if !at.metadata().is_dir() {
            return Ok(None);
        }
        at = match files.lookup(&at, name) {
            Ok(node) => node,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
    }
    Ok(Some(at))
}

/// The merge was done or undone: from now on `recover` only takes its directory away.
pub(crate) fn end(dir: &Root) -> Result<(), Error> {
    let (journal, done) = (RelPath::from(&own(JOURNAL)?), RelPath::from(&own(DONE)?));
    dir.rename(&journal, &done, RenameMode::NoReplace)
        .map_err(|error| error.with_effect(Effect::Visible))
}

/// Takes the merge's own directory away, with files that were replaced, or the tree that was put back. The
/// journal goes last, because it is the proof that the rest is ours; and the directory only if it is empty,
/// because another process may have given its name to another object.
pub(crate) fn clean(parent: &Root, dir: &Root, name: &Name) -> Result<(), Error> {
    match dir.remove_tree(&RelPath::from(&own(TREE)?)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    dir.remove_file(&RelPath::from(&own(DONE)?))?;
    parent.remove_dir(&RelPath::from(name))
}

/// A name of this crate's own.
pub(crate) fn own(name: &str) -> Result<Name, Error> {
    Name::parse(name)
}

fn changed() -> Error {
    Error::refused(
        ErrorKind::Raced,
        "another process changed the directory while the archive was merged into it",
    )
}
