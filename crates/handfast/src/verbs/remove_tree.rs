//! Remove a whole tree.
//!
//! Iterative, with a constant number of descriptors. An entry is unlinked by name in a held
//! directory; only what turns out to be a directory is entered, by a lookup that follows nothing.
//! So an entry that is swapped for a link is unlinked as a link, and nothing outside is reached.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::remove_file::{check_denied, name_busy};
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::event::TouchedEntry;
use crate::metadata::{FileKind, Metadata};
use crate::op::Op;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::{CAUTIOUS, Root};
use crate::rules;
use crate::sys;
use crate::tree::{Budget, DirStack, Listing, Pending, TreeLimits};
use crate::verb::Verb;

/// How often one removal empties directories again that another process keeps filling.
const MAX_PASSES: u32 = 256;

/// How often one entry may change between directory and something else while it is removed.
const MAX_TURNS: u32 = 128;

impl Root {
    /// Removes a directory with everything in it, or any other entry itself.
    ///
    /// # Errors
    /// `NotFound` if nothing is there; `Busy` if another process keeps adding entries; `Mount` if
    /// something is mounted inside; `Denied` if an entry may not be removed. What was removed
    /// before an error stays removed, and the error's effect says so.
    ///
    /// # Security
    /// Links are removed and never followed, whatever another process does meanwhile.
    pub fn remove_tree(&self, path: &RelPath) -> Result<(), Error> {
        self.remove_tree_with(path, TreeLimits::new())
    }

    /// As [`Root::remove_tree`], with limits.
    ///
    /// # Errors
    /// As [`Root::remove_tree`]; `Limit`.
    pub fn remove_tree_with(&self, path: &RelPath, limits: TreeLimits) -> Result<(), Error> {
        self.act(Verb::RemoveTree, path, |op| {
            let place = resolve::place(self, path, Last::Itself)?;
            check_denied(self, &place)?;
            if path.must_be_dir() && !place.status()?.is_dir() {
                return Err(Fault::rule(ErrorKind::NotADirectory, ""));
            }
            let object = place.recorded_object(self);
            op.allow_in(place.recorded_parent(self)?, object.as_ref())?;
            let mut removal = Removal::new(self, limits, Some(op));
            removal
                .remove(place.dir.as_fd(), place.name.as_c_str())
                .map_err(|fault| name_busy(&place, fault))
                .map_err(|fault| removal.with_effect(fault))
        })
    }
}

/// A removal under way.
pub(super) struct Removal<'a, 'op> {
    root: &'a Root,
    budget: Budget,
    removed: u64,
    /// How often a directory was not empty after all.
    passes: u32,
    op: Option<&'a mut Op<'op>>,
    /// The tree is one that we made and that no other process has seen: what is not writable in it was made
    /// so by us.
    own: bool,
    /// Only what belongs to this user is removed; the first entry that does not ends the removal.
    user: Option<u32>,
    met_foreign: bool,
}

/// What became of an attempt to enter a directory.
enum Entered {
    Dir(OwnedFd),
    /// It was unlinked as something else, or was gone.
    Gone,
}

impl<'a, 'op> Removal<'a, 'op> {
    pub(super) fn new(root: &'a Root, limits: TreeLimits, op: Option<&'a mut Op<'op>>) -> Self {
        Self {
            root,
            budget: Budget::new(limits),
            removed: 0,
            passes: 0,
            op,
            own: false,
            user: None,
            met_foreign: false,
        }
    }

    /// For a tree of our own that was not published.
    pub(super) fn of_own(root: &'a Root, limits: TreeLimits) -> Self {
        Self {
            own: true,
            ..Self::new(root, limits, None)
        }
    }

    /// For a tree that a process of the same user left: what others put into it is not touched.
    pub(super) fn of_user(root: &'a Root, limits: TreeLimits, user: u32) -> Self {
        Self {
            user: Some(user),
            ..Self::of_own(root, limits)
        }
    }

    /// Whether it ended at an object of another user.
    pub(super) fn met_foreign(&self) -> bool {
        self.met_foreign
    }

    /// Whether an object may go, where only one user's may.
    fn check_user(&mut self, status: &Metadata) -> Result<(), Fault> {
        if self.user.is_none_or(|user| user == status.uid) {
            return Ok(());
        }
        self.met_foreign = true;
        Err(Fault::rule(
            ErrorKind::Denied,
            "something in it belongs to another user",
        ))
    }

