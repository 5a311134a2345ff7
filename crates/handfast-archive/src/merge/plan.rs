//! Which steps a merge takes.

use std::collections::HashSet;

use handfast::{Error, ErrorKind, FileKind, Node, RelPath};

use super::{Action, Deed, IN_THE_WAY, Merge, MergedObject, find, may_replace};
use crate::options::Overwrite;

/// Compares the staged tree with the directory that it goes into. `modes` are what directories get in the
/// end, by their paths; until then the owner may write them.
pub(crate) fn plan(
    merge: &Merge<'_>,
    overwrite: Overwrite,
    modes: &[(RelPath, u32)],
) -> Result<Vec<Action>, Error> {
    let mut actions = Vec::new();
    // Deeper directories come later, so that the list is short where much is new.
    let mut dirs = vec![RelPath::root()];
    while let Some(dir) = dirs.pop() {
        let gone = || {
            Error::refused(
                ErrorKind::Raced,
                "another process removed a staged directory",
            )
        };
        let staged = find(merge.files, &merge.staged, &dir)?.ok_or_else(gone)?;
        let there = find(merge.files, &merge.target, &dir)?.ok_or_else(gone)?;
        for name in names(merge, &staged)? {
            let path = dir.join(&name);
            let node = merge.files.lookup(&staged, name.as_ref())?;
            let new = MergedObject::of(&node.metadata().identity);
            let deed = match find(merge.files, &there, &RelPath::from(&name))? {
                None => Deed::Add,
                Some(old) => match (old.kind(), node.kind()) {
                    (FileKind::Dir, FileKind::Dir) => {
                        dirs.push(path);
                        continue;
                    }
                    (old_kind, new_kind)
                        if overwrite == Overwrite::Replace && may_replace(old_kind, new_kind) =>
                    {
                        Deed::Exchange(MergedObject::of(&old.metadata().identity))
                    }
                    _ => return Err(Error::refused(ErrorKind::Exists, IN_THE_WAY)),
                },
            };
            actions.push(Action { deed, path, new });
        }
    }
    let later = modes_of(merge, &actions, modes)?;
    actions.extend(later);
    Ok(actions)
}

/// The modes of directories that are added: what is there already keeps its own.
fn modes_of(
    merge: &Merge<'_>,
    actions: &[Action],
    modes: &[(RelPath, u32)],
) -> Result<Vec<Action>, Error> {
    let added = actions.iter().filter(|action| action.deed == Deed::Add);
    let added: HashSet<&[u8]> = added.map(|action| action.path.as_bytes()).collect();
    let mut later = Vec::new();
    for (path, mode) in modes {
        let mut above = Some(path.clone());
        while let Some(path) = &above
            && !added.contains(path.as_bytes())
        {
            above = path.parent();
        }
        if above.is_none() {
            continue;
        }
        if let Some(node) = find(merge.files, &merge.staged, path)? {
            later.push(Action {
                deed: Deed::Mode(*mode),
                path: path.clone(),
                new: MergedObject::of(&node.metadata().identity),
            });
        }
    }
    // The deepest first: a directory that may not be searched ends the way to what is below it.
    later.sort_by_key(|action| std::cmp::Reverse(action.path.depth()));
    Ok(later)
}

fn names(merge: &Merge<'_>, dir: &Node) -> Result<Vec<handfast::Name>, Error> {
    let mut names = Vec::new();
    for entry in merge.files.entries_of(dir)? {
        names.push(entry?.name);
    }
    // The same tree takes the same steps.
    names.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    Ok(names)
}
