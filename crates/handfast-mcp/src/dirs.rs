//! The operator's directories: looked up once, when the server starts, and pinned.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use handfast::{Root, RootOptions};
use handfast_session::VirtualPath;
use rustix::fs::{Mode, OFlags};

/// A directory that was granted.
pub(crate) struct Granted {
    /// As it was typed, made absolute; links in it are not resolved.
    pub(crate) spelled: VirtualPath,
    /// Where it really is, asked of the descriptor.
    pub(crate) real: VirtualPath,
    /// The directory itself.
    pub(crate) root: Root,
}

/// Pins a directory. A link that leads to one is fine: the operator typed it.
pub(crate) fn pin(dir: &Path, home: Option<&Path>) -> Result<Granted, String> {
    let dir = expand(dir, home);
    let absolute = std::path::absolute(&dir).map_err(|error| error.to_string())?;
    let spelled = virtual_path(&absolute)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(&absolute, flags, Mode::empty()).map_err(|error| {
        let text = std::io::Error::from(error).to_string();
        text.split(" (os error")
            .next()
            .unwrap_or_default()
            .to_owned()
    })?;
    let real = virtual_path(&real_path(&fd)?)?;
    let root = Root::from_fd(fd, RootOptions::new()).map_err(|error| error.detail())?;
    Ok(Granted {
        spelled,
        real,
        root,
    })
}

/// What the kernel calls a directory that is held.
fn real_path(fd: &OwnedFd) -> Result<PathBuf, String> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let text = rustix::fs::readlink(link, Vec::new())
        .map_err(|_| "its real path cannot be found without /proc".to_owned())?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes()));
    if !path.is_absolute() {
        return Err("it cannot be reached from the root directory".to_owned());
    }
    Ok(path)
}

fn expand(dir: &Path, home: Option<&Path>) -> PathBuf {
    match (home, dir.as_os_str().as_bytes()) {
        (Some(home), b"~") => home.to_owned(),
        (Some(home), [b'~', b'/', rest @ ..]) => home.join(std::ffi::OsStr::from_bytes(rest)),
        _ => dir.to_owned(),
    }
}

fn virtual_path(path: &Path) -> Result<VirtualPath, String> {
    let path = VirtualPath::parse(path.as_os_str().as_bytes()).map_err(|error| error.detail())?;
    Ok(VirtualPath::from(
        path.as_rel().clone().with_must_be_dir(false),
    ))
}

impl Granted {
    /// The directory's real path, for the host.
    pub(crate) fn host(&self) -> PathBuf {
        let bytes = [b"/", self.real.as_rel().as_bytes()].concat();
        PathBuf::from(std::ffi::OsString::from_vec(bytes))
    }
}

/// The directories without those that lie in another of them: one mount serves both.
pub(crate) fn outermost(granted: &[Granted]) -> Vec<&Granted> {
    let mut found: Vec<&Granted> = Vec::new();
    for one in granted {
        if found.iter().any(|known| one.real.starts_with(&known.real)) {
            continue;
        }
        found.retain(|known| !known.real.starts_with(&one.real));
        found.push(one);
    }
    found
}
