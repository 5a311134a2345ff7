//! Renaming in the overlay: names move, content stays where it is.

use std::collections::BTreeMap;

use handfast::{ErrorKind, FileKind, Metadata, RelPath, RenameMode, Version};

use super::base::{FileAt, Standing, replaced};
use super::change::{exists, put, refuse_top};
use super::store::fresh_id;
use super::tree::{Change, ContentLocation, DirNode, FileNode, NodeEntry, Now, Tree, Was};
use super::{Overlay, Owner};
use crate::error::Error;
use crate::pipeline::Moving;
use crate::place::Guard;

impl Overlay {
    pub(crate) fn rename(&self, moving: &Moving<'_>, mode: RenameMode) -> Result<(), Error> {
        let locked = self.begin()?;
        let from = &self.judged(&locked, moving.from.spot(), &moving.from_guard)?;
        let to = &self.judged(&locked, moving.to.spot(), &moving.to_guard)?;
        refuse_top(from)?;
        refuse_top(to)?;
        let mut tree = locked.state().tree.clone();
        let source = self.standing(&tree, from)?;
        let target = self.standing(&tree, to)?;
        if let Standing::Missing = source {
            return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
        }
        if mode == RenameMode::Exchange && matches!(target, Standing::Missing) {
            return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
        }
        require_dir(from, &source)?;
        // `b/` is a directory, so that is what has to come there.
        require_dir(to, &source)?;
        // What moves is what was judged: nobody else changes the tree until we are done.
        let judged = self.judge_move(&tree, &moving.from_guard, (from, to), &source)?;
        let judged_target = match mode {
            RenameMode::Exchange => {
                self.judge_move(&tree, &moving.to_guard, (to, from), &target)?
            }
            _ => None,
        };
        let same_name = from.as_bytes() == to.as_bytes();
        if same_name || (mode != RenameMode::Exchange && tree.are_one_file(from, to)) {
            return match mode {
                RenameMode::NoReplace => Err(exists()),
                _ => Ok(()),
            };
        }
        let into_itself = |outer: &RelPath, inner: &RelPath| inner.starts_with(outer);
        if into_itself(from, to) || (mode == RenameMode::Exchange && into_itself(to, from)) {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "a directory cannot be moved into itself",
            ));
        }
        let mut changes = Vec::new();
        let mut freed = Vec::new();
        let mut step = |tree: &mut Tree, change: Change| -> Result<(), Error> {
            tree.apply(change.clone())?;
            changes.push(change);
            Ok(())
        };
        if let Some(change) = self.materialise(&tree, from, &source, judged.as_ref())? {
            step(&mut tree, change)?;
        }
        require_depth(&tree, from, to)?;
        if mode == RenameMode::Exchange {
            require_depth(&tree, to, from)?;
            if let Some(change) = self.materialise(&tree, to, &target, judged_target.as_ref())? {
                step(&mut tree, change)?;
            }
            let (one, other) = (from.as_bytes().to_vec(), to.as_bytes().to_vec());
            let was_one = settled(&tree, from, left_behind(&tree, from), to);
            let was_other = settled(&tree, to, left_behind(&tree, to), from);
            let change = Change::Exchange {
                one,
                other,
                was_one,
                was_other,
            };
            step(&mut tree, change)?;
            return self.record(&locked, changes);
        }
        match (&source, &target) {
            (_, Standing::Missing) => {}
            (_, _) if mode == RenameMode::NoReplace => return Err(exists()),
            (Standing::Dir, Standing::Dir) if self.is_empty_dir(to)? => {}
            (Standing::Dir, Standing::Dir) => {
                return Err(Error::refused(
                    ErrorKind::NotEmpty,
                    "the directory is not empty",
                ));
            }
            (Standing::Dir, _) => {
                return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
            }
            (_, Standing::Dir) => {
                return Err(Error::refused(ErrorKind::IsADirectory, "is a directory"));
            }
            _ => {}
        }
        if !matches!(target, Standing::Missing) {
            let (removal, unnamed) = self.removal(&tree, to, &target)?;
            freed = unnamed;
            for change in removal {
                step(&mut tree, change)?;
            }
        }
        // A name that was taken has an entry of the overlay by now.
        let was = self.was(&tree, to.as_bytes(), &Standing::Missing)?;
        let was = settled(&tree, to, was, from);
        let left = match left_behind(&tree, from) {
            Was::Absent => None,
            was => Some(NodeEntry {
                was,
                now: Now::Gone,
            }),
        };
        let change = Change::Move {
            from: from.as_bytes().to_vec(),
            to: to.as_bytes().to_vec(),
            was,
            left,
        };
        step(&mut tree, change)?;
        self.record(&locked, changes)?;
        self.drop_objects(freed)
    }

    /// Checks the rules of a move. Returns the file of the base that they were checked against.
    fn judge_move(
        &self,
        tree: &Tree,
        guard: &Guard<'_>,
        (from, to): (&RelPath, &RelPath),
        what: &Standing,
    ) -> Result<Option<Metadata>, Error> {
        let kind = match what {
            Standing::Missing => return Ok(None),
            Standing::Dir => FileKind::Dir,
            Standing::Link => FileKind::Symlink,
            Standing::File(_) => FileKind::File,
        };
        guard.check_move(from, to, Some(kind))?;
        if tree.owner(from) != Owner::Session {
            // What appeared in the base under a denied name since the name was judged.
            guard.check_held(from)?;
        }
        let base = match what {
            Standing::File(FileAt {
                object: None,
                base: Some(base),
                ..
            }) => base.clone(),
            Standing::Dir => from.clone(),
            _ => return Ok(None),
        };
        match self.base.symlink_metadata(&base) {
            // A commit may give the content a name of its own.
            Ok(status) if kind == FileKind::File => {
                guard.check_file(&status)?;
                Ok(Some(status))
            }
            Ok(status) => guard.refuse_kept(&status).map(|()| None),
            Err(_) => Ok(None),
        }
    }

    /// The change that makes an object of the base an entry of the overlay, so that it can move. A
    /// file is the one that was judged.
    fn materialise(
        &self,
        tree: &Tree,
        path: &RelPath,
        seen: &Standing,
        judged: Option<&Metadata>,
    ) -> Result<Option<Change>, Error> {
        let bytes = path.as_bytes();
        if let Some(entry) = tree.entry(bytes) {
            // A file that was changed in its place takes its origin along.
            if let (Was::File(version), Now::File(node)) = (&entry.was, &entry.now)
                && node.origin.is_none()
                && let Some(at) = tree.base_of(bytes)
            {
                let node = FileNode {
                    origin: Some((at, version.clone())),
                    ..node.clone()
                };
                let was = entry.was.clone();
                let now = Now::File(node);
                return Ok(Some(put(path, NodeEntry { was, now })));
            }
            return Ok(None);
        }
        let Some(at) = tree.base_of(bytes) else {
            return Ok(None);
        };
        let was = self.was(tree, bytes, seen)?;
        let now = match &was {
            Was::File(version) if !is_of(version, judged) => return Err(replaced()),
            Was::File(version) => Now::File(FileNode {
                content: ContentLocation::Base,
                origin: Some((at, version.clone())),
            }),
            Was::Link(target) => Now::Link {
                id: fresh_id()?,
                target: target.clone(),
            },
            Was::Kept => Now::Dir(DirNode {
                origin: Some(at),
                ..DirNode::default()
            }),
            _ => return Err(Error::refused(ErrorKind::NotFound, "nothing is there")),
        };
        if let Now::Link { id, .. } = &now {
            self.account.charge(self.key(*id), 0, true, None)?;
        }
        Ok(Some(put(path, NodeEntry { was, now })))
    }
}

