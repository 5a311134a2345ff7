//! Copy a whole tree.
//!
//! The copy is built in a staging directory beside the destination and renamed into place at the
//! end, so the destination appears whole or not at all.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use super::read_dir::open_listed;
use super::symlink::check_target;
use super::temp::StagingDir;
use crate::error::{Error, ErrorKind, Fault};
use crate::event::TouchedEntry;
use crate::identity::Identity;
use crate::metadata::FileKind;
use crate::op::Op;
use crate::options::Links;
use crate::path::RelPath;
use crate::resolve::{self, Place};
use crate::root::{CAUTIOUS, Root};
use crate::rules::{self, Want};
use crate::staging::copy_content;
use crate::sys;
use crate::tree::{Budget, DirStack, Listing, Pending, TreeLimits};
use crate::verb::Verb;

impl Root {
    /// Copies a directory with everything in it to a name that must be free.
    ///
    /// Permission bits are copied (without set-id bits); owners, times, extended attributes and
    /// hard links between files are not. Links inside are copied where links may be followed and
    /// they stay beneath, and are `Link` otherwise. Special files are `Kind`.
    ///
    /// # Errors
    /// `IsADirectory` or `Exists` if the destination is taken; `Invalid` if it lies inside the source; otherwise as
    /// [`Root::walk`] and [`Root::copy`]. Nothing is left behind then.
    pub fn copy_tree(&self, from: &RelPath, to: &RelPath) -> Result<(), Error> {
        self.copy_tree_with(from, to, TreeLimits::new())
    }

    /// As [`Root::copy_tree`], with limits.
    ///
    /// # Errors
    /// As [`Root::copy_tree`]; `Limit`.
    pub fn copy_tree_with(
        &self,
        from: &RelPath,
        to: &RelPath,
        limits: TreeLimits,
    ) -> Result<(), Error> {
        self.act_on_two(Verb::CopyTree, from, to, |op| {
            if is_inside(to, from) {
                return Err(into_itself());
            }
            let source = open_listed(self, from)?;
            let status = sys::status(&source)?;
            rules::check_passage(self, &status)?;
            if resolve::leads_through(self, to, &status.identity)? {
                return Err(into_itself());
            }
            let (place, depth) = resolve::place_with_depth(self, to)?;
            require_free(&place)?;
            op.allow_in(place.recorded_parent(self)?, Some(&status))?;
            let mut staging = StagingDir::create(self, place.dir.as_fd())?;
            let top = staging.reopen()?;
            let mut copier = Copier {
                root: self,
                op,
                source: DirStack::new(source),
                copy: DirStack::new(top),
                modes: vec![status.mode & 0o777],
                depth: depth + 1,
                budget: Budget::new(limits),
                made: BTreeSet::from([key(staging.identity())]),
            };
            let mode = copier.run()?;
            staging.publish_new(&place, Some(mode)).map_err(|fault| {
                // Another process took the name meanwhile.
                match (fault.kind, require_free(&place)) {
                    (ErrorKind::Exists, Err(named)) => named,
                    _ => fault,
                }
            })
        })
    }
}

fn key(identity: &Identity) -> (u64, u64) {
    (identity.device, identity.inode)
}

