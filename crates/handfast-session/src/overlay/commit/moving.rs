//! The session's own file becomes the base's, without a copy.
//!
//! A file of the store is moved only while a lease proves that nobody has it open or mapped: a process
//! that had could write to the base afterwards, unseen. Where there is no lease, or the two places
//! are not on one filesystem, the content is copied.
//!
//! The object `X` first gets a second name `K`, which the record of the commit knows. Then `K` and the
//! file of the base change places, what came is compared with what was covered, and `X` goes. So `X` is
//! the session's content for as long as it is there, readers without the lock find the content in the
//! base when it is not, and the file of the base lies under `K`, where `undo` finds it. Whatever a
//! killed process left, `X`, `K` and the name in the base tell how far it came.

use std::os::fd::AsFd;

use handfast::{Durability, Effect, ErrorKind, Metadata, RelPath, Version, WriteOptions};
use rustix::fs::{AtFlags, Mode, RenameFlags};

use super::content::digest_of;
use super::roll::{CommitRun, Failed, Placed};
use super::times::keep_times;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::attributes::{has_foreign_xattrs, read_xattrs, write_xattrs};
use crate::overlay::store::{Source, fresh_id, object_path};
use crate::overlay::tree::split;

/// An object that may be moved.
struct Move<'a> {
    object: RelPath,
    /// Its second name, and after the exchange that of the file of the base.
    second: RelPath,
    target: &'a RelPath,
    /// The version of the base's file; nothing where there was none.
    expected: Option<Version>,
}

