//! The address of a socket. An address holds 107 bytes and a path may be longer; such a socket is
//! reached through a descriptor of its directory.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// What `sun_path` holds without its last zero byte.
pub(crate) const MAX_ADDRESS: usize = 107;

/// A path that fits into an address while this lives.
pub(crate) struct Address {
    path: PathBuf,
    _dir: Option<OwnedFd>,
}

impl Address {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let is_short = path.as_os_str().as_bytes().len() <= MAX_ADDRESS;
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Self::as_it_is(path));
        };
        if is_short {
            return Ok(Self::as_it_is(path));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, Mode::empty())?;
        let path = Path::new("/proc/self/fd")
            .join(dir.as_raw_fd().to_string())
            .join(name);
        Ok(Self {
            path,
            _dir: Some(dir),
        })
    }

    fn as_it_is(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            _dir: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
