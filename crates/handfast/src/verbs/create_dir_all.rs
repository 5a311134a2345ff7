//! Create a directory and its missing parents.
//!
//! One lookup answers the common case that everything is there. Otherwise each level is made from
//! the held descriptor of the level above; nothing is looked up twice. What was made is removed
//! again, checked by identity, if a later level fails.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::made::Making;
use crate::dir::Dir;
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::options::Links;
use crate::path::{NameRef, RelPath};
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::rules;
use crate::staging::remove_if_same;
use crate::sys;
use crate::verb::Verb;

/// How often to begin again when directories vanish under our feet.
const MAX_TRIES: u32 = 16;

impl Root {
    /// Creates a directory and its missing parents, and returns the handle of the last one.
    ///
    /// # Errors
    /// `NotADirectory` or `Link` if another object is where a directory is needed (a link to
    /// a directory is fine where links may be followed); `Raced` if directories keep vanishing, or if
    /// a directory of another user has the name of one that was just made.
    ///
    /// # Security
    /// Every level is made in the held directory above it: a link that appears on the way is met,
    /// and never passed through unseen.
    pub fn create_dir_all(&self, path: &RelPath) -> Result<Dir, Error> {
        self.create_dir_all_with(path, 0o777)
    }

    /// As [`Root::create_dir_all`], with a mode for what is created.
    ///
    /// # Errors
    /// As [`Root::create_dir_all`].
    pub fn create_dir_all_with(&self, path: &RelPath, mode: u32) -> Result<Dir, Error> {
        self.act(Verb::CreateDirAll, path, |op| {
            op.allow(None)?;
            let mode = Mode::from_raw_mode(mode & 0o777);
            for _ in 0..MAX_TRIES {
                let dir = match self.existing_dir(path) {
                    Err(fault) if fault.kind == ErrorKind::NotFound => {
                        match Descent::new(self, path).run(mode) {
                            Err(fault) if fault.is(Errno::NOENT) => continue,
                            made => made?,
                        }
                    }
                    found => found?,
                };
                op.note(dir.opened_metadata());
                return Ok(dir);
            }
            Err(Fault::rule(
                ErrorKind::Raced,
                "directories on the way keep vanishing",
            ))
        })
    }

    fn existing_dir(&self, path: &RelPath) -> Result<Dir, Fault> {
        let (fd, metadata) = resolve::pin(self, path, resolve::pin_dir(), Last::Follow)?;
        Ok(Dir::new(self, path, fd, metadata))
    }
}

/// A directory that this call made, remembered so that it can be taken back: the segment it is,
/// and which object.
struct Made {
    level: usize,
    identity: Identity,
}

struct Descent<'a> {
    root: &'a Root,
    path: &'a RelPath,
    /// The directories entered so far, below the root.
    levels: Vec<(OwnedFd, Metadata)>,
    made: Vec<Made>,
    /// A directory was made just now, and it is not known yet which object it is.
    unproven: bool,
}

impl<'a> Descent<'a> {
    fn new(root: &'a Root, path: &'a RelPath) -> Self {
        Self {
            root,
            path,
            levels: Vec::with_capacity(path.depth()),
            made: Vec::new(),
            unproven: false,
        }
    }

    fn run(mut self, mode: Mode) -> Result<Dir, Fault> {
        for name in self.path.segments() {
            if let Err(fault) = self.enter(name, mode) {
                return Err(match self.take_back() && !self.unproven {
                    true => fault.with_effect(Effect::None),
                    // Some of what was made stays, and the answer says so.
                    false => fault.with_effect(Effect::Visible),
                });
            }
        }
        let (fd, metadata) = self
            .levels
            .pop()
            .ok_or_else(|| Fault::rule(ErrorKind::Exists, "the root itself is always there"))?;
        Ok(Dir::new(self.root, self.path, fd, metadata))
    }

    fn level(&self, index: usize) -> BorrowedFd<'_> {
        match index
            .checked_sub(1)
            .and_then(|index| self.levels.get(index))
        {
            Some((fd, _)) => fd.as_fd(),
            None => self.root.pinned.fd.as_fd(),
        }
    }

    fn enter(&mut self, name: NameRef<'_>, mode: Mode) -> Result<(), Fault> {
        let level = self.levels.len();
        let making = Making::begin(mode.as_raw_mode());
        let made = match sys::mkdir_at(self.level(level), name.as_bytes(), mode) {
            Ok(()) => true,
            // Fine, if it then opens as a directory.
            Err(fault) if fault.kind == ErrorKind::Exists => false,
            Err(fault) => return Err(fault),
        };
        self.unproven = made;
        let fd = sys::open_at(self.level(level), name.as_bytes(), sys::PIN, Mode::empty())?;
        let status = sys::status(&fd)?;
        if made {
            making.check(self.root, self.level(level), &status)?;
            self.unproven = false;
            self.made.push(Made {
                level,
                identity: status.identity,
            });
        }
        rules::check_passage(self.root, &status)?;
        if status.is_dir() {
            self.levels.push((fd, status));
            return Ok(());
        }
        if !status.is_symlink() {
            return Err(Fault::rule(ErrorKind::NotADirectory, ""));
        }
        if self.root.link_policy() == Links::Refuse {
            return Err(Fault::rule(ErrorKind::Link, "a link is on the way"));
        }
        // A link that stays beneath: one confined lookup of the prefix finds where it leads. A link
        // to nothing is a link: nothing is created through it.
        let prefix = self
            .path
            .segments()
            .take(level + 1)
            .fold(RelPath::root(), |prefix, name| prefix.join(name));
        let flags = resolve::pin_dir();
        let level = resolve::pin(self.root, &prefix, flags, Last::Follow).map_err(|fault| {
            match fault.kind {
                ErrorKind::NotFound => resolve::leads_to_nothing(),
                _ => fault,
            }
        })?;
        self.levels.push(level);
        Ok(())
    }

    /// Removes, in reverse, the empty directories that this call made, and says whether all are
    /// gone.
    fn take_back(&mut self) -> bool {
        let mut gone = true;
        for made in std::mem::take(&mut self.made).iter().rev() {
            let Some(name) = self.path.segments().nth(made.level) else {
                continue;
            };
            // Best effort: what is not empty or not ours any more stays.
            let dir = self.level(made.level);
            gone &= matches!(
                remove_if_same(dir, &name.to_name(), &made.identity),
                Ok(true)
            );
        }
        gone
    }
}
