//! Where a staging tree lies until it is published.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use handfast::files::{At, LastLink};
use handfast::{
    Dir, Effect, Error, ErrorKind, Files, LockKind, Name, Node, RelPath, RenameMode, Root, TempDir,
    TreeLimits,
};

use super::{object, require_same};
use crate::merge::{
    Action, JOURNAL, Journal, MAX_JOURNAL, MERGE, Merge, MergedObject, TREE, clean, end, find, own,
    plan,
};
use crate::options::Overwrite;
use crate::target::{Target, TargetPlace};

/// A directory of ours beside the target, removed with all that is in it unless the tree was published.
pub(super) struct Scratch<'a> {
    place: OpenMember<'a>,
    goal: Goal,
    /// Whether it has to stay, because a merge could be undone in part only.
    is_kept: bool,
}

/// What becomes of the tree.
enum Goal {
    /// It gets this name beside the directory of ours.
    Name(Name),
    /// It is merged into the directory that holds the directory of ours.
    Merge,
}

enum OpenMember<'a> {
    /// A locked staging directory: after a kill, `recover` finds and removes it.
    Root {
        temp: Box<TempDir>,
        parent: Box<Dir>,
    },
    Files {
        files: &'a dyn Files,
        parent: Node,
        dir: Node,
        path: RelPath,
    },
}

impl<'a> Scratch<'a> {
    pub(super) fn begin(target: &Target<'a>) -> Result<Self, Error> {
        if target.merges {
            return Self::begin_in(target, target.path.clone(), Goal::Merge);
        }
        let Some((above, name)) = target.path.as_ref().split_last() else {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "the top is not a new directory",
            ));
        };
        Self::begin_in(target, above.to_path(), Goal::Name(name.to_name()))
    }

    fn begin_in(target: &Target<'a>, above: RelPath, goal: Goal) -> Result<Self, Error> {
        let files = target.files();
        let parent = files.node(&above, LastLink::Follow)?;
        if let Goal::Name(name) = &goal
            && find(files, &parent, &RelPath::from(name))?.is_some()
        {
            return Err(Error::refused(
                ErrorKind::Exists,
                "the target is there already",
            ));
        }
        let place = match target.place {
            TargetPlace::Root(root) => in_root(root.dir_of_node(&parent)?)?,
            TargetPlace::Files(files) => in_files(files, parent, &above)?,
        };
        Ok(Self {
            place,
            goal,
            is_kept: false,
        })
    }

    pub(super) fn files(&self) -> &dyn Files {
        match &self.place {
            OpenMember::Root { temp, .. } => temp.root(),
            OpenMember::Files { files, .. } => *files,
        }
    }

    pub(super) fn merges(&self) -> bool {
        matches!(self.goal, Goal::Merge)
    }

    /// The root behind the files, where there is one.
    pub(super) fn root(&self) -> Option<&Root> {
        match &self.place {
            OpenMember::Root { temp, .. } => Some(temp.root()),
            OpenMember::Files { .. } => None,
        }
    }

    fn dir(&self) -> Result<Node, Error> {
        match &self.place {
            OpenMember::Root { temp, .. } => temp.root().top(),
            OpenMember::Files { dir, .. } => Ok(dir.clone()),
        }
    }

    /// The tree lies one level below the directory of ours: the directory keeps others out, and the tree
    /// has the mode of any new directory.
    pub(super) fn make_tree(&self) -> Result<Node, Error> {
        let name = own(TREE)?;
        self.files()
            .create_dir_at(At::new(&self.dir()?, &name), 0o777)
    }

    /// Gives the tree its name, or merges it. It has to be the tree that was made.
    pub(super) fn publish(
        &mut self,
        tree: &Node,
        overwrite: Overwrite,
        modes: &[(RelPath, u32)],
        durable: bool,
    ) -> Result<(), Error> {
        if let (Some(root), true) = (self.root(), durable) {
            sync(root)?;
        }
        match &self.goal {
            Goal::Name(name) => self.rename(tree, name)?,
            Goal::Merge => self.merge(tree, overwrite, modes)?,
        }
        match (self.root(), durable) {
            (Some(root), true) => sync(root).map_err(|error| error.with_effect(Effect::Visible)),
            _ => Ok(()),
        }
    }

    fn rename(&self, tree: &Node, name: &Name) -> Result<(), Error> {
        let made = object(&tree.metadata().identity);
        let inner = own(TREE)?;
        let published = match &self.place {
            OpenMember::Root { temp, parent } => {
                let (from, to) = (RelPath::from(&inner), RelPath::from(name));
                temp.root()
                    .rename_to(&from, parent, &to, RenameMode::NoReplace)?;
                parent.symlink_metadata(&to)
            }
            OpenMember::Files {
                files, parent, dir, ..
            } => {
                let to = At::new(parent, name);
                files.rename_at(At::new(dir, &inner), to, RenameMode::NoReplace)?;
                files
                    .lookup(parent, name.as_ref())
                    .map(|node| *node.metadata())
            }
        };
        published
            .and_then(|published| require_same(&published.identity, made))
            .map_err(|error| error.with_effect(Effect::Visible))
    }

    /// Merges the tree into the directory that ours lies in.
    fn merge(
        &mut self,
        tree: &Node,
        overwrite: Overwrite,
        modes: &[(RelPath, u32)],
    ) -> Result<(), Error> {
        let made = object(&tree.metadata().identity);
        match &mut self.place {
            OpenMember::Root { temp, parent } => {
                let (own_dir, name) = (temp.root().identity(), temp.name());
                let merge = Merge::begin(&***parent, parent.top()?, name, &own_dir)?;
                require_same(&merge.staged.metadata().identity, made)?;
                let actions = plan(&merge, overwrite, modes)?;
                merge_by_journal(&merge, temp, parent, actions)
            }
            OpenMember::Files { files, parent, .. } => {
                let merge = Merge {
                    files: *files,
                    target: parent.clone(),
                    staged: tree.clone(),
                };
                let merged = merge.run(&plan(&merge, overwrite, modes)?);
                // Files that were displaced and could not be put back must not be removed.
                self.is_kept = merged.as_ref().is_err_and(is_partial);
                merged
            }
        }
    }
}

