//! Where durable sessions are kept, and how they are written down.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use handfast::{
    Decision, ErrorKind, HardLinks, Links, Name, RelPath, Root, RootOptions, TempDir, Verb,
};

use crate::caller::Caller;
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::inbox::Inbox;
use crate::log::Log;
use crate::mount::{Mode, MountSpec};
use crate::overlay::Overlay;
use crate::quota::Quota;
use crate::rules::Protect;
use crate::session::{Session, SessionOptions, SessionSpec};
use crate::vpath::VirtualPath;

const SESSIONS: &str = "sessions";
pub(crate) const SPEC: &str = "spec";

/// Stands in the count of mounts where rules ask.
const ASKS: u64 = 1 << 63;

/// The directory of all durable sessions of a user.
#[derive(Clone, Debug)]
pub struct Catalogue {
    state: Root,
    sessions: Root,
}

impl Catalogue {
    /// Opens the state directory at an ambient path, making it (for its owner only) if it is
    /// missing.
    ///
    /// # Errors
    /// As [`Root::open_ambient`]; `Denied` if others may write to it.
    pub fn open_ambient(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        make_private(dir)?;
        let options = RootOptions::new().read_limit(u64::MAX);
        let state = Root::open_ambient_with(dir, options)?;
        let status = state.metadata(&RelPath::root())?;
        if status.mode & 0o022 != 0 {
            return Err(Error::refused(
                ErrorKind::Denied,
                "the state directory can be written by others; take that away with chmod 700",
            ));
        }
        let path = RelPath::parse(SESSIONS)?;
        match state.create_dir_with(&path, 0o700) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Exists => {}
            Err(error) => return Err(error),
        }
        let sessions = state.open_dir(&path)?.into_root();
        Ok(Self { state, sessions })
    }

    /// Makes a new session. Its mounts are opened once to see that they can be.
    ///
    /// # Errors
    /// `Exists` if there is one of that name; `Invalid` for a bad name, or mounts that contradict
    /// each other; `Unsupported` for a mode that is not durable.
    pub fn create(&self, name: &str, spec: &SessionSpec) -> Result<(), Error> {
        self.make(name, spec, |home, spec| {
            for (number, mount) in (0..).zip(&spec.mounts) {
                if mount.mode == Mode::Overlay {
                    Overlay::create(&home.open_dir(&mount_path(number)?)?.into_root())?;
                }
            }
            Ok(())
        })
    }

    fn make(
        &self,
        name: &str,
        spec: &SessionSpec,
        fill: impl FnOnce(&Root, &SessionSpec) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let name = check_name(name, "name of a session")?;
        if spec.mounts.iter().any(|mount| mount.mode == Mode::Memory) {
            return Err(Error::refused(
                ErrorKind::Unsupported,
                "an overlay in memory does not outlive its process; use `overlay`",
            ));
        }
        let mut spec = spec.clone();
        for mount in &mut spec.mounts {
            if mount.held.is_some() {
                return Err(Error::refused(
                    ErrorKind::Invalid,
                    format!(
                        "a session that lasts needs a path for `{}`, not an open directory",
                        mount.at
                    ),
                ));
            }
            mount.host = std::path::absolute(&mount.host)?;
        }
        let mut home = self.sessions.temp_dir(&RelPath::root())?;
        for number in (0..).take(spec.mounts.len()) {
            home.root().create_dir_with(&mount_path(number)?, 0o700)?;
        }
        home.root().create_dir_with(&account_path()?, 0o700)?;
        fill(home.root(), &spec)?;
        let maker = Caller::new("handfast");
        let mut session = Session::assemble(&spec, self.options(), maker, Some(home.root()))?;
        let record = write_spec(&spec, &mut session);
        drop(session);
        Log::create(home.root(), SPEC, &[record])?;
        home.persist_new(&self.sessions, &RelPath::from(&name))
            .map_err(|error| match error.kind() {
                ErrorKind::Exists => Error::refused(
                    ErrorKind::Exists,
                    format!("there is a session `{name}` already"),
                ),
                _ => error,
            })
    }

    /// Opens a session.
    ///
    /// # Errors
    /// `NotFound`; `Stale` if a base was replaced by another directory, or the state was changed
    /// from outside; otherwise as [`Session::new`].
    pub fn open(&self, name: &str, caller: Caller) -> Result<Session, Error> {
        self.open_with(name, SessionOptions::new(), caller)
    }

    /// As [`Catalogue::open`], with options.
    ///
    /// # Errors
    /// As [`Catalogue::open`].
    pub fn open_with(
        &self,
        name: &str,
        options: SessionOptions,
        caller: Caller,
    ) -> Result<Session, Error> {
        let home = self.home(name)?;
        let (spec, bases) = read_spec(&home)?;
        let options = options.private(&self.state);
        let mut session = Session::assemble(&spec, options, caller, Some(&home))?;
        session.announce(&home)?;
        for mount in session.mounts().iter() {
            let now = mount.base.identity();
            let was = bases.get(mount.number as usize);
            if was != Some(&(now.device, now.inode)) {
                return Err(Error::refused(
                    ErrorKind::Stale,
                    format!(
                        "the directory behind `{}` is not the one the session was made for",
                        mount.at
                    ),
                ));
            }
        }
        session.import_left()?;
        Ok(session)
    }

    /// The questions of a session and their answers, without opening the session.
    ///
    /// # Errors
    /// `NotFound`; what the disk says.
    pub fn inbox(&self, name: &str) -> Result<Inbox, Error> {
        Ok(Inbox::new(&self.home(name)?))
    }

    /// What a session was made of.
    ///
    /// # Errors
    /// As [`Catalogue::open`].
    pub fn spec(&self, name: &str) -> Result<SessionSpec, Error> {
        Ok(read_spec(&self.home(name)?)?.0)
    }

    /// The names of all sessions, in byte order.
    ///
    /// # Errors
    /// What the disk says.
    pub fn list(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let mut listing = self.sessions.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            if let Ok(name) = std::str::from_utf8(entry.name().as_bytes())
                && check_name(name, "name").is_ok()
            {
                found.push(name.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    /// Makes a new session with the state of another, or of one of its snapshots.
    ///
    /// # Errors
    /// As [`Catalogue::create`] and [`Catalogue::open`]; `NotFound` if there is no such snapshot.
    pub fn fork(
        &self,
        name: &str,
        label: Option<&str>,
        new: &str,
        caller: Caller,
    ) -> Result<(), Error> {
        let label = label.map(|label| check_name(label, "label")).transpose()?;
        let named = check_name(new, "name of a session")?;
        let session = self.open(name, caller)?;
        let spec = self.spec(name)?;
        session.whole(Verb::Fork, Some(&named), |deed| {
            self.make(new, &spec, |home, _| {
                session.fork_into(home, label.as_ref())
            })?;
            deed.done(Decision::Allowed)
        })
    }

    /// Removes a session that cannot be opened any more, unseen.
    ///
    /// # Errors
    /// `NotFound`; what the disk says.
    pub fn remove_unseen(&self, name: &str) -> Result<(), Error> {
        crate::overlay::make_left_removable(&self.home(name)?);
        let name = check_name(name, "name of a session")?;
        self.sessions.remove_tree(&RelPath::from(&name))
    }

    /// Removes a session with everything in it. What it changed and did not commit is gone; a
    /// recorder is told as what it is, everything is discarded.
    ///
    /// # Errors
    /// As [`Catalogue::open`]: a report needs facts.
    pub fn remove(&self, name: &str, caller: Caller) -> Result<(), Error> {
        let session = self.open(name, caller)?;
        session.whole(Verb::Discard, None, |deed| {
            if deed.is_recorded() {
                deed.is_about(&session.diff()?, &[])?;
            }
            self.remove_unseen(name)?;
            deed.done(Decision::Allowed)
        })
    }

    fn options(&self) -> SessionOptions {
        SessionOptions::new().private(&self.state)
    }

    pub(crate) fn home(&self, name: &str) -> Result<Root, Error> {
        let name = check_name(name, "name of a session")?;
        let dir = self
            .sessions
            .open_dir(&RelPath::from(&name))
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    Error::refused(ErrorKind::NotFound, format!("there is no session `{name}`"))
                }
                _ => error,
            })?;
        Ok(dir.into_root())
    }
}

