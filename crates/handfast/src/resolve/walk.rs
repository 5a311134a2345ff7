//! The library walks: one component a call, links interpreted here.
//!
//! Every step is made from a held descriptor with `O_PATH|O_NOFOLLOW`, and what was reached is
//! asked of the descriptor. So a component can be swapped before or after its step, but never
//! between "is it a link?" and "go on from it". `..` occurs only in link targets; it is answered
//! from the stack of held directories and never looked up by the kernel, so a directory that is moved
//! away meanwhile leads nowhere new. No string with `/` is handed to the kernel.

use std::borrow::Cow;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::itinerary::{
    Itinerary, Move, Origin, check_held, escape, link_in_the_way, not_a_directory_on_the_way,
    origin,
};
use super::{Last, Opened, ParentFd, Place};
use crate::error::{ErrorKind, Fault};
use crate::identity::Identity;
use crate::options::Links;
use crate::path::{Limits, NameRef, RelPath};
use crate::root::{CAUTIOUS, Root};
use crate::rules;
use crate::sys;

/// How often a last component may turn from file to link and back while we look.
const MAX_TRIES: u32 = 128;

/// Where a walk ended.
enum End<'a> {
    /// At a name in the current directory, not yet looked at.
    Name(Cow<'a, [u8]>),
    /// At the current directory itself (a link's target ended in `..` or `.`).
    Here,
}

struct Walker<'a> {
    root: &'a Root,
    /// Directories below the root, held; the last is the current one. Where links are refused
    /// only the current one is kept.
    held: Vec<OwnedFd>,
    way: Itinerary<'a>,
}

impl<'a> Walker<'a> {
    fn new(root: &'a Root, path: &'a RelPath) -> Self {
        Self {
            root,
            held: Vec::new(),
            way: Itinerary::new(path.as_ref()),
        }
    }

    fn current(&self) -> BorrowedFd<'_> {
        self.held
            .last()
            .map_or(self.root.pinned.fd.as_fd(), AsFd::as_fd)
    }

    /// Walks until one name is left, or none.
    fn run(&mut self) -> Result<End<'a>, Fault> {
        while let Some(step) = self.way.next() {
            match step {
                Move::Down(name) if self.way.is_done() => return Ok(End::Name(name)),
                Move::Down(name) => self.enter(&name)?,
                Move::Stay => self.require_search()?,
                Move::Up => {
                    self.require_search()?;
                    if self.held.pop().is_none() && self.root.link_policy() != Links::InRoot {
                        return Err(escape());
                    }
                }
            }
        }
        Ok(End::Here)
    }

    /// One step down, or aside where a link says so.
    fn enter(&mut self, name: &[u8]) -> Result<(), Fault> {
        #[cfg(handfast_sabotage)]
        let name = &*crate::sabotage::slashed(name);
        let fd = sys::open_at(self.current(), name, sys::PIN, Mode::empty())?;
        let status = sys::status(&fd)?;
        rules::check_passage(self.root, &status)?;
        if status.is_dir() {
            if self.root.link_policy() == Links::Refuse {
                self.held.clear();
            }
            check_held(self.held.len())?;
            self.held.push(fd);
            return Ok(());
        }
        if status.is_symlink() {
            return self.splice(&fd);
        }
        Err(not_a_directory_on_the_way())
    }

    /// Puts a link's target before what is still to be done.
    fn splice(&mut self, link: &OwnedFd) -> Result<(), Fault> {
        if self.root.link_policy() == Links::Refuse {
            return Err(link_in_the_way());
        }
        self.way.count_link()?;
        sys::check_links_followed(link, self.current())?;
        let target = sys::readlink_pinned(link)?;
        if origin(&target) == Origin::Absolute {
            if self.root.link_policy() != Links::InRoot {
                return Err(escape());
            }
            self.held.clear();
        }
        self.way.splice(&target);
        Ok(())
    }

    /// The kernel wants search permission on a directory even to leave it.
    fn require_search(&self) -> Result<(), Fault> {
        sys::status_at(self.current(), c".").map(drop)
    }

    /// Follows the last component if it is a link; otherwise says what it is.
    fn splice_last(&mut self, name: &[u8]) -> Result<bool, Fault> {
        let fd = sys::open_at(self.current(), name, sys::PIN, Mode::empty())?;
        let status = sys::status(&fd)?;
        rules::check_passage(self.root, &status)?;
        if !status.is_symlink() {
            return Ok(false);
        }
        self.splice(&fd)?;
        Ok(true)
    }

    fn into_place(mut self, name: &[u8]) -> Result<Place, Fault> {
        Ok(Place {
            name: NameRef::check(name, &Limits::DEFAULT)?.to_name(),
            through_link: self.way.through_link(),
            dir: match self.held.pop() {
                Some(fd) => ParentFd::Below(fd),
                None => ParentFd::Root(self.root.clone()),
            },
        })
    }
}

fn raced() -> Fault {
    Fault::rule(ErrorKind::Raced, "")
}

