//! One agent's view: mounts in one namespace, with rules and limits.

use std::fmt;
use std::sync::Arc;

use handfast::{ErrorKind, Name, Recorder, RelPath, Root, RootOptions, TempDir};

use crate::error::Error;
use crate::layer::Layer;
use crate::meter::{Account, Used};
use crate::mount::{Mode, Mount, MountSpec, MountTable, refuse_network};
use crate::overlay::{
    CommitOptions, CommitReport, Conflict, DiffChange, DiffKind, OnConflict, Overlay,
};
use crate::quota::Quota;
use crate::vpath::VirtualPath;
use crate::{folding, state};

/// What a session consists of.
#[derive(Clone, Debug, Default)]
pub struct SessionSpec {
    pub(crate) mounts: Vec<MountSpec>,
    pub(crate) quota: Quota,
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

    /// The mounts so far.
    #[must_use]
    pub fn mounts(&self) -> &[MountSpec] {
        &self.mounts
    }
}

/// How a session is opened.
#[derive(Clone, Default)]
pub struct SessionOptions {
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) actor: Option<Arc<str>>,
    pub(crate) private: Vec<Root>,
    pub(crate) read_limit: Option<u64>,
}

impl SessionOptions {
    /// No recorder, no actor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells every decision to a recorder before it takes effect. Paths in events are the
    /// session's, without the leading slash.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Names the party on whose behalf the session is used.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<Arc<str>>) -> Self {
        self.actor = Some(actor.into());
        self
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
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("recorder", &self.recorder.is_some())
            .field("actor", &self.actor)
            .field("private", &self.private.len())
            .finish_non_exhaustive()
    }
}

/// One agent's view of files: absolute virtual paths over mounted directories.
///
/// ```
/// use handfast_session::{Mode, MountSpec, Protect, Session, SessionSpec, VirtualPath};
/// # let dir = std::env::temp_dir().join(format!("handfast-session-doc-{}", std::process::id()));
/// # std::fs::create_dir(&dir).unwrap();
/// let mount = MountSpec::new(&dir, VirtualPath::parse("/ws")?)
///     .mode(Mode::ReadWrite)
///     .protect(Protect::new().with_deny(".env"));
/// let session = Session::new(&SessionSpec::new().mount(mount))?;
/// session.write("/ws/notes.txt", "hello")?;
/// assert_eq!(session.read("/ws/sub/../notes.txt")?, b"hello");
/// assert!(session.write("/ws/.env", "SECRET=1").is_err());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), handfast_session::Error>(())
/// ```
///
/// It can be shared between threads, and a durable one opened by several processes at a time.
pub struct Session {
    mounts: MountTable,
    account: Arc<Account>,
    recorder: Option<Arc<dyn Recorder>>,
    actor: Option<Arc<str>>,
    read_limit: u64,
    quota: Quota,
    /// Homes of overlays in memory; gone with the session.
    _memory: Vec<TempDir>,
}

/// One changed path of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Changed {
    /// The virtual path.
    pub path: VirtualPath,
    /// How it was changed.
    pub kind: DiffKind,
    /// Where it was, if it was renamed.
    pub from: Option<VirtualPath>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The permission bits before and after, where they differ and both are known.
    pub mode: Option<(u32, u32)>,
}

/// What a commit of a session did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Committed {
    /// Paths that are in the base now.
    pub committed: Vec<VirtualPath>,
    /// Paths that are not and stay in the overlay, with the reason.
    pub conflicts: Vec<(VirtualPath, String)>,
}

/// What a mount uses and may use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MountUsage {
    /// Which mount.
    pub at: VirtualPath,
    /// Its mode.
    pub mode: Mode,
    /// What is used. Bytes and inodes of a mount that is not an overlay are counted only if
    /// something limits them.
    pub used: Used,
    /// Whether bytes and inodes are counted.
    pub counted: bool,
    /// What it may use.
    pub quota: Quota,
}

impl Session {
    /// Opens a session without a home: its mounts are read-only, read-write or in memory.
    ///
    /// # Errors
    /// `Invalid` for mounts that contradict each other, or an overlay, which needs a home (see
    /// [`Catalogue`](crate::Catalogue)); `Unsupported` for a network filesystem that was not
    /// allowed; otherwise as [`Root::open_ambient`].
    pub fn new(spec: &SessionSpec) -> Result<Self, Error> {
        Self::with_options(spec, SessionOptions::new())
    }

