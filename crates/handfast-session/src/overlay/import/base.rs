//! What the base had when the run began, as far as its times tell.

use std::collections::BTreeMap;

use handfast::{Dir, ErrorKind, FileKind, Metadata, RelPath, Timestamp};

use super::{BaseLevel, Import, Left, names_in};
use crate::error::Error;
use crate::overlay::tree::Was;

impl Import<'_> {
    /// The directory of the base under a name, if it is one. It is held first and judged then.
    pub(super) fn base_below(
        &self,
        base: Option<&BaseLevel>,
        at: &RelPath,
    ) -> Result<Option<BaseLevel>, Left> {
        let Some(base) = base else {
            return Ok(None);
        };
        let dir = match base.dir.open_dir(at) {
            Ok(dir) => dir,
            Err(error) => match error.kind() {
                ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::Link
                | ErrorKind::Raced
                | ErrorKind::Kind => return Ok(None),
                _ => return Err(error.into()),
            },
        };
        // A directory that was moved here has a new time, and so has the one that it was moved into.
        let was_moved = self.is_later(&dir)? && self.is_later(&base.dir)?;
        Ok(Some(BaseLevel {
            is_doubtful: base.is_doubtful || was_moved,
            may_be_another: base.may_be_another || was_moved,
            dir,
        }))
    }

    /// Whether a directory has been changed since the run began.
    pub(super) fn is_later(&self, dir: &Dir) -> Result<bool, Left> {
        let status = dir.symlink_metadata(&RelPath::root())?;
        Ok(!self.is_before(status.changed))
    }

    /// Whether a time lies before the run. A time without a fraction may have been cut to the second.
    pub(super) fn is_before(&self, time: Timestamp) -> bool {
        match time.nanoseconds {
            0 => time.seconds < self.began.seconds,
            _ => time < self.began,
        }
    }

    /// Whether a name that nobody saw the program remove may have come into a directory since the run began:
    /// it came with the directory, or both the directory and what stands there have a later time. What was
    /// moved here has one too.
    pub(super) fn may_have_come(&self, base: &BaseLevel, at: &RelPath) -> Result<bool, Left> {
        if base.may_be_another {
            return Ok(true);
        }
        let status = self.looked(base.dir.symlink_metadata(at))?;
        let is_later = status.is_ok_and(|status| !self.is_before(status.changed));
        Ok(is_later && self.is_later(&base.dir)?)
    }

    /// What a look at the base says. What others change meanwhile is no failure of ours.
    fn looked<T>(&self, look: Result<T, Error>) -> Result<Result<T, ErrorKind>, Left> {
        match look {
            Ok(found) => Ok(Ok(found)),
            Err(error) => match Left::from(error) {
                Left::Failed(error) => Err(Left::Failed(error)),
                Left::Out(kind, _) => Ok(Err(kind)),
            },
        }
    }

    /// What the base had under a name when the run began, as far as that is known.
    pub(super) fn was(&self, base: Option<&BaseLevel>, at: &RelPath) -> Result<Was, Left> {
        let Some(base) = base else {
            return Ok(Was::Absent);
        };
        let status = match base.dir.symlink_metadata(at) {
            Ok(status) => status,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Was::Absent),
            Err(error) => return Err(error.into()),
        };
        match status.kind {
            FileKind::File => {
                let version = match self.looked(base.dir.version(at))? {
                    Ok(version) => Some(version),
                    // A file that we may not read is known by its times.
                    Err(ErrorKind::Denied) => Some(handfast::Version::of_metadata(&status)),
                    Err(_) => None,
                };
                let after = self
                    .looked(base.dir.symlink_metadata(at))?
                    .unwrap_or(status);
                let is_known = |version: &handfast::Version| {
                    version.is_of(&after) && self.is_before(after.changed) && !base.is_doubtful
                };
                Ok(Was::File(match version.filter(is_known) {
                    Some(version) => version.to_string(),
                    None => other_version(&after),
                }))
            }
            FileKind::Symlink => {
                let target = self.looked(base.dir.read_link(at))?;
                let after = self.looked(base.dir.symlink_metadata(at))?;
                let is_known = after.is_ok_and(|after| {
                    after.identity == status.identity && self.is_before(after.changed)
                });
                // No link has an empty target.
                Ok(Was::Link(match target {
                    Ok(target) if is_known && !base.is_doubtful => target.as_bytes().to_vec(),
                    _ => Vec::new(),
                }))
            }
            FileKind::Dir => {
                let Some(mut below) = self.base_below(Some(base), at)? else {
                    return Err(Left::Out(
                        ErrorKind::Kind,
                        "the base has something else there".to_owned(),
                    ));
                };
                let names = names_in(&below.dir)?;
                // Names that came or went since: then none of the rest is certain.
                below.is_doubtful |= self.is_later(&below.dir)?;
                let mut entries = BTreeMap::new();
                for name in names {
                    let at = RelPath::from(&name);
                    // Not covered, so it is a conflict, and no commit removes it.
                    if self.may_have_come(&below, &at)? {
                        continue;
                    }
                    let was = self.was(Some(&below), &at)?;
                    entries.insert(name.as_bytes().to_vec(), was);
                }
                Ok(Was::Dir(entries))
            }
            // No change replaces a FIFO, a socket or a device: a commit finds something else there.
            _ => Ok(Was::File(other_version(&status))),
        }
    }
}

/// The version of a file that the program may never have seen. No object has the number zero, and no commit
/// removes what is recorded with it. It is not the unknown version of an undo, which has no length.
pub(in crate::overlay) const UNSEEN: &str = "v1.0.0.0.1.0-0.0-0";

/// A version that the object does not have, and never had.
pub(super) fn other_version(status: &Metadata) -> String {
    let never = Timestamp::default();
    let mut other = *status;
    (other.modified, other.changed) = (never, never);
    handfast::Version::of_metadata(&other).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_that_no_file_has_is_one() {
        assert!(super::UNSEEN.parse::<handfast::Version>().is_ok());
    }
}
