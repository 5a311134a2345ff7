//! Steps in the base's old places: removing and moving away, each only of what was seen.

use handfast::{ErrorKind, Identity, RelPath, RenameMode, Version};

use super::choice::JudgedDirs;
use super::plan::Early;
use super::roll::{CommitRun, Failed, slot_path};
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::import::UNSEEN;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::base_path;

impl Overlay {
    pub(super) fn early(
        &self,
        item: &[u8],
        step: &Early,
        run: CommitRun<'_>,
    ) -> Result<(), Failed> {
        let CommitRun {
            staging,
            overwrite,
            resumed,
            ..
        } = run;
        let dir = run.dirs.get(item);
        let at = base_path(step.at())?;
        match step {
            Early::File { version, .. } => {
                let is_seen = version != UNSEEN;
                let version = self.version_now(version.parse()?, &at, run.plan);
                let removed = if overwrite && is_seen {
                    self.base.remove_file(&at)
                } else {
                    self.base.remove_if(&at, &version)
                };
                match removed {
                    // Gone is what was wanted, also if another process did it.
                    Err(error) if self.is_missing(&at)? => {
                        self.tidy(&at, &error);
                        Ok(())
                    }
                    removed => Ok(removed?),
                }
            }
            Early::Link { target, .. } => self.remove_link(&at, target, staging, overwrite),
            Early::Dir { .. } => match self.base.remove_dir(&at) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => Ok(removed?),
            },
            Early::Move { to, version, .. } => {
                let to = base_path(to)?;
                match self.base.rename(&at, &to, RenameMode::NoReplace) {
                    Err(error)
                        if resumed
                            && error.kind() == ErrorKind::NotFound
                            && !self.is_missing(&to)? =>
                    {
                        // A directory that others put there stays where it is.
                        return match version {
                            Some(_) => Ok(()),
                            None => self.require_moved(&to, (None, dir), overwrite),
                        };
                    }
                    moved => moved?,
                }
                let checked = self.require_moved(&to, (version.as_deref(), dir), overwrite);
                if checked.is_err() {
                    // If something stands there by now it stays in its new place: nothing is lost.
                    drop(self.base.rename(&to, &at, RenameMode::NoReplace));
                }
                checked
            }
            Early::Lift { slot, version, .. } => {
                let slot = slot_path(staging, *slot)?;
                if !resumed || self.is_missing(&slot)? {
                    self.base.rename(&at, &slot, RenameMode::NoReplace)?;
                }
                // What is not the one is put back with everything else that was lifted in vain.
                self.require_moved(&slot, (version.as_deref(), dir), overwrite)
            }
        }
    }

    /// Whether what was just moved is what the session saw. Nothing else is conditional about a
    /// rename, so it is looked at where nobody else expects it.
    fn require_moved(
        &self,
        at: &RelPath,
        (version, dir): (Option<&str>, Option<&Identity>),
        overwrite: bool,
    ) -> Result<(), Failed> {
        if overwrite {
            return Ok(());
        }
        let seen: Option<Version> = version.map(str::parse).transpose()?;
        let look = || -> Result<bool, handfast::Error> {
            let Some(seen) = &seen else {
                let now = self.base.symlink_metadata(at)?.identity;
                return Ok(dir.is_none_or(|dir| dir.same_object(&now)));
            };
            Ok(seen.is_of_renamed(&self.base.symlink_metadata(at)?)
                && (seen.digest().is_none()
                    || self.base.version_with_digest(at)?.digest() == seen.digest()))
        };
        // A look that fails is made again: going back would make the file look changed.
        let is_it = look().or_else(|_| look()).or_else(|_| look())?;
        if !is_it {
            return Err(Failed("it was changed in the base meanwhile".to_owned()));
        }
        Ok(())
    }

    /// Which directories of the base are moved, or get another mode. This is asked before anything is
    /// judged: what is there later must still be it. What is not there is a conflict of its own.
    pub(in crate::overlay) fn judged_dirs(
        &self,
        items: &[ChangedName],
    ) -> Result<JudgedDirs, Error> {
        let mut dirs = JudgedDirs::new();
        for item in items {
            let at = match &item.what {
                What::MoveDir { from, .. } => from,
                What::DirMode { .. } => item.home.as_ref().unwrap_or(&item.path),
                _ => continue,
            };
            if let Ok(status) = self.base.symlink_metadata(&base_path(at)?) {
                dirs.insert(item.path.clone(), status.identity);
            }
        }
        Ok(dirs)
    }

    /// Gives a directory its mode, if it is still the one that was judged.
    pub(super) fn set_dir_mode(
        &self,
        at: &RelPath,
        mode: u32,
        judged: Option<&Identity>,
    ) -> Result<(), Failed> {
        let (Some(judged), Some(parent), Some(name)) = (judged, at.parent(), at.name()) else {
            return Ok(self.base.chmod(at, mode)?);
        };
        let dir = match parent.is_root() {
            true => self.base.as_dir()?,
            false => self.base.open_dir(&parent)?,
        };
        match dir.expecting(*judged).chmod(&RelPath::from(name), mode) {
            Err(error) if matches!(error.kind(), ErrorKind::Raced | ErrorKind::Link) => {
                Err(Failed("it was replaced in the base meanwhile".to_owned()))
            }
            done => Ok(done?),
        }
    }

    /// Takes a link out of its place, looks at it there, and removes it if it is the one.
    fn remove_link(
        &self,
        at: &RelPath,
        target: &[u8],
        staging: &RelPath,
        overwrite: bool,
    ) -> Result<(), Failed> {
        let name = format!("link-{:016x}", crate::overlay::store::fresh_id()?);
        let aside = staging.join(handfast::NameRef::parse(name.as_bytes())?);
        match self.base.rename(at, &aside, RenameMode::NoReplace) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            moved => moved?,
        }
        let is_it = match self.base.read_link(&aside) {
            Ok(now) => overwrite || now.as_bytes() == target,
            Err(_) => false,
        };
        if is_it {
            return Ok(self.base.remove_file(&aside)?);
        }
        self.base.rename(&aside, at, RenameMode::NoReplace)?;
        Err(Failed("it was changed in the base meanwhile".to_owned()))
    }
}
