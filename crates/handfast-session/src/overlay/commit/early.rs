//! Steps in the base's old places: removing and moving away, each only of what was seen.

use handfast::{ErrorKind, RelPath, RenameMode, Version};

use super::plan::Early;
use super::roll::{Failed, slot_path};
use crate::overlay::Overlay;
use crate::overlay::tree::base_path;

impl Overlay {
    pub(super) fn early(
        &self,
        step: &Early,
        staging: &RelPath,
        overwrite: bool,
        resumed: bool,
    ) -> Result<(), Failed> {
        let at = base_path(step.at())?;
        match step {
            Early::File { version, .. } => {
                let version: Version = version.parse()?;
                let removed = if overwrite {
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
                        return Ok(());
                    }
                    moved => moved?,
                }
                let checked = self.require_moved(&to, version.as_deref(), overwrite);
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
                self.require_moved(&slot, version.as_deref(), overwrite)
            }
        }
    }

    /// Whether what was just moved is what the session saw. Nothing else is conditional about a
    /// rename, so it is looked at where nobody else expects it.
    fn require_moved(
        &self,
        at: &RelPath,
        version: Option<&str>,
        overwrite: bool,
    ) -> Result<(), Failed> {
        let Some(seen) = version.filter(|_| !overwrite) else {
            return Ok(());
        };
        let seen: Version = seen.parse()?;
        let look = || -> Result<bool, handfast::Error> {
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
