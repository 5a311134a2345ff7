//! Locks by virtual path.

use std::fmt;
use std::time::Duration;

use handfast::{ErrorKind, LockKind, Verb};

use super::names::refuse_stand_in;
use super::read::judge_names;
use crate::error::Error;
use crate::layer::Lock;
use crate::meter::HandleTicket;
use crate::options::OpenOptions;
use crate::pipeline::{Ask, Place};
use crate::rules::Access;
use crate::session::Session;

impl Session {
    /// Locks the file under a path, creating it if it is missing. Waits up to `patience`.
    ///
    /// In a read-write mount it is the file that is locked, for everybody who can reach it. In an
    /// overlay it is the path, for all processes of the session.
    ///
    /// # Errors
    /// `Busy` if others hold it for longer; `Link`, `IsADirectory`, `Kind` if what stands there is
    /// no file; `Denied` where nothing may be changed; `Quota`.
    pub fn lock(
        &self,
        path: impl AsRef<[u8]>,
        kind: LockKind,
        patience: Duration,
    ) -> Result<SessionLock, Error> {
        let ask = Ask::change(Verb::Lock, path.as_ref()).itself();
        self.act(ask, |place, _| {
            refuse_stand_in(place)?;
            judge_names(place, Access::Change)?;
            // Made here, where it is charged, and before anybody waits.
            match place.mount.layer.symlink_metadata(&place.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let how = OpenOptions::new().write(true).create(true);
                    drop(place.mount.layer.open_write(&place.path, how)?);
                }
                Ok(status) if status.is_symlink() => {
                    return Err(Error::new(ErrorKind::Link, "a link is not locked"));
                }
                Ok(status) if status.is_dir() => {
                    return Err(Error::new(ErrorKind::IsADirectory, "is a directory"));
                }
                _ => {}
            }
            self.hold(place, kind, patience, false)
        })
    }

    /// Locks a directory. Waits up to `patience`.
    ///
    /// # Errors
    /// `Busy` if others hold it for longer; `NotFound`, `NotADirectory`, `Denied` where nothing
    /// may be changed.
    pub fn lock_dir(
        &self,
        path: impl AsRef<[u8]>,
        kind: LockKind,
        patience: Duration,
    ) -> Result<SessionLock, Error> {
        self.act(Ask::change(Verb::Lock, path.as_ref()), |place, _| {
            self.hold(place, kind, patience, true)
        })
    }

    fn hold(
        &self,
        place: &Place<'_>,
        kind: LockKind,
        patience: Duration,
        is_dir: bool,
    ) -> Result<SessionLock, Error> {
        let ticket = self.account().ticket(self.number_of(place.mount))?;
        let lock = place
            .mount
            .layer
            .lock(&place.path, kind, patience, is_dir)?;
        Ok(SessionLock {
            lock,
            _ticket: ticket,
        })
    }
}

/// A lock in a session. Dropping it unlocks; the file stays.
#[must_use = "dropping the guard unlocks"]
pub struct SessionLock {
    lock: Lock,
    _ticket: Option<HandleTicket>,
}

impl SessionLock {
    /// Whether the lock still guards its path: in a read-write mount somebody may have put another
    /// file there, in an overlay removed what lies in its home.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    pub fn verify(&self) -> Result<bool, Error> {
        match &self.lock {
            Lock::Direct(guard) => Ok(guard.verify()?),
            Lock::Overlay(lock) => lock.verify(),
        }
    }
}

impl fmt::Debug for SessionLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLock").finish_non_exhaustive()
    }
}