/// What a look at a file that may be missing says.
fn found(status: Result<Metadata, handfast::Error>) -> Result<Option<Metadata>, Failed> {
    match status {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Overlay {
    /// Moves an object into the base, if the commit noted that it can be. Nothing if it has to be
    /// copied: what the file of the base was is kept by then.
    pub(super) fn move_file(
        &self,
        object: u64,
        expected: Option<&str>,
        target: &RelPath,
        run: CommitRun<'_>,
    ) -> Result<Option<Placed>, Failed> {
        let Some(noted) = run.kept.moving.get(target.as_bytes()) else {
            return Ok(None);
        };
        let noted: Version = noted.parse()?;
        let kept = run.kept.own_object(target.as_bytes());
        let work = Move {
            object: object_path(object),
            second: object_path(kept.map_or_else(fresh_id, Ok)?),
            target,
            expected: expected.map(str::parse).transpose()?,
        };
        if run.resumed
            && let Some(placed) = self.resume_move(&work, &noted, run.resumed.then_some(object))?
        {
            return Ok(Some(placed));
        }
        let placed = self.move_leased(&work, &noted, run);
        if matches!(placed, Ok(Some(_))) {
            return placed;
        }
        if placed.is_err()
            && let Some(done) = self.resume_move(&work, &noted, run.resumed.then_some(object))?
        {
            return Ok(Some(done));
        }
        // What lies there now is our own file, or one that others have replaced since.
        self.unlink(&work.second)?;
        self.unshare(&work.object)?;
        if matches!(placed, Ok(None)) && kept.is_some() {
            self.keep_copy(&work)?;
        }
        placed
    }

    fn move_leased(
        &self,
        work: &Move<'_>,
        noted: &Version,
        run: CommitRun<'_>,
    ) -> Result<Option<Placed>, Failed> {
        let file = self
            .store
            .open(&work.object)
            .map_err(super::super::store::lost)?;
        let status = *file.metadata();
        if !noted.is_of(&status) || has_foreign_xattrs(&file)? {
            return Ok(None);
        }
        let Ok(Some(lease)) = file.lease() else {
            return Ok(None);
        };
        let linked = self.link(&work.object, &work.second);
        if linked.is_err() {
            return Ok(None);
        }
        if let Some(shown) = run.digests.get(work.target.as_bytes())
            && digest_of(&file)? != *shown
        {
            return Err(super::content::changed_since());
        }
        let options = self.publish_options(work.target, &status);
        let staged =
            self.base
                .stage_moved(work.target, options, &file, &self.store, &work.second)?;
        let written = match &work.expected {
            Some(version) => staged.commit_if(version),
            None => staged.commit_new(),
        };
        let written = match written {
            Ok(written) => written,
            // Another mount, project or key, or no exchange of names: a copy may do.
            Err(error) if error.effect() == Effect::None && cannot_move(error.kind()) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        drop(lease);
        Ok(Some(self.end_move(work, |_| match run.tells {
            true => written.version().ok().map(|version| version.to_string()),
            false => None,
        })))
    }

    /// The base has the file: what it replaced is made the session's own, and the object goes. Without
    /// what it replaced, there is no version by which the commit could be taken back.
    fn end_move(
        &self,
        work: &Move<'_>,
        version: impl FnOnce(&RelPath) -> Option<String>,
    ) -> Placed {
        let is_kept = work.expected.is_none() || self.make_own(&work.second).is_ok();
        // The journal will not name it any more, so a name that stays goes with the next cleaning.
        drop(self.unlink(&work.object));
        Placed {
            version: version(work.target).filter(|_| is_kept),
            live: false,
        }
    }

    /// How far a move came that ended in an error, or whose process was killed (`killed` is its object):
    /// nothing if it has to be done again, or was not done.
    fn resume_move(
        &self,
        work: &Move<'_>,
        noted: &Version,
        killed: Option<u64>,
    ) -> Result<Option<Placed>, Failed> {
        let there = found(self.base.symlink_metadata(work.target))?;
        // What others did to it since is theirs.
        let version = |target: &RelPath| {
            let is_ours = there.is_some_and(|there| noted.is_of_renamed(&there));
            is_ours.then(|| self.base_version(target).ok()).flatten()
        };
        let Some(ours) = found(self.store.symlink_metadata(&work.object))? else {
            // The object goes last, so the file was put in its place.
            return Ok(Some(self.end_move(work, version)));
        };
        if there.is_some_and(|there| there.identity.same_object(&ours.identity)) {
            let second = found(self.store.symlink_metadata(&work.second))?;
            if let (Some(expected), Some(displaced)) = (&work.expected, &second)
                && !expected.is_of_renamed(displaced)
            {
                // Another file came in between. It goes back.
                self.exchange(&work.second, work.target)?;
                return Ok(None);
            }
            return Ok(Some(self.end_move(work, version)));
        }
        let is_as_before = match (&work.expected, &there) {
            (Some(expected), Some(there)) => expected.is_of(there),
            (None, None) => true,
            _ => false,
        };
        if let Some(object) = killed.filter(|_| !is_as_before)
            && self.has_content(work.target, object)?
        {
            // It was copied, by a process that was killed then.
            let version = self.version_of(work.target, object)?;
            let live = false;
            return Ok(Some(Placed { version, live }));
        }
        Ok(None)
    }

    /// Sees to it that a file that came from the base is nobody else's: a process that has it open, and
    /// another name of it, could change what is kept.
    fn make_own(&self, at: &RelPath) -> Result<(), Error> {
        let file = self.store.open(at)?;
        let is_alone = file.metadata_now()?.nlink == 1 && matches!(file.lease(), Ok(Some(_)));
        if is_alone {
            return Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(0o600))?);
        }
        self.copy_to(file, at, 0o600)
    }

    /// Sees to it that an object is the session's alone, after it was not moved.
    fn unshare(&self, at: &RelPath) -> Result<(), Error> {
        match self.store.open(at) {
            Ok(file) if file.metadata().nlink > 1 => {
                let mode = file.metadata().mode & 0o777;
                self.copy_to(file, at, mode)
            }
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps a copy of the file of the base that a copy will replace.
    fn keep_copy(&self, work: &Move<'_>) -> Result<(), Failed> {
        let file = self.base.open(work.target)?;
        if work
            .expected
            .is_none_or(|seen| !seen.is_of(file.metadata()))
        {
            return Err(Failed("it was changed in the base meanwhile".to_owned()));
        }
        Ok(self.copy_to(file, &work.second, 0o600)?)
    }

    /// Puts a copy of a file into the store, with its attributes and times.
    fn copy_to(&self, from: handfast::File, at: &RelPath, mode: u32) -> Result<(), Error> {
        let status = *from.metadata();
        let options = WriteOptions::new().mode(mode).durability(Durability::None);
        let mut staged = self.store.stage(at, options)?;
        let from = from.into_std();
        Source::of_file(&from)?.fill(&mut staged)?;
        write_xattrs(&staged, &read_xattrs(&from)?)?;
        keep_times(&staged, status.accessed, status.modified)?;
        staged.commit()?;
        Ok(())
    }

    /// Gives an object of the store another name there.
    fn link(&self, from: &RelPath, to: &RelPath) -> Result<(), Error> {
        let (from, to) = (from.as_bytes(), to.as_bytes());
        self.unlink_name(to)?;
        Ok(rustix::fs::linkat(
            &self.store,
            from,
            &self.store,
            to,
            AtFlags::empty(),
        )?)
    }

    fn unlink(&self, at: &RelPath) -> Result<(), Error> {
        self.unlink_name(at.as_bytes())
    }

    /// Removes a name of the store. It is private, so nobody exchanges names in it.
    fn unlink_name(&self, name: &[u8]) -> Result<(), Error> {
        match rustix::fs::unlinkat(&self.store, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Exchanges a file of the store and one of the base.
    fn exchange(&self, second: &RelPath, target: &RelPath) -> Result<(), Error> {
        let (above, name) = split(target.as_bytes());
        let dir = self
            .base
            .open_dir(&crate::overlay::tree::base_path(above)?)?;
        let flags = RenameFlags::EXCHANGE;
        let from = second.as_bytes();
        Ok(rustix::fs::renameat_with(
            self.store.as_fd(),
            from,
            &dir,
            name,
            flags,
        )?)
    }
}

/// Whether a copy may do what a move could not.
fn cannot_move(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Mount | ErrorKind::Unsupported | ErrorKind::Invalid | ErrorKind::Denied
    )
}
