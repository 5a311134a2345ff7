//! The tree that a program sees.
//!
//! It begins empty, in memory. What the plan grants is shown in it, the project's mount lies over the
//! project's own path, and the host's tree is taken away at the end. What was not put here is absent.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use crate::fast::{self, Layers};
use crate::mounts::{self, said};
use crate::plan::{Grant, Net, PRIVATE, Plan, Wall};

/// The host's tree while the new one is built.
const HOST: &str = "/host";
/// The new tree.
const NEW: &str = "/new";

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Files of procfs that would change the machine: user 0 owns them.
const PROC_READ_ONLY: [&str; 6] = ["bus", "fs", "irq", "sys", "sysrq-trigger", "acpi"];

/// Files of procfs that tell about the machine's memory and keys.
const PROC_MASKED: [&str; 10] = [
    "kcore",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "sched_debug",
    "slabinfo",
    "timer_list",
    "vmallocinfo",
];

/// A path of the host, or of the new tree, while both are there.
fn within(tree: &str, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    Path::new(tree).join(below)
}

/// Builds the tree and moves into it. There is a device for each directory that the session is mounted
/// over; it is given out before anything waits for it. Or there are layers for each.
pub(crate) fn build(
    plan: &Plan,
    devices: Vec<OwnedFd>,
    layers: &[Layers],
    give: impl Fn(OwnedFd) -> Result<(), String>,
) -> Result<(), String> {
    mounts::keep_apart()?;
    begin()?;
    let in_private = |grant: &&Grant| PRIVATE.iter().any(|dir| grant.path.starts_with(dir));
    let (private, inside): (Vec<_>, Vec<_>) = plan.grants.iter().partition(in_private);
    for grant in inside.iter().filter(|grant| !in_home(plan, grant)) {
        show(grant)?;
    }
    for dir in PRIVATE {
        private_dir(Path::new(dir), 0o1777)?;
    }
    link("../run", Path::new("/var/run"))?;
    private_dir(&plan.home, 0o700)?;
    for grant in inside.iter().filter(|grant| in_home(plan, grant)) {
        show(grant)?;
    }
    for grant in private {
        show(grant)?;
    }
    for (number, path) in plan.caches.iter().enumerate() {
        layer(number, path)?;
    }
    for path in &plan.masked {
        mask(&within(NEW, path))?;
    }
    name_servers(plan)?;
    proc_files(plan.wall == Wall::Nested)?;
    new_devices()?;
    for (device, path) in devices.into_iter().zip(plan.project.mounted()) {
        session(plan, device.as_fd(), path)?;
        give(device)?;
    }
    for (number, (layers, path)) in layers.iter().zip(plan.project.mounted()).enumerate() {
        let at = within(NEW, path);
        make_dir(&at)?;
        fast::mount(number, layers, path, &at)?;
    }
    end()?;
    rustix::process::chdir(&plan.project.cwd)
        .map_err(std::io::Error::from)
        .map_err(said("go to", &plan.project.cwd))
}

fn in_home(plan: &Plan, grant: &Grant) -> bool {
    grant.path.starts_with(&plan.home)
}

/// Puts an empty tree in memory over the host's, which is then at [`HOST`].
fn begin() -> Result<(), String> {
    let at = Path::new("/tmp");
    mounts::memory(at, 0o755)?;
    for dir in [HOST, NEW] {
        make_dir(&within("/tmp", Path::new(dir)))?;
    }
    let host = within("/tmp", Path::new(HOST));
    rustix::process::pivot_root(at, &host)
        .map_err(std::io::Error::from)
        .map_err(said("move into", at))?;
    rustix::process::chdir("/")
        .map_err(std::io::Error::from)
        .map_err(said("go to", Path::new("/")))?;
    mounts::memory(Path::new(NEW), 0o755)
}

/// Takes the host's tree away.
fn end() -> Result<(), String> {
    let new = Path::new(NEW);
    mounts::make_itself_read_only(new)?;
    let failed = said("move into", new);
    rustix::process::chdir(new)
        .map_err(std::io::Error::from)
        .map_err(&failed)?;
    // The old top is stacked under the new one, and is taken away from there.
    rustix::process::pivot_root(".", ".")
        .map_err(std::io::Error::from)
        .map_err(&failed)?;
    mounts::detach(Path::new("."))?;
    rustix::process::chdir("/")
        .map_err(std::io::Error::from)
        .map_err(&failed)
}

fn make_dir(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    builder.create(path).map_err(said("make", path))
}

/// An empty file to mount over.
#[allow(
    clippy::disallowed_methods,
    reason = "in a tree of our own that nobody else sees yet"
)]
fn make_file(path: &Path) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        make_dir(parent)?;
    }
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => std::fs::write(path, "").map_err(said("make", path)),
    }
}

fn link(target: &str, at: &Path) -> Result<(), String> {
    let path = within(NEW, at);
    std::os::unix::fs::symlink(target, &path).map_err(said("make", at))
}

fn private_dir(at: &Path, mode: u32) -> Result<(), String> {
    let path = within(NEW, at);
    // The home directory may be one of the private ones already.
    make_dir(&path)?;
    mounts::memory(&path, mode)
}

