//! Where a file goes, what is there now, and how the new one takes its place.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{WriteOptions, Written};
use crate::durability::Durability;
use crate::error::{Effect, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::{FileKind, Metadata};
use crate::options::Links;
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::{CAUTIOUS, Root};
use crate::rules;
use crate::staging::{AccessList, Draft, drop_inherited};
use crate::sys;

/// How often what the name refers to may turn into something else while we look.
const MAX_TRIES: u32 = 16;

/// Where a file goes, and what is there now.
pub(in crate::verbs) struct Target {
    pub(in crate::verbs) place: Place,
    seen: Seen,
}

/// What stood under the name.
#[derive(Default)]
pub(in crate::verbs) struct Seen {
    /// The file that is replaced, as it was when it was pinned.
    old: Option<Metadata>,
    /// Its descriptor, held so that its inode number is not given to another.
    _pin: Option<OwnedFd>,
}

impl Seen {
    /// What a new file takes over from the old one.
    fn predecessor<'a>(&'a self, place: &'a Place) -> Option<Predecessor<'a>> {
        Some(Predecessor {
            place,
            status: self.old.as_ref()?,
        })
    }

    pub(in crate::verbs) fn old(&self) -> Option<&Metadata> {
        self.old.as_ref()
    }
}

impl Target {
    pub(in crate::verbs) fn find(root: &Root, path: &RelPath) -> Result<Self, Fault> {
        resolve::require_file_path(root, path, Last::Follow)?;
        for _ in 0..MAX_TRIES {
            match Self::find_once(root, path) {
                Err(fault) if fault.kind == ErrorKind::Raced => {}
                found => return found,
            }
        }
        Err(Fault::rule(ErrorKind::Raced, ""))
    }

    fn find_once(root: &Root, path: &RelPath) -> Result<Self, Fault> {
        let place = resolve::place(root, path, Last::Itself)?;
        let seen = Self::look(root, &place)?;
        match seen.old() {
            Some(old) if old.is_symlink() => {}
            _ => return Ok(Self { place, seen }),
        }
        if root.link_policy() == Links::Refuse {
            return Err(Fault::rule(ErrorKind::Link, "the name is a symbolic link"));
        }
        let place = match resolve::place(root, path, Last::Follow) {
            Err(fault) if fault.kind == ErrorKind::NotFound => {
                return Err(resolve::leads_to_nothing());
            }
            place => place?,
        };
        let seen = Self::look(root, &place)?;
        match seen.old() {
            None if place.through_link => Err(resolve::leads_to_nothing()),
            // It was a file when the walk looked and is a link now.
            Some(old) if old.is_symlink() => Err(Fault::rule(ErrorKind::Raced, "")),
            _ => Ok(Self { place, seen }),
        }
    }

    /// Pins what the name refers to and applies the rules for being replaced.
    fn look(root: &Root, place: &Place) -> Result<Seen, Fault> {
        let pin = match sys::open_at(&place.dir, place.name.as_c_str(), sys::PIN, Mode::empty()) {
            Ok(pin) => pin,
            Err(fault) if fault.is(Errno::NOENT) => {
                return Ok(Seen::default());
            }
            Err(fault) => return Err(fault),
        };
        let old = sys::status(&pin)?;
        rules::check_passage(root, &old)?;
        match old.kind {
            FileKind::File => require_writable(place, &pin)?,
            FileKind::Symlink => {}
            FileKind::Dir => return Err(Fault::rule(ErrorKind::IsADirectory, "")),
            special => return Err(rules::special_fault(special)),
        }
        Ok(Seen {
            old: Some(old),
            _pin: Some(pin),
        })
    }

    /// What stood under the name when it was found.
    pub(in crate::verbs) fn old(&self) -> Option<&Metadata> {
        self.seen.old()
    }

    /// Looks at the name again, for a file that took long to write: what is there when it is
    /// published is what is judged, and whose mode is kept.
    pub(in crate::verbs) fn look_again(&self, root: &Root) -> Result<Option<Seen>, Fault> {
        let now = Self::look(root, &self.place)?;
        match now.old() {
            Some(now) if now.is_symlink() => Err(match root.link_policy() {
                Links::Refuse => Fault::rule(ErrorKind::Link, "the name is a symbolic link"),
                Links::Beneath | Links::InRoot => {
                    Fault::rule(ErrorKind::Raced, "the name became a link")
                }
            }),
            Some(_) => Ok(Some(now)),
            // It went. What its mode did not show is not shown now.
            None => Ok(None),
        }
    }

    /// Mode, owner, sync, rename, and a last look at the name. `now` is what a second look saw.
    pub(in crate::verbs) fn publish<D: AsFd>(
        &self,
        root: &Root,
        path: &RelPath,
        mut draft: Draft<D>,
        options: WriteOptions,
        now: Option<Seen>,
    ) -> Result<Written, Fault> {
        let seen = now.as_ref().unwrap_or(&self.seen);
        dress(&draft, seen.predecessor(&self.place), options.mode)?;
        let dir = DirSync::prepare(&self.place, options.durability)?;
        if options.durability.syncs_file() {
            sys::sync_all(draft.fd())?;
        }
        let identity = draft.publish(root, &self.place.name)?;
        verify_published(&self.place, draft.fd(), &identity)?;
        dir.sync()?;
        Ok(Written::new(draft.release(), path, identity))
    }

    /// The mode under which a draft is filled: nobody reads through it what the file it becomes
    /// would not show.
    pub(super) fn draft_mode(&self, options: WriteOptions) -> u32 {
        match self.old() {
            Some(_) => 0o600,
            None => options.new_draft_mode(),
        }
    }

    /// Whether the file gets another mode when it is published than it is made with.
    pub(in crate::verbs) fn has_own_mode(&self, options: WriteOptions) -> bool {
        self.old().is_some() || options.mode.is_some()
    }
}

/// A last look at the name after the rename.
///
/// The rename took place. That the file was taken away since, or replaced by another file of the
/// same owner, is what honest readers and writers of one name do; it was written. An object of
/// another user, or of another kind, may have been put in the place of the staged file: then it is
/// not known whether ours was ever there.
pub(in crate::verbs) fn verify_published(
    place: &Place,
    published: impl AsFd,
    identity: &Identity,
) -> Result<(), Fault> {
    match place.status() {
        Ok(now) if now.identity.same_object(identity) => Ok(()),
        Ok(now) => match sys::status(published) {
            Ok(ours) if ours.uid == now.uid && ours.kind == now.kind => Ok(()),
            _ => Err(not_ours()),
        },
        // Another process took it. That its directory cannot be read any more says nothing about the rename.
        Err(_) => Ok(()),
    }
}

/// Replacing needs only the directory's permission; but a file that the caller may not write is
/// not replaced either.
fn require_writable(place: &Place, pin: &OwnedFd) -> Result<(), Fault> {
    match sys::may_write_pinned(pin) {
        // Kernels before 5.8, and filters: open it for writing instead, which changes nothing.
        Err(fault) if fault.is(Errno::NOSYS) || fault.is(Errno::PERM) => {}
        answer => return answer,
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | CAUTIOUS;
    let fd = sys::open_at(&place.dir, place.name.as_c_str(), flags, Mode::empty())?;
    // Both answers fresh: opening for writing copies a file up on overlay filesystems.
    if sys::status(&fd)?
        .identity
        .same_object(&sys::status(pin)?.identity)
    {
        Ok(())
    } else {
        Err(Fault::rule(ErrorKind::Raced, ""))
    }
}

fn not_ours() -> Fault {
    Fault::rule(
        ErrorKind::Raced,
        "another user's object has the name right after ours was put there",
    )
    .with_effect(Effect::Unknown)
}

pub(in crate::verbs) fn publish_new<D: AsFd>(
    root: &Root,
    place: &Place,
    draft: &mut Draft<D>,
    options: WriteOptions,
) -> Result<Identity, Fault> {
    dress(draft, None, options.mode)?;
    let dir = DirSync::prepare(place, options.durability)?;
    if options.durability.syncs_file() {
        sys::sync_all(draft.fd())?;
    }
    let identity = draft.publish_new(root, &place.name)?;
    verify_published(place, draft.fd(), &identity)?;
    dir.sync()?;
    Ok(identity)
}

/// A file that is about to be replaced.
pub(in crate::verbs) struct Predecessor<'a> {
    pub(in crate::verbs) place: &'a Place,
    pub(in crate::verbs) status: &'a Metadata,
}

/// Gives a draft the mode, access control list and owner of the file it replaces, through its
/// descriptor and before it has a public name. An exact mode says all: no list stays beside it.
pub(in crate::verbs) fn dress<D: AsFd>(
    draft: &Draft<D>,
    old: Option<Predecessor<'_>>,
    mode: Option<u32>,
) -> Result<(), Fault> {
    let fd = draft.fd();
    #[cfg(handfast_sabotage)]
    if crate::sabotage::is("usual-mode") {
        return sys::chmod_open(fd, 0o644);
    }
    let Some(old) = old else {
        return mode.map_or(Ok(()), |mode| {
            sys::chmod_open(fd, drop_inherited(fd, mode)?)
        });
    };
    let now = sys::status(fd)?;
    // The group first and the owner last: in between it is ours to change, whatever privileges we
    // have.
    let same_group =
        now.gid == old.status.gid || sys::chown_open(fd, None, Some(old.status.gid)).is_ok();
    let list = match mode {
        Some(_) => AccessList::None,
        None => AccessList::of_pinned(old.place, &old.status.identity)?,
    };
    let wanted = list.give_to(fd, mode.unwrap_or(old.status.mode & 0o777), same_group)?;
    match wanted {
        Some(wanted) if wanted != now.mode => sys::chmod_open(fd, wanted)?,
        _ => {}
    }
    if now.uid != old.status.uid {
        // Who may not give files away keeps it.
        drop(sys::chown_open(fd, Some(old.status.uid), None));
    }
    Ok(())
}

/// A directory that will be synced. It is opened before anything is published, so that a directory
/// that cannot be opened stops the write and not its report.
pub(in crate::verbs) struct DirSync(Option<OwnedFd>);

impl DirSync {
    pub(in crate::verbs) fn prepare(place: &Place, durability: Durability) -> Result<Self, Fault> {
        if !durability.syncs_dir() {
            return Ok(Self(None));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
        sys::open_at(&place.dir, c".", flags, Mode::empty()).map(|fd| Self(Some(fd)))
    }

    pub(in crate::verbs) fn sync(self) -> Result<(), Fault> {
        match self.0 {
            Some(fd) => sys::sync_all(fd).map_err(|fault| fault.with_effect(Effect::Visible)),
            None => Ok(()),
        }
    }
}
