//! One agent's view: mounts in one namespace, with rules and limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use handfast::{Durability, ErrorKind, ObjectJudge, Root, RootOptions, TempDir};

use crate::asking::DEFAULT_TIMEOUT;
use crate::caller::Caller;
use crate::error::Error;
use crate::inbox::{Inbox, Standing};
use crate::judge::MountJudge;
use crate::layer::{Direct, MountLayer};
use crate::meter::Account;
use crate::mount::{Mode, Mount, MountSpec, MountTable, refuse_links_in_root, refuse_network};
use crate::overlay::Overlay;
use crate::quota::Quota;
use crate::vpath::VirtualPath;
use crate::{folding, state};

/// What a session consists of.
#[derive(Clone, Debug, Default)]
pub struct SessionSpec {
    pub(crate) mounts: Vec<MountSpec>,
    pub(crate) quota: Quota,
    pub(crate) ask_timeout: Option<Duration>,
}

impl SessionSpec {
    /// Nothing mounted, nothing limited.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more mount.
    #[must_use]
    pub fn mount(mut self, mount: MountSpec) -> Self {
        self.mounts.push(mount);
        self
    }

    /// Limits the session as a whole.
    #[must_use]
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }

    /// Sets how long a request waits for a person where a rule says `ask`; 60 seconds otherwise. Then
    /// it is denied.
    #[must_use]
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.ask_timeout = Some(timeout);
        self
    }

    /// What the session as a whole is limited to, and how long a request waits for a person.
    #[must_use]
    pub fn limits(&self) -> (Quota, Option<Duration>) {
        (self.quota, self.ask_timeout)
    }

    /// The mounts so far.
    #[must_use]
    pub fn mounts(&self) -> &[MountSpec] {
        &self.mounts
    }
}

/// How a session is opened.
#[derive(Clone, Default)]
pub struct SessionOptions {
    pub(crate) private: Vec<Root>,
    pub(crate) read_limit: Option<u64>,
    pub(crate) durability: Option<Durability>,
}

impl SessionOptions {
    /// The usual limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a directory of ours (state, log, keys, sockets) out of every mount, by identity.
    #[must_use]
    pub fn private(mut self, dir: &Root) -> Self {
        self.private.push(dir.clone());
        self
    }

    /// Sets the largest file that is read whole; 64 MiB otherwise.
    #[must_use]
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = Some(bytes);
        self
    }

    /// Sets what has reached the disk when a write to a read-write mount is answered; the content
    /// otherwise, before the name points to it.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("private", &self.private.len())
            .finish_non_exhaustive()
    }
}

/// One agent's view of files: absolute virtual paths over mounted directories, used on behalf of a
/// [`Caller`].
///
/// ```
/// use handfast_session::{Caller, Mode, MountSpec, Protect, Session, SessionSpec, VirtualPath};
/// # let dir = std::env::temp_dir().join(format!("handfast-session-doc-{}", std::process::id()));
/// # std::fs::create_dir(&dir).unwrap();
/// let mount = MountSpec::new(&dir, VirtualPath::parse("/ws")?)
///     .mode(Mode::ReadWrite)
///     .protect(Protect::new().with_deny(".env"));
/// let session = Session::new(&SessionSpec::new().mount(mount), Caller::new("robot"))?;
/// session.write("/ws/notes.txt", "hello")?;
/// assert_eq!(session.read("/ws/sub/../notes.txt")?, b"hello");
/// assert!(session.write("/ws/.env", "SECRET=1").is_err());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), handfast_session::Error>(())
/// ```
///
/// It can be shared between threads, and a durable one opened by several processes at a time.
/// Cloning is cheap; [`Session::for_caller`] gives the same session to somebody else.
#[derive(Clone)]
pub struct Session {
    core: Arc<Core>,
    caller: Caller,
}

/// What all callers of a session share.
struct Core {
    mounts: MountTable,
    account: Arc<Account>,
    read_limit: u64,
    durability: Durability,
    quota: Quota,
    /// Homes of overlays in memory; gone with the session.
    _memory: Vec<TempDir>,
    /// Tells others that the session is open.
    announced: Option<std::fs::File>,
    /// Where a session that lasts is kept.
    home: Option<Root>,
    /// Where people are asked; nothing where no rule asks and the session does not last.
    inbox: Option<Inbox>,
    ask_timeout: Duration,
}

