//! Reading files and looking at things.

use std::fs::File;
use std::io::Read;

use handfast::{ErrorKind, Metadata, Verb, Version};

use super::names::refuse_stand_in;
use crate::error::Error;
use crate::file::SessionFile;
use crate::mount::Route;
use crate::options::OpenOptions;
use crate::pipeline::{Ask, Place};
use crate::rules::Access;
use crate::session::Session;

/// How often a file that changes while it is read is read again.
const TRIES: u32 = 8;

impl Session {
    /// Reads a whole file, up to the session's limit (64 MiB).
    ///
    /// # Errors
    /// `Limit` if it is larger; `Denied` if a pattern protects it; otherwise as
    /// [`handfast::Root::open`].
    pub fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>, Error> {
        self.read_to_limit(path, self.read_limit())
    }

    /// Reads a whole file, up to a limit of the caller's.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_to_limit(&self, path: impl AsRef<[u8]>, limit: u64) -> Result<Vec<u8>, Error> {
        self.act(Ask::read(Verb::Read, path.as_ref()), |place, op| {
            let opened = place.mount.layer.open_read(&place.path)?;
            place
                .mount
                .check_other_names(&opened.metadata, Access::Read)?;
            op.allow(place.mount, Some(&opened.metadata))?;
            read_whole(&opened.file, opened.metadata.len, limit)
        })
    }

    /// Reads a whole file and says which version of it that was, for a later
    /// [`Session::write_if`].
    ///
    /// # Errors
    /// As [`Session::read`]; `Raced` if it kept changing while it was read.
    pub fn read_versioned(&self, path: impl AsRef<[u8]>) -> Result<(Vec<u8>, Version), Error> {
        let limit = self.read_limit();
        self.act(Ask::read(Verb::Read, path.as_ref()), |place, op| {
            // A version may need the content's digest: nobody waits for that of a file too large.
            let seen = place.mount.layer.symlink_metadata(&place.path)?;
            if seen.is_file() && seen.len > limit {
                return Err(too_large());
            }
            for _ in 0..TRIES {
                let before = place.mount.layer.version(&place.path, false)?;
                let opened = place.mount.layer.open_read(&place.path)?;
                place
                    .mount
                    .check_other_names(&opened.metadata, Access::Read)?;
                op.allow(place.mount, Some(&opened.metadata))?;
                let data = read_whole(&opened.file, opened.metadata.len, limit)?;
                let now = place
                    .mount
                    .layer
                    .version(&place.path, before.digest().is_some())?;
                if now == before {
                    return Ok((data, before));
                }
            }
            Err(Error::new(
                ErrorKind::Raced,
                "the file kept changing while it was read",
            ))
        })
    }

    /// Which version a file is, for a later [`Session::write_if`] or [`Session::remove_if`].
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn version(&self, path: impl AsRef<[u8]>) -> Result<Version, Error> {
        self.act(Ask::read(Verb::Version, path.as_ref()), |place, op| {
            judge_names(place, Access::Read)?;
            op.allow(place.mount, None)?;
            place.mount.layer.version(&place.path, false)
        })
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`Session::read`]; `Quota` if too many handles are open.
    pub fn open(&self, path: impl AsRef<[u8]>) -> Result<SessionFile, Error> {
        self.open_with(path, OpenOptions::new())
    }

    /// Opens a file with options.
    ///
    /// # Errors
    /// As [`Session::open`]; `Exists`, `Invalid`, `HardLink` as
    /// [`handfast::Root::open_with`].
    ///
    /// # Security
    /// The handle is the object that was judged; it is never looked up again. In an overlay,
    /// opening for writing copies the file up first.
    pub fn open_with(
        &self,
        path: impl AsRef<[u8]>,
        how: OpenOptions,
    ) -> Result<SessionFile, Error> {
        let bytes = path.as_ref();
        if !how.changes() {
            return self.act(Ask::read(Verb::Open, bytes), |place, op| {
                let mut ticket = self.account().ticket(self.number_of(place.mount))?;
                let mut opened = place.mount.layer.open_read(&place.path)?;
                place
                    .mount
                    .check_other_names(&opened.metadata, Access::Read)?;
                op.allow(place.mount, Some(&opened.metadata))?;
                if let Some(ticket) = &mut ticket {
                    ticket.hold(opened.hold.take());
                }
                let path = op.path().clone();
                let (file, facts) = (opened.file, opened.metadata);
                Ok(SessionFile::new(file, facts, path, false, None, ticket))
            });
        }
        check_options(how)?;
        self.act(Ask::change(Verb::OpenWrite, bytes), |place, op| {
            let mut ticket = self.account().ticket(self.number_of(place.mount))?;
            let mut inner = how;
            if place.through_link {
                refuse_new(place)?;
                inner = inner.create(false);
            }
            refuse_stand_in(place)?;
            judge_names(place, Access::Change)?;
            let mut opened = place.mount.layer.open_write(&place.path, inner)?;
            place
                .mount
                .check_other_names(&opened.metadata, Access::Change)?;
            if let Some(ticket) = &mut ticket {
                ticket.hold(opened.hold.take());
            }
            let path = op.path().clone();
            let (file, facts) = (opened.file, opened.metadata);
            let file = SessionFile::new(file, facts, path, how.append, opened.meter, ticket);
            if how.truncate && file.metadata().len > 0 {
                file.set_len(0)?;
            }
            Ok(file)
        })
    }

    /// Facts about what a path leads to.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, and what stops the path from being resolved.
    pub fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Metadata, Error> {
        let bytes = path.as_ref();
        if let Some(made_up) = self.above_mounts(bytes)? {
            return Ok(made_up);
        }
        self.act(Ask::look(Verb::Metadata, bytes), |place, op| {
            let status = place.mount.layer.metadata(&place.path)?;
            require_dir(place, &status)?;
            op.allow(place.mount, Some(&status))?;
            Ok(status)
        })
    }

    /// Facts about an entry itself, also if it is a link.
    ///
    /// # Errors
    /// As [`Session::metadata`].
    pub fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Metadata, Error> {
        let bytes = path.as_ref();
        if let Some(made_up) = self.above_mounts(bytes)? {
            return Ok(made_up);
        }
        self.act(Ask::look(Verb::Metadata, bytes).itself(), |place, op| {
            let status = place.mount.layer.symlink_metadata(&place.path)?;
            op.allow(place.mount, Some(&status))?;
            Ok(status)
        })
    }

    /// The text of a link, as it is stored.
    ///
    /// # Errors
    /// `Kind` if it is no link; otherwise as [`Session::metadata`].
    pub fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>, Error> {
        let ask = Ask::look(Verb::ReadLink, path.as_ref()).itself();
        self.act(ask, |place, op| {
            let target = place.mount.layer.read_link(&place.path)?;
            op.allow(place.mount, None)?;
            Ok(target)
        })
    }

    /// The facts of a directory that exists only in the namespace, above mounts.
    fn above_mounts(&self, bytes: &[u8]) -> Result<Option<Metadata>, Error> {
        let path = self.parse(Verb::Metadata, bytes)?;
        let Route::Above = self.mounts().route(&path) else {
            return Ok(None);
        };
        let Some((_, mount)) = self.mounts().names_in(&path).into_iter().next() else {
            return Ok(None);
        };
        let mut status = mount.base.metadata(&handfast::RelPath::root())?;
        status.mode = 0o555;
        status.len = 0;
        status.identity.inode = 0;
        status.identity.born = None;
        Ok(Some(status))
    }
}