pub(super) fn open(
    root: &Root,
    path: &RelPath,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> Result<Opened, Fault> {
    let mut walker = Walker::new(root, path);
    for _ in 0..MAX_TRIES {
        let End::Name(name) = walker.run()? else {
            // The directory itself: `.` from its own descriptor cannot be anything else.
            let flags = flags - OFlags::NOFOLLOW;
            return sys::open_at(walker.current(), c".", flags, mode).map(Opened::from);
        };
        let flags = if walker.way.must_be_dir() {
            flags | OFlags::DIRECTORY
        } else {
            flags
        };
        match open_last(&walker, &name, flags, mode, last)? {
            Some(opened) => return Ok(opened),
            None => {
                if !walker.splice_last(&name)? {
                    // It was a link a moment ago. Look again.
                    walker.way.again(name);
                }
            }
        }
    }
    Err(raced())
}

/// Opens the last component. `None` if it is a link that has to be followed.
fn open_last(
    walker: &Walker<'_>,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> Result<Option<Opened>, Fault> {
    let root = walker.root;
    let pinning = flags.contains(OFlags::PATH);
    if pinning || flags.contains(OFlags::DIRECTORY) {
        return open_last_pinned(walker, name, flags, mode, last);
    }
    match sys::open_at(walker.current(), name, flags | OFlags::NOFOLLOW, mode) {
        Ok(fd) => Ok(Some(fd.into())),
        Err(fault) if fault.is(Errno::LOOP) => match (last, root.link_policy()) {
            (Last::Follow, Links::Beneath | Links::InRoot) => Ok(None),
            _ => Err(link_in_the_way()),
        },
        Err(fault) if fault.is(Errno::AGAIN) => {
            Err(fault.with_kind(ErrorKind::Busy, "another process holds a lease on it"))
        }
        Err(fault) => Err(fault),
    }
}

/// Pins the last component, decides on its kind, and only then opens a directory: `O_DIRECTORY`
/// together with `O_NOFOLLOW` follows links on some kernels.
fn open_last_pinned(
    walker: &Walker<'_>,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> Result<Option<Opened>, Fault> {
    let root = walker.root;
    let fd = sys::open_at(walker.current(), name, sys::PIN, Mode::empty())?;
    let status = sys::status(&fd)?;
    rules::check_passage(root, &status)?;
    let wants_dir = flags.contains(OFlags::DIRECTORY);
    if status.is_symlink() {
        match (last, root.link_policy()) {
            (Last::Follow, Links::Beneath | Links::InRoot) => return Ok(None),
            (Last::Follow, Links::Refuse) => return Err(link_in_the_way()),
            (Last::Itself, _) if wants_dir => return Err(not_a_directory()),
            (Last::Itself, _) => {}
        }
    }
    if wants_dir && !status.is_dir() {
        return Err(not_a_directory());
    }
    if flags.contains(OFlags::PATH) {
        let status = Some(status);
        return Ok(Some(Opened { fd, status }));
    }
    reopen_dir(walker.current(), &fd, name, flags, mode).map(|fd| Some(fd.into()))
}

/// Opens a pinned directory for listing. Its own `.` cannot be anything else, but needs search
/// permission, which listing does not; then it is opened by name and compared.
fn reopen_dir(
    dir: BorrowedFd<'_>,
    pin: &OwnedFd,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Fault> {
    match sys::open_at(pin, c".", flags - OFlags::NOFOLLOW, mode) {
        Err(fault) if fault.is(Errno::ACCESS) => {}
        opened => return opened,
    }
    let fd = sys::open_at(dir, name, flags | OFlags::NOFOLLOW, mode)?;
    if sys::status(&fd)?.identity == sys::status(pin)?.identity {
        Ok(fd)
    } else {
        Err(raced())
    }
}

fn not_a_directory() -> Fault {
    Fault::rule(ErrorKind::NotADirectory, "")
}

pub(super) fn place(root: &Root, path: &RelPath, last: Last) -> Result<Place, Fault> {
    let (walker, name) = find(root, path, last)?;
    walker.into_place(&name)
}

/// The place of the entry itself, and how many directories lie between it and the root.
pub(super) fn place_with_depth(root: &Root, path: &RelPath) -> Result<(Place, usize), Fault> {
    let (walker, name) = find(root, path, Last::Itself)?;
    let depth = walker.held.len();
    Ok((walker.into_place(&name)?, depth))
}

/// Whether the way to a path's parent leads through a directory.
pub(super) fn leads_through(
    root: &Root,
    path: &RelPath,
    directory: &Identity,
) -> Result<bool, Fault> {
    let (walker, _) = find(root, path, Last::Itself)?;
    for held in &walker.held {
        if sys::status(held)?.identity.same_object(directory) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Walks to the directory that holds what the path names.
fn find<'a>(
    root: &'a Root,
    path: &'a RelPath,
    last: Last,
) -> Result<(Walker<'a>, Cow<'a, [u8]>), Fault> {
    let mut walker = Walker::new(root, path);
    for _ in 0..MAX_TRIES {
        let End::Name(name) = walker.run()? else {
            return Err(Fault::rule(ErrorKind::IsADirectory, ""));
        };
        if last == Last::Follow && root.link_policy().are_followed() {
            match walker.splice_last(&name) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(fault) if fault.is(Errno::NOENT) => {}
                Err(fault) => return Err(fault),
            }
        }
        if walker.way.must_be_dir() {
            // A link's target ended in `/`: only a directory may be there, and no verb that
            // asks for a place wants one. The kind of the object that is there names the error.
            return Err(match sys::status_at(walker.current(), &*name) {
                Ok(status) if status.is_dir() => Fault::rule(ErrorKind::IsADirectory, ""),
                Ok(_) => not_a_directory(),
                Err(fault) => fault,
            });
        }
        return Ok((walker, name));
    }
    Err(raced())
}

pub(super) fn open_child_dir(
    root: &Root,
    dir: BorrowedFd<'_>,
    name: &CStr,
) -> Result<OwnedFd, Fault> {
    let fd = sys::open_at(dir, name, sys::PIN, Mode::empty())?;
    let status = sys::status(&fd)?;
    rules::check_passage(root, &status)?;
    if status.is_symlink() {
        return Err(Fault::rule(ErrorKind::Link, ""));
    }
    if !status.is_dir() {
        return Err(not_a_directory());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
    reopen_dir(dir, &fd, name.to_bytes(), flags, Mode::empty())
}
