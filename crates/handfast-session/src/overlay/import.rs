//! Importing: what the kernel's overlay has in its upper directory becomes changes of this overlay.
//!
//! The upper directory is walked once, from its top, by directories that are held open; so is the base
//! beside it. What is copied is what was looked at. Nothing is followed.
//!
//! What the base had when the run began is what matters at commit, and it is looked at only now. The times
//! that the kernel marks objects with tell whether it is still the same: an object that was changed,
//! linked or moved since has a later one. Then it is recorded as something that the base does not have
//! any more, so a commit is a conflict.

mod base;
mod modes;

use std::collections::BTreeMap;

use handfast::files::Attributes;
use handfast::{Dir, Durability, ErrorKind, FileKind, Metadata, Name, RelPath, Timestamp};

use rustix::fs::{Mode, OFlags};

use super::attributes::{Xattrs, read_xattrs, write_xattrs};
use super::store::{NewMode, Source, fresh_id, object_path};
use super::tree::{Change, ContentLocation, DirNode, FileNode, NodeEntry, Now, Was, join};
use super::{Overlay, State};
use crate::error::Error;
use crate::gate::Locked;
pub(super) use base::UNSEEN;
use base::other_version;
pub(super) use modes::Modes;

/// Attributes of the kernel's overlay.
const KERNEL: &[u8] = b"user.overlay.";
const OPAQUE: &str = "user.overlay.opaque";
const COPIED: &str = "user.overlay.origin";

/// Names that are Handfast's own.
const OWN: &[u8] = b".handfast-";

/// How deep directories are imported: two are held open at each level.
const MAX_DEPTH: usize = 200;

/// A record of the journal is not longer than this.
const PORTION: usize = 8 << 20;

/// What becomes of the changes.
struct Import<'a> {
    overlay: &'a Overlay,
    /// When the run began.
    began: Timestamp,
    changes: Vec<Change>,
    /// Files with several names, by their number: the object, and which changes name it.
    linked: BTreeMap<u64, (u64, Vec<usize>)>,
    /// What programs set, where it had to be changed.
    modes: Modes,
    /// Objects that were made.
    objects: Vec<u64>,
    /// Changes were recorded, or may have been: they name objects.
    is_recorded: bool,
    left_out: LeftOut,
}

/// What was not imported.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// A sentence each.
    pub(super) lines: Vec<String>,
    /// Some of it is nowhere else: a file with its content, a link, a directory with what it holds.
    pub(super) has_content: bool,
}

/// A directory of the upper layer, and what the base has in its place.
struct Level {
    path: Vec<u8>,
    depth: usize,
    upper: Dir,
    base: Option<BaseLevel>,
    /// The base had it, and has it no more.
    is_lost: bool,
    /// Nothing of the base shows through: it was removed and made again, or lies in one that was.
    is_hidden: bool,
    /// The rest of its names.
    names: Vec<Name>,
}

/// A directory of the base.
struct BaseLevel {
    dir: Dir,
    /// Another one may have stood in its place when the run began, or names in it came and went.
    is_doubtful: bool,
    /// Another one may have stood in its place: nothing in it is known to have been there.
    may_be_another: bool,
}

/// Why something is not imported.
enum Left {
    /// The rest is imported without it.
    Out(ErrorKind, String),
    Failed(Error),
}

impl From<Error> for Left {
    fn from(error: Error) -> Self {
        match error.kind() {
            // The disk, and not the object.
            ErrorKind::Io | ErrorKind::Quota | ErrorKind::Busy => Self::Failed(error),
            kind => Self::Out(kind, error.detail()),
        }
    }
}

impl From<rustix::io::Errno> for Left {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::from(Error::from(errno))
    }
}

impl Overlay {
    /// Imports an upper directory, and says what is in it and was not imported.
    pub(super) fn import_upper(
        &self,
        locked: &Locked<'_, State>,
        upper: Dir,
        began: Timestamp,
        modes: Modes,
    ) -> Result<LeftOut, Error> {
        let mut import = Import {
            overlay: self,
            began,
            changes: Vec::new(),
            linked: BTreeMap::new(),
            modes,
            objects: Vec::new(),
            is_recorded: false,
            left_out: LeftOut::default(),
        };
        let done = import.walk(upper).and_then(|()| import.record(locked));
        if done.is_err() && !import.is_recorded {
            self.drop_objects(import.objects)?;
        }
        done.map(|()| import.left_out)
    }
}

