//! Lock a file or a directory.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::held_lock::HeldLock;
use super::open_dir_place;
use crate::error::{Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::{CAUTIOUS, Root};
use crate::rules::{self, Want};
use crate::sys;
use crate::verb::Verb;

/// How often the file under the name may be replaced while we lock it.
const MAX_TRIES: u32 = 128;

/// How long to sleep between attempts.
const PAUSE: Duration = Duration::from_micros(500);

/// Who else may hold the lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum LockKind {
    /// Nobody.
    Exclusive,
    /// Others that share it.
    Shared,
}

impl Root {
    /// Locks the file under a name, creating it if it is missing. Waits up to `patience`.
    ///
    /// # Errors
    /// `Busy` if others hold it for longer; `Kind`, `Link`, `HardLink`, `IsADirectory` if what
    /// is there is no file to lock; `Raced` if the file is replaced again and again.
    ///
    /// # Security
    /// The lock is given only if the name still refers to the locked file. A user who
    /// can write the directory can replace the file afterwards: see [`LockGuard::verify`], or use
    /// [`Root::lock_dir`], whose object no other process can replace.
    ///
    /// # Platform
    /// `flock`: it belongs to the open file, is dropped by the kernel if the holder dies, and is
    /// not inherited by programs the holder starts.
    pub fn lock(
        &self,
        path: &RelPath,
        kind: LockKind,
        patience: Duration,
    ) -> Result<LockGuard, Error> {
        self.act(Verb::Lock, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            op.allow(None)?;
            let deadline = Instant::now().checked_add(patience);
            let place = resolve::place(self, path, Last::Itself)?;
            for _ in 0..MAX_TRIES {
                let (fd, status) = open_lock_file(self, &place)?;
                let identity = status.identity;
                op.note(&status);
                acquire(&fd, kind, deadline)?;
                // The name may have got another file while we waited.
                match place.status() {
                    Ok(now) if now.identity.same_object(&identity) => {
                        // So may the file have got another name: the second look, made while those
                        // who take turns are kept out.
                        let (dir, name) = (place.dir.as_fd(), place.name.as_c_str());
                        match rules::require_own_name_in(self, dir, name, &fd, Want::Change) {
                            Err(fault) if fault.kind == ErrorKind::Raced => continue,
                            judged => judged?,
                        }
                        return Ok(LockGuard {
                            lock: HeldLock::of_locked(fd),
                            identity,
                            place: Some(place),
                            path: self.full(path),
                        });
                    }
                    Ok(_) => {}
                    Err(fault) if fault.is(Errno::NOENT) => {}
                    Err(fault) => return Err(fault),
                }
            }
            Err(Fault::rule(
                ErrorKind::Raced,
                "the lock file keeps being replaced",
            ))
        })
    }

    /// Locks a directory itself: the object that is pinned, which cannot be replaced by another
    /// under the same name. Waits up to `patience`.
    ///
    /// # Errors
    /// `Busy` if others hold it for longer; as [`Root::open_dir`].
    pub fn lock_dir(
        &self,
        path: &RelPath,
        kind: LockKind,
        patience: Duration,
    ) -> Result<LockGuard, Error> {
        self.act(Verb::Lock, path, |op| {
            let fd = open_dir_place(self, path)?;
            let status = sys::status(&fd)?;
            op.allow(Some(&status))?;
            acquire(&fd, kind, Instant::now().checked_add(patience))?;
            Ok(LockGuard {
                lock: HeldLock::of_locked(fd),
                identity: status.identity,
                place: None,
                path: self.full(path),
            })
        })
    }
}

/// Opens the file that is locked, judged before it is.
fn open_lock_file(root: &Root, place: &Place) -> Result<(OwnedFd, Metadata), Fault> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | CAUTIOUS;
    let fd = sys::open_at(
        &place.dir,
        place.name.as_c_str(),
        flags,
        Mode::from_raw_mode(0o666),
    )
    .map_err(|fault| match fault.kind {
        ErrorKind::Busy => fault.with_kind(ErrorKind::Busy, "another process holds a lease on it"),
        _ => fault,
    })?;
    let status = sys::status(&fd)?;
    rules::check_file(root, &status, Want::Change)?;
    Ok((fd, status))
}

/// Without a deadline it waits for as long as it takes.
fn acquire(fd: &OwnedFd, kind: LockKind, deadline: Option<Instant>) -> Result<(), Fault> {
    loop {
        if sys::try_lock(fd, kind == LockKind::Exclusive)? {
            return Ok(());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Fault::rule(ErrorKind::Busy, "another holder has the lock"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// A lock. Dropping it unlocks, also where a child was forked meanwhile; the file is never removed.
#[must_use = "dropping the guard unlocks"]
pub struct LockGuard {
    lock: HeldLock,
    identity: Identity,
    place: Option<Place>,
    path: RelPath,
}

impl LockGuard {
    /// Whether the locked object is still the one under the name: if not, others may hold a lock
    /// on the new one. Always true for a directory's own lock.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    pub fn verify(&self) -> Result<bool, Error> {
        let Some(place) = &self.place else {
            return Ok(true);
        };
        match place.status() {
            Ok(now) => Ok(now.identity.same_object(&self.identity)),
            Err(fault) if fault.is(Errno::NOENT) => Ok(false),
            Err(fault) => Err(Error::new(Verb::Lock, self.path.to_string(), fault)),
        }
    }

    /// Which object is locked.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

impl AsFd for LockGuard {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.lock.fd().as_fd()
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuard")
            .field("path", &self.path)
            .finish()
    }
}
