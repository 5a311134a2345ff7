//! Where the socket lies.

use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::wire::MAX_ADDRESS;

/// The user's own place for the socket: below the runtime directory, or the state directory where
/// there is none.
#[must_use]
pub fn default_socket(
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    uid: u32,
) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let runtime = absolute("XDG_RUNTIME_DIR").or_else(|| {
        let dir = PathBuf::from(format!("/run/user/{uid}"));
        rustix::fs::stat(&dir)
            .is_ok_and(|status| status.st_uid == uid)
            .then_some(dir)
    });
    let place = runtime
        .or_else(|| absolute("XDG_STATE_HOME"))
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    place.map(|place| place.join("handfast").join("broker.sock"))
}

/// Binds the socket. What a broker that was killed left behind is replaced; a broker that answers
/// is not.
///
/// # Errors
/// `AddrInUse` if another broker listens there; `AlreadyExists` if something else has the path; `InvalidInput` if the path is longer than the address
/// of a socket; what the system says.
pub fn bind_socket(path: &Path, for_others: bool) -> io::Result<UnixListener> {
    let length = path.as_os_str().len();
    if length > MAX_ADDRESS {
        let why = format!(
            "the socket's path has {length} bytes, and an address holds {MAX_ADDRESS}: \
             choose a shorter one, or one relative to the working directory"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    if let Some(dir) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(if for_others { 0o755 } else { 0o700 })
            .create(dir)?;
    }
    let listener = match UnixListener::bind(path) {
        Ok(listener) => listener,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            // Files and directories refuse connections too.
            let found = rustix::fs::lstat(path)?;
            if !FileType::from_raw_mode(found.st_mode).is_socket() {
                let why = "something that is no socket has this path";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            match UnixStream::connect(path) {
                Ok(_) => return Err(error),
                Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(other) => return Err(other),
            }
            // A socket that nobody listens on.
            rustix::fs::unlink(path)?;
            UnixListener::bind(path)?
        }
        Err(error) => return Err(error),
    };
    let mode = if for_others { 0o666 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}
