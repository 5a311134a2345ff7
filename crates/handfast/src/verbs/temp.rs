//! Temporary files and directories.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::made::{Making, is_empty};
use super::open_dir_place;
use super::remove_tree::Removal;
use super::write::{WriteOptions, Written, publish_new, verify_published};
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::path::{Name, RelPath};
use crate::resolve::{self, Last, Place};
use crate::root::{CAUTIOUS, Root};
use crate::staging::{Draft, Role, StagingName, lacks_flag, rename_to_secret};
use crate::sys;
use crate::tree::TreeLimits;
use crate::verb::Verb;

/// How often a directory is made again if another process removed it at once.
const MAX_TRIES: u32 = 100;

impl Root {
    /// Creates a temporary file in a directory, readable and writable by its owner only. It has no
    /// name where the filesystem can do that, and is gone when it is dropped.
    ///
    /// # Errors
    /// As [`Root::open_dir`] for the directory; `Denied`, `Quota`.
    pub fn temp_file(&self, dir: &RelPath) -> Result<TempFile, Error> {
        self.act(Verb::TempFile, dir, |op| {
            let fd = open_dir_place(self, dir)?;
            op.allow(None)?;
            let draft = Draft::create(self, fd, 0o600)?.given_out();
            // The umask may take bits away, and a default access control list may add some.
            sys::chmod_open(draft.fd(), 0o600)?;
            Ok(TempFile {
                root: self.clone(),
                draft,
            })
        })
    }

    /// Creates a temporary directory in a directory, for its owner only. It is removed with all
    /// that is in it when it is dropped.
    ///
    /// # Errors
    /// As [`Root::temp_file`].
    pub fn temp_dir(&self, dir: &RelPath) -> Result<TempDir, Error> {
        self.act(Verb::TempDir, dir, |op| {
            let fd = open_dir_place(self, dir)?;
            op.allow(None)?;
            let staging = StagingDir::create(self, fd)?;
            let root = Self::adopt(staging.reopen()?, (*self.options).clone())?;
            Ok(TempDir { root, staging })
        })
    }
}

/// A file that is gone when it is dropped, unless it was given a name.
pub struct TempFile {
    root: Root,
    draft: Draft<OwnedFd>,
}

impl TempFile {
    /// Gives the file a name, which must be free, in any directory of the same filesystem. If that
    /// fails the file is still there, and another name can be tried.
    ///
    /// # Errors
    /// `Exists` if the name is taken; `Mount` if it lies on another filesystem; otherwise as
    /// [`Root::write_new`].
    pub fn persist_new(&mut self, path: &RelPath, options: WriteOptions) -> Result<Written, Error> {
        let Self { root, draft } = self;
        root.act(Verb::WriteNew, path, |op| {
            resolve::require_file_path(root, path, Last::Itself)?;
            let place = resolve::place(root, path, Last::Itself)?;
            op.allow_in(place.recorded_parent(root)?, None)?;
            let options = match options.mode {
                Some(_) => options,
                None => options.mode(0o600),
            };
            draft.move_to(sys::duplicate(&place.dir)?)?;
            let identity = publish_new(root, &place, draft, options)?;
            draft.unlock();
            Ok(Written::new(sys::duplicate(draft.fd())?, path, identity))
        })
    }
}

impl Read for TempFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        sys::retry(|| rustix::io::read(self.draft.fd(), &mut *buffer)).map_err(io::Error::from)
    }
}

impl Write for TempFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        sys::retry(|| rustix::io::write(self.draft.fd(), buffer)).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for TempFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let position = match position {
            SeekFrom::Start(offset) => rustix::fs::SeekFrom::Start(offset),
            SeekFrom::End(offset) => rustix::fs::SeekFrom::End(offset),
            SeekFrom::Current(offset) => rustix::fs::SeekFrom::Current(offset),
        };
        rustix::fs::seek(self.draft.fd(), position).map_err(io::Error::from)
    }
}

impl AsFd for TempFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.draft.as_fd()
    }
}

impl fmt::Debug for TempFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TempFile").finish_non_exhaustive()
    }
}

/// A directory that is removed when it is dropped. Work in it through [`TempDir::root`].
pub struct TempDir {
    root: Root,
    staging: StagingDir<OwnedFd>,
}

impl TempDir {
    /// The directory as a root of its own.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Its name in the directory it was made in.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.staging.name
    }

    /// Gives the directory a name for good; the name must be free. If that fails the directory is
    /// still there, and another name can be tried.
    ///
    /// # Errors
    /// `Exists` if the name is taken; `Mount` if it lies on another filesystem.
    pub fn persist_new(&mut self, parent: &Root, path: &RelPath) -> Result<(), Error> {
        let staging = &mut self.staging;
        parent.act(Verb::Rename, path, |op| {
            let place = resolve::place(parent, path, Last::Itself)?;
            op.allow_in(place.recorded_parent(parent)?, None)?;
            staging.publish_new(&place, None)
        })
    }
}

impl fmt::Debug for TempDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TempDir")
            .field("name", self.name())
            .finish()
    }
}

/// A directory under a staging name, locked while its maker lives, removed when dropped.
pub(super) struct StagingDir<D: AsFd> {
    root: Root,
    parent: D,
    name: Name,
    /// Held open and locked; taken when the directory is removed.
    fd: Option<OwnedFd>,
    identity: Identity,
    published: bool,
}

