//! The content of one file becomes the base's.

use std::os::fd::AsFd;

use handfast::{Durability, Effect, ErrorKind, Metadata, RelPath, WriteOptions};
use sha2::{Digest, Sha256};

use super::prepare::Reserve;
use super::roll::{CommitRun, Failed, Placed};
use super::times::keep_times;
use crate::change::hex;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::attributes::{read_xattrs, write_xattrs};
use crate::overlay::diff::same_content;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::store::{Source, lost, object_path};

impl Overlay {
    /// Writes a file's content to its place, by compare-and-swap.
    pub(super) fn late_file(
        &self,
        object: u64,
        expected: Option<&str>,
        target: &RelPath,
        run: CommitRun<'_>,
        reserve: &mut Option<Reserve>,
    ) -> Result<Placed, Failed> {
        let expected = match expected {
            Some(seen) => Some(self.version_now(seen.parse()?, target, run.plan)),
            None => None,
        };
        let expected = expected.map(|version| version.to_string());
        let expected = expected.as_deref();
        if let Some(placed) = self.move_file(object, expected, target, run)? {
            return Ok(placed);
        }
        let (content, live) = self.open_settled(object)?;
        let status = *content.metadata();
        if let Some(reserve) = reserve {
            reserve.release(status.len);
        }
        let options = self.publish_options(target, &status);
        let content = content.into_std();
        let mut staged = self.base.stage(target, options)?;
        Source::of_file(&content)?.fill(&mut staged)?;
        write_xattrs(&staged, &read_xattrs(&content)?)?;
        keep_times(&staged, status.accessed, status.modified)?;
        if let Some(shown) = run.digests.get(target.as_bytes())
            && digest_of(&staged)? != *shown
        {
            return Err(changed_since());
        }
        let written = match (expected, run.overwrite) {
            (_, true) => staged.commit(),
            (Some(version), false) => staged.commit_if(&version.parse()?),
            (None, false) => staged.commit_new(),
        };
        match written {
            Ok(written) if live => {
                let version = Some(written.version()?.to_string());
                Ok(Placed { version, live })
            }
            // It is written, whatever becomes of the look at it.
            Ok(written) if run.tells => {
                let version = written.version().ok().map(|version| version.to_string());
                Ok(Placed { version, live })
            }
            Ok(_) => Ok(Placed::default()),
            Err(error) => {
                // Done already by a process that died here, or done before something else failed: what is
                // there is what was wanted.
                let may_be_done = run.resumed || error.effect() != Effect::None;
                if may_be_done && self.has_content(target, object)? {
                    self.tidy(target, &error);
                    let version = match run.tells {
                        true => self.version_of(target, object)?,
                        false => None,
                    };
                    let live = false;
                    return Ok(Placed { version, live });
                }
                Err(error.into())
            }
        }
    }

    /// Refuses content that its own mode keeps from us, before anything is changed: nobody was shown it.
    pub(super) fn require_readable(&self, item: &ChangedName) -> Result<(), Error> {
        let What::File { object, .. } = item.what else {
            return Ok(());
        };
        let at = object_path(object);
        let is_closed = (self.store.symlink_metadata(&at)).is_ok_and(|file| file.mode & 0o400 == 0);
        match is_closed.then(|| self.store.open(&at)) {
            Some(Err(error)) if error.kind() == ErrorKind::Denied => Err(Error::refused(
                ErrorKind::Denied,
                "its mode forbids even its owner to read it; `fs chmod` in the session changes that",
            )),
            _ => Ok(()),
        }
    }

    /// How a file is published: with its own mode, unless the base's has it already.
    pub(super) fn publish_options(&self, target: &RelPath, ours: &Metadata) -> WriteOptions {
        let options = WriteOptions::new().durability(Durability::None);
        match self.base.symlink_metadata(target) {
            Ok(old) if old.mode & 0o777 == ours.mode & 0o777 => options,
            _ => options.mode(ours.mode & 0o777),
        }
    }

    pub(super) fn has_content(&self, target: &RelPath, object: u64) -> Result<bool, Failed> {
        let ours = self.store.open(&object_path(object)).map_err(lost)?;
        let theirs = match self.base.open(target) {
            Ok(theirs) => theirs,
            Err(_) => return Ok(false),
        };
        Ok(ours.metadata().len == theirs.metadata().len && same_content(ours, theirs)?)
    }

    /// The version of a file of the base that has an object's content.
    pub(super) fn version_of(
        &self,
        target: &RelPath,
        object: u64,
    ) -> Result<Option<String>, Failed> {
        let version = self.base_version(target)?;
        let same = self.has_content(target, object)? && self.is_base_version(target, &version)?;
        Ok(same.then_some(version))
    }
}

pub(super) fn changed_since() -> Failed {
    Failed("it was changed in the session since it was shown".to_owned())
}

/// The digest of a file's content. It means most of a file that only we can write to.
pub(super) fn digest_of(file: impl AsFd) -> Result<String, Error> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut at = 0;
    loop {
        match rustix::io::pread(&file, &mut buffer, at)? {
            0 => return Ok(hex(&digest.finalize())),
            got => {
                digest.update(&buffer[..got]);
                at += got as u64;
            }
        }
    }
}
