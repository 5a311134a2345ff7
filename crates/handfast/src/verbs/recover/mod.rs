//! Clean up after writers that died.
//!
//! A staging name says which object it was made for; the object's writer holds a lock on it, and
//! conditional writers hold one on the directory. What is the object it was made for and is not
//! locked is dead and ours. So is an empty file or directory under a name of ours that does not
//! tell yet what it was made for: its maker died (or is about to fail) before it put anything into
//! it. Everything else is kept and reported, and so is whatever belongs to another user.

mod leftover;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use self::leftover::Leftover;
use super::open_dir_place;
use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::FileKind;
use crate::path::{NameRef, RelPath};
use crate::resolve;
use crate::root::{CAUTIOUS, Root};
use crate::staging::{PREFIX, Role, StagingName};
use crate::sys;
use crate::tree::{Budget, DirStack, Listing, Pending, TreeLimits};
use crate::verb::Verb;

/// How long `recover` may take if the caller sets no limit.
const RECOVER_TIMEOUT: Duration = Duration::from_secs(600);

/// Public names of one file that are looked at.
const MAX_NAMES: usize = 8;

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
    /// The outcome's name, as it is in JSON.
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
    /// provably ours and dead. Ten minutes at most; [`Root::recover_with`] sets other limits.
    ///
    /// # Errors
    /// As [`Root::walk`]; `Limit`. Nothing is removed that cannot be proven.
    ///
    /// # Security
    /// Only what belongs to the caller is removed, at every level of a tree; what belongs to others is
    /// kept and reported, for their own `recover`. To compare digests no more is read in all than
    /// [`RootOptions::read_limit`](crate::RootOptions::read_limit); what is beyond that is kept.
    pub fn recover(&self, path: &RelPath) -> Result<Vec<Recovered>, Error> {
        self.recover_with(path, TreeLimits::new().with_time(RECOVER_TIMEOUT))
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
                limits,
                user: sys::making_user(),
                readable: Cell::new(self.options.read_limit.0),
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
    limits: TreeLimits,
    user: u32,
    readable: Cell<u64>,
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
        let published = self.published(&leftovers, listing)?;
        for name in leftovers {
            self.budget.spend_entry()?;
            let outcome = match self.handle(&name, &published) {
                Ok(Some(outcome)) => outcome,
                Ok(None) => continue,
                // One leftover that resists does not end the search.
                Err(fault) => RecoveryOutcome::Kept(fault.kind.sentence()),
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

    /// The public names of files that conditional writers exchanged in, by inode: one listing for
    /// all leftovers of a directory.
    fn published(
        &mut self,
        leftovers: &[CString],
        listing: &mut Listing,
    ) -> Result<BTreeMap<u64, Vec<CString>>, Fault> {
        let mut published: BTreeMap<u64, Vec<CString>> = leftovers
            .iter()
            .filter_map(|name| StagingName::parse(name.to_bytes()))
            .filter(|staging| staging.role == Role::File && staging.expected.is_some())
            .map(|staging| (staging.inode(), Vec::new()))
            .collect();
        if published.is_empty() {
            return Ok(published);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
        let fd = sys::open_at(self.stack.current(), c".", flags, Mode::empty())?;
        listing.restart();
        while let Some(listed) = listing.next(&fd)? {
            self.budget.spend_entry()?;
            if let Some(names) = published.get_mut(&listed.inode)
                && names.len() < MAX_NAMES
                && !listed.name.to_bytes().starts_with(PREFIX)
            {
                names.push(listed.name.to_owned());
            }
        }
        Ok(published)
    }

    /// `None` if it is gone by now.
    fn handle(
        &self,
        name: &CStr,
        published: &BTreeMap<u64, Vec<CString>>,
    ) -> Result<Option<RecoveryOutcome>, Fault> {
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
            name: NameRef::listed(name).to_name(),
            public: published.get(&staging.inode()).map_or(&[], Vec::as_slice),
            staging,
            status,
            limits: self.limits,
            user: self.user,
            readable: &self.readable,
        };
        leftover.settle().map(Some)
    }
}
