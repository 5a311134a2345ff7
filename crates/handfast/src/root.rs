//! A directory, pinned once.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::enforcement::{Backend, BackendReason, Enforcement, MountIdentity};
use crate::error::{Error, ErrorKind, Fault};
use crate::event::Recorder;
use crate::filesystem::FilesystemKind;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::options::{BackendChoice, Links, RootOptions};
use crate::path::RelPath;
use crate::resolve;
use crate::sys;
use crate::verb::Verb;

/// A directory that was pinned once and confines everything that is done through it.
///
/// ```
/// use handfast::{RelPath, Root};
/// # let scratch = std::env::temp_dir().join(format!("handfast-doc-{}", std::process::id()));
/// # std::fs::create_dir(&scratch).unwrap();
/// let root = Root::open_ambient(&scratch)?;
/// root.write(&RelPath::parse("hello.txt")?, b"hello")?;
/// assert_eq!(root.read(&RelPath::parse("hello.txt")?)?, b"hello");
/// # root.remove_file(&RelPath::parse("hello.txt")?)?;
/// # std::fs::remove_dir(&scratch).unwrap();
/// # Ok::<(), handfast::Error>(())
/// ```
///
/// Cloning is cheap and gives the same root. A root can be shared between threads.
///
/// # Security
/// The root is the directory, not its name: renaming it, replacing it or putting a link in its
/// place changes nothing for a root that is already open.
#[derive(Clone)]
pub struct Root {
    pub(crate) pinned: Arc<Pinned>,
    pub(crate) options: Arc<RootOptions>,
    /// The same options with links refused, for verbs on one name of a pinned directory.
    strict: Arc<RootOptions>,
    /// For a verb on an object that is pinned already: the name must lead to this object.
    pub(crate) expected: Option<Identity>,
    /// For a directory that was pinned below a root: where it lies.
    pub(crate) below: Option<Arc<Below>>,
}

/// Where a directory lies below the root that it was pinned below.
pub(crate) struct Below {
    /// The path that led there, for messages and events.
    pub(crate) path: RelPath,
    /// How many directories lie between it and the top, as far as that is certain: a link that is
    /// made in it may climb so far, if the directory still lies there.
    pub(crate) depth: usize,
    /// The top.
    pub(crate) top: Identity,
}

/// What is known of the pinned directory; shared by all clones.
pub(crate) struct Pinned {
    pub(crate) fd: OwnedFd,
    pub(crate) identity: Identity,
    pub(crate) filesystem: FilesystemKind,
    backend: AtomicU8,
    reason: AtomicU8,
    /// Set once unnamed files (`O_TMPFILE` and linking by descriptor) turned out not to work here.
    pub(crate) no_unnamed_files: AtomicBool,
    /// Set once an unnamed file was seen to be one that can be given a name by its descriptor.
    pub(crate) names_by_descriptor: AtomicBool,
}

impl Root {
    /// Pins the directory at an ambient path, with strict options.
    ///
    /// Trailing slashes are stripped. A path whose last component is a symbolic link is an error:
    /// say where you mean.
    ///
    /// # Errors
    /// `Link` if the path ends in a link, `NotADirectory`, `NotFound`, `Denied`.
    ///
    /// # Security
    /// This is where authority enters: the path is looked up with all the rights of the process,
    /// links in its middle included. Never build it from untrusted text.
    pub fn open_ambient(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_ambient_with(path, RootOptions::new())
    }

    /// As [`Root::open_ambient`], with options.
    ///
    /// # Errors
    /// As [`Root::open_ambient`]; `Unsupported` if the options ask for a backend that is not there.
    pub fn open_ambient_with(path: impl AsRef<Path>, options: RootOptions) -> Result<Self, Error> {
        use std::os::unix::ffi::OsStrExt;
        let mut bytes = path.as_ref().as_os_str().as_bytes();
        // `link/` would follow the link: the slash must never reach the kernel.
        while bytes.len() > 1 && (bytes.ends_with(b"/") || bytes.ends_with(b"/.")) {
            bytes = &bytes[..bytes.len() - 1];
        }
        let fd = if bytes.is_empty() {
            Err(Fault::rule(ErrorKind::Invalid, "the root's path is empty"))
        } else {
            sys::open_at(CWD, bytes, sys::PIN, Mode::empty())
        };
        fd.and_then(|fd| Self::adopt(fd, options))
            .map_err(|fault| ambient_error(bytes, fault))
    }

    /// Makes a root of a directory descriptor that the caller already holds.
    ///
    /// # Errors
    /// `NotADirectory` if it is something else; `Unsupported` as for [`Root::open_ambient_with`].
    ///
    /// # Security
    /// The descriptor is marked so that programs started later do not inherit it.
    pub fn from_fd(fd: OwnedFd, options: RootOptions) -> Result<Self, Error> {
        sys::close_on_exec(&fd)
            .and_then(|()| Self::adopt(fd, options))
            .map_err(root_error)
    }

