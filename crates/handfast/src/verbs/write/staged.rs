//! Write a file piece by piece; it becomes visible all at once.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::target::{Seen, Target, publish_new};
use super::{WriteOptions, Written};
use crate::error::{Error, ErrorKind, Fault};
use crate::file::File;
use crate::path::RelPath;
use crate::resolve::{self, Last};
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

    /// As [`Root::stage`], with a file that is there already: `file`, which `home` has under `name`.
    /// It is published by moving it, on the same filesystem. What [`Staged::commit_if`] replaces
    /// lies under `name` then; if the file is not published, it stays there.
    ///
    /// # Errors
    /// As [`Root::stage`]; `Raced` if the name leads to another file. What moving it says is said
    /// when it is committed: `Mount` between filesystems.
    ///
    /// # Security
    /// A process that has the file open can write to it after it was published. See
    /// [`File::lease`].
    pub fn stage_moved(
        &self,
        path: &RelPath,
        options: WriteOptions,
        file: &File,
        home: &Self,
        name: &RelPath,
    ) -> Result<Staged, Error> {
        let staged = resolve::place(home, name, Last::Itself).and_then(|from| {
            let target = Target::find(self, path)?;
            let identity = sys::status(file)?.identity;
            if !from.status()?.identity.same_object(&identity) {
                return Err(Fault::rule(ErrorKind::Raced, ""));
            }
            let dir = sys::duplicate(&target.place.dir)?;
            let (fd, home) = (sys::duplicate(file)?, sys::duplicate(&from.dir)?);
            let draft = Draft::moved(dir, fd, home, from.name.clone(), identity);
            Ok(Staged {
                root: self.clone(),
                path: path.clone(),
                target,
                draft,
                options,
            })
        });
        staged.or_else(|fault| self.act(Verb::Write, path, |_| Err(fault)))
    }
}

/// A file that is being written and that no other process sees yet.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    /// Two roots on one filesystem: where a file lies, and where it goes.
    fn with_roots(act: impl FnOnce(&Root, &Root)) {
        let here = Root::open_ambient(std::env::temp_dir()).unwrap();
        let dir = here.temp_dir(&RelPath::root()).unwrap();
        let open = |name: &str| {
            dir.root().create_dir(&path(name)).unwrap();
            dir.root().open_dir(&path(name)).unwrap().into_root()
        };
        act(&open("home"), &open("target"));
    }

    fn read(root: &Root, name: &str) -> Vec<u8> {
        root.read(&path(name)).unwrap()
    }

    #[test]
    fn a_moved_file_changes_places_with_the_version_that_was_seen() {
        with_roots(|home, target| {
            home.write(&path("new"), "new").unwrap();
            target.write(&path("f"), "old").unwrap();
            let seen = target.version_with_digest(&path("f")).unwrap();
            let file = home.open(&path("new")).unwrap();
            let stage = |at: &str| {
                let options = WriteOptions::new();
                target.stage_moved(&path(at), options, &file, home, &path("new"))
            };
            drop(stage("f").unwrap());
            assert_eq!(read(home, "new"), b"new", "what is not committed stays");
            let written = stage("f").unwrap().commit_if(&seen).unwrap();
            assert!(written.identity().same_object(&file.identity()));
            assert_eq!(
                (read(home, "new"), read(target, "f")),
                (b"old".into(), b"new".into())
            );
            // The name leads to another file now.
            assert_eq!(stage("g").unwrap_err().kind(), ErrorKind::Raced);
        });
    }

    #[test]
    fn a_moved_file_that_is_refused_stays_and_a_free_name_is_taken() {
        with_roots(|home, target| {
            home.write(&path("new"), "new").unwrap();
            target.write(&path("f"), "old").unwrap();
            let seen = target.version_with_digest(&path("f")).unwrap();
            target.write(&path("f"), "theirs").unwrap();
            let file = home.open(&path("new")).unwrap();
            let stage = |at: &str| {
                let options = WriteOptions::new();
                let staged = target.stage_moved(&path(at), options, &file, home, &path("new"));
                staged.unwrap()
            };
            let refused = stage("f").commit_if(&seen).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Stale);
            let refused = stage("f").commit_new().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Exists);
            assert_eq!(
                (read(home, "new"), read(target, "f")),
                (b"new".into(), b"theirs".into())
            );
            stage("g").commit_new().unwrap();
            assert_eq!(read(target, "g"), b"new");
            let gone = home.read(&path("new")).unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::NotFound);
        });
    }

    #[test]
    fn a_lease_says_whether_others_have_the_file() {
        with_roots(|home, _| {
            home.write(&path("f"), "x").unwrap();
            let file = home.open(&path("f")).unwrap();
            let lease = file.lease().unwrap().expect("nobody else has it");
            // Who does not want to wait is refused.
            let refused = home.open(&path("f")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Busy);
            drop(lease);
            let other = home.open(&path("f")).unwrap();
            assert!(file.lease().unwrap().is_none());
            drop(other);
            assert!(file.lease().unwrap().is_some());
        });
    }
}
