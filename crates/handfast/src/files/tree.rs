//! Whole files and whole trees, over handles alone.

use std::time::Instant;

use sha2::Digest as _;

use crate::error::{Effect, Error, ErrorKind};
use crate::metadata::FileKind;
use crate::path::{Name, RelPath};
use crate::verbs::{OpenOptions, TreeLimits, WriteOptions, Written};
use crate::version::{Version, is_young};

use super::handle::FileHandle;
use super::interface::{Attributes, Entry, Files, Put, WhatToRemove};
use super::node::{At, Node};
use super::resolve::LastLink;

/// How often a file that changes while it is read is read again for its version.
const MAX_RETRIES: u32 = 8;

/// How much of a file is copied at a time.
const CHUNK: usize = 256 * 1024;

/// Reads a whole file through its handle.
///
/// # Errors
/// `Limit` if it is larger than the limit; what the handle says.
pub fn read_whole(file: &dyn FileHandle, limit: u64) -> Result<Vec<u8>, Error> {
    let len = file.opened_metadata().len;
    // A sparse file may claim any size: look before allocating.
    if len > limit {
        return Err(too_large());
    }
    let expected = usize::try_from(len).map_err(|_| too_large())?;
    let mut data = vec![0; expected.min(64 << 20) + 1];
    let mut filled = 0;
    loop {
        let got = file.read_at(&mut data[filled..], filled as u64)?;
        filled += got;
        if filled as u64 > limit {
            return Err(too_large());
        }
        if got == 0 || (filled == expected && expected > 0) {
            data.truncate(filled);
            return Ok(data);
        }
        if filled == data.len() {
            data.resize(data.len() * 2, 0);
        }
    }
}

/// Content and version of one open file: the content of one file is never told with the version of
/// another, whatever its name leads to meanwhile.
///
/// # Errors
/// As [`read_whole`]; `Raced` if the file kept changing while it was read.
pub fn read_versioned(file: &dyn FileHandle, limit: u64) -> Result<(Vec<u8>, Version), Error> {
    let mut before = file.metadata()?;
    for _ in 0..MAX_RETRIES {
        if before.len > limit {
            return Err(too_large());
        }
        let data = read_whole(file, limit)?;
        let after = file.metadata()?;
        if Version::of_status(&before, None) == Version::of_status(&after, None) {
            let digest = is_young(&after).then(|| sha2::Sha256::digest(&data).into());
            return Ok((data, Version::of_status(&after, digest)));
        }
        before = after;
    }
    Err(Error::refused(
        ErrorKind::Raced,
        "the file kept changing while it was read",
    ))
}

fn too_large() -> Error {
    Error::refused(
        ErrorKind::Limit,
        "the file is larger than the limit for whole reads",
    )
}

/// Copies a file by its handles.
pub(super) fn copy<F: Files + ?Sized>(
    files: &F,
    from: &RelPath,
    to: &RelPath,
    put: Put<'_>,
) -> Result<Written, Error> {
    let source = Files::open(files, from, OpenOptions::new())?;
    let mode = source.opened_metadata().mode & 0o777;
    let there = match Files::metadata(files, to, LastLink::Follow) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let options = match there {
        true => WriteOptions::new(),
        false => WriteOptions::new().mode(mode),
    };
    let mut staged = files.stage(to, options)?;
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    loop {
        let got = source.read_at(&mut buffer, offset)?;
        if got == 0 {
            return staged.publish(put);
        }
        staged.write_all(&buffer[..got])?;
        offset += got as u64;
    }
}

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
    limits: TreeLimits,
    begun: Instant,
    seen: u64,
    /// Entries still to be told, last first, with the directory that holds them.
    pending: Vec<(Node, RelPath, Entry, usize)>,
    /// The directory that was told last and is not entered yet.
    next: Option<(Node, RelPath, usize)>,
    skipped: u64,
}

impl<'a, F: Files + ?Sized> TreeWalk<'a, F> {
    pub(super) fn new(files: &'a F, path: &RelPath, limits: TreeLimits) -> Result<Self, Error> {
        let top = files.node(path, LastLink::Follow)?;
        let mut walk = Self {
            files,
            limits,
            begun: Instant::now(),
            seen: 0,
            pending: Vec::new(),
            next: None,
            skipped: 0,
        };
        walk.enter(&top, path, 0)?;
        Ok(walk)
    }

    /// The next entry.
    ///
    /// # Errors
    /// `Limit` beyond a limit; what stops a directory from being listed.
    pub fn next_entry(&mut self) -> Result<Option<TreeEntry>, Error> {
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
        self.check_limits(&path, depth)?;
        let node = match self.files.lookup(&dir, entry.name.as_ref()) {
            Ok(node) => Some(node),
            Err(error) if is_passing(&error) => None,
            Err(error) => return Err(error),
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

    /// Leaves out what lies in the directory that was told last.
    pub fn skip_dir(&mut self) {
        self.next = None;
    }

    /// How many directories could not be entered: gone meanwhile, or denied.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn enter(&mut self, dir: &Node, path: &RelPath, depth: usize) -> Result<(), Error> {
        let mut entries = Vec::new();
        let room = self.limits.entries.saturating_sub(self.seen);
        for entry in self.files.entries_of(dir)? {
            if entries.len() as u64 > room {
                return Err(limit("entries"));
            }
            entries.push(entry?);
        }
        entries.sort_by(|one, other| other.name.cmp(&one.name));
        let told = entries.into_iter();
        self.pending
            .extend(told.map(|entry| (dir.clone(), path.clone(), entry, depth)));
        Ok(())
    }

    fn check_limits(&mut self, path: &RelPath, depth: usize) -> Result<(), Error> {
        self.seen += 1;
        let is_late = |time| self.begun.elapsed() > time;
        let reached = if self.seen > self.limits.entries {
            "entries"
        } else if depth > self.limits.depth {
            "depth"
        } else if self.limits.time.is_some_and(is_late) {
            "time"
        } else {
            return Ok(());
        };
        Err(limit(reached).on(crate::Verb::Walk, path.escaped()))
    }
}

impl<F: Files + ?Sized> std::fmt::Debug for TreeWalk<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeWalk")
            .field("seen", &self.seen)
            .finish()
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied)
}

