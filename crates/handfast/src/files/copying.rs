//! Files and trees that are copied, over handles alone.

use std::collections::BTreeSet;

use crate::error::{Effect, Error, ErrorKind};
use crate::identity::Identity;
use crate::metadata::FileKind;
use crate::options::Links;
use crate::path::{Name, RelPath};
use crate::rules;
use crate::tree::Budget;
use crate::verb::Verb;
use crate::verbs::{OpenOptions, TreeLimits, WriteOptions, Written};

use super::handle::FileHandle;
use super::interface::Files;
use super::node::{At, Node};
use super::places::{Places, Trailing, place_of};
use super::removal;
use super::resolve::{LastLink, bare, leads_through};
use super::types::{Attributes, Entry, Put};

/// How much of a file is copied at a time.
const CHUNK: usize = 256 * 1024;

/// What is copied at most of a file that says it is empty.
const WITHOUT_LENGTH: u64 = 64 << 20;

/// Copies a file. No other process sees the copy before it is complete.
pub(super) fn copy<F: Files + ?Sized>(
    files: &F,
    from: &RelPath,
    to: &RelPath,
    put: Put<'_>,
) -> Result<Written, Error> {
    let source = files.open_for(Verb::Copy, from, OpenOptions::new())?;
    let options = WriteOptions::new().created_mode(source.opened_metadata().mode & 0o777);
    let last = match put {
        // A new file is never looked for behind a link.
        Put::New => LastLink::Itself,
        _ => LastLink::Follow,
    };
    files.with_place(Verb::Copy, to, last, Trailing::File, |at, found| {
        if matches!(put, Put::New) && found.node.is_some() {
            return Err(Error::refused(ErrorKind::Exists, ""));
        }
        let mut staged = files.stage_at(at, options)?;
        each_chunk(&*source, |data, _| Ok(staged.write_all(data)?))?;
        staged.publish(put)
    })
}

/// Gives out the content that a file had when it was opened. What is added meanwhile is not waited
/// for, so that a file that keeps growing comes to an end.
fn each_chunk(
    file: &dyn FileHandle,
    mut take: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let len = match file.opened_metadata().len {
        // Files of procfs and the like have content and no length.
        0 => WITHOUT_LENGTH,
        len => len,
    };
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    while offset < len {
        let most = usize::try_from(len - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let got = file.read_at(&mut buffer[..most], offset)?;
        if got == 0 {
            break;
        }
        take(&buffer[..got], offset)?;
        offset += got as u64;
    }
    Ok(())
}

/// Copies a tree to a free name. It is its owner's alone until it is whole; what cannot be copied
/// ends the copy, and the part that was made is taken away again.
///
/// # Errors
/// As [`Files::copy_tree`].
pub fn copy_tree<F: Files + ?Sized>(
    files: &F,
    from: &RelPath,
    to: &RelPath,
    limits: TreeLimits,
) -> Result<(), Error> {
    if to.starts_with(from) {
        return Err(into_itself());
    }
    let source = files.node(from, LastLink::Follow)?;
    if !source.metadata().is_dir() {
        return Err(Error::refused(ErrorKind::NotADirectory, ""));
    }
    if leads_through(files, to, &source.metadata().identity)? {
        return Err(into_itself());
    }
    let found = files.resolve(to, LastLink::Itself, &mut |_| Ok(()))?;
    let (parent, name) = place_of(to, &found)?;
    match &found.node {
        Some(node) if node.metadata().is_dir() => {
            return Err(Error::refused(ErrorKind::IsADirectory, ""));
        }
        Some(_) => return Err(Error::refused(ErrorKind::Exists, "")),
        None => {}
    }
    let at = At::new(parent, name);
    let top = files.create_dir_at(at, PRIVATE)?;
    let mut copier = Copier {
        files,
        budget: Budget::new(limits),
        made: BTreeSet::from([key(&top)]),
        stack: Vec::new(),
    };
    copier.run(source, &top).map_err(|error| {
        let left = files
            .lookup(at.dir, at.name)
            .is_ok_and(|now| key(&now) == key(&top))
            && removal::remove_dir(files, at, &top, TreeLimits::new()).is_err();
        match left {
            true => error.with_effect(Effect::Visible),
            false => error,
        }
    })
}

/// The mode of a directory that is being filled.
const PRIVATE: u32 = 0o700;

/// A directory that is being copied.
struct Filling {
    source: Node,
    copy: Node,
    left: Vec<Entry>,
}

struct Copier<'a, F: Files + ?Sized> {
    files: &'a F,
    budget: Budget,
    /// The directories of the copy, which must not be copied into themselves.
    made: BTreeSet<(u64, u64)>,
    stack: Vec<Filling>,
}