/// Judges a file that is there by its other names, before it is changed.
pub(super) fn judge_names(place: &Place<'_>, access: Access) -> Result<(), Error> {
    if place.mount.rules.is_empty() {
        return Ok(());
    }
    match place.mount.layer.symlink_metadata(&place.path) {
        Ok(status) => place.mount.check_other_names(&status, access),
        // The operation itself says what is missing.
        Err(_) => Ok(()),
    }
}

/// Nothing is created through a link.
pub(super) fn refuse_new(place: &Place<'_>) -> Result<(), Error> {
    match place.mount.layer.symlink_metadata(&place.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Link, "the link leads to nothing"))
        }
        _ => Ok(()),
    }
}

fn require_dir(place: &Place<'_>, status: &Metadata) -> Result<(), Error> {
    if place.path.must_be_dir() && !status.is_dir() {
        return Err(Error::new(ErrorKind::NotADirectory, "not a directory"));
    }
    Ok(())
}

fn check_options(how: OpenOptions) -> Result<(), Error> {
    let writes = how.write || how.append;
    let invalid = |why| Err(Error::new(ErrorKind::Invalid, why));
    if !writes {
        return invalid("truncating and creating need writing or appending");
    }
    if how.append && how.truncate {
        return invalid("appending and truncating exclude each other");
    }
    Ok(())
}

fn too_large() -> Error {
    Error::new(
        ErrorKind::Limit,
        "the file is larger than the limit for whole reads",
    )
}

pub(super) fn read_whole(file: &File, len: u64, limit: u64) -> Result<Vec<u8>, Error> {
    // A sparse file may claim any size: look before allocating.
    if len > limit {
        return Err(too_large());
    }
    let expected = usize::try_from(len).map_err(|_| too_large())?;
    let mut data = Vec::with_capacity(expected + 1);
    file.take(limit.saturating_add(1)).read_to_end(&mut data)?;
    if data.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(data)
}
