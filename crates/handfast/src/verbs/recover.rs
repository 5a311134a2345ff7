//! Clean up after writers that died.
//!
//! A staging name tells which object it was made for; the object's writer holds a lock on it, and
//! conditional writers hold one on the directory. What is the object it was made for and is not
//! locked is dead and ours. So is an empty file or directory under a name of ours that does not
//! tell yet what it was made for: its maker died (or is about to fail) before it put anything into
//! it. Everything else is kept and reported.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use super::open_dir_place;
use super::remove_tree::Removal;
use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::path::{Name, NameRef, RelPath};
use crate::resolve;
use crate::root::{CAUTIOUS, Root};
use crate::staging::{Expected, PREFIX, Role, StagingName, remove_if_same};
use crate::sys;
use crate::tree::{Budget, DirStack, Listing, Pending, TreeLimits};
use crate::verb::Verb;
use crate::version::digest_of;

/// What became of one leftover.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum RecoveryOutcome {
    /// It was ours and dead, and is removed.
    Removed,
    /// A conditional write or removal was done but for the old file, which is now removed.
    Finished,
    /// A conditional write had displaced a file it did not expect, which has its name back.
    PutBack,
    /// Its writer is alive.
    InUse,
    /// It is kept, for this reason.
    Kept(&'static str),
}

impl RecoveryOutcome {
    /// The outcome's name, as it stands in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Finished => "finished",
            Self::PutBack => "put-back",
            Self::InUse => "in-use",
            Self::Kept(_) => "kept",
        }
    }
}

/// One leftover.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recovered {
    /// Its path as bytes, below the directory that was asked for.
    pub path: Vec<u8>,
    /// What became of it.
    pub outcome: RecoveryOutcome,
}

impl Root {
    /// Looks through a directory and all below it for what died writers left, and cleans up what is
    /// provably ours and dead.
    ///
    /// # Errors
    /// As [`Root::walk`]. Nothing is removed that cannot be proven.
    pub fn recover(&self, path: &RelPath) -> Result<Vec<Recovered>, Error> {
        self.recover_with(path, TreeLimits::new())
    }

    /// As [`Root::recover`], with limits.
    ///
    /// # Errors
    /// As [`Root::recover`]; `Limit`.
    pub fn recover_with(
        &self,
        path: &RelPath,
        limits: TreeLimits,
    ) -> Result<Vec<Recovered>, Error> {
        self.act(Verb::Recover, path, |op| {
            let top = open_dir_place(self, path)?;
            op.allow(None)?;
            let mut search = Search {
                root: self,
                stack: DirStack::new(top),
                pending: Pending::new(),
                budget: Budget::new(limits),
                found: Vec::new(),
            };
            search.run()?;
            Ok(search.found)
        })
    }
}

struct Search<'a> {
    root: &'a Root,
    stack: DirStack,
    pending: Pending,
    budget: Budget,
    found: Vec<Recovered>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut listing = Listing::new();
        self.search_dir(&mut listing)?;
        loop {
            let Some(name) = self.pending.pop() else {
                if self.stack.is_top() {
                    return Ok(());
                }
                drop(self.stack.pop()?);
                self.pending.leave_level();
                continue;
            };
            self.budget.check_depth(self.stack.depth() + 1)?;
            // What cannot be entered (gone, a mount, not ours to read) holds nothing of ours that
            // could be proven.
            if let Ok(fd) = resolve::open_child_dir(self.root, self.stack.current(), &name) {
                self.stack.push(name.to_bytes(), fd)?;
                self.pending.enter_level();
                self.search_dir(&mut listing)?;
            }
        }
    }

    fn search_dir(&mut self, listing: &mut Listing) -> Result<(), Fault> {
        let mut leftovers = Vec::new();
        listing.restart();
        while let Some(listed) = listing.next(self.stack.current())? {
            self.budget.spend_entry()?;
            if listed.name.to_bytes().starts_with(PREFIX) {
                leftovers.push(listed.name.to_owned());
            } else if matches!(listed.kind, FileKind::Dir | FileKind::Unknown) {
                self.pending.push(listed.name);
            }
        }
        for name in leftovers {
            let Some(outcome) = self.handle(&name)? else {
                continue;
            };
            let mut path = self.stack.path().to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            self.found.push(Recovered { path, outcome });
        }
        Ok(())
    }

    /// `None` if it is gone by now.
    fn handle(&self, name: &CStr) -> Result<Option<RecoveryOutcome>, Fault> {
        let dir = self.stack.current();
        let Some(staging) = StagingName::parse(name.to_bytes()) else {
            return Ok(Some(RecoveryOutcome::Kept("its name is none that we make")));
        };
        let status = match sys::status_at(dir, name) {
            Ok(status) => status,
            Err(fault) if fault.kind == ErrorKind::NotFound => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let leftover = Leftover {
            root: self.root,
            dir,
            name: NameRef::parse(name.to_bytes())
                .map_err(|_| Fault::rule(ErrorKind::Io, ""))?
                .to_name(),
            staging,
            status,
        };
        leftover.settle().map(Some)
    }
}

