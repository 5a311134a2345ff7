//! Whole trees, entry by entry: every entry is judged by its own path.

use handfast::{ErrorKind, FileKind, Name, TreeLimits, Verb, Version};

use super::dirs::format_bytes;
use crate::error::{Error, Reason};
use crate::mount::Route;
use crate::pipeline::{Ask, Last};
use crate::resolve;
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;

/// One entry of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WalkEntry {
    /// Its virtual path.
    pub path: VirtualPath,
    /// Its kind.
    pub kind: FileKind,
    /// How many directories lie between it and the top of the walk.
    pub depth: usize,
}

/// A walk through a tree, parents before what is in them. Links are not followed; directories
/// that a pattern denies are listed and not entered.
pub struct Walk<'a> {
    session: &'a Session,
    limits: TreeLimits,
    begun: std::time::Instant,
    seen: u64,
    /// Entries still to be told, last first.
    pending: Vec<WalkEntry>,
    /// A directory that was told and not entered yet.
    next: Option<(VirtualPath, usize)>,
}

impl Session {
    /// Walks a tree below a directory; the directory itself is not told.
    ///
    /// # Errors
    /// As [`Session::read_dir`].
    pub fn walk(&self, path: impl AsRef<[u8]>, limits: TreeLimits) -> Result<Walk<'_>, Error> {
        let top = self.parse(Verb::Walk, path.as_ref())?;
        let mut walk = Walk {
            session: self,
            limits,
            begun: std::time::Instant::now(),
            seen: 0,
            pending: Vec::new(),
            next: None,
        };
        walk.enter(&top, 0)?;
        Ok(walk)
    }

    /// Removes a directory with everything in it, or any other entry itself.
    ///
    /// Every entry is judged first: if one may not be removed, nothing is.
    ///
    /// # Errors
    /// `Denied` if a rule protects anything in it; otherwise as [`Session::remove_file`]. What was
    /// removed before an error stays removed.
    pub fn remove_tree(&self, path: impl AsRef<[u8]>) -> Result<(), Error> {
        let asked = self.parse(Verb::RemoveTree, path.as_ref())?;
        let top = self
            .settled_top(&asked)
            .map_err(|error| error.on(Verb::RemoveTree, &asked))?;
        let bytes = format_bytes(&top);
        if !self.symlink_metadata(&bytes)?.is_dir() {
            return self.remove_file(path);
        }
        self.judge_change(&top)?;
        let mut found = vec![(top.clone(), FileKind::Dir)];
        let mut walk = self.walk(&bytes, TreeLimits::new())?;
        while let Some(entry) = walk.next_entry()? {
            self.judge_change(&entry.path)?;
            found.push((entry.path, entry.kind));
        }
        found
            .iter()
            .rev()
            .try_for_each(|(path, kind)| self.remove_found(path, *kind))
    }

    /// The path of a tree without links on the way, which is not a mount point and holds none.
    fn settled_top(&self, path: &VirtualPath) -> Result<VirtualPath, Error> {
        let busy = || {
            Error::new(ErrorKind::Busy, "something is mounted there").because(Reason::MountPoint)
        };
        if self.mounts().holds_mount(path) {
            return Err(busy());
        }
        let mut place = self.route(path)?;
        if let Some(settled) = resolve::settle(
            self.mounts(),
            self.route(path)?,
            Last::Itself,
            Access::Change,
        )? {
            place = settled;
        }
        self.refuse_mount_point(&place)?;
        Ok(place.mount.full(&place.path))
    }

    /// Removes what a walk found. A link that appeared on the way since is not followed.
    fn remove_found(&self, path: &VirtualPath, kind: FileKind) -> Result<(), Error> {
        let text = format_bytes(path);
        match kind {
            FileKind::Dir => {
                self.remove_dir_as(Ask::change(Verb::RemoveDir, &text).without_links())
            }
            _ => self.remove_file_as(Ask::change(Verb::RemoveFile, &text).without_links()),
        }
    }

    /// Copies a tree, between mounts too; the name must be free. Every entry is judged first.
    ///
    /// # Errors
    /// `Denied` if anything in it may not be read, or its copy not be made; otherwise as
    /// [`Session::copy`]. What was copied before an error is removed again, but for what others
    /// changed meanwhile.
    pub fn copy_tree(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<(), Error> {
        let (source, target) = (
            self.parse(Verb::CopyTree, from.as_ref())?,
            self.parse(Verb::CopyTree, to.as_ref())?,
        );
        let same = |why| {
            let error = Error::new(ErrorKind::Invalid, why);
            Err(error
                .on(Verb::CopyTree, &source)
                .and(Some(target.to_string())))
        };
        if crate::mount::below(source.as_rel(), target.as_rel()).is_some() {
            return same("a directory cannot be copied into itself");
        }
        let mut found = Vec::new();
        let mut walk = self.walk(from.as_ref(), TreeLimits::new())?;
        while let Some(entry) = walk.next_entry()? {
            let Some(rest) = crate::mount::below(source.as_rel(), entry.path.as_rel()) else {
                continue;
            };
            let mut copy = target.clone();
            for name in rest.segments() {
                copy = copy.join(name);
            }
            self.judge(&entry.path, Access::Read, shape_of(entry.kind))?;
            self.judge(&copy, Access::Change, Shape::MaybeDir)?;
            found.push((entry, copy));
        }
        self.create_dir(format_bytes(&target))?;
        let mut made = vec![(target, Made::Dir)];
        let copied = found.iter().try_for_each(|(entry, copy)| {
            let (from, to) = (format_bytes(&entry.path), format_bytes(copy));
            let what = match entry.kind {
                FileKind::Dir => {
                    self.create_dir(&to)?;
                    Made::Dir
                }
                FileKind::Symlink => {
                    self.symlink(self.read_link(&from)?, &to)?;
                    Made::Link
                }
                _ => Made::File(self.copy(&from, &to)?.version().ok()),
            };
            made.push((copy.clone(), what));
            Ok(())
        });
        if copied.is_err() {
            for (path, what) in made.into_iter().rev() {
                // What others changed or put there meanwhile is theirs.
                drop(self.unmake(&path, &what));
            }
        }
        copied
    }

    fn unmake(&self, path: &VirtualPath, what: &Made) -> Result<(), Error> {
        let text = format_bytes(path);
        match what {
            Made::Dir => self.remove_found(path, FileKind::Dir),
            Made::Link => self.remove_found(path, FileKind::Symlink),
            Made::File(Some(version)) => self.remove_if(&text, version),
            Made::File(None) => Ok(()),
        }
    }

    fn judge_change(&self, path: &VirtualPath) -> Result<(), Error> {
        self.judge(path, Access::Change, Shape::MaybeDir)
    }

    /// May this be done to this path, going by its text alone?
    fn judge(&self, path: &VirtualPath, access: Access, shape: Shape) -> Result<(), Error> {
        let verb = match access {
            Access::Read => Verb::Walk,
            Access::Change => Verb::RemoveTree,
        };
        self.route(path)
            .and_then(|place| crate::pipeline::decide(&place, access, shape))
            .map_err(|error| error.on(verb, path))
    }
}

