//! Where a file goes, what stands there now, and how the new one takes its place.

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
use crate::staging::Draft;
use crate::sys;

/// How often what stands under the name may turn into something else while we look.
const TRIES: u32 = 16;

/// Where a file goes, and what stands there now.
pub(in crate::verbs) struct Target {
    pub(in crate::verbs) place: Place,
    /// The file that is replaced, as it was when it was pinned.
    pub(in crate::verbs) old: Option<Metadata>,
}

impl Target {
    pub(in crate::verbs) fn find(root: &Root, path: &RelPath) -> Result<Self, Fault> {
        resolve::require_file_path(root, path, Last::Follow)?;
        for _ in 0..TRIES {
            match Self::find_once(root, path) {
                Err(fault) if fault.kind == ErrorKind::Raced => {}
                found => return found,
            }
        }
        Err(Fault::rule(ErrorKind::Raced, ""))
    }

    fn find_once(root: &Root, path: &RelPath) -> Result<Self, Fault> {
        let place = resolve::place(root, path, Last::Itself)?;
        let found = Self::look(root, place)?;
        match &found.old {
            Some(old) if old.is_symlink() => {}
            _ => return Ok(found),
        }
        if root.options.links == Links::Refuse {
            return Err(Fault::rule(ErrorKind::Link, "the name is a symbolic link"));
        }
        let place = match resolve::place(root, path, Last::Follow) {
            Err(fault) if fault.kind == ErrorKind::NotFound => {
                return Err(resolve::leads_to_nothing());
            }
            place => place?,
        };
        let through_link = place.through_link;
        let found = Self::look(root, place)?;
        match &found.old {
            None if through_link => Err(resolve::leads_to_nothing()),
            // It was a file when the walk looked and is a link now.
            Some(old) if old.is_symlink() => Err(Fault::rule(ErrorKind::Raced, "")),
            _ => Ok(found),
        }
    }

    /// Pins what stands under the name and applies the rules for being replaced.
    fn look(root: &Root, place: Place) -> Result<Self, Fault> {
        let pin = match sys::open_at(&place.dir, place.name.as_c_str(), sys::PIN, Mode::empty()) {
            Ok(pin) => pin,
            Err(fault) if fault.is(Errno::NOENT) => {
                return Ok(Self { place, old: None });
            }
            Err(fault) => return Err(fault),
        };
        let old = sys::status(&pin)?;
        rules::check_passage(root, &old)?;
        match old.kind {
            FileKind::File => require_writable(&place, &pin)?,
            FileKind::Symlink => {}
            FileKind::Dir => return Err(Fault::rule(ErrorKind::IsADirectory, "")),
            special => return Err(rules::special_fault(special)),
        }
        Ok(Self {
            place,
            old: Some(old),
        })
    }

    /// Mode, owner, sync, rename, and a last look at the name.
    pub(in crate::verbs) fn publish<D: AsFd>(
        &self,
        root: &Root,
        path: &RelPath,
        mut draft: Draft<D>,
        options: WriteOptions,
    ) -> Result<Written, Fault> {
        dress(&draft, self.old.as_ref(), options.mode)?;
        let dir = DirSync::prepare(&self.place, options.durability)?;
        if options.durability.syncs_file() {
            sys::sync_all(draft.fd())?;
        }
        let identity = draft.publish(root, &self.place.name)?;
        verify_published(&self.place, &identity)?;
        dir.sync()?;
        Ok(Written::new(draft.release(), path, identity))
    }

    /// The mode under which a draft is filled: nobody reads through it what the file it becomes
    /// would not show.
    pub(super) fn draft_mode(&self, options: WriteOptions) -> u32 {
        match self.old {
            Some(_) => 0o600,
            None => options.new_draft_mode(),
        }
    }
}

/// Whether our object stands under the name. If somebody exchanged what was staged, or replaced
/// ours at once, the caller must not believe that its content is there.
pub(in crate::verbs) fn verify_published(place: &Place, identity: &Identity) -> Result<(), Fault> {
    match place.status() {
        Ok(now) if now.identity.same_object(identity) => Ok(()),
        Ok(_) => Err(not_ours()),
        Err(fault) if fault.is(Errno::NOENT) => Err(not_ours()),
        Err(fault) => Err(fault.with_effect(Effect::Unknown)),
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
        "another file stands under the name right after ours was put there",
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
    verify_published(place, &identity)?;
    dir.sync()?;
    Ok(identity)
}

/// Gives a draft the mode and owner of the file it replaces, through its descriptor and before it
/// has a name.
pub(in crate::verbs) fn dress<D: AsFd>(
    draft: &Draft<D>,
    old: Option<&Metadata>,
    mode: Option<u32>,
) -> Result<(), Fault> {
    let Some(old) = old else {
        return mode.map_or(Ok(()), |mode| sys::chmod_open(draft.fd(), mode));
    };
    let now = sys::status(draft.fd())?;
    let mut wanted = mode.unwrap_or(old.mode & 0o777);
    if (now.uid, now.gid) != (old.uid, old.gid) {
        // Ownership first: giving a file away clears bits, never the other way round.
        let kept = sys::chown_open(draft.fd(), Some(old.uid), Some(old.gid)).is_ok()
            || sys::chown_open(draft.fd(), None, Some(old.gid)).is_ok();
        if !kept && now.gid != old.gid {
            // The group's rights were meant for another group: leave it what everybody has.
            wanted = (wanted & 0o707) | ((wanted & 0o007) << 3);
        }
    }
    if now.mode == wanted {
        return Ok(());
    }
    sys::chmod_open(draft.fd(), wanted)
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
