//! Replace a file only if it is still the version that was seen.
//!
//! 1. The pinned parent is locked, so that writers that use this verb take turns. If another process keeps
//!    it locked, the rest is done without.
//! 2. The whole version is compared before anything is published.
//! 3. New and old change places (`RENAME_EXCHANGE`), and what was displaced is compared again:
//!    identity, size, modification time, digest; not the change time, which the exchange changes.
//! 4. On a mismatch they change places again. If then our own file did not come back, another writer
//!    renamed in between, and further exchanges leave the newest foreign file under the name.
//!
//! Nothing is unlinked but our own staging file and the verified old one. Writers that do not use
//! this verb do not see the lock: a reader may then see refused content for two system calls.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::held_lock::HeldLock;
use super::write::{DirSync, Predecessor, Target, WriteOptions, Written, dress, verify_published};
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::op::Op;
use crate::path::{Name, RelPath};
use crate::resolve::Place;
use crate::root::{CAUTIOUS, Root};
use crate::staging::{Draft, Expected};
use crate::sys;
use crate::verb::Verb;
use crate::version::{Difference, Version, digest_of};

/// How long to wait for the parent's lock. After that the write goes on without it: any user who may
/// read the directory could hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a newer file may come while a refused write is taken back.
const MAX_UNDO_TRIES: u32 = 1024;

impl Root {
    /// Replaces a file only if it is still the version that was seen.
    ///
    /// # Errors
    /// `Stale` if it is not, with what differs; nothing is changed then. `Raced` if a writer that
    /// does not take turns came in between. `Unsupported` where the filesystem cannot exchange names.
    /// Otherwise as [`Root::write`].
    ///
    /// # Security
    /// Writers take turns by a lock on the directory. A user who may read the directory can hold it, so
    /// it is waited for two seconds and then done without: the exchange and the comparison after it
    /// see to it that no other version is lost, and a reader may see refused content for two system
    /// calls. A version without a digest does not notice stores into a mapped file: see
    /// [`Version`].
    pub fn write_if(
        &self,
        path: &RelPath,
        version: &Version,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.write_if_with(path, version, data, WriteOptions::new())
    }

    /// As [`Root::write_if`], with options.
    ///
    /// # Errors
    /// As [`Root::write_if`].
    pub fn write_if_with(
        &self,
        path: &RelPath,
        version: &Version,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(Verb::WriteIf, path, |op| {
            let target = match Target::find(self, path) {
                Err(fault) if fault.kind == ErrorKind::NotFound => return Err(gone()),
                target => target?,
            };
            let turn = Turn::take(self, op, &target, version)?;
            let draft = Draft::create(self, target.place.dir.as_fd(), 0o600)?;
            sys::write_all(draft.fd(), data.as_ref())?;
            turn.replace(self, path, &target, draft, version, options)
        })
    }
}

pub(super) fn gone() -> Fault {
    Fault::rule(ErrorKind::Stale, "the file is gone")
}

/// Our turn among the writers that take turns: the parent is locked, the old file pinned, the
/// decision recorded, and the version compared.
pub(super) struct Turn {
    old: Pinned,
    _lock: Option<HeldLock>,
}

impl Turn {
    pub(super) fn take(
        root: &Root,
        op: &mut Op<'_>,
        target: &Target,
        version: &Version,
    ) -> Result<Self, Fault> {
        let lock = lock_parent(&target.place)?;
        let old = Pinned::take(&target.place, version)?;
        op.allow_in(target.place.recorded_parent(root)?, Some(&old.status))?;
        old.compare(version)?;
        Ok(Self { old, _lock: lock })
    }

    pub(super) fn replace<D: AsFd>(
        self,
        root: &Root,
        path: &RelPath,
        target: &Target,
        draft: Draft<D>,
        version: &Version,
        options: WriteOptions,
    ) -> Result<Written, Fault> {
        replace(root, path, &self.old, target, draft, version, options)
    }
}