/// Shows what the plan grants. A link of the host is made again.
fn show(grant: &Grant) -> Result<(), String> {
    let (from, at) = (within(HOST, &grant.path), within(NEW, &grant.path));
    let failed = said("show", &grant.path);
    let status = from.symlink_metadata().map_err(&failed)?;
    if status.is_symlink() {
        let target = std::fs::read_link(&from).map_err(&failed)?;
        if let Some(parent) = at.parent() {
            make_dir(parent)?;
        }
        return match at.symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => std::os::unix::fs::symlink(target, &at).map_err(&failed),
        };
    }
    match status.is_dir() {
        true => make_dir(&at)?,
        false => make_file(&at)?,
    }
    mounts::bind(&from, &at)?;
    match grant.writable {
        true => mounts::make_plain(&at),
        false => mounts::make_read_only(&at),
    }
}

/// Lays a directory in memory over one that is shown read-only: what a program changes there goes with
/// the run. Kernels before 5.11 do not do that for ordinary users; it stays read-only then.
fn layer(number: usize, path: &Path) -> Result<(), String> {
    let lower = PathBuf::from(format!("/cache{number}"));
    let (upper, work) = (lower.with_extension("upper"), lower.with_extension("work"));
    for dir in [&lower, &upper, &work] {
        make_dir(dir)?;
    }
    let at = within(NEW, path);
    // By a name without commas and colons, which separate options.
    mounts::bind(&at, &lower)?;
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        lower.display(),
        upper.display(),
        work.display()
    );
    let options = std::ffi::CString::new(options).map_err(|error| error.to_string())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    // What fails leaves the read-only directory.
    drop(mounts::special("overlay", &at, flags, &options));
    Ok(())
}

/// Shows a device of the host. Its mode and owner cannot be changed: the node is the host's own. What
/// is written to a device is no change of the mount.
fn show_device(name: &str, at: &Path) -> Result<(), String> {
    mounts::bind(&within(HOST, Path::new("/dev")).join(name), at)?;
    mounts::make_itself_read_only(at)
}

/// Covers a file or a directory with nothing.
fn mask(path: &Path) -> Result<(), String> {
    match path.symlink_metadata() {
        Ok(status) if status.is_dir() => {
            mounts::memory(path, 0o000)?;
            mounts::make_read_only(path)
        }
        Ok(_) => show_device("null", path),
        Err(_) => Ok(()),
    }
}

/// `/etc/resolv.conf` is often a link into `/run`, which is private.
#[allow(
    clippy::disallowed_methods,
    reason = "a file of the machine; it is shown read-only"
)]
fn name_servers(plan: &Plan) -> Result<(), String> {
    if plan.net == Net::None {
        return Ok(());
    }
    let Ok(target) = std::fs::read_link(within(HOST, Path::new("/etc/resolv.conf"))) else {
        return Ok(());
    };
    let target = Path::new("/etc").join(target);
    let mut path = PathBuf::new();
    for part in target.components() {
        match part {
            std::path::Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    let from = within(HOST, &path);
    if !path.starts_with("/run") || !from.is_file() {
        return Ok(());
    }
    let at = within(NEW, &path);
    make_file(&at)?;
    mounts::bind(&from, &at)?;
    mounts::make_read_only(&at)
}

fn proc_files(nested: bool) -> Result<(), String> {
    let at = within(NEW, Path::new("/proc"));
    make_dir(&at)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mounts::special("proc", &at, flags, c"")?;
    if nested {
        // The kernel lets nobody mount a procfs where parts of one are covered. An ordinary user owns
        // none of these files.
        return Ok(());
    }
    for name in PROC_READ_ONLY {
        let path = at.join(name);
        if path.symlink_metadata().is_ok() {
            mounts::bind(&path, &path)?;
            mounts::make_itself_read_only(&path)?;
        }
    }
    for name in PROC_MASKED {
        mask(&at.join(name))?;
    }
    Ok(())
}

fn new_devices() -> Result<(), String> {
    let at = within(NEW, Path::new("/dev"));
    make_dir(&at)?;
    mounts::memory(&at, 0o755)?;
    for name in DEVICES {
        let from = within(HOST, Path::new("/dev")).join(name);
        if from.symlink_metadata().is_ok() {
            let node = at.join(name);
            make_file(&node)?;
            show_device(name, &node)?;
        }
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        link(target, &Path::new("/dev").join(name))?;
    }
    let shared = at.join("shm");
    make_dir(&shared)?;
    mounts::memory(&shared, 0o1777)?;
    let terminals = at.join("pts");
    make_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    mounts::special("devpts", &terminals, flags, options)?;
    mounts::make_itself_read_only(&at)
}

/// Mounts the session over a directory's own path.
fn session(plan: &Plan, device: BorrowedFd<'_>, path: &Path) -> Result<(), String> {
    let at = within(NEW, path);
    make_dir(&at)?;
    let settings = handfast_fuse::MountSettings::new().read_only(plan.read_only);
    handfast_fuse::mount_at(device, &at, settings).map_err(said("mount the session at", path))
}
