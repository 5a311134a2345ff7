//! Names: renaming, linking, removing.

use handfast::{ErrorKind, RenameMode, Verb, Version};

use super::read::judge_names;
use crate::error::{Error, Reason};
use crate::pipeline::{Ask, Place};
use crate::rules::Access;
use crate::session::Session;

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
    /// or from a place below which a pattern with a fixed place could match.
    pub fn rename(
        &self,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
        mode: RenameMode,
    ) -> Result<(), Error> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let source = Ask::change(Verb::Rename, from).itself();
        let target = Ask::change(Verb::Rename, to).itself();
        self.act_on_two(source, target, |source, target, _| {
            self.refuse_mount_point(source)?;
            self.refuse_mount_point(target)?;
            require_one_mount(source, target)?;
            refuse_kept(source)?;
            refuse_kept(target)?;
            require_same_rules(source, target, mode)?;
            require_dirs(source, target, mode)?;
            // A commit may give the content a name of its own.
            judge_names(source, Access::Change)?;
            if mode == RenameMode::Exchange {
                judge_names(target, Access::Change)?;
            }
            source.mount.layer.rename(&source.path, &target.path, mode)
        })
    }

    /// Gives a regular file another name, in a read-write mount.
    ///
    /// # Errors
    /// `Unsupported` in an overlay; `Mount` between mounts; `Denied` if a rule holds for either
    /// name; otherwise as [`handfast::Root::hard_link`].
    pub fn hard_link(&self, source: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<(), Error> {
        // Another name is another way to change the file: the source must be one that may be.
        let from = Ask::change(Verb::HardLink, source.as_ref()).itself();
        let to = Ask::change(Verb::HardLink, new.as_ref()).itself();
        self.act_on_two(from, to, |source, target, _| {
            require_one_mount(source, target)?;
            judge_names(source, Access::Change)?;
            refuse_stand_in(target)?;
            source.mount.layer.hard_link(&source.path, &target.path)
        })
    }

    /// Creates a link with a relative target that stays in the mount.
    ///
    /// # Errors
    /// `Escape` for other targets; `Exists`; `Denied` also where a pattern speaks of what lies
    /// below the name: others would follow the link there.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<(), Error> {
        let target = target.as_ref();
        let ask = Ask::change(Verb::Symlink, path.as_ref()).itself();
        self.act(ask, |place, _| {
            if !place.mount.is_ordinary_below(&place.path) {
                return Err(would_lose(
                    "a link here would lead away from protected names below it",
                ));
            }
            place.mount.layer.symlink(target, &place.path)
        })
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// `IsADirectory`; otherwise as [`Session::write`].
    pub fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<(), Error> {
        self.remove_file_as(Ask::change(Verb::RemoveFile, path.as_ref()).itself())
    }

    pub(super) fn remove_file_as(&self, ask: Ask<'_>) -> Result<(), Error> {
        self.act(ask, |place, _| place.mount.layer.remove_file(&place.path))
    }

    /// Removes a file only if it is still the version that was seen.
    ///
    /// # Errors
    /// `Stale` if it is not; otherwise as [`Session::remove_file`].
    pub fn remove_if(&self, path: impl AsRef<[u8]>, version: &Version) -> Result<(), Error> {
        let ask = Ask::change(Verb::RemoveIf, path.as_ref()).itself();
        self.act(ask, |place, _| {
            place.mount.layer.remove_if(&place.path, version)
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotEmpty`, `NotADirectory`; otherwise as [`Session::write`].
    pub fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<(), Error> {
        self.remove_dir_as(Ask::change(Verb::RemoveDir, path.as_ref()).itself())
    }

    pub(super) fn remove_dir_as(&self, ask: Ask<'_>) -> Result<(), Error> {
        self.act(ask, |place, _| {
            self.refuse_mount_point(place)?;
            place.mount.layer.remove_dir(&place.path)
        })
    }

    /// Mount points and what lies above them are not moved or removed.
    pub(super) fn refuse_mount_point(&self, place: &Place<'_>) -> Result<(), Error> {
        if self.mounts().holds_mount(&place.mount.full(&place.path)) {
            return Err(Error::new(ErrorKind::Busy, "something is mounted there")
                .because(Reason::MountPoint));
        }
        Ok(())
    }
}

/// The directories that lead to Handfast's own state stay where they are.
fn refuse_kept(place: &Place<'_>) -> Result<(), Error> {
    match place.mount.layer.symlink_metadata(&place.path) {
        Ok(status) if place.mount.keeps(&status) => Err(Error::new(
            ErrorKind::Denied,
            "Handfast's own state lies in this directory; it stays where it is",
        )
        .because(Reason::Protected)),
        _ => Ok(()),
    }
}

fn require_one_mount(source: &Place<'_>, target: &Place<'_>) -> Result<(), Error> {
    if std::ptr::eq(source.mount, target.mount) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Mount,
        "the two ends lie in different mounts; copy and remove instead",
    )
    .because(Reason::TwoMounts))
}

/// Nothing but a directory comes under a name that is kept for one.
pub(super) fn refuse_stand_in(place: &Place<'_>) -> Result<(), Error> {
    if place.mount.rules.keeps_for_a_directory(&place.path) {
        return Err(would_lose(
            "a file here would lead git away from its protected settings; only a directory may be \
             made under this name",
        ));
    }
    Ok(())
}

/// What a rename brings under a name is a directory, where the name is kept for one.
fn require_dirs(source: &Place<'_>, target: &Place<'_>, mode: RenameMode) -> Result<(), Error> {
    let is_dir = |place: &Place<'_>| {
        let status = place.mount.layer.symlink_metadata(&place.path);
        status.is_ok_and(|status| status.is_dir())
    };
    if !is_dir(source) {
        refuse_stand_in(target)?;
    }
    if mode == RenameMode::Exchange && !is_dir(target) {
        refuse_stand_in(source)?;
    }
    Ok(())
}

/// Nothing below gains or loses a rule. Both names themselves were judged: neither is protected.
fn require_same_rules(
    source: &Place<'_>,
    target: &Place<'_>,
    mode: RenameMode,
) -> Result<(), Error> {
    let rules = &source.mount.rules;
    if rules.is_empty() {
        return Ok(());
    }
    let exact = rules.judge(&source.path).below() == rules.judge(&target.path).below();
    let folded =
        rules.judge_folded(&source.path).below() == rules.judge_folded(&target.path).below();
    if exact && folded {
        return Ok(());
    }
    // A file has nothing below it. A link may lead to a directory, and counts as one.
    let is_file = |place: &Place<'_>| {
        place
            .mount
            .layer
            .symlink_metadata(&place.path)
            .is_ok_and(|status| status.is_file())
    };
    if is_file(source) && (mode != RenameMode::Exchange || is_file(target)) {
        return Ok(());
    }
    Err(would_lose(
        "names below it would come under a protected pattern, or leave one",
    ))
}

fn would_lose(why: &str) -> Error {
    Error::new(ErrorKind::Denied, why).because(Reason::Protected)
}
