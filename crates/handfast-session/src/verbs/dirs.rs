//! Directories: making and listing.

use handfast::{ErrorKind, FileKind, Name, Verb};

use crate::error::Error;
use crate::mount::Route;
use crate::pipeline::Ask;
use crate::session::Session;
use crate::vpath::VirtualPath;

/// One entry of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Its kind; `Unknown` where the filesystem does not say.
    pub kind: FileKind,
}

impl Session {
    /// Creates a directory; the name must be free.
    ///
    /// # Errors
    /// `Exists`, `NotFound` if its parent is missing; otherwise as [`Session::write`].
    pub fn create_dir(&self, path: impl AsRef<[u8]>) -> Result<(), Error> {
        let ask = Ask::change(Verb::CreateDir, path.as_ref()).itself();
        self.act(ask, |place, _| {
            place.mount.layer.create_dir(&place.path, None)
        })
    }

    /// Creates a directory and its missing parents. A directory that is there is what was wanted.
    ///
    /// # Errors
    /// As [`Session::create_dir`]; what was made before an error stays.
    pub fn create_dir_all(&self, path: impl AsRef<[u8]>) -> Result<(), Error> {
        let whole = self.parse(Verb::CreateDirAll, path.as_ref())?;
        let mut at = VirtualPath::parse("/")?;
        for name in whole.as_rel().segments() {
            at = at.join(name);
            if self.mounts().holds_mount(&at) {
                continue;
            }
            let text = format_bytes(&at);
            match self.create_dir(&text) {
                Ok(()) => {}
                Err(error)
                    if error.kind() == ErrorKind::Exists && self.metadata(&text)?.is_dir() => {}
                Err(error) if error.kind() == ErrorKind::Exists => {
                    return Err(Error::new(
                        ErrorKind::NotADirectory,
                        "something on the way is not a directory",
                    )
                    .on(Verb::CreateDirAll, &whole));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lists a directory, in byte order, with the mount points in it.
    ///
    /// Names that a pattern denies are listed: what is denied is what they lead to.
    ///
    /// # Errors
    /// `NotADirectory`, `NotFound`, `Denied`; `Limit` beyond a million entries.
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<Vec<Entry>, Error> {
        let bytes = path.as_ref();
        let whole = self.parse(Verb::ReadDir, bytes)?;
        let mut found = match self.mounts().route(&whole) {
            Route::Above => Vec::new(),
            _ => self.act(Ask::look(Verb::ReadDir, bytes), |place, op| {
                let listed = place.mount.layer.list(&place.path)?;
                op.allow(place.mount, None)?;
                Ok(listed)
            })?,
        };
        for (name, _) in self.mounts().names_in(&whole) {
            found.retain(|(known, _)| *known != name);
            found.push((name, FileKind::Dir));
        }
        found.sort_unstable();
        Ok(found
            .into_iter()
            .map(|(name, kind)| Entry { name, kind })
            .collect())
    }
}

/// A virtual path as the bytes it is parsed from.
pub(super) fn format_bytes(path: &VirtualPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_rel().as_bytes());
    text
}
