//! What a program will see and may do, before anything is started.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::environment;
use crate::project::Project;
use crate::refusal::Refusal;
use crate::{fast, views, weaker};

/// Which network a program has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Net {
    /// The host's.
    #[default]
    Host,
    /// None but its own loopback.
    None,
}

/// What keeps a program in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wall {
    /// Namespaces with mounts of their own, Landlock, a filter of system calls.
    #[default]
    Whole,
    /// As [`Wall::Whole`] without Landlock: the program may make namespaces and mounts of its own.
    Nested,
    /// Landlock and a filter of system calls, without namespaces: see [`confine`](crate::confine).
    Landlock,
}

/// A directory or file of the host that a program sees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grant {
    /// Its path, on the host and for the program.
    pub path: PathBuf,
    /// Whether the program may change it.
    pub writable: bool,
}

/// What somebody asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Directories to read besides.
    pub read: Vec<PathBuf>,
    /// Directories to write to besides, past the session.
    pub write: Vec<PathBuf>,
    /// Variables to pass on besides.
    pub env: Vec<String>,
    /// The network.
    pub net: Net,
    /// Whether the project is read-only.
    pub read_only: bool,
    /// What keeps the program in.
    pub wall: Wall,
    /// Whether the kernel's own overlay shows the project: see [`run_fast`](crate::run_fast).
    pub fast: bool,
    /// Directories of ours that no grant may show: state, logs.
    pub private: Vec<PathBuf>,
}

/// What a program will see and may do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The project.
    pub project: Project,
    /// Everything else of the host that is seen, parents first.
    pub grants: Vec<Grant>,
    /// Granted directories that the program may change: the changes are kept in memory, and go with
    /// the run.
    pub caches: Vec<PathBuf>,
    /// Files that nobody is to read, although they lie in a granted directory.
    pub masked: Vec<PathBuf>,
    /// The home directory: private and empty, but for grants in it.
    pub home: PathBuf,
    /// The variables.
    pub env: Vec<(OsString, OsString)>,
    /// The network.
    pub net: Net,
    /// Whether the project is read-only.
    pub read_only: bool,
    /// What keeps the program in.
    pub wall: Wall,
    /// Whether the kernel's own overlay shows the project.
    pub fast: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What this system does not give, a sentence each.
    pub weaker: Vec<String>,
}

/// What every program needs. A link here is made again as a link.
pub(crate) const SYSTEM: [&str; 12] = [
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin", "/sys",
    "/usr",
];

/// Tool chains and settings below the home directory, without what keeps passwords.
const TOOLS: [&str; 26] = [
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno/bin",
    ".gitconfig",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv",
    ".nix-profile",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go",
    "n",
    ".npm-global",
];

/// What package managers have downloaded, below the home directory. A program sees it and may add to
/// it, in memory: the host's stays as it is.
const CACHES: [&str; 3] = [".cargo/git", ".cargo/registry", "go/pkg"];

/// Directories that are private and empty.
pub(crate) const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// Directories that are new, and show nothing of the host's.
const NEW: [&str; 2] = ["/dev", "/proc"];

impl Plan {
    /// Makes a plan for a project.
    ///
    /// # Errors
    /// Directories that are not there or would show the project past the session; a system that
    /// cannot build the wall.
    pub fn new(project: Project, request: Request) -> Result<Self, Refusal> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let home = home
            .filter(|home| home.is_absolute() && home != Path::new("/"))
            .unwrap_or_else(|| PathBuf::from("/tmp"));
        if request.command.is_empty() {
            return Err(Refusal::request("there is no program to run"));
        }
        let mut grants = Vec::new();
        for path in SYSTEM.map(PathBuf::from) {
            grants.push(readable(path));
        }
        for tool in TOOLS {
            grants.push(readable(home.join(tool)));
        }
        // What is usual and not there is left out; what was asked for has to be there.
        grants.retain(|grant| grant.path.symlink_metadata().is_ok());
        for (paths, writable) in [(&request.read, false), (&request.write, true)] {
            for path in paths {
                let path = asked(path, &project, writable)?;
                grants.retain(|grant: &Grant| grant.path != path);
                grants.push(Grant { path, writable });
            }
        }
        grants.sort_by(|one, other| one.path.cmp(&other.path));
        refuse_shown(&project, &grants, &request.private)?;
        if request.fast {
            fast::refuse(&project, request.wall, request.read_only)?;
        }
        let mut env = environment::passed(std::env::vars_os(), &request.env);
        env.push(("HOME".into(), home.clone().into()));
        Ok(Self {
            weaker: match request.wall {
                Wall::Whole if request.fast => weaker::fast(request.net)?,
                Wall::Whole => weaker::whole(request.net)?,
                Wall::Nested => weaker::nested(request.net)?,
                Wall::Landlock => weaker::landlock_alone(request.net)?,
            },
            wall: request.wall,
            caches: caches(&home, &grants),
            project,
            grants,
            masked: unreadable_settings()?,
            home,
            env,
            net: request.net,
            read_only: request.read_only,
            fast: request.fast,
            command: request.command,
        })
    }
}