impl Import<'_> {
    fn walk(&mut self, upper: Dir) -> Result<(), Error> {
        let base = self.overlay.base.as_dir()?;
        let (ours, theirs) = (upper.opened_metadata().mode, base.opened_metadata().mode);
        if (ours ^ theirs) & 0o777 != 0 {
            let why = "the mode of the project itself is not changed";
            self.left_out.lines.push(format!("/: {why}"));
        }
        let base = BaseLevel {
            dir: base,
            is_doubtful: false,
            may_be_another: false,
        };
        let names = names_in(&upper)?;
        let mut levels = vec![Level {
            path: Vec::new(),
            depth: 0,
            upper,
            base: Some(base),
            is_lost: false,
            is_hidden: false,
            names,
        }];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.names.pop() else {
                levels.pop();
                continue;
            };
            let path = join(&level.path, name.as_bytes());
            match self.entry(level, &name, &path) {
                Ok(Some(below)) => levels.push(below),
                Ok(None) => {}
                Err(Left::Out(_, why)) => {
                    // Only a mark that a name is gone holds nothing. What cannot be told may hold something.
                    let is_mark = is_whiteout(&level.upper, &name).unwrap_or(false);
                    self.left_out.has_content |= !is_mark;
                    self.leave_out(&path, &why);
                }
                Err(Left::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &[u8], why: &str) {
        let shown = handfast::escape(path);
        self.left_out.lines.push(format!("/{shown}: {why}"));
    }

    /// One name of the upper layer. A directory is walked next.
    fn entry(&mut self, level: &Level, name: &Name, path: &[u8]) -> Result<Option<Level>, Left> {
        if name.as_bytes().starts_with(OWN) {
            let why = "names that begin with `.handfast-` are Handfast's own";
            return Err(Left::Out(ErrorKind::Kind, why.to_owned()));
        }
        let at = RelPath::from(name);
        let status = level.upper.symlink_metadata(&at)?;
        let now = match status.kind {
            FileKind::Dir => return self.dir(level, &at, path, status),
            FileKind::File => self.file(level, &at, &status)?,
            FileKind::Symlink => {
                let target = level.upper.read_link(&at)?.as_bytes().to_vec();
                let base = level.base.as_ref();
                let same = base.is_some_and(|base| {
                    let there = base.dir.read_link(&at);
                    there.is_ok_and(|there| there.as_bytes() == target.as_slice())
                });
                if same {
                    return Ok(None);
                }
                let id = fresh_id().map_err(Left::Failed)?;
                Now::Link { id, target }
            }
            FileKind::Char if is_whiteout(&level.upper, name)? => Now::Gone,
            kind => {
                let why = format!("a {} goes with the run", kind.name());
                self.leave_out(path, &why);
                Now::Gone
            }
        };
        let was = match self.was(level.base.as_ref(), &at)? {
            Was::Absent if self.was_lost(level, &at, &status)? => Was::File(other_version(&status)),
            was => was,
        };
        if (&was, &now) == (&Was::Absent, &Now::Gone) {
            return Ok(None);
        }
        if let (FileKind::File, Now::File(file)) = (status.kind, &now)
            && status.nlink > 1
            && let ContentLocation::Object { id, .. } = file.content
        {
            let number = status.identity.inode;
            let known = self.linked.entry(number).or_insert((id, Vec::new()));
            known.1.push(self.changes.len());
        }
        let entry = NodeEntry { was, now };
        self.put(path, entry);
        Ok(None)
    }

    /// Whether the base may have lost a file since the run began: the kernel has copied it, from this name
    /// or from another one, and names of the base have gone.
    fn was_lost(&self, level: &Level, at: &RelPath, status: &Metadata) -> Result<bool, Left> {
        let was_copied = status.kind == FileKind::File && has(&level.upper, at, COPIED)?;
        Ok(was_copied
            && match &level.base {
                Some(base) => self.is_later(&base.dir)?,
                None => level.is_lost,
            })
    }

    fn put(&mut self, path: &[u8], entry: NodeEntry) {
        let path = path.to_vec();
        self.changes.push(Change::Put { path, entry });
    }

    /// A directory of the upper layer: one of the base with changes below, or a new one.
    fn dir(
        &mut self,
        level: &Level,
        at: &RelPath,
        path: &[u8],
        status: Metadata,
    ) -> Result<Option<Level>, Left> {
        if level.depth >= MAX_DEPTH {
            return Err(Left::Out(ErrorKind::Kind, "it lies too deep".to_owned()));
        }
        let mode = self.modes.open_up(&level.upper, at, &status, 0o700)?;
        let upper = level.upper.open_dir(at)?;
        let names = names_in(&upper)?;
        // The kernel marks the topmost of the directories that are new, and none below it.
        let is_hidden = level.is_hidden || has(&upper, &RelPath::root(), OPAQUE)?;
        let base = self.base_below(level.base.as_ref(), at)?;
        let is_lost = base.is_none() && !is_hidden && has(&upper, &RelPath::root(), COPIED)?;
        let base = match base {
            Some(base) if !is_hidden => {
                self.mode_of_kept(&base, path, mode)?;
                Some(base)
            }
            Some(base) => {
                // A directory that was removed and made again: what it had is gone.
                let children = self.emptied(&base, &names)?;
                let dir = DirNode {
                    id: fresh_id().map_err(Left::Failed)?,
                    origin: Some(path.to_vec()),
                    mode: Some(mode),
                    children,
                    ..DirNode::default()
                };
                let (was, now) = (Was::Kept, Now::Dir(dir));
                self.put(path, NodeEntry { was, now });
                Some(base)
            }
            None if is_lost => {
                // A directory of the base, which has lost it since.
                let dir = DirNode {
                    origin: Some(path.to_vec()),
                    ..DirNode::default()
                };
                let (was, now) = (Was::Kept, Now::Dir(dir));
                self.put(path, NodeEntry { was, now });
                None
            }
            None => {
                let was = self.was(level.base.as_ref(), at)?;
                let dir = DirNode {
                    id: fresh_id().map_err(Left::Failed)?,
                    mode: Some(mode),
                    ..DirNode::default()
                };
                let now = Now::Dir(dir);
                self.put(path, NodeEntry { was, now });
                None
            }
        };
        Ok(Some(Level {
            path: path.to_vec(),
            depth: level.depth + 1,
            upper,
            base,
            is_lost,
            is_hidden,
            names,
        }))
    }

    /// The mode of a directory of the base that is still there.
    fn mode_of_kept(&mut self, base: &BaseLevel, path: &[u8], mode: u32) -> Result<(), Left> {
        let status = base.dir.symlink_metadata(&RelPath::root())?;
        if (status.mode ^ mode) & 0o777 == 0 {
            return Ok(());
        }
        // Somebody else may have changed it: then no mode is the one it had.
        let is_known = self.is_before(status.changed) && !base.is_doubtful;
        let old = match is_known {
            true => status.mode & 0o7777,
            false => status.mode & 0o7777 ^ 0o1000,
        };
        self.changes.push(Change::DirMode {
            path: path.to_vec(),
            mode,
            old: Some(old),
        });
        Ok(())
    }

    /// What a directory of the base had and a new one in its place has not, as gone.
    fn emptied(
        &self,
        base: &BaseLevel,
        names: &[Name],
    ) -> Result<BTreeMap<Vec<u8>, NodeEntry>, Left> {
        let mut children = BTreeMap::new();
        for name in names_in(&base.dir)? {
            if names.contains(&name) || name.as_bytes().starts_with(OWN) {
                continue;
            }
            let at = RelPath::from(&name);
            // What may have come since is a conflict, and no commit removes it.
            let was = match self.may_have_come(base, &at)? {
                true => Was::File(UNSEEN.to_owned()),
                false => self.was(Some(base), &at)?,
            };
            let now = Now::Gone;
            children.insert(name.as_bytes().to_vec(), NodeEntry { was, now });
        }
        Ok(children)
    }

    /// A file with its content, mode, times and attributes. Its other names are the same file.
    fn file(&mut self, level: &Level, at: &RelPath, status: &Metadata) -> Result<Now, Left> {
        let of_object = |id| {
            Now::File(FileNode {
                content: ContentLocation::Object {
                    id,
                    sealed: false,
                    linked: None,
                },
                origin: None,
            })
        };
        if let Some((id, _)) = self.linked.get(&status.identity.inode) {
            return Ok(of_object(*id));
        }
        let mode = self.modes.open_up(&level.upper, at, status, 0o400)?;
        let file = level.upper.open(at)?;
        if file.metadata().identity != status.identity {
            return Err(Left::Out(
                ErrorKind::Kind,
                "another file took its place".to_owned(),
            ));
        }
        let content = file.into_std();
        let mut attributes: Xattrs = read_xattrs(&content)?;
        attributes.retain(|(name, _)| !name.starts_with(KERNEL));
        let overlay = self.overlay;
        let source = Source::of_file(&content)?;
        let (id, _) =
            overlay.put_object(source, NewMode::Exact(mode | 0o600), None, Durability::None)?;
        self.objects.push(id);
        let object = object_path(id);
        write_xattrs(overlay.store.open(&object)?, &attributes)?;
        let mut times = Attributes::new();
        times.accessed = Some(status.accessed);
        times.modified = Some(status.modified);
        handfast::Files::set_attributes(&overlay.store, &object, &times)?;
        if mode & 0o600 != 0o600 {
            overlay.store.chmod(&object, mode)?;
        }
        Ok(of_object(id))
    }

    /// Makes the changes.
    fn record(&mut self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let linked = std::mem::take(&mut self.linked);
        for (id, names) in linked.into_values().filter(|(_, names)| names.len() > 1) {
            for number in names {
                if let Some(Change::Put { entry, .. }) = self.changes.get_mut(number) {
                    entry.now = self.overlay.linked(id, None)?;
                }
            }
        }
        if !self.objects.is_empty() {
            // What a program has synced stays so.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let store = rustix::fs::openat(&self.overlay.store, c".", flags, Mode::empty())?;
            rustix::fs::syncfs(store)?;
        }
        let mut sized = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            let length = super::record::write(std::slice::from_ref(&change)).len();
            if let (true, Change::Put { path, .. }) = (length > crate::log::MOST, &change) {
                self.left_out.has_content = true;
                self.leave_out(&path.clone(), "it holds too many names for one change");
                continue;
            }
            sized.push((change, length));
        }
        for portion in portions(sized, PORTION) {
            self.is_recorded = true;
            self.overlay.record(locked, portion)?;
        }
        Ok(())
    }
}

