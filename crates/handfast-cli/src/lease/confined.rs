//! `lease run --confine` and `--mount`: the wall around a program, and its view of the lease.
//!
//! Landlock can grant and cannot take back, so a directory is granted only if no root lies in it
//! and it lies in no root. The program gets the system's directories for reading, the devices, and
//! a temporary directory of its own. Roots are out of its reach, also its user's own; what it gets
//! from them, it gets from the broker. It sends no signal to processes outside, and reaches none of
//! their abstract sockets; Landlock does not keep it from sockets that have a path.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use handfast::harden::{Hardening, Wall};
use handfast::{RelPath, Root};
use handfast_broker::Client;
use rustix::fs::{Mode, OFlags};

use super::{LeaseExit, told};
use crate::exit::Exit;
use crate::failure::Failure;

/// What programs need to run. Not `/home`, `/root`, `/tmp`, `/var`, `/srv`, `/mnt`, `/media`.
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
    "/proc", "/sys",
];

/// Mount a lease's view, raise the wall around this process, and become another program
#[derive(Debug, Args)]
pub(super) struct ConfinedArgs {
    /// Raise the wall; read and write here
    #[arg(long, value_name = "DIR")]
    tmp: Option<OsString>,

    /// Mount what the lease in HANDFAST_LEASE covers here
    #[arg(long, value_name = "DIR")]
    mount: Option<OsString>,

    /// Read here
    #[arg(long, value_name = "DIR")]
    read: Vec<OsString>,

    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// A temporary directory for a confined program, removed when dropped, and what it may read.
pub(super) struct Scratch {
    dir: PathBuf,
    readable: Vec<PathBuf>,
}

/// Finds out what can be granted without granting a root.
pub(super) fn prepare(client: &mut Client) -> Result<Scratch, Box<Failure>> {
    if handfast::harden::offered() == Wall::None {
        let why = "this kernel has no Landlock; nothing would keep the program in";
        return Err(told::broken("confine the program", why));
    }
    let info = client
        .info()
        .map_err(|error| told::failed("ask the broker for its roots", b"", &error))?;
    let mut roots = Vec::new();
    for root in info["roots"].as_array().into_iter().flatten() {
        let above = root["above"].as_array().into_iter().flatten();
        roots.push(
            above
                .filter_map(|id| id.as_str())
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        );
    }
    let mut readable = Vec::new();
    for dir in SYSTEM {
        let path = PathBuf::from(dir);
        let Some(ids) = directories_above(&path) else {
            continue;
        };
        if clashes(&ids, &roots) {
            let why = format!("a root lies in {dir}, which the program would have to read");
            return Err(told::broken("confine the program", &why));
        }
        readable.push(path);
    }
    if directories_above(Path::new("/dev")).is_some_and(|ids| clashes(&ids, &roots)) {
        let why = "a root lies in /dev, which the program would have to read and write";
        return Err(told::broken("confine the program", why));
    }
    // This very program, so that what runs inside can use the lease by it; only if that grants
    // nothing of a root.
    let own = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.to_owned()));
    readable
        .extend(own.filter(|dir| directories_above(dir).is_some_and(|ids| !clashes(&ids, &roots))));
    let failed = |error: &dyn std::fmt::Display| {
        told::broken("make a temporary directory", &error.to_string())
    };
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| failed(&errno))?;
    let name = format!("handfast-run-{:016x}", u64::from_ne_bytes(random));
    let dir = std::env::temp_dir().join(name);
    rustix::fs::mkdir(&dir, Mode::from_raw_mode(0o700)).map_err(|errno| failed(&errno))?;
    Ok(Scratch { dir, readable })
}

/// Whether granting a directory would grant a root: it lies above one, is one, or lies in one.
fn clashes(ids: &[String], roots: &[Vec<String>]) -> bool {
    roots.iter().any(|above| {
        let is_above = ids.first().is_some_and(|own| above.contains(own));
        let is_inside = above.first().is_some_and(|root| ids.contains(root));
        is_above || is_inside
    })
}

