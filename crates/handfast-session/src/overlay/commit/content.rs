//! The content of one file becomes the base's.

use std::os::fd::AsFd;

use handfast::{Durability, Effect, RelPath, WriteOptions};
use sha2::{Digest, Sha256};

use super::prepare::Reserve;
use super::roll::{Failed, Placed, Run};
use super::times::keep_times;
use crate::change::hex;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::diff::same_content;
use crate::overlay::store::{Source, lost, object_path};

impl Overlay {
    /// Writes a file's content to its place, by compare-and-swap.
    pub(super) fn late_file(
        &self,
        object: u64,
        expected: Option<&str>,
        target: &RelPath,
        run: Run<'_>,
        reserve: &mut Option<Reserve>,
    ) -> Result<Placed, Failed> {
        let (content, live) = self.open_settled(object)?;
        let status = *content.metadata();
        if let Some(reserve) = reserve {
            reserve.release(status.len);
        }
        let mut options = WriteOptions::new().durability(Durability::None);
        let old = self.base.symlink_metadata(target).ok();
        if old.is_none_or(|old| old.mode & 0o777 != status.mode & 0o777) {
            options = options.mode(status.mode & 0o777);
        }
        let content = content.into_std();
        let mut staged = self.base.stage(target, options)?;
        Source::of_file(&content)?.fill(&mut staged)?;
        keep_times(&staged, status.accessed, status.modified)?;
        if let Some(shown) = run.digests.get(target.as_bytes())
            && digest_of(&staged)? != *shown
        {
            let why = "it was changed in the session since it was shown";
            return Err(Failed(why.to_owned()));
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

    fn has_content(&self, target: &RelPath, object: u64) -> Result<bool, Failed> {
        let ours = self.store.open(&object_path(object)).map_err(lost)?;
        let theirs = match self.base.open(target) {
            Ok(theirs) => theirs,
            Err(_) => return Ok(false),
        };
        Ok(ours.metadata().len == theirs.metadata().len && same_content(ours, theirs)?)
    }

    /// The version of a file of the base that has an object's content.
    fn version_of(&self, target: &RelPath, object: u64) -> Result<Option<String>, Failed> {
        let version = self.base_version(target)?;
        let same = self.has_content(target, object)? && self.is_base_version(target, &version)?;
        Ok(same.then_some(version))
    }
}

/// The digest of a file that only we can write to.
fn digest_of(file: impl AsFd) -> Result<String, Error> {
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