/// Divides what has lengths, in its order, so that no portion is longer than `most` but those of one.
fn portions<T>(sized: Vec<(T, usize)>, most: usize) -> Vec<Vec<T>> {
    let (mut all, mut bytes) = (Vec::<Vec<T>>::new(), 0);
    for (item, length) in sized {
        match all.last_mut() {
            Some(portion) if bytes + length <= most => {
                portion.push(item);
                bytes += length;
            }
            _ => {
                all.push(vec![item]);
                bytes = length;
            }
        }
    }
    all
}

fn names_in(dir: &Dir) -> Result<Vec<Name>, Error> {
    let mut names = Vec::new();
    let mut listing = dir.read_dir(&RelPath::root())?;
    while let Some(entry) = listing.next_entry()? {
        names.push(entry.name().to_name());
    }
    names.sort();
    Ok(names)
}

/// Whether something has an attribute. Where there are none at all it has not; a disk that does not answer
/// says neither.
fn has(dir: &Dir, at: &RelPath, name: &str) -> Result<bool, Left> {
    is_there(dir.get_xattr(at, name))
}

fn is_there(answer: Result<Option<Vec<u8>>, Error>) -> Result<bool, Left> {
    match answer {
        Ok(value) => Ok(value.is_some()),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a character device stands for a name that is gone: it has no number.
fn is_whiteout(dir: &Dir, name: &Name) -> Result<bool, Left> {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    let status = rustix::fs::statat(&**dir, name.as_bytes(), flags)?;
    let kind = rustix::fs::FileType::from_raw_mode(status.st_mode);
    Ok(kind == rustix::fs::FileType::CharacterDevice && status.st_rdev == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that is too long cannot be written at all.
    #[test]
    fn a_portion_is_ended_before_it_is_too_long() {
        let of = |lengths: &[usize]| {
            let sized = lengths.iter().map(|length| (*length, *length)).collect();
            portions(sized, 10)
        };
        assert_eq!(of(&[4, 6, 1, 9, 1]), [vec![4, 6], vec![1, 9], vec![1]]);
        assert_eq!(of(&[9, 60, 2]), [[9], [60], [2]]);
        assert!(of(&[]).is_empty());
    }

    /// A directory whose mark the disk does not tell is not taken for one without.
    #[test]
    fn a_disk_that_does_not_answer_says_nothing_of_attributes() {
        let refused = |kind| is_there(Err(Error::refused(kind, "said")));
        assert!(matches!(is_there(Ok(None)), Ok(false)));
        assert!(matches!(is_there(Ok(Some(Vec::new()))), Ok(true)));
        assert!(matches!(refused(ErrorKind::Unsupported), Ok(false)));
        assert!(matches!(refused(ErrorKind::Io), Err(Left::Failed(_))));
        let denied = refused(ErrorKind::Denied);
        assert!(matches!(denied, Err(Left::Out(ErrorKind::Denied, _))));
    }
}
