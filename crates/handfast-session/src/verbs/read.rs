//! Reading files and looking at things.

use handfast::files::{FileHandle, Files as _, LastLink, read_versioned, read_whole};
use handfast::{ErrorKind, Metadata, OpenOptions, SymlinkTarget, Verb, Version};

use crate::asking::changed_meanwhile;
use crate::error::Error;
use crate::file::SessionFile;
use crate::layer::OpenedFile;
use crate::mount::Route;
use crate::op::Op;
use crate::pipeline::Request;
use crate::place::{Guard, ResolvedPlace};
use crate::rules::Access;
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

impl Session {
    /// Reads a whole file, up to the session's limit (64 MiB).
    ///
    /// # Errors
    /// `Limit` if it is larger; `Denied` if a pattern protects it; otherwise as
    /// [`handfast::Root::open`].
    pub fn read(&self, path: impl AsVirtualPath) -> Result<Vec<u8>, Error> {
        self.read_to_limit(path, self.read_limit())
    }

    /// Reads a whole file, up to a limit of the caller's.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_to_limit(&self, path: impl AsVirtualPath, limit: u64) -> Result<Vec<u8>, Error> {
        self.act(Request::read(Verb::Read, &path), |place, guard, op| {
            read_whole(&open_judged(place, guard, op)?.file, limit)
        })
    }

    /// Reads a whole file and says which version of it that was, for a later
    /// [`Session::write_if`]. Both are of one open file.
    ///
    /// # Errors
    /// As [`Session::read`]; `Raced` if it kept changing while it was read.
    pub fn read_versioned(&self, path: impl AsVirtualPath) -> Result<(Vec<u8>, Version), Error> {
        self.read_versioned_to_limit(path, self.read_limit())
    }

    /// As [`Session::read_versioned`], up to a limit of the caller's.
    ///
    /// # Errors
    /// As [`Session::read_versioned`].
    pub fn read_versioned_to_limit(
        &self,
        path: impl AsVirtualPath,
        limit: u64,
    ) -> Result<(Vec<u8>, Version), Error> {
        #[cfg(handfast_sabotage)]
        if handfast::sabotage::is("version-apart") {
            return Ok((self.read_to_limit(&path, limit)?, self.version(&path)?));
        }
        self.act(Request::read(Verb::Read, &path), |place, guard, op| {
            read_versioned(&open_judged(place, guard, op)?.file, limit)
        })
    }

    /// Which version a file is, for a later [`Session::write_if`] or [`Session::remove_if`].
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn version(&self, path: impl AsVirtualPath) -> Result<Version, Error> {
        self.version_of(&path, false)
    }

    /// As [`Session::version`], with the digest of the content in any case.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn version_with_digest(&self, path: impl AsVirtualPath) -> Result<Version, Error> {
        self.version_of(&path, true)
    }

    fn version_of(&self, path: &dyn AsVirtualPath, digest: bool) -> Result<Version, Error> {
        self.act(Request::read(Verb::Version, path), |place, guard, op| {
            FileHandle::version(&open_judged(place, guard, op)?.file, digest)
        })
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`Session::read`]; `Quota` if too many handles are open.
    pub fn open(&self, path: impl AsVirtualPath) -> Result<SessionFile, Error> {
        self.open_reading(Request::read(Verb::Open, &path))
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
        path: impl AsVirtualPath,
        how: OpenOptions,
    ) -> Result<SessionFile, Error> {
        match how.changes() {
            false => self.open_reading(Request::read(Verb::Open, &path)),
            true => self.open_writing(Request::change(Verb::OpenWrite, &path), how),
        }
    }

    pub(crate) fn open_reading(&self, request: Request<'_>) -> Result<SessionFile, Error> {
        self.act(request, |place, guard, op| {
            let ticket = self.account().ticket(place.mount.number)?;
            let opened = open_judged(place, guard, op)?;
            let path = op.path().clone();
            Ok(SessionFile::new(opened, path, OpenOptions::new(), ticket))
        })
    }

    pub(crate) fn open_writing(
        &self,
        request: Request<'_>,
        how: OpenOptions,
    ) -> Result<SessionFile, Error> {
        how.check()?;
        // A new file is never looked for behind a link.
        let request = match how.creates_new() {
            true => request.itself(),
            false => request,
        };
        self.act(request, |place, guard, op| {
            let ticket = self.account().ticket(place.mount.number)?;
            let mut inner = how;
            if place.through_link && how.creates() {
                refuse_new(place)?;
                inner = inner.create(false);
            }
            guard.check_new(&place.path, Some(handfast::FileKind::File))?;
            let opened = place.mount.layer.open_write(place.spot(), guard, inner)?;
            require_granted(place, opened.file.metadata())?;
            let is_longer = opened.file.metadata().len > 0;
            let path = op.path().clone();
            let file = SessionFile::new(opened, path, how, ticket);
            if how.truncates() && is_longer {
                file.set_len(0)?;
            }
            Ok(file)
        })
    }

    /// Facts about what a path leads to.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, and what stops the path from being resolved.
    pub fn metadata(&self, path: impl AsVirtualPath) -> Result<Metadata, Error> {
        let path = self.parse(Verb::Metadata, &path)?;
        let path: &VirtualPath = &path;
        if let Some(made_up) = self.above(path)? {
            return Ok(made_up);
        }
        self.act(Request::look(Verb::Metadata, path), |place, guard, op| {
            let status = place.mount.layer.metadata(place.spot().judged_by(guard))?;
            if place.rest.must_be_dir() && !status.is_dir() {
                return Err(Error::refused(ErrorKind::NotADirectory, "not a directory"));
            }
            op.allow(place.mount, Some(&status))?;
            Ok(status)
        })
    }

    /// Facts about an entry itself, also if it is a link.
    ///
    /// # Errors
    /// As [`Session::metadata`].
    pub fn symlink_metadata(&self, path: impl AsVirtualPath) -> Result<Metadata, Error> {
        let path = self.parse(Verb::Metadata, &path)?;
        let path: &VirtualPath = &path;
        if let Some(made_up) = self.above(path)? {
            return Ok(made_up);
        }
        let request = Request::look(Verb::Metadata, path).itself();
        self.act(request, |place, guard, op| {
            let spot = place.spot().judged_by(guard);
            let status = place.mount.layer.symlink_metadata(spot)?;
            op.allow(place.mount, Some(&status))?;
            Ok(status)
        })
    }

    /// The text of a link, as it is stored.
    ///
    /// # Errors
    /// `Kind` if it is no link; otherwise as [`Session::metadata`].
    pub fn read_link(&self, path: impl AsVirtualPath) -> Result<SymlinkTarget, Error> {
        let request = Request::look(Verb::ReadLink, &path).itself();
        self.act(request, |place, guard, op| {
            let target = place.mount.layer.read_link(place.spot().judged_by(guard))?;
            op.allow(place.mount, None)?;
            Ok(target)
        })
    }

    /// The facts of a directory that exists only in the namespace, above mounts.
    fn above(&self, path: &VirtualPath) -> Result<Option<Metadata>, Error> {
        match self.mounts().route(path) {
            Route::Above => {
                self.caller().check(path, Access::Read)?;
                let node = self.node(path.as_rel(), LastLink::Itself)?;
                Ok(Some(*node.metadata()))
            }
            _ => Ok(None),
        }
    }
}

/// Opens a file for reading and judges the file that was opened, by all its names.
pub(super) fn open_judged(
    place: &ResolvedPlace<'_>,
    guard: &Guard<'_>,
    op: &Op<'_>,
) -> Result<OpenedFile, Error> {
    let opened = place.mount.layer.open_read(place.spot().judged_by(guard))?;
    guard.check_file(opened.file.metadata())?;
    op.session().ask_to_open(place, op, &opened.file)?;
    op.allow(place.mount, Some(opened.file.metadata()))?;
    Ok(opened)
}

/// A file that is changed in place is the one that a person was asked about.
fn require_granted(place: &ResolvedPlace<'_>, file: &Metadata) -> Result<(), Error> {
    match (place.mount.layer.overlay(), &place.granted) {
        (None, Some(granted)) if !granted.same_object(&file.identity) => Err(changed_meanwhile()),
        _ => Ok(()),
    }
}

/// Nothing is created through a link.
pub(super) fn refuse_new(place: &ResolvedPlace<'_>) -> Result<(), Error> {
    match place.mount.layer.symlink_metadata(place.spot()) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::refused(ErrorKind::Link, "the link leads to nothing"))
        }
        _ => Ok(()),
    }
}