/// From the moment when the directory has the name of a merge, `recover` finishes what the journal says.
fn merge_by_journal(
    merge: &Merge<'_>,
    temp: &mut TempDir,
    parent: &Dir,
    actions: Vec<Action>,
) -> Result<(), Error> {
    let path = RelPath::from(&own(JOURNAL)?);
    let journal = Journal {
        target: MergedObject::of(&parent.identity()),
        actions,
    };
    let bytes = journal.to_bytes();
    if bytes.len() as u64 > MAX_JOURNAL {
        let why = "the merge takes more steps than a journal holds";
        return Err(Error::refused(ErrorKind::Limit, why));
    }
    temp.root().write_new(&path, bytes)?;
    // As long as this process lives, `recover` leaves the merge to it.
    let _lock = temp
        .root()
        .lock(&path, LockKind::Exclusive, Duration::ZERO)?;
    let name = own(&format!("{MERGE}{:016x}", random()))?;
    temp.persist_new(parent, &RelPath::from(&name))?;
    let merged = merge.run(&journal.actions);
    if merged.as_ref().is_err_and(is_partial) {
        return merged;
    }
    end(temp.root())?;
    // Best effort: `recover` knows it for a leftover.
    drop(clean(parent, temp.root(), &name));
    merged
}

fn is_partial(error: &Error) -> bool {
    error.effect() != Effect::None
}

fn in_root(parent: Dir) -> Result<OpenMember<'static>, Error> {
    let temp = Box::new(parent.temp_dir(&RelPath::root())?);
    let parent = Box::new(parent);
    Ok(OpenMember::Root { temp, parent })
}

fn in_files<'a>(
    files: &'a dyn Files,
    parent: Node,
    above: &RelPath,
) -> Result<OpenMember<'a>, Error> {
    // The name has to be free, not secret: it is made with `O_EXCL`'s rules.
    let staging = Name::parse(format!(".extract-{:016x}", random()))?;
    let dir = files.create_dir_at(At::new(&parent, &staging), 0o700)?;
    Ok(OpenMember::Files {
        files,
        parent,
        dir,
        path: above.join(&staging),
    })
}

fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn sync(root: &Root) -> Result<(), Error> {
    rustix::fs::syncfs(root).map_err(|errno| Error::from(std::io::Error::from(errno)))
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let OpenMember::Files { files, path, .. } = &self.place
            && !self.is_kept
        {
            // Best effort: what stays has a name that says what it is.
            drop(files.remove_tree(path, TreeLimits::new()));
        }
    }
}