impl<D: AsFd> StagingDir<D> {
    pub(super) fn create(root: &Root, parent: D) -> Result<Self, Fault> {
        let mut tries = MAX_TRIES;
        let (fd, identity, name) = loop {
            tries -= 1;
            match Self::make(root, &parent) {
                // Before it is locked, another process's `recover` takes it for a leftover.
                Err(fault)
                    if tries > 0
                        && matches!(fault.kind, ErrorKind::NotFound | ErrorKind::Raced) => {}
                made => break made?,
            }
        };
        Ok(Self {
            root: root.clone(),
            parent,
            name,
            fd: Some(fd),
            identity,
            published: false,
        })
    }

    fn make(root: &Root, parent: &D) -> Result<(OwnedFd, Identity, Name), Fault> {
        let first = StagingName::nameless(Role::Tree, sys::random()?).to_name();
        let making = Making::begin(0o700);
        sys::mkdir_at(parent, first.as_c_str(), Mode::from_raw_mode(0o700))?;
        Self::adopt(root, parent, &first, &making)
            // What was made is taken back here, or is nobody's but ours to find.
            .map_err(|fault| fault.with_effect(Effect::None))
            .inspect_err(|_| {
                // Empty, so this removes nothing that anybody put into it.
                drop(sys::rmdir_at(parent, first.as_c_str()));
            })
    }

    fn adopt(
        root: &Root,
        parent: &D,
        first: &Name,
        making: &Making,
    ) -> Result<(OwnedFd, Identity, Name), Fault> {
        let fd = match resolve::open_child_dir(root, parent.as_fd(), first.as_c_str()) {
            // Something else has its name by now.
            Err(fault)
                if matches!(
                    fault.kind,
                    ErrorKind::Link | ErrorKind::NotADirectory | ErrorKind::Denied
                ) =>
            {
                return Err(fault.with_kind(ErrorKind::Raced, ""));
            }
            opened => opened?,
        };
        let status = sys::status(&fd)?;
        making.check(root, parent.as_fd(), &status)?;
        // All that is in it will be removed with it, so there must be nothing yet.
        if !is_empty(fd.as_fd())? {
            return Err(Fault::rule(ErrorKind::Raced, "it is not empty"));
        }
        let identity = status.identity;
        if !sys::try_lock(&fd, true).unwrap_or(true) {
            return Err(Fault::rule(
                ErrorKind::Raced,
                "another process locked a directory that none should have found",
            ));
        }
        let proof = StagingName::new(Role::Tree, &identity, sys::random()?, None);
        proof.mark(&fd);
        let name = proof.to_name();
        match rename_to_secret(parent, first, &name) {
            Ok(()) => Ok((fd, identity, name)),
            // Some overlay filesystems cannot rename a directory at all: then it keeps its first
            // name, and `recover` will not be able to prove whose it is.
            Err(fault) if fault.is(Errno::XDEV) => Ok((fd, identity, first.clone())),
            Err(fault) => Err(fault),
        }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        self.fd.as_ref().expect("held until dropped")
    }

    /// The same directory with a place of its own in the listing.
    pub(super) fn reopen(&self) -> Result<OwnedFd, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
        sys::open_at(self.fd(), c".", flags, Mode::empty()).map_err(|fault| match fault.kind {
            // A user who may write the parent may remove what is empty.
            ErrorKind::NotFound => fault.with_kind(ErrorKind::Raced, "another process removed it"),
            _ => fault,
        })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Gives the directory its mode, if one is asked for, and renames it into place; the name must
    /// be free.
    pub(super) fn publish_new(&mut self, place: &Place, mode: Option<u32>) -> Result<(), Fault> {
        // The mark goes last, so that whatever fails before leaves what `recover` knows as ours;
        // only where the directory will not be writable any more does it go first.
        let stays_writable = mode.is_none_or(|mode| mode & 0o200 != 0);
        if !stays_writable {
            StagingName::unmark(self.fd())?;
        }
        if let Some(mode) = mode {
            sys::chmod_open(self.fd(), mode)?;
        }
        sys::rename_noreplace(
            &self.parent,
            self.name.as_c_str(),
            &place.dir,
            place.name.as_c_str(),
        )
        .map_err(|fault| {
            let parents = (sys::status(&self.parent), sys::status(&place.dir));
            match parents {
                (Ok(one), Ok(other))
                    if fault.is(Errno::XDEV) && one.identity.device == other.identity.device =>
                {
                    fault.with_kind(
                        ErrorKind::Unsupported,
                        "this filesystem cannot rename a directory",
                    )
                }
                _ if lacks_flag(&fault) => fault.with_kind(
                    ErrorKind::Unsupported,
                    "this filesystem cannot promise not to replace what has the name",
                ),
                // A user who may write the parent removed the staging directory.
                _ if fault.kind == ErrorKind::NotFound => fault.with_kind(
                    ErrorKind::Raced,
                    "another process moved or removed the new directory",
                ),
                _ => fault,
            }
        })?;
        self.published = true;
        drop(sys::unlock(self.fd()));
        if stays_writable {
            StagingName::unmark(self.fd()).map_err(|fault| fault.with_effect(Effect::Visible))?;
        }
        verify_published(place, self.fd(), &self.identity)
    }
}

impl<D: AsFd> Drop for StagingDir<D> {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        if let Some(fd) = &self.fd {
            // A child that was forked meanwhile may hold a copy of the descriptor.
            drop(sys::unlock(fd));
        }
        let parent = self.parent.as_fd();
        let still_ours = sys::status_at(parent, self.name.as_c_str())
            .is_ok_and(|status| status.identity.same_object(&self.identity));
        if still_ours {
            // Best effort: what cannot be removed now is found by `recover`.
            let mut removal = Removal::of_own(&self.root, TreeLimits::new());
            if let Some(fd) = self.fd.take() {
                drop(removal.remove_held(parent, self.name.as_c_str(), fd));
            }
        }
    }
}
