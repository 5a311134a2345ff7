//! Replace a file atomically, or create it under a name that must be free.
//!
//! The new content is written to a file that has no public name, in the pinned parent; mode and
//! owner are set through its descriptor; it is synced as asked; then one rename publishes it. The
//! old file is never opened for writing, so nothing is lost on any error, and other names of it
//! keep their content.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::write_if::Turn;
use crate::durability::Durability;
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::{FileKind, Metadata};
use crate::options::Links;
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::{CAUTIOUS, Root};
use crate::rules;
use crate::staging::Draft;
use crate::sys;
use crate::verb::Verb;
use crate::version::Version;

/// How often what stands under the name may turn into something else while we look.
const TRIES: u32 = 16;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    pub(super) durability: Durability,
    pub(super) mode: Option<u32>,
}

impl WriteOptions {
    /// Content durable before the name points to it; mode of the old file, or `0o666` with the
    /// umask for a new one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has reached the disk when the write is answered.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The exact permission bits, whatever the umask and the old file say. Set-id bits are
    /// dropped.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode & 0o777);
        self
    }
}

/// A file that was written.
pub struct Written {
    fd: OwnedFd,
    path: RelPath,
    identity: Identity,
    limit: u64,
}

impl Written {
    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The version that was written, for a later
    /// [`Root::write_if`]. The file is very young, so this digests it.
    ///
    /// # Errors
    /// `Raced` if others keep writing to the same file; `Io`.
    pub fn version(&self) -> Result<Version, Error> {
        Version::of_file(&self.fd, true, self.limit)
            .map_err(|fault| Error::new(Verb::Version, self.path.to_string(), fault))
    }

    /// Whether the path still leads to the file that was written.
    ///
    /// Someone who moved the parent directory away between resolving and publishing makes this
    /// `false`.
    ///
    /// # Errors
    /// What stops the path from being resolved, other than that nothing is there.
    pub fn verify(&self, root: &Root) -> Result<bool, Error> {
        match root.metadata(&self.path) {
            Ok(now) => Ok(now.identity.same_object(&self.identity)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn new(fd: OwnedFd, path: &RelPath, identity: Identity) -> Self {
        Self {
            fd,
            path: path.clone(),
            identity,
            limit: u64::MAX,
        }
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written")
            .field("path", &self.path)
            .field("identity", &self.identity)
            .finish()
    }
}

impl Root {
    /// Replaces a file atomically, or creates it.
    ///
    /// # Errors
    /// `Link`, `Escape`, `Mount` if the path leads where it may not, and `Link` for a link that
    /// leads to nothing; `Kind`, `IsADirectory` for what cannot be replaced; `Denied` for a file
    /// the caller may not write; `Quota`; `Raced` with effect `unknown` if another file stands
    /// under the name right after ours was put there; `Io` with effect `visible` if only the
    /// directory's sync failed.
    ///
    /// # Security
    /// The old file's mode is kept, its owner and group where the caller may give files away;
    /// set-id bits are dropped. Extended attributes and access control lists are not copied.
    /// A final link is `Link` where links are refused; where they may be followed, the file it
    /// leads to is the one that is replaced, and the link stays.
    pub fn write(&self, path: &RelPath, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_with(path, data, WriteOptions::new())
    }

    /// As [`Root::write`], with options.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn write_with(
        &self,
        path: &RelPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(Verb::Write, path, |op| {
            let target = Target::find(self, path)?;
            op.allow_in(target.place.recorded_parent(self)?, target.old.as_ref())?;
            let mode = target.draft_mode(options);
            let draft = Draft::create(self, target.place.dir.as_fd(), mode)?;
            sys::write_all(draft.fd(), data.as_ref())?;
            target.publish(self, path, draft, options)
        })
    }

    /// Creates a file with its whole content; the name must be free.
    ///
    /// # Errors
    /// `Exists` if anything stands under the name, a dangling link included; otherwise as
    /// [`Root::write`].
    pub fn write_new(&self, path: &RelPath, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_new_with(path, data, WriteOptions::new())
    }

    /// As [`Root::write_new`], with options.
    ///
    /// # Errors
    /// As [`Root::write_new`].
    pub fn write_new_with(
        &self,
        path: &RelPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        self.act(Verb::WriteNew, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            let place = resolve::place(self, path, Last::Itself)?;
            op.allow_in(place.recorded_parent(self)?, None)?;
            let mode = options.mode.map_or(0o666, |_| 0o600);
            let mut draft = Draft::create(self, place.dir.as_fd(), mode)?;
            sys::write_all(draft.fd(), data.as_ref())?;
            let identity = publish_new(self, &place, &mut draft, options)?;
            Ok(Written::new(draft.release(), path, identity))
        })
    }

    /// Begins to write a file: what is written to the [`Staged`] file becomes visible all at once
    /// when it is committed, and never if it is dropped.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn stage(&self, path: &RelPath, options: WriteOptions) -> Result<Staged, Error> {
        let staged = Target::find(self, path).and_then(|target| {
            let dir = sys::duplicate(&target.place.dir)?;
            let draft = Draft::create(self, dir, target.draft_mode(options))?;
            Ok(Staged {
                root: self.clone(),
                path: path.clone(),
                target,
                draft,
                options,
            })
        });
        // What is refused here is recorded here; what is staged is recorded when it is committed.
        staged.or_else(|fault| self.act(Verb::Write, path, |_| Err(fault)))
    }
}