/// What a copy made under a name.
enum Made {
    Dir,
    Link,
    File(Option<Version>),
}

fn shape_of(kind: FileKind) -> Shape {
    match kind {
        FileKind::File => Shape::File,
        _ => Shape::MaybeDir,
    }
}

impl Walk<'_> {
    /// The next entry.
    ///
    /// # Errors
    /// `Limit` beyond a limit; what stops a directory from being listed.
    pub fn next_entry(&mut self) -> Result<Option<WalkEntry>, Error> {
        if let Some((dir, depth)) = self.next.take() {
            match self.enter(&dir, depth) {
                // Gone meanwhile, or not ours to look into.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => {}
                entered => entered?,
            }
        }
        let Some(entry) = self.pending.pop() else {
            return Ok(None);
        };
        self.seen += 1;
        let limit = |what: &str| {
            Err(Error::new(
                ErrorKind::Limit,
                format!("the walk's limit of {what} was reached"),
            )
            .on(Verb::Walk, &entry.path))
        };
        if self.seen > self.limits.entries {
            return limit("entries");
        }
        if entry.depth > self.limits.depth {
            return limit("depth");
        }
        if self
            .limits
            .time
            .is_some_and(|time| self.begun.elapsed() > time)
        {
            return limit("time");
        }
        if entry.kind == FileKind::Dir {
            self.next = Some((entry.path.clone(), entry.depth + 1));
        }
        Ok(Some(entry))
    }

    fn enter(&mut self, dir: &VirtualPath, depth: usize) -> Result<(), Error> {
        let listed = self.session.read_dir(format_bytes(dir))?;
        for entry in listed.into_iter().rev() {
            let path = dir.join(entry.name.as_ref());
            let kind = match entry.kind {
                FileKind::Unknown => self.kind_of(&path, &entry.name),
                kind => kind,
            };
            self.pending.push(WalkEntry { path, kind, depth });
        }
        Ok(())
    }

    fn kind_of(&self, path: &VirtualPath, _name: &Name) -> FileKind {
        match self.session.mounts().route(path) {
            Route::Mount(mount, rel) => mount
                .layer
                .symlink_metadata(&rel)
                .map_or(FileKind::Unknown, |status| status.kind),
            _ => FileKind::Dir,
        }
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("seen", &self.seen).finish()
    }
}