fn limit(what: &str) -> Error {
    Error::refused(
        ErrorKind::Limit,
        format!("the walk's limit of {what} was reached"),
    )
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
    let (Some(parent), Some(name)) = (found.dir, found.name) else {
        return Err(Error::refused(
            ErrorKind::Invalid,
            "the root itself cannot be used here; name something in it",
        ));
    };
    let node = found
        .node
        .ok_or_else(|| Error::refused(ErrorKind::NotFound, ""))?;
    if !node.metadata().is_dir() {
        return files.remove_at(At::new(&parent, &name), WhatToRemove::File);
    }
    let mut removed = 0;
    remove_below(files, parent, name, node, limits, &mut removed).map_err(|error| match removed {
        0 => error,
        _ => error.with_effect(Effect::Visible),
    })
}

fn remove_below<F: Files + ?Sized>(
    files: &F,
    parent: Node,
    name: Name,
    dir: Node,
    limits: TreeLimits,
    removed: &mut u64,
) -> Result<(), Error> {
    let begun = Instant::now();
    let list = |dir: &Node| files.entries_of(dir)?.collect::<Result<Vec<_>, _>>();
    let left = list(&dir)?;
    let mut stack = vec![Emptying {
        parent,
        name,
        dir,
        left,
    }];
    while let Some(top) = stack.last_mut() {
        if *removed > limits.entries || stack_is_late(&limits, begun) {
            return Err(limit("entries or time"));
        }
        let Some(entry) = top.left.pop() else {
            let done = stack.pop().expect("it was just looked at");
            files.remove_at(At::new(&done.parent, &done.name), WhatToRemove::Dir)?;
            *removed += 1;
            continue;
        };
        let at = At::new(&top.dir, &entry.name);
        if entry.kind != FileKind::Dir {
            match files.remove_at(at, WhatToRemove::File) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // The directory did not say, or it changed meanwhile.
                Err(error) if error.kind() == ErrorKind::IsADirectory => {}
                done => {
                    done?;
                    *removed += 1;
                    continue;
                }
            }
        }
        let dir = files.lookup(&top.dir, entry.name.as_ref())?;
        if stack.len() > limits.depth {
            return Err(limit("depth"));
        }
        let top = stack.last().expect("it was just looked at");
        let below = Emptying {
            parent: top.dir.clone(),
            name: entry.name,
            left: list(&dir)?,
            dir,
        };
        stack.push(below);
    }
    Ok(())
}

fn stack_is_late(limits: &TreeLimits, begun: Instant) -> bool {
    limits.time.is_some_and(|time| begun.elapsed() > time)
}

/// Copies a tree to a free name. What cannot be copied ends the copy, and the part that was made is
/// taken away again.
pub(super) fn copy_tree<F: Files + ?Sized>(
    files: &F,
    from: &RelPath,
    to: &RelPath,
    limits: TreeLimits,
) -> Result<(), Error> {
    if to.starts_with(from) {
        return Err(Error::refused(
            ErrorKind::Invalid,
            "a directory cannot be copied into itself",
        ));
    }
    let mut walk = TreeWalk::new(files, from, limits)?;
    // Private until the whole tree is there; then it gets the source's own bits.
    let top = files.node(from, LastLink::Follow)?;
    Files::create_dir(files, to, 0o700)?;
    let mut made = vec![(to.clone(), FileKind::Dir, None)];
    let copied = copy_entries(files, &mut walk, from, to, &mut made);
    let copied = copied.and_then(|()| {
        let mode = Attributes::new().mode(top.metadata().mode & 0o777);
        Files::set_attributes(files, to, &mode)
    });
    if copied.is_err() {
        for (path, kind, version) in made.into_iter().rev() {
            let what = match (&version, kind) {
                (Some(version), _) => WhatToRemove::FileIf(version),
                (None, FileKind::Dir) => WhatToRemove::Dir,
                (None, _) => WhatToRemove::File,
            };
            // What others changed or put there meanwhile is theirs.
            drop(Files::remove(files, &path, what));
        }
    }
    copied
}

type Made = (RelPath, FileKind, Option<Version>);

fn copy_entries<F: Files + ?Sized>(
    files: &F,
    walk: &mut TreeWalk<'_, F>,
    from: &RelPath,
    to: &RelPath,
    made: &mut Vec<Made>,
) -> Result<(), Error> {
    while let Some(entry) = walk.next_entry()? {
        let Some(rest) = entry.path.strip_prefix(from) else {
            continue;
        };
        let target = to.join(rest);
        let node = entry.node.ok_or_else(|| {
            Error::refused(ErrorKind::Denied, "something in the tree may not be read")
                .on(crate::Verb::CopyTree, entry.path.escaped())
        })?;
        let version = match entry.kind {
            FileKind::Dir => {
                Files::create_dir(files, &target, node.metadata().mode & 0o777 | 0o700)?;
                None
            }
            FileKind::Symlink => {
                Files::symlink(files, files.link_of(&node)?.as_bytes(), &target)?;
                None
            }
            _ => Files::copy(files, &entry.path, &target, Put::New)?
                .version()
                .ok(),
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