/// Makes a directory for its owner only, with its parents.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path; it is pinned and judged after"
)]
fn make_private(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    match builder.create(dir) {
        Ok(()) => Ok(()),
        Err(error) => Err(Error::refused(
            ErrorKind::Io,
            format!("the state directory cannot be made: {error}"),
        )),
    }
}

/// Where a session's charges are kept.
pub(crate) fn account_path() -> Result<RelPath, Error> {
    RelPath::parse("account")
}

/// Where the overlay of a mount lives in a session's home.
pub(crate) fn mount_path(number: u32) -> Result<RelPath, Error> {
    RelPath::parse(format!("mount-{number}"))
}

/// A home for an overlay in memory, and the temporary directory that holds it: that one is locked
/// by its owner for as long as it is there, so the overlay cannot use it itself.
pub(crate) fn memory_home() -> Result<(TempDir, Root), Error> {
    let options = RootOptions::new().read_limit(u64::MAX);
    let memory = Root::open_ambient_with("/dev/shm", options).map_err(|error| {
        Error::refused(
            ErrorKind::Unsupported,
            format!(
                "there is no filesystem in memory at /dev/shm: {}",
                error.detail()
            ),
        )
    })?;
    if memory.enforcement().filesystem != handfast::FilesystemKind::Tmpfs {
        return Err(Error::refused(
            ErrorKind::Unsupported,
            "/dev/shm is not in memory here; use `overlay`",
        ));
    }
    let dir = match own_in_memory(&memory) {
        Some(own) => {
            // What a killed process left there goes with the next that starts.
            drop(own.recover(&RelPath::root()));
            own.temp_dir(&RelPath::root())?
        }
        None => memory.temp_dir(&RelPath::root())?,
    };
    let home = dir.root().create_dir_with(&mount_path(0)?, 0o700)?;
    let home = home.into_root();
    Ok((dir, home))
}