    /// As [`Session::new`], with options.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn with_options(spec: &SessionSpec, options: SessionOptions) -> Result<Self, Error> {
        Self::assemble(spec, options, None)
    }

    /// Opens the mounts of a session whose home is given.
    pub(crate) fn assemble(
        spec: &SessionSpec,
        options: SessionOptions,
        home: Option<&Root>,
    ) -> Result<Self, Error> {
        if spec.mounts.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "nothing is mounted"));
        }
        let quotas = spec.mounts.iter().map(|mount| mount.quota).collect();
        let books = match home {
            Some(home) => Some(home.open_dir(&state::account_path()?)?.into_root()?),
            None => None,
        };
        let account = Account::open(books.as_ref(), spec.quota, quotas)?;
        let mut memory = Vec::new();
        let mut mounts = Vec::new();
        let mut direct = Vec::new();
        for (number, mount) in (0..).zip(&spec.mounts) {
            let base = open_base(mount, &options.private)?;
            let layer = match mount.mode {
                Mode::ReadOnly | Mode::ReadWrite => {
                    direct.push((number, base.clone()));
                    Layer::Direct {
                        root: base.clone(),
                        account: Arc::clone(&account),
                        mount: number,
                    }
                }
                Mode::Overlay => {
                    let home = home.ok_or_else(|| {
                        Error::new(
                            ErrorKind::Invalid,
                            "an overlay needs a home on disk; `memory` needs none",
                        )
                    })?;
                    let home = home.open_dir(&state::mount_path(number)?)?.into_root()?;
                    let account = Arc::clone(&account);
                    let overlay = Overlay::open(base.clone(), home, account, number)?;
                    Layer::Overlay(Box::new(overlay))
                }
                Mode::Memory => {
                    let (dir, home) = state::memory_home()?;
                    Overlay::create(&home)?;
                    let account = Arc::clone(&account);
                    let overlay = Overlay::open(base.clone(), home, account, number)?;
                    memory.push(dir);
                    Layer::Overlay(Box::new(overlay))
                }
            };
            mounts.push(Mount::new(mount, number, base, layer)?);
        }
        account.settle_pending(&direct)?;
        let session = Self {
            mounts: MountTable::new(mounts)?,
            account,
            recorder: options.recorder,
            actor: options.actor,
            read_limit: options.read_limit.unwrap_or(64 << 20),
            quota: spec.quota,
            _memory: memory,
        };
        Ok(session)
    }

    /// Cleans up after whoever was killed in this session, and finishes a commit that was under
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

    pub(crate) fn mounts(&self) -> &MountTable {
        &self.mounts
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    pub(crate) fn recorder(&self) -> Option<&dyn Recorder> {
        self.recorder.as_deref()
    }

    pub(crate) fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }

    pub(crate) fn read_limit(&self) -> u64 {
        self.read_limit
    }

    pub(crate) fn number_of(&self, mount: &Mount) -> u32 {
        mount.number
    }

    fn overlays(&self) -> impl Iterator<Item = (&Mount, &Overlay)> {
        self.mounts
            .iter()
            .filter_map(|mount| Some((mount, mount.layer.overlay()?)))
    }

    /// The mounts: virtual path and mode, deepest first.
    #[must_use]
    pub fn mount_points(&self) -> Vec<(VirtualPath, Mode)> {
        self.mounts
            .iter()
            .map(|mount| (mount.at.clone(), mount.mode))
            .collect()
    }

    /// Everything that the overlays changed, in byte order.
    ///
    /// # Errors
    /// `Stale` if the overlay was changed behind our back; what the disk says.
    pub fn diff(&self) -> Result<Vec<Changed>, Error> {
        let mut found = Vec::new();
        for (mount, overlay) in self.overlays() {
            for change in overlay.diff()? {
                found.push(changed(mount, &change)?);
            }
        }
        found.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
        Ok(found)
    }

    /// The unified text diff of a change; `None` if a side is not text, or larger than a
    /// megabyte, or if it is a directory.
    ///
    /// # Errors
    /// As [`Session::diff`].
    pub fn text_diff(&self, change: &Changed) -> Result<Option<String>, Error> {
        if change.is_dir || change.kind == DiffKind::Mode {
            return Ok(None);
        }
        let place = self.route(&change.path)?;
        let Some(overlay) = place.mount.layer.overlay() else {
            return Ok(None);
        };
        let from = match &change.from {
            Some(from) => Some(self.route(from)?.path.as_bytes().to_vec()),
            None => None,
        };
        let inner = DiffChange {
            path: place.path.as_bytes().to_vec(),
            kind: change.kind,
            from,
            is_dir: false,
            mode: change.mode,
        };
        let sides = overlay.both_sides(&inner, 1 << 20)?;
        Ok(crate::textdiff::unified(change, &sides))
    }

    /// Makes the overlays' changes the base's. See [`CommitOptions`]; a conflict refuses the whole
    /// commit unless told otherwise. `progress` is told how many steps of how many are done.
    ///
    /// # Errors
    /// `Quota` if there is no space for it, with nothing changed; `Busy`; what the disk says. A
    /// conflict is no error: the report says so.
    pub fn commit(
        &self,
        options: &CommitOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Committed, Error> {
        let chosen = self.by_mount(&options.paths)?;
        let mut all = Committed::default();
        // A conflict in one mount refuses the others too.
        if options.on_conflict == OnConflict::Refuse && chosen.len() > 1 {
            for (mount, overlay, paths) in &chosen {
                let found = overlay.conflicts(paths)?;
                add_conflicts(mount, found, &mut all)?;
            }
            if !all.conflicts.is_empty() {
                return Ok(all);
            }
        }
        for (mount, overlay, paths) in &chosen {
            let report = overlay.commit(paths, options.on_conflict, progress)?;
            let CommitReport {
                committed,
                conflicts,
            } = report;
            for path in committed {
                all.committed.push(virtual_path(mount, &path)?);
            }
            add_conflicts(mount, conflicts, &mut all)?;
        }
        all.committed.sort();
        all.conflicts.sort();
        Ok(all)
    }

    /// Drops the overlays' changes: all, or those at and below some paths. What was dropped.
    ///
    /// # Errors
    /// `Busy`; what the disk says.
    pub fn discard(&self, paths: &[VirtualPath]) -> Result<Vec<VirtualPath>, Error> {
        let mut dropped = Vec::new();
        for (mount, overlay, paths) in self.by_mount(paths)? {
            for path in overlay.discard(&paths)? {
                dropped.push(virtual_path(mount, &path)?);
            }
        }
        dropped.sort();
        Ok(dropped)
    }

    /// Keeps the state of every overlay under a label.
    ///
    /// # Errors
    /// `Exists` if there is one of that label; `Invalid` if there is no overlay.
    pub fn snapshot(&self, label: &str) -> Result<(), Error> {
        let label = state::check_name(label, "label")?;
        if self
            .labels()?
            .iter()
            .any(|known| known.as_bytes() == label.as_bytes())
        {
            return Err(Error::new(
                ErrorKind::Exists,
                format!("there is a snapshot `{label}` already"),
            ));
        }
        self.each_overlay(|overlay| overlay.snapshot(&label))
    }

    /// Goes back to a snapshot. What was changed since is gone.
    ///
    /// # Errors
    /// `NotFound` if there is none of that label.
    pub fn rollback(&self, label: &str) -> Result<(), Error> {
        let label = state::check_name(label, "label")?;
        if !self
            .labels()?
            .iter()
            .any(|known| known.as_bytes() == label.as_bytes())
        {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no snapshot `{label}`"),
            ));
        }
        self.each_overlay(|overlay| overlay.rollback(&label))
    }

    /// The labels of snapshots, in byte order.
    ///
    /// # Errors
    /// What the disk says.
    pub fn labels(&self) -> Result<Vec<String>, Error> {
        let mut found: Vec<String> = Vec::new();
        for (_, overlay) in self.overlays() {
            found.extend(overlay.labels()?);
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// What every mount uses and may use.
    ///
    /// # Errors
    /// What the disk says.
    pub fn usage(&self) -> Result<Vec<MountUsage>, Error> {
        let mut found = Vec::new();
        for mount in self.mounts.iter() {
            let mut used = self.account.used(mount.number)?;
            if !self.account.is_counting()
                && let Some(overlay) = mount.layer.overlay()
            {
                (used.bytes, used.inodes) = overlay.usage()?;
            }
            found.push(MountUsage {
                at: mount.at.clone(),
                mode: mount.mode,
                used,
                counted: self.account.is_counting() || mount.layer.overlay().is_some(),
                quota: mount.quota,
            });
        }
        found.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(found)
    }

    /// What the session as a whole may use.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    fn each_overlay(&self, act: impl Fn(&Overlay) -> Result<(), Error>) -> Result<(), Error> {
        let mut any = false;
        for (_, overlay) in self.overlays() {
            act(overlay)?;
            any = true;
        }
        if !any {
            return Err(Error::new(
                ErrorKind::Invalid,
                "the session has no overlay: there is nothing to keep or go back to",
            ));
        }
        Ok(())
    }

    /// Fills the home of a fork.
    pub(crate) fn fork_into(&self, home: &Root, label: Option<&Name>) -> Result<(), Error> {
        for (mount, overlay) in self.overlays() {
            let path = state::mount_path(mount.number)?;
            let dir = home.open_dir(&path)?.into_root()?;
            overlay.fork_into(&dir, label)?;
        }
        Ok(())
    }

    /// The overlays that paths belong to, with the paths below each; all overlays for none.
    #[allow(clippy::type_complexity, reason = "three parts that belong together")]
    fn by_mount(
        &self,
        paths: &[VirtualPath],
    ) -> Result<Vec<(&Mount, &Overlay, Vec<Vec<u8>>)>, Error> {
        if paths.is_empty() {
            let all = self
                .overlays()
                .map(|(mount, overlay)| (mount, overlay, Vec::new()));
            return Ok(all.collect());
        }
        let mut found: Vec<(&Mount, &Overlay, Vec<Vec<u8>>)> = Vec::new();
        for path in paths {
            let mut any = false;
            for (mount, overlay) in self.overlays() {
                let below =
                    if let Some(rest) = crate::mount::below(mount.at.as_rel(), path.as_rel()) {
                        rest.as_bytes().to_vec()
                    } else if crate::mount::below(path.as_rel(), mount.at.as_rel()).is_some() {
                        Vec::new()
                    } else {
                        continue;
                    };
                any = true;
                match found
                    .iter_mut()
                    .find(|(known, ..)| std::ptr::eq(*known, mount))
                {
                    Some((.., paths)) => paths.push(below),
                    None => found.push((mount, overlay, vec![below])),
                }
            }
            if !any {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("`{path}` is in no overlay of this session"),
                ));
            }
        }
        Ok(found)
    }
}

