//! Files that nobody sees yet: temporary ones, and content on its way to a name.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

use handfast::files::{At, Files as _, Node, Put, remove_dir};
use handfast::{
    ErrorKind, FileKind, Name, NameRef, TreeLimits, Verb, Version, WriteOptions, Written,
};

use super::read::refuse_new;
use super::write::{put_request, store};
use crate::error::Error;
use crate::layer::{FileContent, HiddenFile, Source};
use crate::meter::{HandleTicket, Temporary};
use crate::pipeline::Request;
use crate::place::ResolvedPlace;
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

impl Session {
    /// Creates a temporary file for a directory of the session. It has no name there and is gone
    /// when it is dropped; what is written to it is charged to the mount until then.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory` for the directory; `Denied` where nothing may be changed;
    /// `Quota`.
    pub fn temp_file(&self, dir: impl AsVirtualPath) -> Result<TempFile<'_>, Error> {
        self.act(Request::change(Verb::TempFile, &dir), |place, _, _| {
            self.draft_in(place)
        })
    }

    /// Begins to write a file: what is written to the answer becomes visible all at once when it is
    /// committed, and never if it is dropped.
    ///
    /// # Errors
    /// As [`Session::write`]; everything is decided again when it is committed.
    ///
    /// # Security
    /// The file that is committed is a fresh one: a process that got the descriptor of the staged
    /// one cannot change it afterwards.
    pub fn stage(&self, path: impl AsVirtualPath) -> Result<Staged<'_>, Error> {
        self.stage_as(&path, None)
    }

    /// As [`Session::stage_with`], under a name of a directory that is held.
    pub(crate) fn stage_in<'s>(
        &'s self,
        place: ResolvedPlace<'s>,
        options: WriteOptions,
    ) -> Result<Staged<'s>, Error> {
        let path = place.full();
        let request = Request::change(Verb::TempFile, &path).itself().held(&place);
        let draft = self.act(request, |place, guard, _| {
            require_file_or_nothing(place)?;
            guard.check_new(&place.path, Some(FileKind::File))?;
            self.draft_in(&place.parent())
        });
        let draft = draft.map_err(as_write)?;
        Ok(Staged {
            goal: Goal::Held(Box::new(place)),
            draft,
            options: Some(options),
        })
    }

    /// As [`Session::stage`], with exactly these options.
    ///
    /// # Errors
    /// As [`Session::stage`].
    pub fn stage_with(
        &self,
        path: impl AsVirtualPath,
        options: WriteOptions,
    ) -> Result<Staged<'_>, Error> {
        self.stage_as(&path, Some(options))
    }

    fn stage_as(
        &self,
        path: &dyn AsVirtualPath,
        options: Option<WriteOptions>,
    ) -> Result<Staged<'_>, Error> {
        let request = Request::change(Verb::TempFile, path);
        let begun = self.act(request, |place, guard, op| {
            if place.through_link {
                refuse_new(place)?;
            }
            require_file_or_nothing(place)?;
            guard.check_new(&place.path, Some(FileKind::File))?;
            Ok((op.path().clone(), self.draft_in(&place.parent())?))
        });
        let (path, draft) = begun.map_err(as_write)?;
        Ok(Staged {
            goal: Goal::Path(path),
            draft,
            options,
        })
    }

    /// Creates a temporary directory in a directory of the session, for its owner only. It has a
    /// name, and is removed with all that is in it when it is dropped.
    ///
    /// # Errors
    /// As [`Session::create_dir`].
    pub fn temp_dir(&self, dir: impl AsVirtualPath) -> Result<TempDir<'_>, Error> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(Error::from)?;
        let name = format!("tmp-{:016x}", u64::from_le_bytes(random));
        let name = NameRef::parse(name.as_bytes())?;
        let request = Request::change(Verb::TempDir, &dir);
        let (path, made, parent) = self.act(request, |place, guard, _| {
            let inside = place.inside(name);
            guard.check(&inside.path)?;
            let layer = &place.mount.layer;
            let made = match layer.create_dir(inside.spot(), guard, 0o700)? {
                // A co-owner of the parent may rename a directory of his own over the new one.
                Some(made) => made,
                None => layer.symlink_metadata(inside.spot())?.identity,
            };
            Ok((inside.full(), made, self.dir_node(place)?))
        })?;
        let named = |error: Error| error.on(Verb::TempDir, path.to_string());
        let node = self.lookup(&parent, name).map_err(named)?;
        if !node.metadata().identity.same_object(&made) {
            let why = "somebody put something else in its place";
            return Err(named(Error::refused(ErrorKind::Raced, why)));
        }
        Ok(TempDir {
            session: self,
            path: Some(path),
            held: (parent, name.to_name(), node),
        })
    }

    fn draft_in(&self, place: &ResolvedPlace<'_>) -> Result<TempFile<'_>, Error> {
        let ticket = self.account().ticket(place.mount.number)?;
        let (scratch, charge) = place.mount.layer.scratch(place.spot())?;
        Ok(TempFile {
            session: self,
            charge,
            scratch,
            _ticket: ticket,
        })
    }
}