struct Leftover<'a> {
    root: &'a Root,
    dir: BorrowedFd<'a>,
    name: Name,
    staging: StagingName,
    status: Metadata,
}

impl Leftover<'_> {
    fn settle(&self) -> Result<RecoveryOutcome, Fault> {
        let ours = self.staging.is_for(&self.status);
        match (self.staging.role, self.status.kind, ours) {
            (Role::File, FileKind::File, true) => self.remove_file(),
            (Role::Tree, FileKind::Dir, true) => self.remove_dir(),
            (Role::Removed, FileKind::File, true) => self.finish_removal(),
            (Role::File, FileKind::File, false) if self.is_blank() => self.remove_file(),
            (Role::Tree, FileKind::Dir, false) if self.staging.inode() == 0 => {
                self.remove_blank_dir()
            }
            (Role::File, _, false) => self.settle_displaced(),
            _ => Ok(RecoveryOutcome::Kept(
                "it is not the object its name was made for",
            )),
        }
    }

    fn remove_file(&self) -> Result<RecoveryOutcome, Fault> {
        let Some(fd) = self.open()? else {
            return Ok(RecoveryOutcome::Kept(
                "it cannot be opened to ask for its lock",
            ));
        };
        match sys::try_lock(&fd, true) {
            Ok(true) => {}
            Ok(false) => return Ok(RecoveryOutcome::InUse),
            Err(_) => {
                return Ok(RecoveryOutcome::Kept(
                    "this filesystem has no locks to tell whether its writer lives",
                ));
            }
        }
        // With the lock in hand its writer is dead, or has published it under another name.
        match remove_if_same(self.dir, &self.name, &self.status.identity) {
            Ok(true) => Ok(RecoveryOutcome::Removed),
            Ok(false) => Ok(RecoveryOutcome::InUse),
            Err(fault) if fault.kind == ErrorKind::NotFound => Ok(RecoveryOutcome::InUse),
            Err(fault) => Err(fault),
        }
    }

    fn remove_dir(&self) -> Result<RecoveryOutcome, Fault> {
        let fd = resolve::open_child_dir(self.root, self.dir, self.name.as_c_str())?;
        match sys::try_lock(&fd, true) {
            Ok(true) => {}
            Ok(false) => return Ok(RecoveryOutcome::InUse),
            Err(_) => {
                return Ok(RecoveryOutcome::Kept(
                    "this filesystem has no locks to tell whether its maker lives",
                ));
            }
        }
        if !self.still_there()? {
            return Ok(RecoveryOutcome::InUse);
        }
        let mut removal = Removal::of_own(self.root);
        removal.remove(self.dir, self.name.as_c_str())?;
        Ok(RecoveryOutcome::Removed)
    }

    /// A file that got its first name and nothing else.
    fn is_blank(&self) -> bool {
        self.staging.inode() == 0 && self.status.len == 0 && self.status.nlink == 1
    }

    /// A directory that got its first name and nothing else. Removing an empty directory loses
    /// nothing, and one that is not empty does not let itself be removed.
    fn remove_blank_dir(&self) -> Result<RecoveryOutcome, Fault> {
        match sys::rmdir_at(self.dir, self.name.as_c_str()) {
            Ok(()) => Ok(RecoveryOutcome::Removed),
            Err(fault) if fault.kind == ErrorKind::NotFound => Ok(RecoveryOutcome::InUse),
            Err(fault) if fault.kind == ErrorKind::NotEmpty => Ok(RecoveryOutcome::Kept(
                "it is not the object its name was made for",
            )),
            Err(fault) => Err(fault),
        }
    }

    /// A file that a conditional removal moved aside. If it is what the removal expected, the
    /// removal is finished; otherwise nobody knows its old name any more.
    fn finish_removal(&self) -> Result<RecoveryOutcome, Fault> {
        let Some(_turn) = self.lock_dir()? else {
            return Ok(RecoveryOutcome::InUse);
        };
        if self.is_expected()? {
            return self.finish();
        }
        Ok(RecoveryOutcome::Kept(
            "a file that changed while it was being removed",
        ))
    }

    /// A conditional write exchanged names and died before it looked at what it displaced.
    fn settle_displaced(&self) -> Result<RecoveryOutcome, Fault> {
        if self.staging.expected.is_none() {
            return Ok(RecoveryOutcome::Kept(
                "it is not the object its name was made for",
            ));
        }
        let Some(_turn) = self.lock_dir()? else {
            return Ok(RecoveryOutcome::InUse);
        };
        if self.is_expected()? {
            return self.finish();
        }
        match self.find_published()? {
            Some(public) => {
                sys::rename_exchange(self.dir, self.name.as_c_str(), self.dir, public.as_c_str())?;
                let back = sys::status_at(self.dir, self.name.as_c_str())?;
                if !self.staging.is_for(&back) {
                    return Ok(RecoveryOutcome::Kept(
                        "somebody wrote while it was put back",
                    ));
                }
                remove_if_same(self.dir, &self.name, &back.identity)?;
                Ok(RecoveryOutcome::PutBack)
            }
            None => Ok(RecoveryOutcome::Kept(
                "an older file that a conditional write displaced",
            )),
        }
    }

    fn finish(&self) -> Result<RecoveryOutcome, Fault> {
        match remove_if_same(self.dir, &self.name, &self.status.identity)? {
            true => Ok(RecoveryOutcome::Finished),
            false => Ok(RecoveryOutcome::InUse),
        }
    }

    fn is_expected(&self) -> Result<bool, Fault> {
        let Some(expected) = &self.staging.expected else {
            return Ok(false);
        };
        if !expected.matches(&self.status) {
            return Ok(false);
        }
        self.digest_matches(expected)
    }

    fn digest_matches(&self, expected: &Expected) -> Result<bool, Fault> {
        if !expected.wants_digest() {
            return Ok(true);
        }
        match self.open()? {
            Some(fd) => Ok(expected.matches_digest(digest_of(&fd, u64::MAX)?)),
            None => Ok(false),
        }
    }

    /// The public name that our own file got by the exchange.
    fn find_published(&self) -> Result<Option<Name>, Fault> {
        let fd = self.reopen_dir()?;
        let mut listing = Listing::new();
        while let Some(listed) = listing.next(&fd)? {
            if listed.inode != self.staging.inode() {
                continue;
            }
            let is_ours =
                sys::status_at(&fd, listed.name).is_ok_and(|status| self.staging.is_for(&status));
            if is_ours && let Ok(name) = NameRef::parse(listed.name.to_bytes()) {
                return Ok(Some(name.to_name()));
            }
        }
        Ok(None)
    }

    fn still_there(&self) -> Result<bool, Fault> {
        let now = sys::status_at(self.dir, self.name.as_c_str())?;
        Ok(now.identity.same_object(&self.status.identity))
    }

    /// The leftover, opened for reading or writing; `None` if neither is allowed, or if it is
    /// another object by now.
    fn open(&self) -> Result<Option<OwnedFd>, Fault> {
        for access in [OFlags::RDONLY, OFlags::WRONLY] {
            let flags = access | OFlags::NOFOLLOW | CAUTIOUS;
            match sys::open_at(self.dir, self.name.as_c_str(), flags, Mode::empty()) {
                Ok(fd) => {
                    let same = sys::status(&fd)?
                        .identity
                        .same_object(&self.status.identity);
                    return Ok(same.then_some(fd));
                }
                Err(fault) if fault.kind == ErrorKind::Io => return Err(fault),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// The directory's lock, which conditional writers hold; `None` if one is at work.
    fn lock_dir(&self) -> Result<Option<OwnedFd>, Fault> {
        let fd = self.reopen_dir()?;
        Ok(sys::try_lock(&fd, true)?.then_some(fd))
    }

    fn reopen_dir(&self) -> Result<OwnedFd, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
        sys::open_at(self.dir.as_fd(), c".", flags, Mode::empty())
    }
}