/// A directory of this user's own in a directory that everybody writes to; nothing where somebody
/// else has put something under that name.
fn own_in_memory(memory: &Root) -> Option<Root> {
    let user = rustix::process::geteuid().as_raw();
    let path = RelPath::parse(format!("handfast-{user}")).ok()?;
    // It may be there: what it is, is looked at in either case.
    drop(memory.create_dir_with(&path, 0o700));
    let dir = memory.open_dir(&path).ok()?.into_root();
    let status = dir.metadata(&RelPath::root()).ok()?;
    (status.uid == user && status.mode & 0o077 == 0).then_some(dir)
}

/// Names of sessions and labels are plain: they stand in commands and in paths.
pub(crate) fn check_name(text: &str, what: &str) -> Result<Name, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if text.is_empty() || text.len() > 64 || !text.chars().all(is_plain) || !starts_well {
        return Err(Error::refused(
            ErrorKind::Invalid,
            format!(
                "`{}` is no {what}: letters, digits, `.`, `_` and `-`, at most 64, beginning with a letter or digit",
                handfast::escape(text.as_bytes())
            ),
        ));
    }
    Name::parse(text)
}

fn write_spec(spec: &SessionSpec, session: &mut Session) -> Vec<u8> {
    let mut out = Writer::default();
    write_quota(&mut out, &spec.quota);
    let asks = spec.ask_timeout.is_some()
        || spec
            .mounts
            .iter()
            .any(|mount| !mount.protect.ask.is_empty());
    // A version that does not know the part at the end takes this for a count, and refuses.
    out.number(spec.mounts.len() as u64 | if asks { ASKS } else { 0 });
    for (number, mount) in (0_u32..).zip(&spec.mounts) {
        let base = session
            .mounts()
            .iter()
            .find(|known| known.number == number)
            .map(|known| known.base.identity());
        out.number(base.map_or(0, |base| base.device));
        out.number(base.map_or(0, |base| base.inode));
        out.text(mount.host.as_os_str().as_bytes());
        out.text(mount.at.as_rel().as_bytes());
        out.text(mount.mode.name().as_bytes());
        out.byte(u8::from(mount.links == Links::Beneath));
        out.byte(match mount.hard_links {
            HardLinks::RefuseWrites => 0,
            HardLinks::Refuse => 1,
            HardLinks::Allow => 2,
        });
        out.byte(u8::from(mount.allow_network_fs));
        write_quota(&mut out, &mount.quota);
        for list in [&mount.protect.deny, &mount.protect.read_only] {
            write_list(&mut out, list);
        }
    }
    if asks {
        let timeout = spec.ask_timeout.map(|timeout| timeout.as_millis());
        out.option(timeout, |out, timeout| {
            out.number(u64::try_from(timeout).unwrap_or(u64::MAX));
        });
        for mount in &spec.mounts {
            write_list(&mut out, &mount.protect.ask);
        }
    }
    out.bytes
}