/// The log tells of a file that nobody sees yet; the one who asked was about to write.
fn as_write(error: Error) -> Error {
    let path = error.path().to_owned();
    error.on(Verb::Write, path)
}

/// What cannot become a file is refused before anything is written. What may is decided again when
/// the content is published.
fn require_file_or_nothing(place: &ResolvedPlace<'_>) -> Result<(), Error> {
    if place.rest.is_root() {
        return Err(Error::refused(
            ErrorKind::Invalid,
            "the mount point itself cannot be used here; name something in it",
        ));
    }
    let status = match place.mount.layer.symlink_metadata(place.spot()) {
        Err(error) if error.kind() == ErrorKind::NotFound && !place.rest.must_be_dir() => {
            return Ok(());
        }
        status => status?,
    };
    match status.kind {
        FileKind::File => Ok(()),
        FileKind::Dir => Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
        FileKind::Symlink => Err(Error::refused(
            ErrorKind::Link,
            "a symbolic link is in the way",
        )),
        _ => Err(Error::refused(
            ErrorKind::Kind,
            "it is a FIFO, a socket or a device",
        )),
    }
}

/// A temporary file of a session.
pub struct TempFile<'s> {
    session: &'s Session,
    // Before the file: its number is another's as soon as it is closed.
    charge: Option<Temporary>,
    scratch: HiddenFile,
    _ticket: Option<HandleTicket>,
}

impl TempFile<'_> {
    /// Makes what was written a file under a name, which must be free. The temporary file is empty
    /// then; if it fails, it is as before.
    ///
    /// # Errors
    /// `Exists` if the name is taken; otherwise as [`Session::write_new`].
    pub fn persist_new(&mut self, path: impl AsVirtualPath) -> Result<Written, Error> {
        let options = |place: &ResolvedPlace<'_>| self.session.usual_options(place).mode(0o600);
        let written = self.publish(put_request(&path, Put::New), Put::New, &options)?;
        self.set_len(0)?;
        self.rewind()?;
        Ok(written)
    }

    /// Changes the length.
    ///
    /// # Errors
    /// `StorageFull` if a quota or the disk says no; otherwise what the system says.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        let file = self.scratch.file();
        match &self.charge {
            Some(charge) => charge
                .meter()
                .grow_to(file, len, || self.scratch.file().set_len(len)),
            None => file.set_len(len),
        }
    }

    fn publish(
        &self,
        request: Request<'_>,
        put: Put<'_>,
        options: &dyn Fn(&ResolvedPlace<'_>) -> WriteOptions,
    ) -> Result<Written, Error> {
        let (session, file) = (self.session, self.scratch.file());
        session.act(request, |place, guard, _| {
            let content = FileContent {
                source: Source::of_file(file)?,
                put,
                options: options(place),
            };
            // The content is charged once, as what it becomes.
            let _lifted = self.charge.as_ref().map(Temporary::lift).transpose()?;
            store(place, guard, content)
        })
    }
}

