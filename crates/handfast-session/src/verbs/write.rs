//! Writing whole files.

use handfast::files::Put;
use handfast::{
    Durability, ErrorKind, FileKind, Metadata, RelPath, Verb, Version, WriteOptions, Written,
};

use super::read::{open_judged, refuse_new};
use crate::asking::require_shown;
use crate::error::Error;
use crate::layer::{FileContent, Source};
use crate::pipeline::Request;
use crate::place::{Guard, ResolvedPlace};
use crate::session::Session;
use crate::vpath::AsVirtualPath;

impl Session {
    /// Replaces a file atomically, or creates it, with the durability of the session: in a
    /// read-write mount the content is on the disk before the name points to it, in an overlay
    /// nothing is waited for.
    ///
    /// # Errors
    /// `Denied` if the mount is read-only or a pattern protects the path; `Quota`; `Link` for a
    /// link that may not be followed; otherwise as [`handfast::Root::write`].
    pub fn write(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.put_as_usual(path, data, Put::Replace)
    }

    /// Creates a file with its whole content; the name must be free.
    ///
    /// # Errors
    /// `Exists` if the name is taken; otherwise as [`Session::write`].
    pub fn write_new(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.put_as_usual(path, data, Put::New)
    }

    /// Replaces a file only if it is still the version that was seen.
    ///
    /// # Errors
    /// `Stale` if it is not; nothing is changed then. Otherwise as [`Session::write`].
    pub fn write_if(
        &self,
        path: impl AsVirtualPath,
        version: &Version,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.put_as_usual(path, data, Put::If(version))
    }

    /// Puts content under a path with exactly these options. In an overlay, a durability beyond
    /// `None` waits for the content and for the journal.
    ///
    /// # Errors
    /// As [`Session::write`], [`Session::write_new`] and [`Session::write_if`].
    pub fn put(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.put_as(put_request(&path, put), data.as_ref(), put, options)
    }

    /// Puts content under a path with the options of [`Session::write`].
    ///
    /// # Errors
    /// As [`Session::put`].
    pub fn put_as_usual(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
        put: Put<'_>,
    ) -> Result<Written, Error> {
        let data = data.as_ref();
        self.act(put_request(&path, put), |place, guard, _| {
            let content = FileContent {
                source: Source::Bytes(data),
                put,
                options: self.usual_options(place),
            };
            store(place, guard, content)
        })
    }

    pub(crate) fn put_as(
        &self,
        request: Request<'_>,
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(request, |place, guard, _| {
            let content = FileContent {
                source: Source::Bytes(data),
                put,
                options,
            };
            store(place, guard, content)
        })
    }

    /// How a write is done that asks for nothing in particular.
    pub(super) fn usual_options(&self, place: &ResolvedPlace<'_>) -> WriteOptions {
        WriteOptions::new().durability(match place.mount.layer.overlay() {
            Some(_) => Durability::None,
            None => self.durability(),
        })
    }

    /// Adds to the end of a file, creating it if it is missing.
    ///
    /// # Errors
    /// `HardLink` if the file has other names; otherwise as [`Session::write`].
    pub fn append(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
    ) -> Result<Written, Error> {
        self.append_with(path, data, WriteOptions::new().durability(Durability::None))
    }

    /// As [`Session::append`], with options.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn append_with(
        &self,
        path: impl AsVirtualPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.append_as(Request::change(Verb::Append, &path), data.as_ref(), options)
    }

    pub(crate) fn append_as(
        &self,
        request: Request<'_>,
        data: &[u8],
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(request, |place, guard, _| {
            if place.through_link {
                refuse_new(place)?;
            }
            guard.check_new(&place.path, Some(FileKind::File))?;
            place.mount.layer.append(place.spot(), guard, data, options)
        })
    }

    /// Copies a file, between mounts too. The new file has the source's permission bits.
    ///
    /// # Errors
    /// As [`Session::read`] and [`Session::write`].
    pub fn copy(&self, from: impl AsVirtualPath, to: impl AsVirtualPath) -> Result<Written, Error> {
        self.copy_with(from, to, Put::Replace)
    }

    /// As [`Session::copy`]; `put` says what the new name may refer to.
    ///
    /// # Errors
    /// As [`Session::copy`]; `Exists`, `Stale`.
    pub fn copy_with(
        &self,
        from: impl AsVirtualPath,
        to: impl AsVirtualPath,
        put: Put<'_>,
    ) -> Result<Written, Error> {
        let source = Request::read(Verb::Copy, &from);
        let target = Request {
            verb: Verb::Copy,
            ..put_request(&to, put)
        };
        self.act_on_two(source, target, |copying, op| {
            // This may ask a person about the source; the yes about the target is older then.
            let opened = open_judged(copying.from, &copying.from_guard, op)?;
            require_shown(copying.to)?;
            let there = copying.to.mount.layer.symlink_metadata(copying.to.spot());
            if let Put::New = put {
                refuse_taken(&copying.to.rest, &there)?;
            }
            let mut options = self.usual_options(copying.to);
            if there.is_err() {
                options = options.mode(opened.file.metadata().mode & 0o777);
            }
            let file = opened.file.into_std();
            let content = FileContent {
                source: Source::of_file(&file)?,
                put,
                options,
            };
            store(copying.to, &copying.to_guard, content)
        })
    }
}

/// A copy that must be new is refused before anything is written.
fn refuse_taken(path: &RelPath, there: &Result<Metadata, Error>) -> Result<(), Error> {
    let (kind, why) = match there {
        Ok(_) if path.is_root() => return Ok(()),
        Ok(_) if path.must_be_dir() => (ErrorKind::IsADirectory, "is a directory"),
        Ok(_) => (ErrorKind::Exists, "something is there already"),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            (ErrorKind::NotADirectory, "not a directory")
        }
        Err(_) => return Ok(()),
    };
    Err(Error::refused(kind, why))
}

pub(super) fn put_request<'a>(path: &'a dyn AsVirtualPath, put: Put<'_>) -> Request<'a> {
    let request = Request::change(put.verb(), path);
    match put {
        // A new file is never looked for behind a link.
        Put::New => request.itself(),
        _ => request,
    }
}

/// Puts content under a place.
pub(super) fn store(
    place: &ResolvedPlace<'_>,
    guard: &Guard<'_>,
    content: FileContent<'_>,
) -> Result<Written, Error> {
    if place.through_link {
        refuse_new(place)?;
    }
    guard.check_new(&place.path, Some(FileKind::File))?;
    place.mount.layer.write(place.spot(), guard, content)
}