    fn with_effect(&self, fault: Fault) -> Fault {
        match (fault.effect, self.removed) {
            (Effect::None, 1..) => fault.with_effect(Effect::Visible),
            _ => fault,
        }
    }

    /// Removes one entry of a held directory, with all that is below it.
    pub(super) fn remove(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Fault> {
        // Unlink first: whatever is not a directory is gone then, and nothing was looked at.
        match sys::unlink_at(dir, name) {
            Ok(()) => return Ok(()),
            Err(fault) if is_directory(&fault) => {}
            Err(fault) => return Err(fault),
        }
        while self.passes <= MAX_PASSES {
            match self.enter(dir, name)? {
                Entered::Gone => return Ok(()),
                Entered::Dir(fd) => drop(self.empty(fd)?),
            }
            if self.remove_dir(dir, name)? {
                return Ok(());
            }
            self.passes += 1;
        }
        Err(self.keeps_growing())
    }

    /// Removes a directory that is already held, and nothing that gets its name meanwhile: needs no
    /// further descriptor if it has no directories in it.
    pub(super) fn remove_held(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        held: OwnedFd,
    ) -> Result<(), Fault> {
        let identity = sys::status(&held)?.identity;
        let mut held = self.empty(held)?;
        while self.passes <= MAX_PASSES {
            match sys::status_at(dir, name) {
                Ok(now) if now.identity.same_object(&identity) => {}
                Ok(_) => return Err(Fault::rule(ErrorKind::Raced, "something else has its name")),
                Err(fault) if fault.is(Errno::NOENT) => return Ok(()),
                Err(fault) => return Err(fault),
            }
            if self.remove_dir(dir, name)? {
                return Ok(());
            }
            self.passes += 1;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
            held = self.empty(sys::open_at(&held, c".", flags, Mode::empty())?)?;
        }
        Err(self.keeps_growing())
    }

    /// Removes everything below a directory, and gives it back.
    fn empty(&mut self, top: OwnedFd) -> Result<OwnedFd, Fault> {
        let mut stack = DirStack::new(top);
        let mut pending = Pending::new();
        let mut listing = Listing::new();
        self.clear_files(&stack, &mut listing, &mut pending)?;
        loop {
            if let Some(name) = pending.pop() {
                self.budget.check_depth(stack.depth() + 1)?;
                if let Entered::Dir(fd) = self.enter(stack.current(), &name)? {
                    stack.push(name.to_bytes(), fd)?;
                    pending.enter_level();
                    self.clear_files(&stack, &mut listing, &mut pending)?;
                }
                continue;
            }
            if stack.is_top() {
                return Ok(stack.into_current());
            }
            let name = CString::new(stack.name()).map_err(|_| Fault::rule(ErrorKind::Io, ""))?;
            let path = self.is_recorded().then(|| stack.path().to_vec());
            drop(stack.pop()?);
            pending.leave_level();
            if self.remove_dir(stack.current(), &name)? {
                self.touch(path, FileKind::Dir)?;
                continue;
            }
            // Another process added entries meanwhile: enter it once more.
            self.passes += 1;
            if self.passes > MAX_PASSES {
                return Err(self.keeps_growing());
            }
            if let Entered::Dir(fd) = self.enter(stack.current(), &name)? {
                stack.push(name.to_bytes(), fd)?;
                pending.enter_level();
                self.clear_files(&stack, &mut listing, &mut pending)?;
            }
        }
    }

    /// Unlinks what is not a directory in the current one, and notes what is.
    fn clear_files(
        &mut self,
        stack: &DirStack,
        listing: &mut Listing,
        pending: &mut Pending,
    ) -> Result<(), Fault> {
        if self.own {
            if self.user.is_some() {
                self.check_user(&sys::status(stack.current())?)?;
            }
            // Where this fails, the entries tell. From here on nobody else puts anything into it.
            drop(sys::chmod_open(stack.current(), 0o700));
        }
        listing.restart();
        while let Some(listed) = listing.next(stack.current())? {
            self.budget.spend_entry()?;
            self.check_denied(stack.current(), listed.name)?;
            if self.user.is_some() {
                self.check_user(&sys::status_at(stack.current(), listed.name)?)?;
            }
            if listed.kind == FileKind::Dir {
                pending.push(listed.name);
                continue;
            }
            match sys::unlink_at(stack.current(), listed.name) {
                Ok(()) => {
                    self.removed += 1;
                    if self.is_recorded() {
                        let mut path = stack.path().to_vec();
                        if !path.is_empty() {
                            path.push(b'/');
                        }
                        path.extend_from_slice(listed.name.to_bytes());
                        self.touch(Some(path), listed.kind)?;
                    }
                }
                Err(fault) if fault.is(Errno::NOENT) => {}
                Err(fault) if is_directory(&fault) => pending.push(listed.name),
                Err(fault) => return Err(self.name_fault(stack.current(), listed.name, fault)),
            }
        }
        Ok(())
    }

    /// Opens a directory for emptying; what is something else by now is unlinked.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<Entered, Fault> {
        if self.own {
            let pin = sys::open_at(dir, name, sys::PIN, Mode::empty())?;
            let status = sys::status(&pin)?;
            rules::check_passage(self.root, &status)?;
            self.check_user(&status)?;
            // A directory that its owner may not read; where this fails, opening it tells.
            if status.is_dir() {
                drop(sys::chmod_pinned(&pin, 0o700));
            }
        }
        for _ in 0..MAX_TURNS {
            match resolve::open_child_dir(self.root, dir, name) {
                Ok(fd) => return Ok(Entered::Dir(fd)),
                Err(fault) if fault.kind == ErrorKind::NotFound => return Ok(Entered::Gone),
                Err(fault) if matches!(fault.kind, ErrorKind::Link | ErrorKind::NotADirectory) => {}
                // A directory that cannot be listed can still be removed if it is empty.
                Err(fault) if fault.kind == ErrorKind::Denied => {
                    return match sys::rmdir_at(dir, name) {
                        Ok(()) => Ok(Entered::Gone),
                        Err(_) => Err(fault),
                    };
                }
                Err(fault) => return Err(fault),
            }
            match sys::unlink_at(dir, name) {
                Ok(()) => {
                    self.removed += 1;
                    return Ok(Entered::Gone);
                }
                Err(fault) if fault.is(Errno::NOENT) => return Ok(Entered::Gone),
                // It is a directory again. Look again.
                Err(fault) if is_directory(&fault) => {}
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::rule(ErrorKind::Raced, ""))
    }

    /// Removes a directory that should be empty by now; `false` if it is not.
    fn remove_dir(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<bool, Fault> {
        match sys::rmdir_at(dir, name) {
            Ok(()) => {
                self.removed += 1;
                Ok(true)
            }
            Err(fault) if fault.is(Errno::NOENT) => Ok(true),
            Err(fault) if fault.is(Errno::NOTEMPTY) => Ok(false),
            // It was swapped for something else, which the next pass unlinks.
            Err(fault) if fault.is(Errno::NOTDIR) => Ok(false),
            Err(fault) => Err(self.name_fault(dir, name, fault)),
        }
    }

    fn check_denied(&self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Fault> {
        if self.root.options.denied.is_empty() {
            return Ok(());
        }
        match sys::status_at(dir, name) {
            Ok(status) if self.root.is_denied(&status) => Err(Fault::rule(
                ErrorKind::Denied,
                "an object in the tree is never given out",
            )),
            _ => Ok(()),
        }
    }

    /// Whether anybody wants to know every entry.
    fn is_recorded(&self) -> bool {
        self.op.as_ref().is_some_and(|op| op.is_recorded())
    }

    fn touch(&mut self, path: Option<Vec<u8>>, kind: FileKind) -> Result<(), Fault> {
        match (&mut self.op, path) {
            (Some(op), Some(path)) => op.touch(TouchedEntry { path, kind }),
            _ => Ok(()),
        }
    }

    fn name_fault(&self, dir: BorrowedFd<'_>, name: &CStr, fault: Fault) -> Fault {
        if fault.is(Errno::BUSY) && sys::status_at(dir, name).is_ok_and(|status| status.mount_root)
        {
            return fault.with_kind(ErrorKind::Mount, "something is mounted inside");
        }
        fault
    }

    fn keeps_growing(&self) -> Fault {
        Fault::rule(
            ErrorKind::Busy,
            format!(
                "another process keeps adding entries ({} were removed)",
                self.removed
            ),
        )
    }
}

/// How Linux says that `unlink` met a directory.
fn is_directory(fault: &Fault) -> bool {
    fault.is(Errno::ISDIR)
}
