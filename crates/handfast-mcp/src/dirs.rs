//! The operator's directories: looked up once, when the server starts, and pinned.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use handfast::{Root, RootOptions};
use rustix::fs::{Mode, OFlags};

/// A directory that was granted.
pub(crate) struct Granted {
    /// As it was typed, made absolute; links in it are not resolved.
    pub(crate) spelled: PathBuf,
    /// Where it really is, asked of the descriptor.
    pub(crate) real: PathBuf,
    /// The directory itself.
    pub(crate) root: Root,
}

/// Pins a directory. A link that leads to one is fine: the operator typed it.
pub(crate) fn pin(dir: &Path, home: Option<&Path>) -> Result<Granted, String> {
    let dir = expand(dir, home);
    let absolute = std::path::absolute(&dir).map_err(|error| error.to_string())?;
    let spelled = PathBuf::from(crate::place::fold(&absolute.to_string_lossy()));
    // Names that are not UTF-8 cannot be folded as text; they stand as they are.
    let spelled = match absolute.to_str() {
        Some(_) => spelled,
        None => absolute.clone(),
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(&absolute, flags, Mode::empty()).map_err(|error| {
        let text = std::io::Error::from(error).to_string();
        text.split(" (os error")
            .next()
            .unwrap_or_default()
            .to_owned()
    })?;
    let real = real_path(&fd)?;
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

/// The directories without those that lie in another of them: one mount serves both.
pub(crate) fn outermost(granted: &[Granted]) -> Vec<&Granted> {
    let bytes = |granted: &Granted| granted.real.as_os_str().as_bytes().to_vec();
    let mut found: Vec<&Granted> = Vec::new();
    for (index, one) in granted.iter().enumerate() {
        let covered = granted.iter().enumerate().any(|(other_index, other)| {
            match crate::view::below(&bytes(other), &bytes(one)) {
                // The same directory twice: the first stays.
                Some(b"") => other_index < index,
                Some(_) => true,
                None => false,
            }
        });
        if !covered {
            found.push(one);
        }
    }
    found
}