/// A directory and those above it, as the broker names them; nothing if it is not there.
fn directories_above(path: &Path) -> Option<Vec<String>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut found: Vec<String> = Vec::new();
    for _ in 0..256 {
        let status = rustix::fs::fstat(&at).ok()?;
        let id = format!("{:x}:{}", status.st_dev, status.st_ino);
        if found.last() == Some(&id) {
            break;
        }
        found.push(id);
        at = rustix::fs::openat(&at, c"..", flags, Mode::empty()).ok()?;
    }
    Some(found)
}

/// The command that mounts, raises the wall and becomes the program.
pub(super) fn command(
    scratch: Option<&Scratch>,
    mount: Option<&OsStr>,
    program: &[OsString],
) -> Result<Command, Box<Failure>> {
    let own = std::env::current_exe()
        .map_err(|error| told::broken("find this program", &error.to_string()))?;
    let mut command = Command::new(own);
    command.args(["lease", "confined"]);
    if let Some(dir) = mount {
        command.arg("--mount").arg(dir);
    }
    if let Some(scratch) = scratch {
        command.arg("--tmp").arg(&scratch.dir);
        for dir in &scratch.readable {
            command.arg("--read").arg(dir);
        }
        command.env("TMPDIR", &scratch.dir);
    }
    command.arg("--").args(program);
    Ok(command)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (Some(parent), Some(name)) = (self.dir.parent(), self.dir.file_name()) else {
            return;
        };
        let removed = Root::open_ambient(parent)
            .and_then(|root| root.remove_tree(&RelPath::parse(name.as_encoded_bytes())?));
        // What the program left there is of no use to anybody; a remainder is not worth a word.
        drop(removed);
    }
}

impl ConfinedArgs {
    /// `client` is asked for the view, over a connection of this process.
    pub(super) fn run(&self, client: impl FnOnce() -> Result<Client, Box<Failure>>) -> LeaseExit {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let mount = self.mount.as_deref().map(Path::new);
        if let Some(at) = mount {
            // The working directory may be one that the mount hides: the program looks it up again.
            if let Ok(here) = std::env::current_dir() {
                command.current_dir(here);
            }
            mount_view(&mut client()?, at)?;
        }
        if let Some(tmp) = &self.tmp {
            self.raise_wall(Path::new(tmp), mount)?;
        }
        let error = command.exec();
        let mut failure = told::broken("start the program", &error.to_string());
        failure.path = handfast::escape(self.command[0].as_encoded_bytes());
        failure.exit = Exit::Usage;
        Err(failure)
    }

    fn raise_wall(&self, tmp: &Path, mount: Option<&Path>) -> Result<(), Box<Failure>> {
        let failed =
            |why: &dyn std::fmt::Display| told::broken("confine the program", &why.to_string());
        let open = |path: &Path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(&errno))
        };
        let mut hardening = Hardening::new()
            .scoped()
            .full(open(tmp)?)
            .full(open(Path::new("/dev"))?);
        for dir in &self.read {
            hardening = hardening.read_only(open(Path::new(dir))?);
        }
        if let Some(mount) = mount {
            // What is mounted there, and not what it hides.
            hardening = hardening.full(open(mount)?);
        }
        match hardening.harden_process() {
            Ok(Wall::None) => Err(failed(&"this kernel has no Landlock")),
            Ok(_) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Mounts what the lease covers, for this process and those that it starts.
fn mount_view(client: &mut Client, at: &Path) -> Result<(), Box<Failure>> {
    let lease = std::env::var("HANDFAST_LEASE")
        .map_err(|_| told::broken("mount the lease's view", "HANDFAST_LEASE names no lease"))?;
    let deed = "mount the lease's view at";
    client.mount(&lease, at).map_err(|error| {
        let mut failure = told::failed(deed, at.as_os_str().as_encoded_bytes(), &error);
        if !matches!(error, handfast_broker::ClientError::Fault(_)) {
            let hint = "a mount needs /dev/fuse, open to this user, and user namespaces";
            failure.hints.push(hint.to_owned());
        }
        failure
    })
}