/// Whether a version of a file is of the object that was judged.
fn is_of(version: &str, judged: Option<&Metadata>) -> bool {
    let version: Option<Version> = version.parse().ok();
    version
        .zip(judged)
        .is_some_and(|(version, judged)| version.is_of_object(judged))
}

/// What covers a name after its entry has moved away.
fn left_behind(tree: &Tree, path: &RelPath) -> Was {
    let Some(entry) = tree.entry(path.as_bytes()) else {
        return Was::Absent;
    };
    // Only what stands in its own place of the base leaves that place; what covers something else
    // leaves it covered.
    if origin_in(entry).is_some() && origin_in(entry) == tree.base_of(path.as_bytes()) {
        return match &entry.was {
            was @ Was::Moved(_) => was.clone(),
            was => Was::Moved(Box::new(was.clone())),
        };
    }
    entry.was.clone()
}

/// What was moved away from a place below one that is covered.
fn moved_in<'a>(was: &'a mut Was, rest: &[u8]) -> Option<&'a mut Was> {
    if rest.is_empty() {
        return matches!(was, Was::Moved(_)).then_some(was);
    }
    let (name, rest) = match rest.iter().position(|byte| *byte == b'/') {
        Some(slash) => (&rest[..slash], &rest[slash + 1..]),
        None => (rest, &b""[..]),
    };
    match was {
        Was::Dir(entries) => moved_in(entries.get_mut(name)?, rest),
        _ => None,
    }
}

fn origin_in(entry: &NodeEntry) -> Option<Vec<u8>> {
    match &entry.now {
        Now::File(node) => node.origin.as_ref().map(|(path, _)| path.clone()),
        Now::Dir(dir) => dir.origin.clone(),
        _ => None,
    }
}

/// What the base had under `path`, once what `from` refers to comes there: if that is the very
/// object that was moved away, it is back in its place.
fn settled(tree: &Tree, path: &RelPath, was: Was, from: &RelPath) -> Was {
    let Was::Moved(inner) = &was else {
        return was;
    };
    let home = tree.base_of(path.as_bytes());
    let origin = tree.entry(from.as_bytes()).and_then(origin_in);
    if origin.is_some() && origin == home {
        return (**inner).clone();
    }
    was
}