fn add_conflicts(
    mount: &Mount,
    conflicts: Vec<Conflict>,
    all: &mut Committed,
) -> Result<(), Error> {
    for conflict in conflicts {
        all.conflicts
            .push((virtual_path(mount, &conflict.path)?, conflict.why));
    }
    Ok(())
}

fn changed(mount: &Mount, change: &DiffChange) -> Result<Changed, Error> {
    Ok(Changed {
        path: virtual_path(mount, &change.path)?,
        kind: change.kind,
        from: match &change.from {
            Some(from) => Some(virtual_path(mount, from)?),
            None => None,
        },
        is_dir: change.is_dir,
        mode: change.mode,
    })
}

fn virtual_path(mount: &Mount, below: &[u8]) -> Result<VirtualPath, Error> {
    let mut path = mount.at.clone();
    for name in RelPath::parse_with(below, &crate::overlay::WIDE)?.segments() {
        path = path.join(name);
    }
    Ok(path)
}

/// Opens a directory of the host for a mount. Our own directories below it are denied.
fn open_base(spec: &MountSpec, private: &[Root]) -> Result<Root, Error> {
    let options = RootOptions::new()
        .hard_links(spec.hard_links)
        .read_limit(u64::MAX);
    let explain = |error: handfast::Error| {
        let kind = error.kind();
        Error::new(
            kind,
            format!(
                "the directory for `{}` cannot be opened: {}",
                spec.at,
                error.detail()
            ),
        )
    };
    let base = Root::open_ambient_with(&spec.host, options.clone()).map_err(explain)?;
    refuse_network(spec, base.enforcement().filesystem)?;
    let mut denied = options;
    let mut any = false;
    for dir in private {
        let (ours, theirs) = (dir.identity(), base.identity());
        if (ours.device, ours.inode) == (theirs.device, theirs.inode)
            || folding::lies_below(&base, &ours)?
        {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "the directory for `{}` is Handfast's own state, or lies in it; mount something else",
                    spec.at
                ),
            ));
        }
        if folding::lies_below(dir, &theirs)? {
            denied = denied.deny(ours);
            any = true;
        }
    }
    if !any {
        return Ok(base);
    }
    // The same directory, by descriptor: a second lookup could lead elsewhere.
    let flags =
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&base, c".", flags, rustix::fs::Mode::empty())?;
    Ok(Root::from_fd(fd, denied)?)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("mounts", &self.mounts)
            .finish_non_exhaustive()
    }
}