/// A file that is being written and that nobody sees yet.
#[must_use = "a staged file that is not committed is dropped"]
pub struct Staged {
    root: Root,
    path: RelPath,
    target: Target,
    draft: Draft<OwnedFd>,
    options: WriteOptions,
}

impl Staged {
    /// Replaces the file, or creates it.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn commit(self) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            draft,
            options,
        } = self;
        root.act(Verb::Write, &path, |op| {
            op.allow_in(target.place.recorded_parent(&root)?, target.old.as_ref())?;
            target.publish(&root, &path, draft, options)
        })
    }

    /// Creates the file; the name must be free.
    ///
    /// # Errors
    /// As [`Root::write_new`].
    pub fn commit_new(self) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            mut draft,
            options,
        } = self;
        root.act(Verb::WriteNew, &path, |op| {
            op.allow_in(target.place.recorded_parent(&root)?, None)?;
            if target.old.is_some() {
                return Err(Fault::rule(ErrorKind::Exists, ""));
            }
            let identity = publish_new(&root, &target.place, &mut draft, options)?;
            Ok(Written::new(draft.release(), &path, identity))
        })
    }

    /// Replaces the file only if it is still the version that was seen.
    ///
    /// # Errors
    /// As [`Root::write_if`].
    pub fn commit_if(self, version: &Version) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            draft,
            options,
        } = self;
        root.act(Verb::WriteIf, &path, |op| {
            Turn::take(&root, op, &target, version)?
                .replace(&root, &path, &target, draft, version, options)
        })
    }
}

impl io::Write for Staged {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        sys::retry(|| rustix::io::write(self.draft.fd(), buffer)).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Staged {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.draft.as_fd()
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("path", &self.path).finish()
    }
}

/// Where a file goes, and what stands there now.
pub(super) struct Target {
    pub(super) place: Place,
    /// The file that is replaced, as it was when it was pinned.
    pub(super) old: Option<Metadata>,
}

impl Target {
    pub(super) fn find(root: &Root, path: &RelPath) -> Result<Self, Fault> {
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
    pub(super) fn publish<D: AsFd>(
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
    fn draft_mode(&self, options: WriteOptions) -> u32 {
        if self.old.is_some() || options.mode.is_some() {
            0o600
        } else {
            0o666
        }
    }
}

/// Whether our object stands under the name. If somebody exchanged what was staged, or replaced
/// ours at once, the caller must not believe that its content is there.
pub(super) fn verify_published(place: &Place, identity: &Identity) -> Result<(), Fault> {
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

pub(super) fn publish_new<D: AsFd>(
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
pub(super) fn dress<D: AsFd>(
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
pub(super) struct DirSync(Option<OwnedFd>);

impl DirSync {
    pub(super) fn prepare(place: &Place, durability: Durability) -> Result<Self, Fault> {
        if !durability.syncs_dir() {
            return Ok(Self(None));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | CAUTIOUS;
        sys::open_at(&place.dir, c".", flags, Mode::empty()).map(|fd| Self(Some(fd)))
    }

    pub(super) fn sync(self) -> Result<(), Fault> {
        match self.0 {
            Some(fd) => sys::sync_all(fd).map_err(|fault| fault.with_effect(Effect::Visible)),
            None => Ok(()),
        }
    }
}
