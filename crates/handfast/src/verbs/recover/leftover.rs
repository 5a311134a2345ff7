//! One leftover: whose it is, whether its writer lives, and what becomes of it.

use std::cell::Cell;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use super::super::remove_tree::Removal;
use super::RecoveryOutcome;
use crate::error::{ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::path::Name;
use crate::resolve;
use crate::root::{CAUTIOUS, Root};
use crate::staging::{Expected, Role, StagingName, remove_if_same};
use crate::sys;
use crate::tree::TreeLimits;
use crate::version::digest_of;

pub(super) struct Leftover<'a> {
    pub(super) root: &'a Root,
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: Name,
    pub(super) staging: StagingName,
    pub(super) status: Metadata,
    /// Other names in the directory that have the inode the name was made for.
    pub(super) public: &'a [CString],
    pub(super) limits: TreeLimits,
    /// Only what belongs to this user is removed.
    pub(super) user: u32,
    /// Bytes that may still be read to compare digests, for all leftovers together.
    pub(super) readable: &'a Cell<u64>,
}

const FOREIGN: &str = "it belongs to another user";

impl Leftover<'_> {
    pub(super) fn settle(&self) -> Result<RecoveryOutcome, Fault> {
        // A user who may write the directory can give anything a name like ours.
        if self.status.uid != self.user {
            return Ok(RecoveryOutcome::Kept(FOREIGN));
        }
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
        if !self.staging.has_mark(&fd) {
            return Ok(RecoveryOutcome::Kept(
                "it does not have the mark of who made it",
            ));
        }
        let mut removal = Removal::of_user(self.root, self.limits, self.user);
        match removal.remove_held(self.dir, self.name.as_c_str(), fd) {
            Err(_) if removal.met_foreign() => Ok(RecoveryOutcome::Kept(
                "something in it belongs to another user",
            )),
            removed => removed.map(|()| RecoveryOutcome::Removed),
        }
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
    /// removal is finished; otherwise its old name is not known any more.
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
        let published = self.find_published();
        let ours = published
            .as_ref()
            .and_then(|(public, _)| self.open_marked(public));
        if self.is_expected()? {
            if let Some(fd) = ours {
                // It stays, and is not ours any more.
                StagingName::unmark(fd)?;
            }
            return self.finish();
        }
        match published {
            // Inode and birth time are public: a user who may add names here could have made this one
            // for a file that is none of ours.
            Some(_) if ours.is_none() => Ok(RecoveryOutcome::Kept(
                "the file its name was made for does not have the mark of who made it",
            )),
            // Something was written to it since: that is newer than what it displaced.
            Some((_, now)) if now.modified > self.status.changed => Ok(RecoveryOutcome::Kept(
                "an older file; the newer one was changed since",
            )),
            Some((public, _)) => self.put_back(&public),
            None => Ok(RecoveryOutcome::Kept(
                "an older file that a conditional write displaced",
            )),
        }
    }

    fn put_back(&self, public: &CString) -> Result<RecoveryOutcome, Fault> {
        let (dir, name) = (self.dir, self.name.as_c_str());
        sys::rename_exchange(dir, name, dir, public.as_c_str())?;
        let back = sys::status_at(dir, name)?;
        if !self.staging.is_for(&back) {
            return Ok(RecoveryOutcome::Kept(
                "another process wrote while it was put back",
            ));
        }
        remove_if_same(dir, &self.name, &back.identity)?;
        Ok(RecoveryOutcome::PutBack)
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
        // An attacker may have planted a hole of any size, or many names of a large file.
        let Some(left) = self.readable.get().checked_sub(self.status.len) else {
            return Ok(false);
        };
        self.readable.set(left);
        match self.open()? {
            Some(fd) => {
                Ok(expected.matches_digest(digest_of(&fd, self.root.options.read_limit.0)?))
            }
            None => Ok(false),
        }
    }

    /// The public name that our own file got by the exchange, and what it is now.
    fn find_published(&self) -> Option<(CString, Metadata)> {
        self.public.iter().find_map(|name| {
            let now = sys::status_at(self.dir, name.as_c_str()).ok()?;
            self.staging.is_for(&now).then(|| (name.clone(), now))
        })
    }

    /// A file under a public name, if it has the mark of this leftover's maker.
    fn open_marked(&self, public: &CString) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAUTIOUS;
        let fd = sys::open_at(self.dir, public.as_c_str(), flags, Mode::empty()).ok()?;
        let is_it = self.staging.is_for(&sys::status(&fd).ok()?) && self.staging.has_mark(&fd);
        is_it.then_some(fd)
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
