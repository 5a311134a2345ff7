//! Write a file piece by piece; it becomes visible all at once.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::target::{Seen, Target, publish_new};
use super::{WriteOptions, Written};
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::root::Root;
use crate::staging::Draft;
use crate::sys;
use crate::verb::Verb;
use crate::verbs::write_if::Turn;
use crate::version::Version;

impl Root {
    /// Begins to write a file: what is written to the [`Staged`] file becomes visible all at once
    /// when it is committed, and never if it is dropped.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn stage(&self, path: &RelPath, options: WriteOptions) -> Result<Staged, Error> {
        let staged = Target::find(self, path).and_then(|target| {
            let dir = sys::duplicate(&target.place.dir)?;
            let draft = Draft::create(self, dir, target.draft_mode(options))?.given_out();
            Ok(Staged {
                root: self.clone(),
                path: path.clone(),
                target,
                draft,
                options,
            })
        });
        // What is refused here is recorded here; what is staged is recorded when it is committed.
        staged.or_else(|fault| self.act(Verb::Write, path, |_| Err(fault)))
    }
}

/// A file that is being written and that nobody sees yet.
#[must_use = "a staged file that is not committed is dropped"]
pub struct Staged {
    root: Root,
    path: RelPath,
    target: Target,
    draft: Draft<OwnedFd>,
    options: WriteOptions,
}

impl Staged {
    /// Replaces the file, or creates it. What the name refers to is judged now: a mode that was
    /// narrowed since the file was staged stays narrow.
    ///
    /// # Errors
    /// As [`Root::write`].
    pub fn commit(self) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            draft,
            options,
        } = self;
        root.act(Verb::Write, &path, |op| {
            let now = target.look_again(&root)?;
            let object = now.as_ref().map_or(target.old(), Seen::old);
            op.allow_in(target.place.recorded_parent(&root)?, object)?;
            target.publish(&root, &path, draft, options, now)
        })
    }

    /// Creates the file; the name must be free.
    ///
    /// # Errors
    /// As [`Root::write_new`].
    pub fn commit_new(self) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            mut draft,
            options,
        } = self;
        root.act(Verb::WriteNew, &path, |op| {
            op.allow_in(target.place.recorded_parent(&root)?, None)?;
            // What was there when it was staged may be gone; looked at before the work, decided by
            // the rename.
            if target.place.status().is_ok() {
                return Err(Fault::rule(ErrorKind::Exists, ""));
            }
            let identity = publish_new(&root, &target.place, &mut draft, options)?;
            Ok(Written::new(draft.release(), &path, identity))
        })
    }

    /// Replaces the file only if it is still the version that was seen.
    ///
    /// # Errors
    /// As [`Root::write_if`].
    pub fn commit_if(self, version: &Version) -> Result<Written, Error> {
        let Self {
            root,
            path,
            target,
            draft,
            options,
        } = self;
        root.act(Verb::WriteIf, &path, |op| {
            Turn::take(&root, op, &target, version)?
                .replace(&root, &path, &target, draft, version, options)
        })
    }
}

impl io::Write for Staged {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        sys::retry(|| rustix::io::write(self.draft.fd(), buffer)).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Staged {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.draft.as_fd()
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("path", &self.path).finish()
    }
}