impl Session {
    /// Opens a session without a home: its mounts are read-only, read-write or in memory.
    ///
    /// # Errors
    /// `Invalid` for mounts that contradict each other, or an overlay, which needs a home (see
    /// [`Catalogue`](crate::Catalogue)); `Unsupported` for a network filesystem that was not
    /// allowed; otherwise as [`Root::open_ambient`].
    pub fn new(spec: &SessionSpec, caller: Caller) -> Result<Self, Error> {
        Self::with_options(spec, SessionOptions::new(), caller)
    }

    /// As [`Session::new`], with options.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn with_options(
        spec: &SessionSpec,
        options: SessionOptions,
        caller: Caller,
    ) -> Result<Self, Error> {
        Self::assemble(spec, options, caller, None)
    }

    /// The same session for another caller.
    #[must_use]
    pub fn for_caller(&self, caller: Caller) -> Self {
        Self {
            core: Arc::clone(&self.core),
            caller,
        }
    }

    /// Where a session that lasts is kept.
    pub(crate) fn home(&self) -> Option<&Root> {
        self.core.home.as_ref()
    }

    pub(crate) fn core_inbox(&self) -> Option<&Inbox> {
        self.core.inbox.as_ref()
    }

    /// How long a request waits for a person.
    #[must_use]
    pub fn ask_timeout(&self) -> Duration {
        self.core.ask_timeout
    }

    /// On whose behalf it is used.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Opens the mounts of a session whose home is given.
    pub(crate) fn assemble(
        spec: &SessionSpec,
        options: SessionOptions,
        caller: Caller,
        home: Option<&Root>,
    ) -> Result<Self, Error> {
        if spec.mounts.is_empty() {
            return Err(Error::refused(ErrorKind::Invalid, "nothing is mounted"));
        }
        let quotas = spec.mounts.iter().map(|mount| mount.quota).collect();
        let books = match home {
            Some(home) => Some(home.open_dir(&state::account_path()?)?.into_root()),
            None => None,
        };
        let account = Account::open(books.as_ref(), spec.quota, quotas)?;
        let mut memory = Vec::new();
        let mut mounts = Vec::new();
        let mut direct = Vec::new();
        for (number, mount) in (0..).zip(&spec.mounts) {
            let opened = open_base(mount, &options.private)?;
            let base = &opened.root;
            let is_judged = !opened.judge.is_empty() || !opened.judge.ask.is_empty();
            let layer = match mount.mode {
                Mode::ReadOnly | Mode::ReadWrite => {
                    direct.push((number, base.clone()));
                    MountLayer::Direct(Direct::new(
                        base.clone(),
                        Arc::clone(&account),
                        number,
                        is_judged,
                    ))
                }
                Mode::Overlay => {
                    let home = home.ok_or_else(|| {
                        Error::refused(
                            ErrorKind::Invalid,
                            "an overlay needs a home on disk; `memory` needs none",
                        )
                    })?;
                    let home = home.open_dir(&state::mount_path(number)?)?.into_root();
                    let account = Arc::clone(&account);
                    let overlay = Overlay::open(base.clone(), home, account, number)?
                        .judged_by_names(is_judged);
                    MountLayer::Overlay(Box::new(overlay))
                }
                Mode::Memory => {
                    let (dir, home) = state::memory_home()?;
                    Overlay::create(&home)?;
                    let account = Arc::clone(&account);
                    let overlay = Overlay::open(base.clone(), home, account, number)?
                        .judged_by_names(is_judged);
                    memory.push(dir);
                    MountLayer::Overlay(Box::new(overlay))
                }
            };
            mounts.push(Mount::new(mount, number, layer, opened));
        }
        account.settle_pending(&direct)?;
        let asks = spec
            .mounts
            .iter()
            .any(|mount| !mount.protect.ask.is_empty());
        if asks {
            Standing::remember();
        }
        let inbox = match (home, asks) {
            (Some(home), _) => Some(Inbox::new(home)),
            (None, false) => None,
            (None, true) => {
                let (dir, home) = state::memory_home()?;
                memory.push(dir);
                Some(Inbox::new(&home))
            }
        };
        let core = Core {
            mounts: MountTable::new(mounts)?,
            account,
            read_limit: options.read_limit.unwrap_or(64 << 20),
            durability: options.durability.unwrap_or(Durability::File),
            quota: spec.quota,
            _memory: memory,
            announced: None,
            home: home.cloned(),
            inbox,
            ask_timeout: spec.ask_timeout.unwrap_or(DEFAULT_TIMEOUT),
        };
        Ok(Self {
            core: Arc::new(core),
            caller,
        })
    }

    /// Says that the session is open. Only its maker has it yet.
    pub(crate) fn announce(&mut self, home: &Root) -> Result<(), Error> {
        if let Some(core) = Arc::get_mut(&mut self.core) {
            core.announced = Some(crate::users::announce(home)?);
        }
        Ok(())
    }

    /// Cleans up after a process that was killed in this session, and finishes a commit that was under
    /// way. Done by itself before the next change; here for those who only look.
    ///
    /// # Errors
    /// `Busy` if another process is at work for long; what the disk says.
    pub fn mend(&self) -> Result<(), Error> {
        for (_, overlay) in self.overlays() {
            overlay.mend()?;
        }
        Ok(())
    }

    /// What the session as a whole may use.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.quota
    }

    pub(crate) fn mounts(&self) -> &MountTable {
        &self.core.mounts
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.core.account
    }

    /// The largest file that is read whole.
    #[must_use]
    pub fn read_limit(&self) -> u64 {
        self.core.read_limit
    }

    /// What has reached the disk when a write to a read-write mount is answered, unless its options
    /// say otherwise.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.core.durability
    }

    pub(crate) fn overlays(&self) -> impl Iterator<Item = (&Mount, &Overlay)> {
        self.mounts()
            .iter()
            .filter_map(|mount| Some((mount, mount.layer.overlay()?)))
    }

    /// The mounts: virtual path and mode, deepest first.
    #[must_use]
    pub fn mount_points(&self) -> Vec<(VirtualPath, Mode)> {
        self.mounts()
            .iter()
            .map(|mount| (mount.at.clone(), mount.mode))
            .collect()
    }
}

