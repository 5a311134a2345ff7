//! The tree that an archive is written into before anybody sees it.
//!
//! Everything is made by a directory that is held and one name in it, under names that must be free.
//! Directories that are entered again have to be the objects that were made. Symbolic links are made last,
//! so that nothing is ever written through one.

mod dirs;
mod file;
mod scratch;

use std::collections::HashMap;

use handfast::files::{At, Attributes};
use handfast::{Error, ErrorKind, Identity, RelPath, Timestamp};

use crate::member::Member;
use crate::options::{LinkPolicy, Modes, Options, Overwrite};
use crate::target::Target;
use dirs::Dirs;
pub(crate) use file::Content;
use scratch::Scratch;

/// A staging tree.
pub(crate) struct Stage<'a> {
    // Before the scratch directory: what is held in a directory goes before the directory.
    dirs: Dirs,
    scratch: Scratch<'a>,
    how: How,
    /// The files that were made, where hard links may name them.
    files: HashMap<Box<[u8]>, (u64, u64)>,
    symlinks: Vec<(RelPath, Vec<u8>)>,
}

/// What of the options matters here.
#[derive(Clone, Copy)]
struct How {
    modes: Modes,
    times: bool,
    keeps_files: bool,
    overwrite: Overwrite,
    durable: bool,
}

impl<'a> Stage<'a> {
    /// Makes the staging tree: beside the target, whose name must be free, or in the directory that is
    /// merged into.
    pub(crate) fn begin(target: &Target<'a>, options: &Options<'_>) -> Result<Self, Error> {
        let scratch = Scratch::begin(target)?;
        if options.durable && scratch.root().is_none() {
            return Err(Error::refused(
                ErrorKind::Unsupported,
                "these files cannot promise that a tree is on the disk",
            ));
        }
        let top = scratch.make_tree()?;
        Ok(Self {
            dirs: Dirs::new(top),
            scratch,
            how: How {
                modes: options.modes,
                times: options.times,
                keeps_files: options.links == LinkPolicy::Inside,
                overwrite: options.overwrite,
                durable: options.durable,
            },
            files: HashMap::new(),
            symlinks: Vec::new(),
        })
    }

    /// Makes a directory for a member.
    pub(crate) fn dir(&mut self, path: &RelPath, member: &Member) -> Result<(), Error> {
        let files = self.scratch.files();
        let mode = match (self.how.modes, member.mode) {
            (Modes::Safe, Some(mode)) => mode & 0o755 | 0o700,
            (Modes::Exact, Some(mode)) => mode & 0o777,
            (Modes::Ignore, _) | (_, None) => 0o755,
        };
        // The top has the mode of any new directory, whatever the archive says of it.
        if path.is_root() {
            return Ok(());
        }
        let found = self.dirs.enter(files, path, mode | 0o700)?;
        let got = found.metadata().mode & 0o777;
        let wanted = match self.how.modes {
            Modes::Exact => mode,
            // It was made by a name below it, perhaps. What the umask took stays taken.
            _ => mode & got | 0o700,
        };
        let mut attributes = Attributes::new();
        if wanted != got {
            attributes = attributes.mode(wanted);
        }
        if let Some(modified) = self.modified(member) {
            attributes = attributes.times(None, Some(modified));
        }
        if attributes != Attributes::new() {
            self.dirs.finish_later(path.clone(), attributes);
        }
        Ok(())
    }

    /// Begins a file; no other process sees it before the tree is published.
    pub(crate) fn file(&mut self, path: &RelPath, member: &Member) -> Result<Content, Error> {
        let mode = match (self.how.modes, member.mode) {
            (Modes::Safe, Some(mode)) => mode & 0o755 | 0o600,
            (Modes::Exact, Some(mode)) => mode & 0o777,
            (Modes::Ignore, _) | (_, None) => 0o644,
        };
        let modified = self.modified(member);
        let (dir, name) = self.dirs.place(self.scratch.files(), path)?;
        let at = At::new(dir, &name);
        let begun = match Content::create(&self.scratch, at, mode) {
            // A later member takes the place of an earlier one: the judge saw both.
            Err(error)
                if error.kind() == ErrorKind::Exists
                    && self.how.overwrite == Overwrite::Replace =>
            {
                let files = self.scratch.files();
                files.remove_at(at, handfast::files::WhatToRemove::File)?;
                Content::create(&self.scratch, at, mode)?
            }
            begun => begun?,
        };
        if self.how.keeps_files {
            let key = path.as_bytes().into();
            self.files.insert(key, object(begun.identity()));
        }
        let exact = (self.how.modes == Modes::Exact && begun.mode() != mode).then_some(mode);
        Ok(begun.finished_with(exact, modified))
    }

    /// Ends a file.
    pub(crate) fn end_file(&mut self, path: &RelPath, content: Content) -> Result<(), Error> {
        let Some((identity, attributes)) = content.end()? else {
            return Ok(());
        };
        // No descriptor is at hand: the file is looked up again, and has to be the one that was made.
        let files = self.scratch.files();
        let (dir, name) = self.dirs.place(files, path)?;
        let node = files.lookup(dir, name.as_ref())?;
        require_same(&node.metadata().identity, object(&identity))?;
        files.set_attributes_of(&node, &attributes)
    }

    /// Gives a file of this tree another name.
    pub(crate) fn hard_link(&mut self, source: &RelPath, path: &RelPath) -> Result<(), Error> {
        let files = self.scratch.files();
        let made = self.files.get(source.as_bytes()).copied();
        let (dir, name) = self.dirs.place(files, source)?;
        let node = files.lookup(dir, name.as_ref())?;
        let made =
            made.ok_or_else(|| Error::refused(ErrorKind::Invalid, "not a file of the archive"))?;
        require_same(&node.metadata().identity, made)?;
        let (dir, name) = self.dirs.place(files, path)?;
        files.hard_link_at(&node, At::new(dir, &name))?;
        self.files.insert(path.as_bytes().into(), made);
        Ok(())
    }

    /// Remembers a link until everything else is there.
    pub(crate) fn symlink(&mut self, path: &RelPath, target: &[u8]) {
        self.symlinks.push((path.clone(), target.to_vec()));
    }

    /// Makes the links, finishes the directories and publishes the tree.
    pub(crate) fn publish(mut self, is_wanted: impl Fn(&RelPath) -> bool) -> Result<(), Error> {
        let files = self.scratch.files();
        for (path, target) in std::mem::take(&mut self.symlinks) {
            if is_wanted(&path) {
                let (dir, name) = self.dirs.place(files, &path)?;
                files.symlink_at(&target, At::new(dir, &name))?;
            }
        }
        let modes = self.dirs.finish(files, self.scratch.merges())?;
        let How {
            overwrite, durable, ..
        } = self.how;
        self.scratch
            .publish(self.dirs.top(), overwrite, &modes, durable)
    }

    fn modified(&self, member: &Member) -> Option<Timestamp> {
        let (seconds, nanoseconds) = member.modified.filter(|_| self.how.times)?;
        Some(Timestamp {
            seconds,
            nanoseconds,
        })
    }
}

fn object(identity: &Identity) -> (u64, u64) {
    (identity.device, identity.inode)
}

fn require_same(now: &Identity, made: (u64, u64)) -> Result<(), Error> {
    match object(now) == made {
        true => Ok(()),
        false => Err(Error::refused(
            ErrorKind::Raced,
            "another process exchanged a file or directory that was being extracted",
        )),
    }
}
