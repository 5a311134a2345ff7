//! Locks by virtual path.

use std::fmt;
use std::time::Duration;

use handfast::{ErrorKind, FileKind, LockKind, OpenOptions, Verb};

use crate::error::Error;
use crate::layer::LayerLock;
use crate::meter::HandleTicket;
use crate::pipeline::Request;
use crate::place::ResolvedPlace;
use crate::session::Session;
use crate::vpath::AsVirtualPath;

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
        path: impl AsVirtualPath,
        kind: LockKind,
        patience: Duration,
    ) -> Result<SessionLock, Error> {
        let request = Request::change(Verb::Lock, &path).itself();
        self.act(request, |place, guard, _| {
            guard.check_new(&place.path, Some(FileKind::File))?;
            // Made here, where it is charged, and before anybody waits.
            let layer = &place.mount.layer;
            match layer.symlink_metadata(place.spot()) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let how = OpenOptions::new().write(true).create(true);
                    drop(layer.open_write(place.spot(), guard, how)?);
                }
                Ok(status) if status.is_file() => guard.check_file(&status)?,
                Ok(status) if status.is_symlink() => {
                    return Err(Error::refused(ErrorKind::Link, "a link is not locked"));
                }
                Ok(status) if status.is_dir() => {
                    return Err(Error::refused(ErrorKind::IsADirectory, "is a directory"));
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
        path: impl AsVirtualPath,
        kind: LockKind,
        patience: Duration,
    ) -> Result<SessionLock, Error> {
        self.act(Request::change(Verb::Lock, &path), |place, _, _| {
            self.hold(place, kind, patience, true)
        })
    }

    fn hold(
        &self,
        place: &ResolvedPlace<'_>,
        kind: LockKind,
        patience: Duration,
        is_dir: bool,
    ) -> Result<SessionLock, Error> {
        let ticket = self.account().ticket(place.mount.number)?;
        let lock = place
            .mount
            .layer
            .lock(place.spot(), kind, patience, is_dir)?;
        Ok(SessionLock {
            lock,
            _ticket: ticket,
        })
    }
}

/// A lock in a session. Dropping it unlocks; the file stays.
#[must_use = "dropping the guard unlocks"]
pub struct SessionLock {
    lock: LayerLock,
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
            LayerLock::Direct(guard) => Ok(guard.verify()?),
            LayerLock::Overlay(lock) => lock.verify(),
        }
    }
}

impl fmt::Debug for SessionLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLock").finish_non_exhaustive()
    }
}