impl Read for TempFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.scratch.file().read(buffer)
    }
}

impl Write for TempFile<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut file = self.scratch.file();
        let Some(charge) = &self.charge else {
            return file.write(buffer);
        };
        let end = file.stream_position()?.saturating_add(buffer.len() as u64);
        charge
            .meter()
            .grow_to(self.scratch.file(), end, || file.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for TempFile<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.scratch.file().seek(position)
    }
}

impl fmt::Debug for TempFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TempFile").finish_non_exhaustive()
    }
}

/// Where staged content goes.
enum Goal<'s> {
    /// To whatever the path leads to then.
    Path(VirtualPath),
    /// Under a name of a directory that is held, wherever that is by then.
    Held(Box<ResolvedPlace<'s>>),
}

impl Goal<'_> {
    fn path(&self) -> VirtualPath {
        match self {
            Self::Path(path) => path.clone(),
            Self::Held(place) => place.full(),
        }
    }
}

/// A file that is being written and that nobody sees yet.
#[must_use = "a staged file that is not committed is dropped"]
pub struct Staged<'s> {
    goal: Goal<'s>,
    draft: TempFile<'s>,
    /// What was asked for; otherwise what is usual where it goes.
    options: Option<WriteOptions>,
}

impl Staged<'_> {
    /// Replaces the file, or creates it.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn commit(self) -> Result<Written, Error> {
        self.put(Put::Replace)
    }

    /// Creates the file; the name must be free.
    ///
    /// # Errors
    /// As [`Session::write_new`].
    pub fn commit_new(self) -> Result<Written, Error> {
        self.put(Put::New)
    }

    /// Replaces the file only if it is still the version that was seen.
    ///
    /// # Errors
    /// As [`Session::write_if`].
    pub fn commit_if(self, version: &Version) -> Result<Written, Error> {
        self.put(Put::If(version))
    }

    pub(crate) fn put(self, put: Put<'_>) -> Result<Written, Error> {
        let session = self.draft.session;
        let options =
            |place: &ResolvedPlace<'_>| self.options.unwrap_or(session.usual_options(place));
        let path = self.goal.path();
        let request = put_request(&path, put);
        let request = match &self.goal {
            Goal::Path(_) => request,
            Goal::Held(place) => request.itself().held(place),
        };
        self.draft.publish(request, put, &options)
    }
}

impl Write for Staged<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.draft.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush()
    }
}

impl fmt::Debug for Staged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged")
            .field("path", &self.goal.path())
            .finish()
    }
}

/// A temporary directory of a session.
pub struct TempDir<'s> {
    session: &'s Session,
    path: Option<VirtualPath>,
    /// The directory that it is in, its name, and the directory itself.
    held: (Node, Name, Node),
}

impl TempDir<'_> {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &VirtualPath {
        self.path.as_ref().expect("kept until it is dropped")
    }

    /// Leaves the directory where it is.
    #[must_use]
    pub fn keep(mut self) -> VirtualPath {
        self.path.take().expect("kept until it is dropped")
    }
}

impl Drop for TempDir<'_> {
    fn drop(&mut self) {
        if self.path.take().is_none() {
            return;
        }
        // The directory is held: what is in it is found by no path, and what somebody put in its
        // place is theirs. Nobody can be told of what stays: it is in every listing.
        let (parent, name, made) = &self.held;
        let identity = |node: &Node| node.metadata().identity;
        let is_there = self.session.lookup(parent, name.as_ref());
        if is_there.is_ok_and(|now| identity(&now).same_object(&identity(made))) {
            let at = At::new(parent, name);
            drop(remove_dir(self.session, at, made, TreeLimits::new()));
        }
    }
}

impl fmt::Debug for TempDir<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TempDir").field("path", &self.path).finish()
    }
}