impl Project {
    /// The directories that a session is mounted over: the project, and its repository if that lies
    /// elsewhere.
    pub(crate) fn mounted(&self) -> impl Iterator<Item = &Path> {
        let repository = self.repository.as_ref();
        let repository = repository.map(|repository| repository.path.as_path());
        std::iter::once(self.path.as_path()).chain(repository)
    }
}

/// The caches that are granted for reading. What is a link, or was granted for writing, stays as it is.
fn caches(home: &Path, grants: &[Grant]) -> Vec<PathBuf> {
    let is_read = |path: &PathBuf| {
        let mut grants = grants.iter().rev();
        let nearest = grants.find(|grant| path.starts_with(&grant.path));
        nearest.is_some_and(|grant| !grant.writable)
    };
    let is_dir = |path: &PathBuf| path.symlink_metadata().is_ok_and(|path| path.is_dir());
    let caches = CACHES.iter().map(|cache| home.join(cache));
    caches
        .filter(|path| is_dir(path) && is_read(path))
        .collect()
}

fn readable(path: PathBuf) -> Grant {
    Grant {
        path,
        writable: false,
    }
}

/// A directory that was asked for, without links.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path"
)]
fn asked(path: &Path, project: &Project, writable: bool) -> Result<PathBuf, Refusal> {
    let shown = handfast::escape(path.as_os_str().as_bytes());
    let path = path
        .canonicalize()
        .map_err(|error| Refusal::request(format!("`{shown}` cannot be granted: {error}")))?;
    let shows =
        |mounted: &Path| path.starts_with(mounted) || (writable && mounted.starts_with(&path));
    if project.mounted().any(shows) || path == Path::new("/") {
        return Err(Refusal::request(format!(
            "`{shown}` cannot be granted: it would show the project past the session"
        )));
    }
    let is_private = PRIVATE.iter().any(|private| path == Path::new(private));
    if is_private || NEW.iter().any(|new| path.starts_with(new)) {
        return Err(Refusal::request(format!(
            "`{shown}` cannot be granted: a program has one of its own"
        )));
    }
    Ok(path)
}

/// Refuses a run where the base, or our own state, is seen through another mount.
#[allow(
    clippy::disallowed_methods,
    reason = "procfs tells about this process's own mounts"
)]
fn refuse_shown(project: &Project, grants: &[Grant], private: &[PathBuf]) -> Result<(), Refusal> {
    // A grant shows a directory from above, or a part of it from below.
    let is_seen = |path: &Path| {
        let mut granted = grants.iter();
        let granted =
            granted.any(|grant| path.starts_with(&grant.path) || grant.path.starts_with(path));
        granted && !project.mounted().any(|mounted| path.starts_with(mounted))
    };
    let told = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| Refusal::system(format!("the mounts are not known: {error}")))?;
    let of_each = project.mounted();
    for view in of_each.flat_map(|mounted| views::other_views(&told, mounted)) {
        if is_seen(&view) {
            return Err(Refusal::system(format!(
                "`{}` shows the project a second time, past the session; unmount it first",
                handfast::escape(view.as_os_str().as_bytes())
            )));
        }
    }
    for own in private {
        let own = real(own);
        let mut all = views::other_views(&told, &own);
        all.push(own.clone());
        if all.iter().any(|place| is_seen(place)) {
            return Err(Refusal::request(format!(
                "a granted directory shows Handfast's own state, or its log, at `{}`",
                handfast::escape(own.as_os_str().as_bytes())
            )));
        }
    }
    Ok(())
}

/// A path without links. What is not there yet lies in the nearest directory that is.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's own directory, by an ambient path"
)]
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let Ok(known) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return known.join(rest).components().collect();
        }
    }
    path
}

/// How many entries of the machine's settings are looked at.
const MAX_SETTINGS: usize = 50_000;

/// Files and directories among the machine's settings that other users may not read: passwords and
/// keys. Only root could read them, so only root's programs are kept from them.
#[allow(
    clippy::disallowed_methods,
    reason = "root's own directory, by an ambient path"
)]
fn unreadable_settings() -> Result<Vec<PathBuf>, Refusal> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| {
        Refusal::system(format!("the keys in /etc cannot be hidden: {error}"))
    };
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut waiting = vec![PathBuf::from("/etc")];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            seen += 1;
            if seen > MAX_SETTINGS {
                return Err(failed(std::io::Error::other("there are too many files")));
            }
            let status = entry.metadata().map_err(failed)?;
            let needed = if status.is_dir() { 0o005 } else { 0o004 };
            if !status.is_symlink() && status.mode() & needed != needed {
                found.push(entry.path());
            } else if status.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(found)
}
