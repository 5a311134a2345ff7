//! Names: renaming, linking, removing.

use handfast::files::WhatToRemove;
use handfast::{ErrorKind, FileKind, RenameMode, Verb, Version};

use crate::error::{Error, Reason};
use crate::pipeline::Request;
use crate::place::ResolvedPlace;
use crate::session::Session;
use crate::vpath::AsVirtualPath;

impl Session {
    /// Renames an entry: a link moves itself.
    ///
    /// # Errors
    /// `Mount` if the two ends lie in different mounts; `Denied` if either end, or anything that
    /// could lie below, would come under a rule or leave one; otherwise as
    /// [`handfast::Root::rename`].
    ///
    /// # Security
    /// What lies below a directory is judged from the patterns alone: a directory does not move to
    /// or from a place below which a pattern with a fixed place could match. An overlay judges what
    /// it moves under its lock. In a read-write mount what is moved is not held, so everything is
    /// taken for a directory there.
    pub fn rename(
        &self,
        from: impl AsVirtualPath,
        to: impl AsVirtualPath,
        mode: RenameMode,
    ) -> Result<(), Error> {
        let source = Request::change(Verb::Rename, &from).itself();
        let target = Request::change(Verb::Rename, &to).itself();
        self.rename_as(source, target, mode)
    }

    pub(crate) fn rename_as(
        &self,
        from: Request<'_>,
        to: Request<'_>,
        mode: RenameMode,
    ) -> Result<(), Error> {
        self.act_on_two(from, to, |moving, _| {
            self.refuse_mount_point(moving.from)?;
            self.refuse_mount_point(moving.to)?;
            moving.from.require_same_mount(moving.to)?;
            moving.from.mount.layer.rename(moving, mode)
        })
    }

    /// Gives a regular file another name. A commit of an overlay makes a file of its own for every
    /// name.
    ///
    /// # Errors
    /// `Mount` between mounts; `Denied` if a rule holds for either name; otherwise as
    /// [`handfast::Root::hard_link`].
    pub fn hard_link(
        &self,
        source: impl AsVirtualPath,
        new: impl AsVirtualPath,
    ) -> Result<(), Error> {
        // Another name is another way to change the file: the source must be one that may be.
        let from = Request::change(Verb::HardLink, &source).itself();
        let to = Request::change(Verb::HardLink, &new).itself();
        self.hard_link_as(from, to)
    }

    pub(crate) fn hard_link_as(&self, from: Request<'_>, to: Request<'_>) -> Result<(), Error> {
        self.act_on_two(from, to, |linking, _| {
            linking.from.require_same_mount(linking.to)?;
            let kind = Some(FileKind::File);
            linking.to_guard.check_new(&linking.to.path, kind)?;
            linking.from.mount.layer.hard_link(linking)
        })
    }

    /// Creates a link with a relative target that stays in the mount. An overlay keeps any target as
    /// data; a commit refuses one that leads outside.
    ///
    /// # Errors
    /// `Escape` for other targets in a read-write mount; `Exists`; `Denied` also where a pattern
    /// speaks of what lies below the name: others would follow the link there.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsVirtualPath) -> Result<(), Error> {
        let request = Request::change(Verb::Symlink, &path).itself();
        self.symlink_as(target.as_ref(), request)
    }

    pub(crate) fn symlink_as(&self, target: &[u8], request: Request<'_>) -> Result<(), Error> {
        self.act(request, |place, guard, _| {
            guard.check_new(&place.path, Some(FileKind::Symlink))?;
            place.mount.layer.symlink(target, place.spot(), guard)
        })
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// `IsADirectory`; otherwise as [`Session::write`].
    pub fn remove_file(&self, path: impl AsVirtualPath) -> Result<(), Error> {
        let request = Request::change(Verb::RemoveFile, &path).itself();
        self.remove_as(request, WhatToRemove::File)
    }

    /// Removes a file only if it is still the version that was seen.
    ///
    /// # Errors
    /// `Stale` if it is not; otherwise as [`Session::remove_file`].
    pub fn remove_if(&self, path: impl AsVirtualPath, version: &Version) -> Result<(), Error> {
        let request = Request::change(Verb::RemoveIf, &path).itself();
        self.remove_as(request, WhatToRemove::FileIf(version))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotEmpty`, `NotADirectory`; otherwise as [`Session::write`].
    pub fn remove_dir(&self, path: impl AsVirtualPath) -> Result<(), Error> {
        let request = Request::change(Verb::RemoveDir, &path).itself();
        self.remove_as(request, WhatToRemove::Dir)
    }

    pub(crate) fn remove_as(
        &self,
        request: Request<'_>,
        what: WhatToRemove<'_>,
    ) -> Result<(), Error> {
        self.act(request, |place, guard, _| {
            if let WhatToRemove::Dir = what {
                self.refuse_mount_point(place)?;
            }
            place.mount.layer.remove(place.spot(), guard, what)
        })
    }

    /// Mount points and what lies above them are not moved or removed.
    pub(super) fn refuse_mount_point(&self, place: &ResolvedPlace<'_>) -> Result<(), Error> {
        if self.mounts().holds_mount(&place.full()) {
            return Err(
                Error::refused(ErrorKind::Busy, "something is mounted there")
                    .because(Reason::MountPoint),
            );
        }
        Ok(())
    }
}
