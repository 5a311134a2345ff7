//! What a broker opens before its wall goes up: what is served, and where its own things lie.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use handfast::harden::Hardening;
use handfast::{Backend, Identity, RelPath, Root};
use handfast_ledger::{CreateOptions, Level};
use handfast_session::Mode;
use handfast_session::policy::{LogLevel, LogRules};

use crate::boundary::RootDoor;
use crate::rulebook::Rulebook;
use crate::start::StartError;

/// The directories of one broker, opened while the process has one thread.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) state: Root,
    /// By root, in the rulebook's order.
    pub(crate) doors: Vec<RootDoor>,
    /// The directories above each root, by identity.
    pub(crate) above: Vec<Vec<Identity>>,
    /// The first root, and how paths are resolved in it.
    pub(crate) first: (Identity, Backend),
    /// The roots that are written to.
    pub(crate) writable: Vec<Root>,
    /// What the wall leaves within reach.
    pub(crate) hardening: Hardening,
    /// Our own: served to nobody, whatever the roots are.
    pub(crate) private: Vec<Root>,
}

impl Site {
    /// Opens the state directory and the roots; makes the log if it is not there.
    ///
    /// # Errors
    /// If anything of it cannot be opened, or may be written by others.
    pub(crate) fn open(rulebook: &Rulebook, state: &Path, log: &Path) -> Result<Self, StartError> {
        let state = open_or_create(state)?;
        let mut hardening = Hardening::new().root(&state);
        // The ledger asks which start of the machine this is.
        let random = Root::open_ambient("/proc/sys/kernel/random").map_err(StartError::config)?;
        hardening = hardening.read_only(&random);
        let mut doors = Vec::new();
        let mut above = Vec::new();
        let mut first = None;
        let mut writable = Vec::new();
        for (number, root) in rulebook.roots.iter().enumerate() {
            let opened = rulebook.open_root(number)?;
            let status = opened
                .metadata(&RelPath::root())
                .map_err(StartError::config)?;
            doors.push(RootDoor::of(&root.name, &status));
            let dirs = directories_above(&opened);
            above.push(dirs.map_err(|error| StartError::failed("a root", error))?);
            first.get_or_insert((opened.identity(), opened.enforcement().backend));
            hardening = hardening.root(&opened);
            if root.spec.access_mode() == Mode::ReadWrite {
                writable.push(opened);
            }
        }
        let first = first.ok_or_else(|| StartError::Config("nothing is served".to_owned()))?;
        make_log(log, rulebook.log)?;
        let mut private = vec![state.clone()];
        for dir in [log, &keys_of(log)] {
            let dir = Root::open_ambient(dir).map_err(StartError::config)?;
            hardening = hardening.root(&dir);
            private.push(dir);
        }
        if let Some(device) = mount_device() {
            hardening = hardening.full(device);
        }
        Ok(Self {
            state,
            doors,
            above,
            first,
            writable,
            hardening,
            private,
        })
    }

    /// The socket's directory is ours too, unless roots lie in it.
    pub(crate) fn keep_socket_private(&mut self, listener: &UnixListener) {
        let address = listener.local_addr().ok();
        let dir = address.and_then(|address| Some(address.as_pathname()?.parent()?.to_owned()));
        if let Some(dir) = dir.and_then(|dir| Root::open_ambient(dir).ok()) {
            let own = dir.identity();
            let same = |id: &Identity| (id.device, id.inode) == (own.device, own.inode);
            if !self.above.iter().flatten().any(same) {
                self.private.push(dir);
            }
        }
    }
}

/// A directory of ours, closed to others.
fn open_or_create(dir: &Path) -> Result<Root, StartError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir);
    made.map_err(|error| StartError::failed("the state directory", error))?;
    let root = Root::open_ambient(dir).map_err(StartError::config)?;
    let status = root
        .metadata(&RelPath::root())
        .map_err(StartError::config)?;
    if status.uid != rustix::process::geteuid().as_raw() || status.mode & 0o022 != 0 {
        return Err(StartError::Config(
            "the state directory belongs to somebody else, or others may write to it".to_owned(),
        ));
    }
    Ok(root)
}

/// The kernel's device for mounts, which is opened once more for each mount that is served. Nothing if
/// there is none.
fn mount_device() -> Option<OwnedFd> {
    use rustix::fs::OFlags;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open("/dev/fuse", flags, rustix::fs::Mode::empty()).ok()
}

/// The level that a policy asks for, if it does.
pub(crate) fn level_of(rules: LogRules) -> Option<Level> {
    rules.level.map(|level| match level {
        LogLevel::Ordered => Level::Ordered,
        LogLevel::Strict => Level::Strict,
        LogLevel::Buffered => Level::Buffered,
    })
}

fn make_log(dir: &Path, rules: LogRules) -> Result<(), StartError> {
    let level = level_of(rules).unwrap_or_default();
    match CreateOptions::new()
        .name("handfast")
        .level(level)
        .create(dir)
    {
        Ok(_) => Ok(()),
        // It is there: opening it says whether it is good.
        Err(_) if Root::open_ambient(dir).is_ok() => Ok(()),
        Err(error) => Err(StartError::Log(error.to_string())),
    }
}

fn keys_of(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".keys");
    log.with_file_name(name)
}

/// The directories above a root, up to the top.
fn directories_above(root: &Root) -> std::io::Result<Vec<Identity>> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut found = vec![root.identity()];
    let mut at: OwnedFd = rustix::fs::openat(root, c".", flags, Mode::empty())?;
    for _ in 0..256 {
        at = rustix::fs::openat(&at, c"..", flags, Mode::empty())?;
        let status = rustix::fs::fstat(&at)?;
        let identity = Identity {
            device: status.st_dev,
            inode: status.st_ino,
            mount: None,
            born: None,
        };
        let last = found.last();
        if last.is_some_and(|last| (last.device, last.inode) == (identity.device, identity.inode)) {
            break;
        }
        found.push(identity);
    }
    Ok(found)
}