/// A directory of the host that a mount shows.
pub(crate) struct OpenedBase {
    /// The directory, with the mount's judge.
    pub(crate) root: Root,
    /// Directories that lead to Handfast's own state, and that state: they stay where they are, so
    /// that nobody puts others in their place.
    pub(crate) kept: Vec<(u64, u64)>,
    pub(crate) judge: Arc<MountJudge>,
}

/// Opens a directory of the host for a mount. Our own directories below it are denied.
fn open_base(spec: &MountSpec, private: &[Root]) -> Result<OpenedBase, Error> {
    let options = RootOptions::new()
        .hard_links(spec.hard_links)
        .read_limit(u64::MAX);
    let explain = |error: Error| {
        let why = format!(
            "the directory for `{}` cannot be opened: {}",
            spec.at,
            error.detail()
        );
        Error::refused(error.kind(), why)
    };
    let plain = match &spec.held {
        Some(dir) => again(dir, options.clone())?,
        None => Root::open_ambient_with(&spec.host, options.clone()).map_err(explain)?,
    };
    refuse_links_in_root(spec)?;
    refuse_network(spec, plain.enforcement().filesystem)?;
    let mut options = options;
    let mut kept = Vec::new();
    for dir in private {
        let (ours, theirs) = (dir.identity(), plain.identity());
        if (ours.device, ours.inode) == (theirs.device, theirs.inode)
            || folding::lies_below(&plain, &ours)?
        {
            return Err(Error::refused(
                ErrorKind::Invalid,
                format!(
                    "the directory for `{}` is Handfast's own state, or lies in it; mount something else",
                    spec.at
                ),
            ));
        }
        if let Some(way) = folding::way_down(dir, &theirs)? {
            options = options.deny(ours);
            kept.extend(way);
        }
    }
    let judge = Arc::new(MountJudge::new(&spec.protect, plain.clone())?);
    if !judge.is_empty() {
        options = options.judge(Arc::clone(&judge) as Arc<dyn ObjectJudge>);
    }
    let root = again(&plain, options)?;
    Ok(OpenedBase { root, kept, judge })
}

/// The same directory with other options, by descriptor: a second lookup could lead elsewhere.
fn again(dir: &Root, options: RootOptions) -> Result<Root, Error> {
    let flags =
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, c".", flags, rustix::fs::Mode::empty())?;
    Root::from_fd(fd, options)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("mounts", &self.core.mounts)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