    pub(crate) fn adopt(fd: OwnedFd, options: RootOptions) -> Result<Self, Fault> {
        let status = sys::status(&fd)?;
        if status.is_symlink() {
            return Err(Fault::rule(
                ErrorKind::Link,
                "the root is a symbolic link; name the directory it points to",
            ));
        }
        if !status.is_dir() {
            return Err(Fault::rule(
                ErrorKind::NotADirectory,
                "the root is not a directory",
            ));
        }
        let filesystem = sys::filesystem(&fd).unwrap_or(FilesystemKind::Other(0));
        let (backend, reason) = choose(&fd, &options)?;
        let options = Arc::new(options);
        Ok(Self {
            pinned: Arc::new(Pinned {
                fd,
                identity: status.identity,
                filesystem,
                backend: AtomicU8::new(backend as u8),
                reason: AtomicU8::new(reason as u8),
                no_unnamed_files: AtomicBool::new(false),
                names_by_descriptor: AtomicBool::new(false),
            }),
            strict: strict(&options),
            options,
            expected: None,
            below: None,
        })
    }

    /// A directory below this root, which is held: the same policy, another place. It asks the
    /// system nothing, and remembers the way for messages, events and the depth of links.
    pub(crate) fn at_dir(&self, fd: OwnedFd, identity: Identity, below: Below) -> Self {
        let copy = |atomic: &AtomicU8| AtomicU8::new(atomic.load(Ordering::Relaxed));
        let copy_flag = |flag: &AtomicBool| AtomicBool::new(flag.load(Ordering::Relaxed));
        Self {
            pinned: Arc::new(Pinned {
                fd,
                identity,
                filesystem: self.pinned.filesystem,
                backend: copy(&self.pinned.backend),
                reason: copy(&self.pinned.reason),
                no_unnamed_files: copy_flag(&self.pinned.no_unnamed_files),
                names_by_descriptor: copy_flag(&self.pinned.names_by_descriptor),
            }),
            options: Arc::clone(&self.options),
            strict: Arc::clone(&self.strict),
            expected: None,
            below: Some(Arc::new(below)),
        }
    }

    /// The same root with other options, which must not ask for another backend.
    fn with_options(&self, options: RootOptions) -> Self {
        let options = Arc::new(options);
        Self {
            strict: strict(&options),
            options,
            ..self.clone()
        }
    }

    /// The same directory for verbs on one name: a link is never followed.
    pub(crate) fn without_links(&self) -> Self {
        Self {
            options: Arc::clone(&self.strict),
            ..self.clone()
        }
    }

    /// The same directory for a verb on an object that is pinned: where its name leads to another
    /// object by now, the verb answers `Raced`.
    pub(crate) fn expecting(&self, object: Identity) -> Self {
        Self {
            expected: Some(object),
            ..self.clone()
        }
    }

    /// What happens to links here. A directory below a root does not know the way to the root's top,
    /// so there a link that begins at the top leads outside.
    pub(crate) fn link_policy(&self) -> Links {
        match (self.options.links, &self.below) {
            (Links::InRoot, Some(_)) => Links::Beneath,
            (links, _) => links,
        }
    }

    /// How many directories lay between this one and the top of the root it was pinned below.
    pub(crate) fn depth(&self) -> usize {
        self.below.as_ref().map_or(0, |below| below.depth)
    }

    /// As [`Root::depth`], if the directory still lies so deep; 0 if it was moved meanwhile: then
    /// nothing is certain but what lies in it.
    pub(crate) fn depth_now(&self) -> Result<usize, Fault> {
        let Some(below) = self.below.as_ref().filter(|below| below.depth > 0) else {
            return Ok(0);
        };
        // The kernel may say where `..` leads, since what it leads to must be the top at last.
        let mut at = sys::open_at(&self.pinned.fd, c"..", sys::PIN, Mode::empty())?;
        for _ in 1..below.depth {
            at = sys::open_at(&at, c"..", sys::PIN, Mode::empty())?;
        }
        match sys::status(&at)?.identity.same_object(&below.top) {
            true => Ok(below.depth),
            false => Ok(0),
        }
    }

    /// The top of the root that this directory was pinned below; itself if it is a root.
    pub(crate) fn top_identity(&self) -> Identity {
        self.below
            .as_ref()
            .map_or(self.pinned.identity, |below| below.top)
    }

    /// A path as the top of the root would say it, for messages and events.
    pub(crate) fn full(&self, path: &RelPath) -> RelPath {
        match &self.below {
            Some(below) => below.path.join(path).with_must_be_dir(path.must_be_dir()),
            None => path.clone(),
        }
    }

    /// The same root, telling every decision to a recorder.
    #[must_use]
    pub fn with_recorder(&self, recorder: Arc<dyn Recorder>) -> Self {
        let mut options = RootOptions::clone(&self.options);
        options.recorder = Some(recorder);
        self.with_options(options)
    }

