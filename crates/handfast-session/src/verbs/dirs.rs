//! Directories: making and listing.

use handfast::files::Entry;
use handfast::{ErrorKind, FileKind, Identity, Verb};

use crate::error::Error;
use crate::mount::Route;
use crate::pipeline::Request;
use crate::rules::Access;
use crate::session::Session;
use crate::vpath::{AsVirtualPath, VirtualPath};

impl Session {
    /// Creates a directory; the name must be free.
    ///
    /// # Errors
    /// `Exists`, `NotFound` if its parent is missing; otherwise as [`Session::write`].
    pub fn create_dir(&self, path: impl AsVirtualPath) -> Result<(), Error> {
        self.create_dir_with(path, 0o777)
    }

    /// As [`Session::create_dir`], with a mode.
    ///
    /// # Errors
    /// As [`Session::create_dir`].
    pub fn create_dir_with(&self, path: impl AsVirtualPath, mode: u32) -> Result<(), Error> {
        self.create_dir_as(Request::change(Verb::CreateDir, &path).itself(), mode)
            .map(drop)
    }

    pub(crate) fn create_dir_as(
        &self,
        request: Request<'_>,
        mode: u32,
    ) -> Result<Option<Identity>, Error> {
        self.act(request, |place, guard, _| {
            place.mount.layer.create_dir(place.spot(), guard, mode)
        })
    }

    /// Creates a directory and its missing parents. A directory that is there is what was wanted.
    ///
    /// # Errors
    /// As [`Session::create_dir`]; what was made before an error stays.
    pub fn create_dir_all(&self, path: impl AsVirtualPath) -> Result<(), Error> {
        self.create_dir_all_with(path, 0o777)
    }

    /// As [`Session::create_dir_all`], with a mode for the directories that are made.
    ///
    /// # Errors
    /// As [`Session::create_dir_all`].
    pub fn create_dir_all_with(&self, path: impl AsVirtualPath, mode: u32) -> Result<(), Error> {
        let whole = self.parse(Verb::CreateDirAll, &path)?;
        let named = |error: Error| error.on(Verb::CreateDirAll, whole.to_string());
        let is_dir = |at: &VirtualPath| -> Result<bool, Error> {
            match self.metadata(at) {
                // The name is taken and leads to nothing.
                Err(error) if error.kind() == ErrorKind::NotFound => Err(named(Error::refused(
                    ErrorKind::Link,
                    "the link leads to nothing",
                ))),
                status => Ok(status.map_err(named)?.is_dir()),
            }
        };
        let mut at = VirtualPath::root();
        for name in whole.as_rel().segments() {
            at = at.join(name);
            if self.mounts().holds_mount(&at) {
                continue;
            }
            match self.create_dir_with(&at, mode) {
                Err(error) if error.kind() == ErrorKind::Exists && is_dir(&at)? => {}
                Err(error) if error.kind() == ErrorKind::Exists => {
                    return Err(named(Error::refused(
                        ErrorKind::NotADirectory,
                        "something on the way is not a directory",
                    )));
                }
                made => made.map_err(named)?,
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
    pub fn read_dir(&self, path: impl AsVirtualPath) -> Result<Vec<Entry>, Error> {
        let path = self.parse(Verb::ReadDir, &path)?;
        let path: &VirtualPath = &path;
        if let Route::Above = self.mounts().route(path) {
            self.caller().check(path, Access::Read)?;
            return Ok(self.with_mount_points(path, Vec::new()));
        }
        self.list(Request::look(Verb::ReadDir, path), path)
    }

    pub(crate) fn list(
        &self,
        request: Request<'_>,
        path: &VirtualPath,
    ) -> Result<Vec<Entry>, Error> {
        let found = self.act(request, |place, guard, op| {
            let mut listed = place.mount.layer.list(place.spot().judged_by(guard))?;
            op.allow(place.mount, None)?;
            if self.caller().has_scope() {
                let here = place.full();
                listed.retain(|entry| self.caller().shows(&here.join(&entry.name), entry.kind));
            }
            Ok(listed)
        })?;
        Ok(self.with_mount_points(path, found))
    }

    fn with_mount_points(&self, path: &VirtualPath, mut found: Vec<Entry>) -> Vec<Entry> {
        for (name, _) in self.mounts().names_in(path) {
            if !self.caller().shows(&path.join(&name), FileKind::Dir) {
                continue;
            }
            found.retain(|known| known.name != name);
            found.push(Entry {
                name,
                kind: FileKind::Dir,
                inode: 0,
            });
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        found
    }
}
