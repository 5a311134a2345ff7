//! Where a staging tree lies until it is published.

use std::hash::{BuildHasher, RandomState};

use handfast::files::{At, LastLink};
use handfast::{
    Dir, Effect, Error, ErrorKind, Files, Name, Node, RelPath, RenameMode, Root, TempDir,
    TreeLimits,
};

use super::{object, require_same};
use crate::target::{Place, Target};

/// A directory of ours beside the target, removed with all that is in it unless the tree was published.
pub(super) struct Scratch<'a> {
    place: Held<'a>,
    /// The target's last name.
    name: Name,
}

enum Held<'a> {
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

/// The tree's name in the scratch directory.
const TREE: &str = "tree";

impl<'a> Scratch<'a> {
    pub(super) fn begin(target: &Target<'a>) -> Result<Self, Error> {
        let Some((above, name)) = target.path.as_ref().split_last() else {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "the top is not a new directory",
            ));
        };
        let (above, name) = (above.to_path(), name.to_name());
        let place = match target.place {
            Place::Root(root) => in_root(root, &above, &name)?,
            Place::Files(files) => in_files(files, above, &name)?,
        };
        Ok(Self { place, name })
    }

    pub(super) fn files(&self) -> &dyn Files {
        match &self.place {
            Held::Root { temp, .. } => temp.root(),
            Held::Files { files, .. } => *files,
        }
    }

    /// The root behind the files, where there is one.
    pub(super) fn root(&self) -> Option<&Root> {
        match &self.place {
            Held::Root { temp, .. } => Some(temp.root()),
            Held::Files { .. } => None,
        }
    }

    fn dir(&self) -> Result<Node, Error> {
        match &self.place {
            Held::Root { temp, .. } => temp.root().top(),
            Held::Files { dir, .. } => Ok(dir.clone()),
        }
    }

    /// The tree lies one level below the directory of ours: the directory keeps others out, and the tree
    /// has the mode of any new directory.
    pub(super) fn make_tree(&self) -> Result<Node, Error> {
        let name = Name::parse(TREE)?;
        self.files()
            .create_dir_at(At::new(&self.dir()?, &name), 0o777)
    }

    /// Gives the tree its name, which must be free. It has to be the tree that was made.
    pub(super) fn publish(&self, tree: &Node, durable: bool) -> Result<(), Error> {
        let made = object(&tree.metadata().identity);
        let inner = Name::parse(TREE)?;
        let published = match &self.place {
            Held::Root { temp, parent } => {
                if durable {
                    sync(temp.root())?;
                }
                let (from, to) = (RelPath::from(&inner), RelPath::from(&self.name));
                temp.root()
                    .rename_to(&from, parent, &to, RenameMode::NoReplace)?;
                if durable {
                    sync(temp.root()).map_err(|error| error.with_effect(Effect::Visible))?;
                }
                parent.symlink_metadata(&to)
            }
            Held::Files {
                files, parent, dir, ..
            } => {
                let to = At::new(parent, &self.name);
                files.rename_at(At::new(dir, &inner), to, RenameMode::NoReplace)?;
                files
                    .lookup(parent, self.name.as_ref())
                    .map(|node| *node.metadata())
            }
        };
        published
            .and_then(|published| require_same(&published.identity, made))
            .map_err(|error| error.with_effect(Effect::Visible))
    }
}

fn in_root(root: &Root, above: &RelPath, name: &Name) -> Result<Held<'static>, Error> {
    let parent = root.open_dir(above)?;
    match parent.symlink_metadata(&RelPath::from(name)) {
        Ok(_) => return Err(taken()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let temp = Box::new(parent.temp_dir(&RelPath::root())?);
    let parent = Box::new(parent);
    Ok(Held::Root { temp, parent })
}

fn in_files<'a>(files: &'a dyn Files, above: RelPath, name: &Name) -> Result<Held<'a>, Error> {
    let parent = files.node(&above, LastLink::Follow)?;
    match files.lookup(&parent, name.as_ref()) {
        Ok(_) => return Err(taken()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The name has to be free, not secret: it is made with `O_EXCL`'s rules.
    let random = RandomState::new().hash_one(std::process::id());
    let staging = Name::parse(format!(".extract-{random:016x}"))?;
    let dir = files.create_dir_at(At::new(&parent, &staging), 0o700)?;
    Ok(Held::Files {
        files,
        parent,
        dir,
        path: above.join(&staging),
    })
}

fn taken() -> Error {
    Error::refused(ErrorKind::Exists, "the target is there already")
}

fn sync(root: &Root) -> Result<(), Error> {
    rustix::fs::syncfs(root).map_err(|errno| Error::from(std::io::Error::from(errno)))
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Held::Files { files, path, .. } = &self.place {
            // Best effort: what stays has a name that says what it is.
            drop(files.remove_tree(path, TreeLimits::new()));
        }
    }
}