/// How deep entries of an overlay may lie: as deep as a path with links may lead. Trees are copied
/// and dropped by functions that call themselves.
const MAX_DEPTH: usize = 512;

/// What moves does not come to lie too deep.
fn require_depth(tree: &Tree, from: &RelPath, to: &RelPath) -> Result<(), Error> {
    if to.depth() + tree.height(from) > MAX_DEPTH {
        return Err(Error::refused(
            ErrorKind::TooLong,
            "what lies in the directory would come to lie too deep",
        ));
    }
    Ok(())
}

fn require_dir(path: &RelPath, standing: &Standing) -> Result<(), Error> {
    if path.must_be_dir() && !matches!(standing, Standing::Dir) {
        return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
    }
    Ok(())
}

impl Tree {
    /// How many levels of entries lie below a path.
    fn height(&self, path: &RelPath) -> usize {
        let mut highest = 0;
        let mut pending: Vec<(&DirNode, usize)> =
            self.dir(path).map(|dir| (dir, 1)).into_iter().collect();
        while let Some((dir, level)) = pending.pop() {
            if !dir.children.is_empty() {
                highest = highest.max(level);
            }
            for entry in dir.children.values() {
                if let Now::Dir(next) = &entry.now {
                    pending.push((next, level + 1));
                }
            }
        }
        highest
    }

    /// The entry that covers a path of the base, and where it stands.
    pub(super) fn covering(&self, base: &[u8]) -> Option<(Vec<u8>, NodeEntry)> {
        let mut found = None;
        self.each(&mut |path, entry| {
            if found.is_none()
                && matches!(entry.was, Was::Moved(_))
                && self.base_of(path).as_deref() == Some(base)
            {
                found = Some((path.to_vec(), entry.clone()));
            }
        });
        found
    }

    /// The change that says what became of a directory of the base that was moved away and is
    /// removed now. The place it left may itself lie in a directory that was removed since.
    pub(super) fn cover(&self, base: &[u8], entries: BTreeMap<Vec<u8>, Was>) -> Option<Change> {
        let mut found = None;
        self.each(&mut |path, entry| {
            if found.is_some() {
                return;
            }
            let Some(home) = self.base_of(path) else {
                return;
            };
            let rest = match base.strip_prefix(home.as_slice()) {
                Some(b"") => &b""[..],
                Some([b'/', rest @ ..]) => rest,
                _ => return,
            };
            let mut entry = entry.clone();
            if let Some(moved) = moved_in(&mut entry.was, rest) {
                *moved = Was::Dir(entries.clone());
                let path = path.to_vec();
                found = Some(Change::Put { path, entry });
            }
        });
        found
    }

    /// The nodes on the way to a path, with their siblings' names and nothing below those: enough
    /// to look at one place while the tree itself is not held.
    pub(super) fn clone_spine(&self, path: &RelPath) -> Self {
        fn spine<'a>(dir: &DirNode, mut names: impl Iterator<Item = &'a [u8]> + Clone) -> DirNode {
            let mut copy = DirNode {
                id: dir.id,
                origin: dir.origin.clone(),
                mode: dir.mode,
                old_mode: dir.old_mode,
                times: dir.times,
                touched: dir.touched,
                children: BTreeMap::new(),
            };
            let Some(name) = names.next() else {
                return copy;
            };
            if let Some(entry) = dir.children.get(name) {
                let now = match &entry.now {
                    Now::Dir(next) => Now::Dir(spine(next, names)),
                    now => now.clone(),
                };
                let was = entry.was.clone();
                copy.children.insert(name.to_vec(), NodeEntry { was, now });
            }
            copy
        }
        let names: Vec<&[u8]> = path.segments().map(|name| name.as_bytes()).collect();
        Self {
            root: spine(&self.root, names.iter().copied()),
            committing: self.committing.clone(),
            part: self.part.clone(),
            links: self.links.clone(),
            clock: self.clock,
            undo: self.undo.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::base::tests::empty_overlay;

    /// A file that replaced the judged one does not move in its place.
    #[test]
    fn a_file_that_was_not_judged_is_not_moved() {
        let (overlay, base, _dirs) = empty_overlay();
        let path = RelPath::parse("f").unwrap();
        base.write(&path, "judged").unwrap();
        let tree = Tree::new();
        let seen = overlay.standing(&tree, &path).unwrap();
        assert!(matches!(seen, Standing::File(_)));
        let judged = base.symlink_metadata(&path).unwrap();
        let moved = overlay.materialise(&tree, &path, &seen, Some(&judged));
        assert!(moved.unwrap().is_some());
        base.write(&path, "another").unwrap();
        let moved = overlay.materialise(&tree, &path, &seen, Some(&judged));
        assert_eq!(moved.unwrap_err().kind(), ErrorKind::Raced);
    }
}