fn write_list(out: &mut Writer, list: &[String]) {
    out.number(list.len() as u64);
    for pattern in list {
        out.text(pattern.as_bytes());
    }
}

fn read_list(input: &mut Reader<'_>) -> Result<Vec<String>, Error> {
    let mut list = Vec::new();
    for _ in 0..input.number()? {
        let text = String::from_utf8(input.text()?.to_vec()).map_err(|_| unknown())?;
        list.push(text);
    }
    Ok(list)
}

/// A spec, and the device and inode of each base when the session was made.
type Recorded = (SessionSpec, Vec<(u64, u64)>);

fn read_spec(home: &Root) -> Result<Recorded, Error> {
    let mut log = Log::open(home, SPEC)?;
    let mut found = None;
    log.catch_up(false, |bytes| {
        found = Some(parse_spec(bytes)?);
        Ok(())
    })?;
    if log.news()? != crate::log::News::None {
        return Err(Error::refused(
            ErrorKind::Stale,
            "what the session was made of was changed from outside",
        ));
    }
    found.ok_or_else(unknown)
}

fn parse_spec(bytes: &[u8]) -> Result<Recorded, Error> {
    let mut input = Reader::new(bytes);
    let mut spec = SessionSpec::new().quota(read_quota(&mut input)?);
    let mut bases = Vec::new();
    let count = input.number()?;
    let asks = count & ASKS != 0;
    for _ in 0..count & !ASKS {
        bases.push((input.number()?, input.number()?));
        let host = PathBuf::from(std::ffi::OsString::from_vec(input.text()?.to_vec()));
        let mut at = vec![b'/'];
        at.extend_from_slice(input.text()?);
        let mode = std::str::from_utf8(input.text()?)
            .ok()
            .and_then(Mode::from_name);
        let mut mount =
            MountSpec::new(host, VirtualPath::parse(at)?).mode(mode.ok_or_else(unknown)?);
        mount.links = match input.byte()? {
            0 => Links::Refuse,
            _ => Links::Beneath,
        };
        mount.hard_links = match input.byte()? {
            0 => HardLinks::RefuseWrites,
            1 => HardLinks::Refuse,
            _ => HardLinks::Allow,
        };
        mount.allow_network_fs = input.byte()? == 1;
        mount.quota = read_quota(&mut input)?;
        mount.protect = Protect {
            deny: read_list(&mut input)?,
            read_only: read_list(&mut input)?,
            ask: Vec::new(),
        };
        spec = spec.mount(mount);
    }
    if asks {
        let timeout = input.option(Reader::number)?;
        spec.ask_timeout = timeout.map(Duration::from_millis);
        for mount in &mut spec.mounts {
            mount.protect.ask = read_list(&mut input)?;
        }
    }
    if !input.is_empty() {
        return Err(unknown());
    }
    Ok((spec, bases))
}

fn write_quota(out: &mut Writer, quota: &Quota) {
    for limit in [quota.bytes, quota.inodes, quota.file_bytes, quota.handles] {
        out.option(limit, Writer::number);
    }
}

fn read_quota(input: &mut Reader<'_>) -> Result<Quota, Error> {
    Ok(Quota {
        bytes: input.option(Reader::number)?,
        inodes: input.option(Reader::number)?,
        file_bytes: input.option(Reader::number)?,
        handles: input.option(Reader::number)?,
    })
}