impl<F: Files + ?Sized> Copier<'_, F> {
    fn run(&mut self, source: Node, copy: &Node) -> Result<(), Error> {
        self.enter(source, copy.clone())?;
        while let Some(top) = self.stack.last_mut() {
            let Some(entry) = top.left.pop() else {
                let done = self.stack.pop().expect("it was just looked at");
                let mode = Attributes::new().mode(done.source.metadata().mode & 0o777);
                self.files.set_attributes_of(&done.copy, &mode)?;
                continue;
            };
            let (source, copy) = (top.source.clone(), top.copy.clone());
            self.copy_entry(&source, &copy, &entry.name)?;
        }
        Ok(())
    }

    /// Lists a directory after its copy was made: a copy that lies in it is found and refused.
    fn enter(&mut self, source: Node, copy: Node) -> Result<(), Error> {
        let mut left = Vec::new();
        for entry in self.files.entries_of(&source)? {
            self.budget.spend_entry().map_err(bare)?;
            left.push(entry?);
        }
        // Taken from the end: what is no directory comes first.
        left.sort_by_key(|entry| entry.kind != FileKind::Dir);
        self.stack.push(Filling { source, copy, left });
        Ok(())
    }

    fn copy_entry(&mut self, from: &Node, to: &Node, name: &Name) -> Result<(), Error> {
        let node = self.files.lookup(from, name.as_ref())?;
        let at = At::new(to, name);
        match node.kind() {
            FileKind::Dir => {
                self.budget.check_depth(self.stack.len()).map_err(bare)?;
                if self.made.contains(&key(&node)) {
                    return Err(into_itself());
                }
                let copy = self.files.create_dir_at(at, PRIVATE)?;
                self.made.insert(key(&copy));
                self.enter(node, copy)
            }
            FileKind::File => self.copy_file(&node, at),
            FileKind::Symlink if self.files.links() == Links::Refuse => {
                Err(Error::refused(ErrorKind::Link, "a link is in the tree"))
            }
            FileKind::Symlink => {
                let target = self.files.link_of(&node)?;
                self.files.symlink_at(target.as_bytes(), at)
            }
            special => Err(bare(rules::special_fault(special))),
        }
    }

    fn copy_file(&self, node: &Node, at: At<'_>) -> Result<(), Error> {
        let from = self.files.open_node(node, OpenOptions::new())?;
        let how = OpenOptions::new()
            .read(false)
            .write(true)
            .create_new(true)
            .mode(from.opened_metadata().mode & 0o777);
        let to = self.files.create_at(at, how)?;
        each_chunk(&*from, |mut data, mut offset| {
            while !data.is_empty() {
                let written = to.write_at(data, offset)?;
                if written == 0 {
                    return Err(Error::refused(ErrorKind::Io, "nothing more can be written"));
                }
                data = &data[written..];
                offset += written as u64;
            }
            Ok(())
        })
    }
}

fn key(node: &Node) -> (u64, u64) {
    let Identity { device, inode, .. } = node.metadata().identity;
    (device, inode)
}

fn into_itself() -> Error {
    Error::refused(ErrorKind::Invalid, "a tree cannot be copied into itself")
}
