//! What an overlay says about names: the tree of changes, and how one change follows another.
//!
//! Only names that differ from the base are here, and the directories on the way to them. A name
//! that is not here falls through to the directory that its parent stands for in the base. So
//! renaming a directory is one entry, whatever lies in it, and nothing on the disk is ever a
//! marker that a name could be confused with.

use std::collections::BTreeMap;

use handfast::{ErrorKind, RelPath};

use super::dir_times::{DirTimes, Moment};
use super::links::LinkCounts;
use crate::error::Error;

pub(crate) type NameBytes = Vec<u8>;

/// What stood under a name of the base when the overlay first covered it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Was {
    /// Nothing.
    Absent,
    /// A file, as the text of its version.
    File(String),
    /// A link with this target.
    Link(Vec<u8>),
    /// A directory with exactly these entries, all of them covered.
    Dir(BTreeMap<NameBytes, Was>),
    /// This, and the overlay shows it elsewhere now.
    Moved(Box<Was>),
    /// A directory that is still there, with changes below.
    Kept,
}

/// What a name refers to now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Now {
    Gone,
    Dir(DirNode),
    File(FileNode),
    Link { id: u64, target: Vec<u8> },
}

/// A name that the overlay covers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NodeEntry {
    pub(crate) was: Was,
    pub(crate) now: Now,
}

/// A directory in the overlay.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct DirNode {
    pub(crate) id: u64,
    /// The directory of the base whose entries show through; `None` if nothing does.
    pub(crate) origin: Option<Vec<u8>>,
    /// The mode, where it was changed.
    pub(crate) mode: Option<u32>,
    /// The mode that the directory of the base had then.
    pub(crate) old_mode: Option<u32>,
    /// The times that a program gave it.
    pub(crate) times: Option<DirTimes>,
    /// When it was changed, as far as this process has seen it.
    pub(crate) touched: Moment,
    pub(crate) children: BTreeMap<NameBytes, NodeEntry>,
}

/// A file in the overlay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FileNode {
    pub(crate) content: ContentLocation,
    /// The file of the base it was, before it was moved or changed, with its version then.
    pub(crate) origin: Option<(Vec<u8>, String)>,
}

/// Where a file's content is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ContentLocation {
    /// Still in the base, at the file's origin.
    Base,
    /// In the store. A sealed object belongs to a snapshot too and is never changed in place. A
    /// file that was linked has a mark at each of its names.
    Object {
        id: u64,
        sealed: bool,
        linked: Option<u64>,
    },
}

/// One change. A record of the journal is a list of these and happens as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// The name is covered by this from now on.
    Put { path: Vec<u8>, entry: NodeEntry },
    /// The name is not covered any more: the base shows through.
    Drop { path: Vec<u8> },
    /// What one name refers to, the other refers to now, with all below it.
    Move {
        from: Vec<u8>,
        to: Vec<u8>,
        /// What the base had under the new name.
        was: Was,
        /// What covers the old name.
        left: Option<NodeEntry>,
    },
    /// Both names change places; what the base had under them.
    Exchange {
        one: Vec<u8>,
        other: Vec<u8>,
        was_one: Was,
        was_other: Was,
    },
    /// The directory has this mode; and what the base had, if this is the first time.
    DirMode {
        path: Vec<u8>,
        mode: u32,
        old: Option<u32>,
    },
    /// The directory has these times.
    DirTimes { path: Vec<u8>, times: DirTimes },
    /// The origin of a directory: where it lies in the base, after it was moved there.
    Origin { path: Vec<u8>, origin: Vec<u8> },
    /// Every object belongs to a snapshot, but for those that are being written.
    Seal { but: Vec<u64> },
    /// A commit is rolling forward; the bytes are its plan's own.
    Committing { choice: Vec<u8> },
    /// Some lines of a file are about to become the base's, which has content with this digest then;
    /// and under which number the earlier content is kept.
    Part {
        path: Vec<u8>,
        digest: String,
        undo: Option<u64>,
    },
    /// The last commits, which can be taken back.
    Undo { records: Vec<UndoMark> },
    /// No commit is under way.
    Settled,
}