fn replace<D: AsFd>(
    root: &Root,
    path: &RelPath,
    old: &Pinned,
    target: &Target,
    mut draft: Draft<D>,
    version: &Version,
    options: WriteOptions,
) -> Result<Written, Fault> {
    let predecessor = Predecessor {
        place: &target.place,
        status: &old.status,
    };
    dress(&draft, Some(predecessor), options.mode)?;
    let dir_sync = DirSync::prepare(&target.place, options.durability)?;
    if options.durability.syncs_file() {
        sys::sync_all(draft.fd())?;
    }
    let staging = draft.named(root, Some(Expected::of(version)))?.clone();
    let identity = draft.identity()?;
    let (dir, name) = (target.place.dir.as_fd(), &target.place.name);
    exchange((draft.home(), &staging), (dir, name)).map_err(|fault| match fault.kind {
        ErrorKind::NotFound => gone(),
        _ => fault,
    })?;

    let displaced = old.compare_displaced(draft.home(), &staging, version);
    if let Err(fault) = displaced {
        undo(&staging, (dir, name), &identity, &mut draft)?;
        return Err(fault);
    }
    if draft.is_moved() {
        // What was displaced lies where the file came from, and is the caller's.
        let fd = draft.release();
        verify_published(&target.place, &fd, &identity)?;
        dir_sync.sync()?;
        return Ok(Written::new(fd, path, identity));
    }
    // Verified: what the staging name refers to is the old file. The mark goes first, so that
    // a process that is killed in between leaves the name by which `recover` takes it away.
    let unmarked = draft.unmark();
    let removed = match sys::unlink_at(dir, staging.as_c_str()) {
        // A `recover` that found it was faster.
        Err(fault) if fault.kind == ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    draft.forget_name();
    let fd = draft.release();
    verify_published(&target.place, &fd, &identity)?;
    unmarked
        .and(removed)
        .map_err(|fault| fault.with_effect(Effect::Visible))?;
    dir_sync.sync()?;
    Ok(Written::new(fd, path, identity))
}

/// Puts the displaced object back. On return our file is under the staging name again and will be
/// removed, or the newest foreign file has the name and the error says so.
fn undo<D: AsFd>(
    staging: &Name,
    target: (BorrowedFd<'_>, &Name),
    ours: &Identity,
    draft: &mut Draft<D>,
) -> Result<(), Fault> {
    let visible = |fault: Fault| fault.with_effect(Effect::Visible);
    let look = |draft: &Draft<D>| {
        let status = sys::status_at(draft.home(), staging.as_c_str());
        status.map(|status| status.identity).map_err(visible)
    };
    // What we put under the public name last, and what waits under the staging name to go there.
    let (mut put, mut waits) = (*ours, look(draft)?);
    for _ in 0..MAX_UNDO_TRIES {
        exchange((draft.home(), staging), target).map_err(visible)?;
        let came = look(draft)?;
        if came.same_object(&put) {
            if put.same_object(ours) {
                return Ok(());
            }
            break;
        }
        // Another writer replaced the file that we had put there, so the file that came back is newer than what we just put
        // back. The newest gets the name again.
        draft.forget_name();
        (put, waits) = (waits, came);
    }
    Err(visible(Fault::rule(
        ErrorKind::Raced,
        "another process wrote in between; an older file was kept beside it for `recover`",
    )))
}

fn exchange(
    (home, staging): (BorrowedFd<'_>, &Name),
    (dir, name): (BorrowedFd<'_>, &Name),
) -> Result<(), Fault> {
    sys::rename_exchange(home, staging.as_c_str(), dir, name.as_c_str()).map_err(|fault| {
        if fault.is(Errno::INVAL) {
            fault.with_kind(
                ErrorKind::Unsupported,
                "this filesystem cannot exchange two names",
            )
        } else {
            fault
        }
    })
}

/// The object a conditional operation is about, held so that its inode cannot be reused.
pub(super) struct Pinned {
    pub(super) status: Metadata,
    pin: OwnedFd,
    /// Open for reading where the content has to be compared.
    content: Option<OwnedFd>,
}

impl Pinned {
    pub(super) fn take(place: &Place, version: &Version) -> Result<Self, Fault> {
        let name = place.name.as_c_str();
        let not_found = |fault: Fault| {
            if fault.is(Errno::NOENT) {
                gone()
            } else {
                fault
            }
        };
        let pin = sys::open_at(&place.dir, name, sys::PIN, Mode::empty()).map_err(not_found)?;
        let status = sys::status(&pin)?;
        if !status.is_file() {
            return Err(Fault::rule(ErrorKind::Stale, "the name is not a file"));
        }
        let content = match version.digest {
            None => None,
            Some(_) => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAUTIOUS;
                let fd = sys::open_at(&place.dir, name, flags, Mode::empty()).map_err(not_found)?;
                if !sys::status(&fd)?.identity.same_object(&status.identity) {
                    return Err(Fault::rule(ErrorKind::Raced, ""));
                }
                Some(fd)
            }
        };
        Ok(Self {
            status,
            pin,
            content,
        })
    }

    fn digest(&self, version: &Version) -> Result<[u8; 32], Fault> {
        match &self.content {
            // The length was compared before, so this reads no more than the caller once saw.
            Some(fd) => digest_of(fd, version.len.saturating_add(1)),
            None => Err(Fault::rule(ErrorKind::Io, "the content was not opened")),
        }
    }

    /// The whole version, before anything is changed.
    pub(super) fn compare(&self, version: &Version) -> Result<(), Fault> {
        let now = sys::status(&self.pin)?;
        match version.difference(&now, || self.digest(version))? {
            None => Ok(()),
            Some(what) => Err(Fault::rule(ErrorKind::Stale, what)),
        }
    }

    /// What `name` refers to after we moved it there: the object we compared, and unchanged
    /// since.
    ///
    /// Both answers are fresh, so an overlay filesystem that copied the file up meanwhile does not
    /// make them differ.
    pub(super) fn compare_displaced(
        &self,
        dir: BorrowedFd<'_>,
        name: &Name,
        version: &Version,
    ) -> Result<(), Fault> {
        let under_name = sys::status_at(dir, name.as_c_str())?;
        let held = sys::status(&self.pin)?;
        if !under_name.identity.same_object(&held.identity) {
            return Err(Fault::rule(
                ErrorKind::Stale,
                "another file stood under the name",
            ));
        }
        if (held.mode, held.uid, held.gid) != (self.status.mode, self.status.uid, self.status.gid) {
            return Err(Fault::rule(
                ErrorKind::Stale,
                Difference::Metadata.sentence(),
            ));
        }
        let as_compared = Metadata {
            identity: self.status.identity,
            ..held
        };
        match version.difference_after_rename(&as_compared, || self.digest(version))? {
            None => Ok(()),
            Some(what) => Err(Fault::rule(ErrorKind::Stale, what)),
        }
    }
}

/// A lock on the pinned parent, for writers that take turns. Dropping it unlocks.
///
/// Anybody who may read the directory can hold it and never let go; then there is none, and what
/// follows is right without it: what was displaced is compared, and put back if it is another.
pub(super) fn lock_parent(place: &Place) -> Result<Option<HeldLock>, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
    let fd = sys::open_at(&place.dir, c".", flags, Mode::empty())?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        if sys::try_lock(&fd, true)? {
            return Ok(Some(HeldLock::of_locked(fd)));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}
