//! Before anything is changed: does the base still have what the overlay covered, and is there
//! space?

use std::os::fd::AsFd;

use handfast::{ErrorKind, Metadata, RelPath, TempFile, Version};

use super::Conflict;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::import::UNSEEN;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::store::object_path;
use crate::overlay::tree::{Was, base_path, join};

/// Space that is kept for the commit, given back as it is used.
pub(in crate::overlay) struct Reserve {
    file: TempFile,
    left: u64,
    /// Given back already, and not used yet.
    ahead: u64,
}

/// What stays, and why the rest cannot be taken back.
type Overwriting = (Vec<Conflict>, Option<&'static str>);

/// Why the session's side is not taken.
const STAYS: &str = "a commit never removes what others put into a directory";

/// So much is given back at once: a system call for many small files.
const PORTION: u64 = 1 << 20;

impl Reserve {
    /// Gives back what the next file needs.
    pub(super) fn release(&mut self, bytes: u64) {
        if bytes <= self.ahead {
            self.ahead -= bytes;
            return;
        }
        let portion = (bytes - self.ahead).max(PORTION).min(self.left);
        self.ahead = (self.ahead + portion).saturating_sub(bytes);
        self.left -= portion;
        // If it fails the file is written where there is space, or is not.
        let _ = rustix::fs::ftruncate(self.file.as_fd(), self.left);
    }
}

impl Overlay {
    /// The items whose place in the base is not as it was.
    pub(in crate::overlay) fn verify(&self, items: &[ChangedName]) -> Result<Vec<Conflict>, Error> {
        let mut conflicts = Vec::new();
        for item in items {
            if let Some(why) = self.conflict_of(item)? {
                conflicts.push(Conflict {
                    path: item.path.clone(),
                    why,
                });
            }
        }
        Ok(conflicts)
    }

    pub(super) fn conflict_of(&self, item: &ChangedName) -> Result<Option<String>, Error> {
        if let Some(home) = &item.home
            && let Some(why) = self.differs(home, &item.covered)?
        {
            return Ok(Some(why));
        }
        match &item.what {
            What::DirMode { mode, old } => {
                let home = base_path(item.home.as_deref().unwrap_or(&item.path))?;
                let status = self.base.symlink_metadata(&home)?;
                Ok(mode_conflict(&status, Some(*mode), *old))
            }
            What::MoveDir { from, mode, old } => {
                match self.base.symlink_metadata(&base_path(from)?) {
                    Ok(status) if status.is_dir() => Ok(mode_conflict(&status, *mode, *old)),
                    Ok(_) => Ok(Some("the directory it was is something else now".into())),
                    Err(error) => missing(error, "the directory it was is gone"),
                }
            }
            What::MoveFile { from, version } => self.differs(from, &Was::File(version.clone())),
            What::File {
                moved: Some((from, version)),
                ..
            } => self.differs(from, &Was::File(version.clone())),
            _ => Ok(None),
        }
    }

    /// The items that the session's side does not win either: what others put into a directory stays, so the
    /// directory stays, with everything in it. And why the commit cannot be taken back, if something else
    /// that others changed goes.
    pub(super) fn overwriting(&self, items: &[ChangedName]) -> Result<Overwriting, Error> {
        let mut conflicts: Vec<Conflict> = Vec::new();
        for item in items {
            let Some(home) = &item.home else {
                continue;
            };
            if let Some(why) = self.foreign_in(home, &item.covered)? {
                let path = item.path.clone();
                conflicts.push(Conflict { path, why });
            }
        }
        let stays = |path| conflicts.iter().any(|known| known.path == path);
        let changed = self.verify(items)?;
        let takes_sides = changed.into_iter().any(|found| !stays(found.path));
        let why_not = "it took the session's side over what others had changed";
        Ok((conflicts, takes_sides.then_some(why_not)))
    }

    /// What the base has where something goes, and the session never saw.
    fn foreign_in(&self, at: &[u8], was: &Was) -> Result<Option<String>, Error> {
        let path = base_path(at)?;
        match was {
            Was::File(version) if version == UNSEEN => match self.base.symlink_metadata(&path) {
                Err(error) if is_absent(&error) => Ok(None),
                _ => Ok(Some(format!("it appeared in the base; {STAYS}"))),
            },
            Was::Dir(entries) => {
                let mut listing = match self.base.read_dir(&path) {
                    Ok(listing) => listing,
                    Err(error) if error.kind() == ErrorKind::Denied => {
                        return Ok(Some(error.detail()));
                    }
                    // It is gone, or something else, and nothing in it is removed.
                    Err(_) => return Ok(None),
                };
                while let Some(entry) = listing.next_entry()? {
                    if !entries.contains_key(entry.name().as_bytes()) {
                        let name = handfast::escape(entry.name().as_bytes());
                        let why = format!("`{name}` appeared in it in the base; {STAYS}");
                        return Ok(Some(why));
                    }
                }
                for (name, was) in entries {
                    if let Some(why) = self.foreign_in(&join(at, name), was)? {
                        let name = handfast::escape(name);
                        return Ok(Some(format!("`{name}` in it: {why}")));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// How a place of the base differs from what was covered, in words.
    fn differs(&self, at: &[u8], was: &Was) -> Result<Option<String>, Error> {
        let path = base_path(at)?;
        match was {
            // The one that moved it is asked.
            Was::Moved(_) => Ok(None),
            Was::Absent => match self.base.symlink_metadata(&path) {
                Ok(_) => Ok(Some("something appeared there in the base".into())),
                Err(error) if is_absent(&error) => Ok(None),
                Err(error) => Ok(Some(error.detail())),
            },
            Was::File(version) => match self.is_base_version(&path, version) {
                Ok(true) => Ok(None),
                Ok(false) => Ok(Some("it was changed in the base".into())),
                Err(error) => missing(error, "it is gone from the base"),
            },
            Was::Link(target) => match self.base.read_link(&path) {
                Ok(now) if now.as_bytes() == target.as_slice() => Ok(None),
                Ok(_) => Ok(Some("the link leads elsewhere in the base".into())),
                Err(error) => missing(error, "the link is gone from the base"),
            },
            Was::Kept => match self.base.symlink_metadata(&path) {
                Ok(status) if status.is_dir() => Ok(None),
                Ok(_) => Ok(Some("the directory is something else in the base".into())),
                Err(error) => missing(error, "the directory is gone from the base"),
            },
            Was::Dir(entries) => {
                let mut listing = match self.base.read_dir(&path) {
                    Ok(listing) => listing,
                    Err(error) => return missing(error, "the directory is gone from the base"),
                };
                while let Some(entry) = listing.next_entry()? {
                    if !entries.contains_key(entry.name().as_bytes()) {
                        let name = handfast::escape(entry.name().as_bytes());
                        return Ok(Some(format!("`{name}` appeared in it in the base")));
                    }
                }
                for (name, was) in entries {
                    if let Some(why) = self.differs(&join(at, name), was)? {
                        let name = handfast::escape(name);
                        return Ok(Some(format!("`{name}` in it: {why}")));
                    }
                }
                Ok(None)
            }
        }
    }

    pub(super) fn is_base_version(
        &self,
        at: &RelPath,
        text: &str,
    ) -> Result<bool, handfast::Error> {
        let seen: Version = text.parse()?;
        let now = match seen.digest() {
            Some(_) => self.base.version_with_digest(at)?,
            None => self.base.version(at)?,
        };
        Ok(now == seen)
    }

    /// Takes hold of as much space as the files will need, so that a full disk is known before
    /// anything is changed. Nothing where the filesystem cannot reserve.
    pub(in crate::overlay) fn reserve<'a>(
        &self,
        items: impl IntoIterator<Item = &'a ChangedName>,
    ) -> Result<Option<Reserve>, Error> {
        let mut bytes: u64 = 0;
        for item in items {
            if let What::File { object, .. } = &item.what {
                let status = self.store.symlink_metadata(&object_path(*object));
                bytes += status.map_err(crate::overlay::store::lost)?.len;
            }
        }
        if bytes == 0 {
            return Ok(None);
        }
        let Ok(file) = self.base.temp_file(&RelPath::root()) else {
            // What stops it will stop the files too, and be reported with them.
            return Ok(None);
        };
        let flags = rustix::fs::FallocateFlags::empty();
        match rustix::fs::fallocate(file.as_fd(), flags, 0, bytes) {
            Ok(()) => Ok(Some(Reserve {
                file,
                left: bytes,
                ahead: 0,
            })),
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT | rustix::io::Errno::FBIG) => {
                Err(Error::refused(
                    ErrorKind::Quota,
                    format!("there is no space for {bytes} bytes in the base; nothing was changed"),
                ))
            }
            Err(_) => Ok(None),
        }
    }
}

/// A mode that others gave a directory is theirs, unless it is the same.
fn mode_conflict(now: &Metadata, wanted: Option<u32>, old: Option<u32>) -> Option<String> {
    let mode = now.mode & 0o7777;
    let is_theirs = old.is_some_and(|old| old != mode) && wanted != Some(mode);
    is_theirs.then(|| "its mode was changed in the base".to_owned())
}

fn is_absent(error: &handfast::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound)
}

fn missing(error: handfast::Error, gone: &str) -> Result<Option<String>, Error> {
    match error.kind() {
        ErrorKind::NotFound => Ok(Some(gone.to_owned())),
        ErrorKind::Io => Err(error),
        _ => Ok(Some(error.detail())),
    }
}