/// The tree of changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Tree {
    pub(crate) root: DirNode,
    /// The choice of a commit that is rolling forward.
    pub(crate) committing: Option<Vec<u8>>,
    /// The file of which lines are being committed.
    pub(crate) part: Option<PartUnderWay>,
    /// The records of the last commits, oldest first.
    pub(crate) undo: Vec<UndoMark>,
    /// How many names linked objects have.
    pub(super) links: LinkCounts,
    /// When changes are made.
    pub(super) clock: Moment,
}

/// A record that keeps what a commit displaced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct UndoMark {
    /// The number of the record.
    pub(crate) record: u64,
    /// Which commit: when it was made, in nanoseconds.
    pub(crate) commit: u64,
    /// The object that holds the contents; zero where none was displaced.
    pub(crate) pack: u64,
    /// How long that object is.
    pub(crate) bytes: u64,
}

/// Lines of a file that are being committed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PartUnderWay {
    pub(crate) path: Vec<u8>,
    /// The digest of what the base gets.
    pub(crate) digest: String,
    /// The record that keeps what the base had.
    pub(crate) undo: Option<u64>,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum TreeLookup<'a> {
    /// To something the overlay has.
    Here(&'a Now),
    /// To a path of the base, whatever is there.
    Base(RelPath),
    /// To the top of the mount.
    Top,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            root: DirNode {
                origin: Some(Vec::new()),
                ..DirNode::default()
            },
            committing: None,
            part: None,
            links: LinkCounts::default(),
            clock: Moment::default(),
            undo: Vec::new(),
        }
    }

    /// Finds what a path without links names.
    pub(crate) fn find(&self, path: &RelPath) -> Result<TreeLookup<'_>, Error> {
        if path.is_root() {
            return Ok(TreeLookup::Top);
        }
        let mut dir = &self.root;
        let mut names = path.segments().peekable();
        // Where the current name begins in the path's text.
        let mut offset = 0;
        while let Some(name) = names.next() {
            let Some(entry) = dir.children.get(name.as_bytes()) else {
                let Some(origin) = &dir.origin else {
                    return Err(missing());
                };
                // The usual case, kept short: nothing on the way was touched.
                if origin.is_empty() && offset == 0 {
                    return Ok(TreeLookup::Base(path.clone()));
                }
                let mut text = join(origin, &path.as_bytes()[offset..]);
                if path.must_be_dir() {
                    text.push(b'/');
                }
                return Ok(TreeLookup::Base(RelPath::clean_with(text, &super::WIDE)?));
            };
            offset += name.as_bytes().len() + 1;
            let is_last = names.peek().is_none();
            match &entry.now {
                Now::Gone => return Err(missing()),
                now if is_last => {
                    return match now {
                        Now::File(_) if path.must_be_dir() => Err(not_a_directory()),
                        Now::Link { .. } if path.must_be_dir() => Err(link()),
                        now => Ok(TreeLookup::Here(now)),
                    };
                }
                Now::Dir(next) => dir = next,
                Now::File(_) => return Err(not_a_directory()),
                Now::Link { .. } => return Err(link()),
            }
        }
        Ok(TreeLookup::Top)
    }

    /// The directory node at a path, if the overlay has one.
    pub(crate) fn dir(&self, path: &RelPath) -> Option<&DirNode> {
        let mut dir = &self.root;
        for name in path.segments() {
            match &dir.children.get(name.as_bytes())?.now {
                Now::Dir(next) => dir = next,
                _ => return None,
            }
        }
        Some(dir)
    }

    /// The entry that covers a name, a whiteout included.
    pub(crate) fn entry(&self, path: &[u8]) -> Option<&NodeEntry> {
        let (parent, name) = split(path);
        let mut dir = &self.root;
        for name in names(parent) {
            match &dir.children.get(name)?.now {
                Now::Dir(next) => dir = next,
                _ => return None,
            }
        }
        dir.children.get(name)
    }

    /// Where a name would lie in the base; `None` if its directory shows nothing of the base.
    pub(crate) fn base_of(&self, path: &[u8]) -> Option<Vec<u8>> {
        let (parent, name) = split(path);
        let mut dir = Some(&self.root);
        let mut origin = self.root.origin.clone();
        for name in names(parent) {
            match dir.and_then(|dir| dir.children.get(name)) {
                Some(entry) => {
                    let Now::Dir(next) = &entry.now else {
                        return None;
                    };
                    origin.clone_from(&next.origin);
                    dir = Some(next);
                }
                None => {
                    origin = origin.map(|origin| join(&origin, name));
                    dir = None;
                }
            }
        }
        origin.map(|origin| join(&origin, name))
    }

    /// Does one change. A change that does not fit is a journal that we did not write.
    pub(crate) fn apply(&mut self, change: Change) -> Result<(), Error> {
        match change {
            Change::Put { path, mut entry } => {
                if let Now::Dir(dir) = &mut entry.now
                    && dir.times.is_none()
                    && dir.id != 0
                {
                    dir.touch(self.clock);
                }
                self.insert(&path, entry)?;
            }
            Change::Drop { path } => {
                self.take(&path)?;
                self.prune(&path);
            }
            Change::Move {
                from,
                to,
                was,
                left,
            } => {
                let now = self.take(&from)?.ok_or_else(misfit)?.now;
                if let Some(left) = left {
                    self.insert(&from, left)?;
                }
                self.insert(&to, NodeEntry { was, now })?;
            }
            Change::Exchange {
                one,
                other,
                was_one,
                was_other,
            } => {
                let first = self.take(&one)?.ok_or_else(misfit)?;
                let second = self.take(&other)?.ok_or_else(misfit)?;
                let put = |was, now| NodeEntry { was, now };
                self.insert(&one, put(was_one, second.now))?;
                self.insert(&other, put(was_other, first.now))?;
            }
            Change::DirMode { path, mode, old } => {
                let dir = self.dir_mut(&path)?;
                dir.mode = Some(mode);
                dir.old_mode = dir.old_mode.or(old);
            }
            Change::DirTimes { path, times } => self.dir_mut(&path)?.set_times(times),
            Change::Origin { path, origin } => {
                self.dir_mut(&path)?.origin = Some(origin);
            }
            Change::Seal { but } => seal(&mut self.root, &but),
            Change::Committing { choice } => self.committing = Some(choice),
            Change::Part { path, digest, undo } => {
                self.part = Some(PartUnderWay { path, digest, undo });
            }
            Change::Undo { records } => self.undo = records,
            Change::Settled => {
                self.committing = None;
                self.part = None;
            }
        }
        Ok(())
    }

    /// Puts an entry under a name.
    fn insert(&mut self, path: &[u8], entry: NodeEntry) -> Result<(), Error> {
        self.count_names(&entry, true);
        let clock = self.clock;
        let (dir, name) = self.parent_mut(path)?;
        dir.touch(clock);
        if let Some(old) = dir.children.insert(name, entry) {
            self.count_names(&old, false);
        }
        Ok(())
    }

    /// Takes the entry of a name away.
    fn take(&mut self, path: &[u8]) -> Result<Option<NodeEntry>, Error> {
        let clock = self.clock;
        let (dir, name) = self.parent_mut(path)?;
        dir.touch(clock);
        let old = dir.children.remove(&name);
        if let Some(old) = &old {
            self.count_names(old, false);
        }
        Ok(old)
    }

    /// Forgets a changed mode of a directory.
    pub(super) fn clear_mode(&mut self, path: &[u8]) {
        if let Ok(dir) = self.dir_mut(path) {
            dir.mode = None;
            dir.old_mode = None;
        }
        self.prune(&join(path, b"-"));
    }

    /// The parent's node and the last name, making the directories on the way.
    fn parent_mut(&mut self, path: &[u8]) -> Result<(&mut DirNode, NameBytes), Error> {
        let (parent, name) = split(path);
        Ok((self.dir_mut(parent)?, name.to_vec()))
    }

    fn dir_mut(&mut self, path: &[u8]) -> Result<&mut DirNode, Error> {
        let mut dir = &mut self.root;
        for name in names(path) {
            let origin = dir.origin.as_ref().map(|origin| join(origin, name));
            let entry = dir
                .children
                .entry(name.to_vec())
                .or_insert_with(|| NodeEntry {
                    was: Was::Kept,
                    now: Now::Dir(DirNode {
                        origin,
                        ..DirNode::default()
                    }),
                });
            match &mut entry.now {
                Now::Dir(next) => dir = next,
                _ => return Err(misfit()),
            }
        }
        Ok(dir)
    }

    /// Takes away directories on the way that say nothing any more.
    fn prune(&mut self, path: &[u8]) {
        let mut at = split(path).0;
        while !at.is_empty() {
            let says_nothing = self.entry(at).is_some_and(|entry| {
                entry.was == Was::Kept
                    && matches!(&entry.now, Now::Dir(dir) if dir.children.is_empty() && dir.mode.is_none() && dir.times.is_none())
            });
            if !says_nothing {
                return;
            }
            let (parent, name) = split(at);
            let Ok(dir) = self.dir_mut(parent) else {
                return;
            };
            dir.children.remove(name);
            at = parent;
        }
    }

    /// Every object that is in use.
    pub(crate) fn objects(&self) -> Vec<u64> {
        let mut found = Vec::new();
        self.each(&mut |_, entry| {
            if let Now::File(FileNode {
                content: ContentLocation::Object { id, .. },
                ..
            }) = &entry.now
            {
                found.push(*id);
            }
        });
        // A file may have several names.
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Every entry with its path, parents first.
    pub(crate) fn each<'a>(&'a self, take: &mut dyn FnMut(&[u8], &'a NodeEntry)) {
        // A stack of our own: an agent may nest directories as deep as paths allow.
        let mut pending: Vec<(Vec<u8>, &DirNode)> = vec![(Vec::new(), &self.root)];
        while let Some((at, dir)) = pending.pop() {
            for (name, entry) in &dir.children {
                let path = join(&at, name);
                take(&path, entry);
                if let Now::Dir(next) = &entry.now {
                    pending.push((path, next));
                }
            }
        }
    }
}

fn seal(dir: &mut DirNode, but: &[u64]) {
    let mut pending = vec![dir];
    while let Some(dir) = pending.pop() {
        for entry in dir.children.values_mut() {
            match &mut entry.now {
                Now::Dir(next) => pending.push(next),
                Now::File(FileNode {
                    content: ContentLocation::Object { id, sealed, .. },
                    ..
                }) if !but.contains(id) => *sealed = true,
                _ => {}
            }
        }
    }
}

pub(crate) fn join(at: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = at.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
}

pub(crate) fn base_path(bytes: &[u8]) -> Result<RelPath, Error> {
    if bytes.is_empty() {
        return Ok(RelPath::root());
    }
    RelPath::parse_with(bytes, &super::WIDE)
}

fn missing() -> Error {
    Error::refused(ErrorKind::NotFound, "nothing is there")
}

fn not_a_directory() -> Error {
    Error::refused(
        ErrorKind::NotADirectory,
        "something on the way is not a directory",
    )
}

pub(crate) fn link() -> Error {
    Error::refused(ErrorKind::Link, "a symbolic link is in the way")
}

fn misfit() -> Error {
    Error::refused(
        ErrorKind::Stale,
        "the session's journal holds a change that does not fit",
    )
}