/// Looked at before the work, so that it is not done in vain; the rename at its end decides.
fn require_free(place: &Place) -> Result<(), Fault> {
    match place.status() {
        Ok(status) if status.is_dir() => Err(Fault::rule(ErrorKind::IsADirectory, "")),
        Ok(_) => Err(Fault::rule(ErrorKind::Exists, "")),
        Err(fault) if fault.kind == ErrorKind::NotFound => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// A user who may write the parent can remove the copy while it is empty.
fn copy_is_gone(fault: Fault) -> Fault {
    match fault.kind {
        ErrorKind::NotFound => {
            fault.with_kind(ErrorKind::Raced, "another process removed the copy")
        }
        _ => fault,
    }
}

fn into_itself() -> Fault {
    Fault::rule(ErrorKind::Invalid, "a tree cannot be copied into itself")
}

/// Whether one path lies at or below another, as they are spelled. A destination that somebody
/// moves inside meanwhile meets its own staging directory and is stopped there.
fn is_inside(inner: &RelPath, outer: &RelPath) -> bool {
    let mut segments = inner.segments();
    outer.segments().all(|name| segments.next() == Some(name))
}

struct Copier<'a, 'op> {
    root: &'a Root,
    op: &'a mut Op<'op>,
    source: DirStack,
    copy: DirStack,
    /// Modes of the directories under way; given to them when they are full, so that a read-only
    /// one can be filled.
    modes: Vec<u32>,
    /// Directories between the root and the top of the copy.
    depth: usize,
    budget: Budget,
    /// The directories of the copy, which must not be copied into themselves.
    made: BTreeSet<(u64, u64)>,
}

impl Copier<'_, '_> {
    /// Copies everything, and gives back the mode that the top of the copy gets at last.
    fn run(&mut self) -> Result<u32, Fault> {
        let mut pending = Pending::new();
        let mut listing = Listing::new();
        self.copy_entries(&mut listing, &mut pending)?;
        loop {
            if let Some(name) = pending.pop() {
                self.budget.check_depth(self.source.depth() + 1)?;
                self.enter(&name)?;
                pending.enter_level();
                self.copy_entries(&mut listing, &mut pending)?;
                continue;
            }
            let mode = self.modes.pop().unwrap_or(0o700);
            if self.source.is_top() {
                return Ok(mode);
            }
            sys::chmod_open(self.copy.current(), mode)?;
            // `..` needs the directory to be searchable: the mode was set through a descriptor
            // that stays open until after the step up.
            drop(self.source.pop()?);
            drop(self.copy.pop()?);
            pending.leave_level();
        }
    }

    fn copy_entries(&mut self, listing: &mut Listing, pending: &mut Pending) -> Result<(), Fault> {
        listing.restart();
        while let Some(listed) = listing.next(self.source.current())? {
            self.budget.spend_entry()?;
            let mut kind = listed.kind;
            if kind == FileKind::Unknown {
                kind = sys::status_at(self.source.current(), listed.name)?.kind;
            }
            match kind {
                FileKind::Dir => pending.push(listed.name),
                FileKind::File => self.copy_file(listed.name)?,
                FileKind::Symlink => self.copy_link(listed.name)?,
                special => return Err(rules::special_fault(special)),
            }
            self.touch(listed.name, kind)?;
        }
        Ok(())
    }

    fn copy_file(&self, name: &CStr) -> Result<(), Fault> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAUTIOUS;
        let from = sys::open_at(self.source.current(), name, flags, Mode::empty())?;
        let status = sys::status(&from)?;
        rules::check_file(self.root, &status, Want::Read)?;
        rules::require_own_name_in(self.root, self.source.current(), name, &from, Want::Read)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(status.mode & 0o777);
        let to = sys::open_at(self.copy.current(), name, flags, mode).map_err(copy_is_gone)?;
        copy_content(&from, &to)
    }

    fn copy_link(&self, name: &CStr) -> Result<(), Fault> {
        if self.root.link_policy() == Links::Refuse {
            return Err(Fault::rule(ErrorKind::Link, "a link is in the tree"));
        }
        let target = sys::readlink_at(self.source.current(), name)?;
        check_target(&target, self.depth + self.copy.depth())?;
        sys::symlink_at(&target[..], self.copy.current(), name).map_err(copy_is_gone)
    }

    fn enter(&mut self, name: &CString) -> Result<(), Fault> {
        let from = resolve::open_child_dir(self.root, self.source.current(), name)?;
        let status = sys::status(&from)?;
        rules::check_passage(self.root, &status)?;
        if self.made.contains(&key(&status.identity)) {
            return Err(into_itself());
        }
        sys::mkdir_at(
            self.copy.current(),
            name.as_c_str(),
            Mode::from_raw_mode(0o700),
        )
        .map_err(copy_is_gone)?;
        let to = self.open_made(name)?;
        self.made.insert(key(&sys::status(&to)?.identity));
        self.source.push(name.to_bytes(), from)?;
        self.copy.push(name.to_bytes(), to)?;
        self.modes.push(status.mode & 0o777);
        Ok(())
    }

    fn open_made(&self, name: &CString) -> Result<OwnedFd, Fault> {
        resolve::open_child_dir(self.root, self.copy.current(), name).map_err(|fault| {
            match fault.kind {
                ErrorKind::Link | ErrorKind::NotADirectory | ErrorKind::NotFound => {
                    fault.with_kind(ErrorKind::Raced, "")
                }
                _ => fault,
            }
        })
    }

    fn touch(&mut self, name: &CStr, kind: FileKind) -> Result<(), Fault> {
        if !self.op.is_recorded() {
            return Ok(());
        }
        let mut path = self.source.path().to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        self.op.touch(TouchedEntry { path, kind })
    }
}