    /// The same root, used on behalf of a named party.
    #[must_use]
    pub fn with_actor(&self, actor: impl Into<Arc<str>>) -> Self {
        let mut options = RootOptions::clone(&self.options);
        options.actor = Some(actor.into());
        self.with_options(options)
    }

    /// Which directory this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.pinned.identity
    }

    /// The options it was opened with.
    #[must_use]
    pub fn options(&self) -> &RootOptions {
        &self.options
    }

    /// What is enforced, here and now.
    pub fn enforcement(&self) -> Enforcement {
        let status = sys::status(&self.pinned.fd);
        Enforcement {
            backend: self.backend(),
            reason: self.backend_reason(),
            links: self.link_policy(),
            hard_links: self.options.hard_links,
            mounts: self.options.mounts,
            mount_identity: if self.pinned.identity.mount.is_some() {
                MountIdentity::MountId
            } else {
                MountIdentity::Device
            },
            specials: self.options.specials,
            filesystem: self.pinned.filesystem,
            birth_times: self.pinned.identity.born.is_some(),
            attached: status.is_ok_and(|status| status.nlink > 0),
        }
    }

    /// How paths are resolved now: [`Enforcement::backend`] without asking the system.
    #[must_use]
    pub fn backend(&self) -> Backend {
        if !self.options.denied.is_empty() {
            return Backend::Walk;
        }
        if self.pinned.backend.load(Ordering::Relaxed) == Backend::Kernel as u8 {
            Backend::Kernel
        } else {
            Backend::Walk
        }
    }

    fn backend_reason(&self) -> BackendReason {
        const REASONS: [BackendReason; 6] = [
            BackendReason::Probed,
            BackendReason::Chosen,
            BackendReason::Absent,
            BackendReason::Misbehaves,
            BackendReason::Lost,
            BackendReason::DenyList,
        ];
        if !self.options.denied.is_empty() && self.options.backend != BackendChoice::Walk {
            return BackendReason::DenyList;
        }
        let stored = usize::from(self.pinned.reason.load(Ordering::Relaxed));
        REASONS.get(stored).copied().unwrap_or(BackendReason::Lost)
    }

    /// Remembers that `openat2` went away. There is no way back: only "absent" is remembered.
    pub(crate) fn lose_kernel(&self) -> Result<(), Fault> {
        if self.options.backend == BackendChoice::Kernel {
            return Err(Fault::rule(
                ErrorKind::Unsupported,
                "openat2 was taken away, and the options ask for it",
            ));
        }
        self.pinned
            .backend
            .store(Backend::Walk as u8, Ordering::Relaxed);
        self.pinned
            .reason
            .store(BackendReason::Lost as u8, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn is_denied(&self, status: &Metadata) -> bool {
        !self.options.denied.is_empty()
            && self
                .options
                .denied
                .contains(&(status.identity.device, status.identity.inode))
    }
}

/// The same options with links refused.
fn strict(options: &Arc<RootOptions>) -> Arc<RootOptions> {
    if options.links == Links::Refuse {
        return Arc::clone(options);
    }
    Arc::new(RootOptions::clone(options).links(Links::Refuse))
}

/// Decides who walks: by what the kernel does, not by its version.
fn choose(fd: &OwnedFd, options: &RootOptions) -> Result<(Backend, BackendReason), Fault> {
    if options.backend == BackendChoice::Walk {
        return Ok((Backend::Walk, BackendReason::Chosen));
    }
    let reason = match resolve::probe_in_place(fd) {
        resolve::Probe::Works => return Ok((Backend::Kernel, BackendReason::Probed)),
        resolve::Probe::Absent => BackendReason::Absent,
        resolve::Probe::Misbehaves => BackendReason::Misbehaves,
    };
    if options.backend == BackendChoice::Kernel {
        return Err(Fault::rule(ErrorKind::Unsupported, reason.sentence()));
    }
    Ok((Backend::Walk, reason))
}

/// A root's path is the operator's, not the caller's, and stays out of errors: the error names
/// the step only.
fn root_error(fault: Fault) -> Error {
    Error::new(Verb::OpenRoot, "<root>", name_loop(fault))
}

/// The operator who opens a root by its path knows that path: this one error names it.
fn ambient_error(path: &[u8], fault: Fault) -> Error {
    Error::new(Verb::OpenRoot, crate::escape(path), name_loop(fault))
}

fn name_loop(fault: Fault) -> Fault {
    if fault.is(Errno::LOOP) {
        fault.with_kind(ErrorKind::Link, "links in the root's path form a loop")
    } else {
        fault
    }
}

impl AsFd for Root {
    /// The pinned directory. On Linux it is an `O_PATH` descriptor unless it came from the caller.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pinned.fd.as_fd()
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root")
            .field("identity", &self.pinned.identity)
            .field("backend", &self.backend())
            .field("options", &self.options)
            .finish()
    }
}

/// Flags with which every file is opened before it is known what it is: never blocks, never
/// becomes a controlling terminal, never follows, never truncates.
pub(crate) const CAUTIOUS: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
