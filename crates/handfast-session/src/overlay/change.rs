//! Changing: new content to the store, then one record.

use handfast::files::{Attributes, Put};
use handfast::{Durability, ErrorKind, FileKind, OpenOptions, RelPath, WriteOptions, Written};

use super::attributes::{read_xattrs, write_xattrs};
use super::base::{FileAt, Standing, top_itself};
use super::dir_times::DirTimes;
use super::store::{NewMode, Source, fresh_id, mark_written, object_path};
use super::tree::{
    Change, ContentLocation, DirNode, FileNode, NodeEntry, Now, Tree, TreeLookup, Was, base_path,
};
use super::{Overlay, State};
use crate::error::Error;
use crate::gate::Locked;
use crate::layer::FileContent as LayerContent;
use crate::place::{Guard, Spot};

/// The longest target of a link that Linux keeps.
const MAX_TARGET: usize = 4095;

/// How often a file of the base that changes while it is copied is copied again.
const TRIES: u32 = 8;

impl Overlay {
    /// Replaces or creates a file.
    pub(crate) fn write(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        content: LayerContent<'_>,
    ) -> Result<Written, Error> {
        let LayerContent {
            source,
            put,
            options,
        } = content;
        let mode = options.exact_mode();
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        guard.check_new(path, Some(FileKind::File))?;
        let (changes, written, old, mark) = {
            let tree = locked.state().tree.clone_spine(path);
            refuse_top(path)?;
            let standing = match (self.standing(&tree, path), put) {
                (Err(error), Put::If(_)) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::refused(ErrorKind::Stale, "the file is gone"));
                }
                (standing, _) => standing?,
            };
            let (file, mode) = match (&standing, put) {
                (Standing::Missing, Put::If(_)) => {
                    return Err(Error::refused(ErrorKind::Stale, "the file is gone"));
                }
                (Standing::Missing, _) => {
                    refuse_dir_name(path)?;
                    (None, mode)
                }
                (_, Put::New) => return Err(taken(path)),
                (Standing::Dir, _) => {
                    return Err(Error::refused(ErrorKind::IsADirectory, "is a directory"));
                }
                (Standing::Link, _) => return Err(super::tree::link()),
                (Standing::File(file), put) => {
                    if let Put::If(version) = put
                        && !self.is_version(file, version)?
                    {
                        return Err(Error::refused(ErrorKind::Stale, "the content was changed"));
                    }
                    let kept = self.mode_of(file)?;
                    (Some(file), Some(mode.unwrap_or(kept)))
                }
            };
            let old = file.and_then(|file| file.object.filter(|_| !file.sealed));
            let mark = tree.object(path.as_bytes()).and_then(|(_, mark)| mark);
            // A file that has other names keeps its content under those.
            let old = old.filter(|id| tree.names(*id) < 2);
            let given = match put {
                Put::If(version) => Some(version),
                _ => None,
            };
            let was = self.was_given(&tree, path, file, given)?;
            let bits = match (mode, options.mode_if_created()) {
                (Some(mode), _) => NewMode::Exact(mode),
                (None, Some(mode)) => NewMode::Umask(mode),
                (None, None) => NewMode::Usual,
            };
            let durability = options.durability_level();
            let (id, written) = self.put_object(source, bits, old, durability)?;
            let origin = origin_of(&tree, path, file);
            (vec![put_file(path, was, id, origin)], written, old, mark)
        };
        self.record(&locked, changes)?;
        self.sync_journal(&locked, options.durability_level())?;
        self.drop_objects(old.into_iter().chain(mark))?;
        Ok(written)
    }

    /// Adds to the end of a file, creating it if it is missing.
    pub(crate) fn append(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        data: &[u8],
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        guard.check_new(path, Some(FileKind::File))?;
        refuse_top(path)?;
        let standing = self.standing(&locked.state().tree.clone_spine(path), path)?;
        if let Standing::Missing = standing {
            refuse_dir_name(path)?;
            drop(locked);
            let content = LayerContent {
                source: Source::Bytes(data),
                put: Put::New,
                options,
            };
            return match self.write(spot, guard, content) {
                Err(error) if error.kind() == ErrorKind::Exists => {
                    self.append(spot, guard, data, options)
                }
                done => done,
            };
        }
        let id = self.own_object(&locked, path, Some(guard))?;
        let object = object_path(id);
        let end = self.store.symlink_metadata(&object)?.len + data.len() as u64;
        self.account.charge(self.key(id), end, true, None)?;
        let written = self.store.append_with(&object, data, options)?;
        self.sync_journal(&locked, options.durability_level())?;
        Ok(written)
    }

    /// Opens a file for writing in place, creating it as asked.
    pub(crate) fn open_write(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        options: OpenOptions,
    ) -> Result<(handfast::File, u64), Error> {
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        guard.check_new(path, Some(FileKind::File))?;
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        let id = match self.standing(&tree, path)? {
            Standing::Missing if options.creates() => {
                refuse_dir_name(path)?;
                let was = self.was(&tree, path.as_bytes(), &Standing::Missing)?;
                let (file, id) = self.new_object(options)?;
                self.record(&locked, vec![put_file(path, was, id, None)])?;
                return Ok((file, id));
            }
            Standing::Missing => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            _ if options.creates_new() => return Err(taken(path)),
            Standing::Dir => return Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
            Standing::Link => return Err(super::tree::link()),
            Standing::File(_) => self.own_object(&locked, path, Some(guard))?,
        };
        let file = self.open_object(id, options.create(false).truncate(false), true)?;
        if options.truncates() {
            file.set_len(0)?;
            self.account.charge(self.key(id), 0, true, None)?;
        }
        Ok((file, id))
    }

    /// An empty object, open as asked. Its mode is what the umask leaves, as of any new file; who
    /// makes a file writes to it, whatever its mode says to later ones.
    fn new_object(&self, options: OpenOptions) -> Result<(handfast::File, u64), Error> {
        let (id, mode) = (fresh_id()?, options.creation_mode());
        self.account.charge(self.key(id), 0, true, None)?;
        let path = object_path(id);
        let how = options.create(false).truncate(false).create_new(true);
        let made = match self.store.open_with(&path, how.mode(mode | 0o600)) {
            Ok(made) => made,
            Err(error) => {
                self.account.refund(self.key(id))?;
                return Err(error);
            }
        };
        if mode & 0o600 != 0o600 {
            self.store
                .chmod(&path, made.metadata().mode & mode & 0o777)?;
        }
        mark_written(&made)?;
        Ok((made, id))
    }

    /// An object of the live tree alone, with the file's content: copied up if it is not there. The
    /// file that is copied is the one that the guard judged.
    pub(super) fn own_object(
        &self,
        locked: &Locked<'_, State>,
        path: &RelPath,
        guard: Option<&Guard<'_>>,
    ) -> Result<u64, Error> {
        let tree = locked.state().tree.clone_spine(path);
        let standing = self.standing(&tree, path)?;
        let file = match &standing {
            Standing::File(file) => file,
            Standing::Dir => return Err(Error::refused(ErrorKind::IsADirectory, "is a directory")),
            Standing::Link => return Err(super::tree::link()),
            Standing::Missing => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
        };
        if let Some(guard) = guard {
            self.judge_all_names(&locked.state().tree, path, guard)?;
        }
        if let Some(id) = file.object.filter(|_| !file.sealed) {
            return Ok(id);
        }
        for _ in 0..TRIES {
            let source = self.open_standing(&standing)?;
            if let (Some(guard), None) = (guard, file.object) {
                // What appeared in the base under a denied name since the name was judged.
                guard.check_held(path)?;
                guard.check_file(source.metadata())?;
            }
            let before = source.version()?;
            let mode = NewMode::Exact(source.metadata().mode & 0o777);
            let content = source.into_std();
            let attributes = read_xattrs(&content).unwrap_or_default();
            let content = Source::of_file(&content)?;
            let (id, written) = self.put_object(content, mode, None, Durability::None)?;
            drop(written);
            // What the store cannot keep is missing from the change, which the review flags.
            if !attributes.is_empty() {
                if let Err(error) = self.charge_xattrs(id, &attributes) {
                    self.drop_objects([id])?;
                    return Err(error);
                }
                let object = self.store.open(&object_path(id))?;
                drop(write_xattrs(&object, &attributes));
            }
            // The version that is remembered must be that of the content that was copied.
            if file.object.is_none() && !self.is_version(file, &before)? {
                self.drop_objects([id])?;
                continue;
            }
            let was = match (tree.entry(path.as_bytes()), file.object) {
                (None, None) => Was::File(before.to_string()),
                _ => self.was(&tree, path.as_bytes(), &standing)?,
            };
            let changes = match tree.object(path.as_bytes()) {
                Some((old, Some(_))) => locked.state().tree.renumber(old, id),
                _ => {
                    let origin = origin_of(&tree, path, Some(file));
                    vec![put_file(path, was, id, origin)]
                }
            };
            self.record(locked, changes)?;
            return Ok(id);
        }
        Err(Error::refused(
            ErrorKind::Raced,
            "the file of the base kept changing while it was copied",
        ))
    }

    fn mode_of(&self, file: &FileAt) -> Result<u32, Error> {
        let (root, path) = self.backing(file)?;
        Ok(root.symlink_metadata(&path)?.mode & 0o777)
    }

    pub(crate) fn create_dir(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        mode: u32,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        refuse_top(path)?;
        // `a/` is a new directory as well as `a`.
        let path = &path.clone().with_must_be_dir(false);
        let tree = locked.state().tree.clone_spine(path);
        if !matches!(self.standing(&tree, path)?, Standing::Missing) {
            return Err(exists());
        }
        let was = self.was(&tree, path.as_bytes(), &Standing::Missing)?;
        let id = fresh_id()?;
        self.account.charge(self.key(id), 0, true, None)?;
        let mut dir = DirNode {
            id,
            // Like any new directory: without an exact mode the umask decides at commit.
            mode: (mode & 0o777 != 0o777).then_some(mode & 0o777),
            ..DirNode::default()
        };
        let entry = match was {
            // A directory of the base that was emptied and removed is back, still emptied.
            Was::Dir(entries) => {
                dir.origin = tree.base_of(path.as_bytes());
                let gone = |was| NodeEntry {
                    was,
                    now: Now::Gone,
                };
                dir.children = entries
                    .into_iter()
                    .map(|(name, was)| (name, gone(was)))
                    .collect();
                NodeEntry {
                    was: Was::Kept,
                    now: Now::Dir(dir),
                }
            }
            was => NodeEntry {
                was,
                now: Now::Dir(dir),
            },
        };
        self.record(&locked, vec![put(path, entry)])
    }

    pub(crate) fn symlink(
        &self,
        target: &[u8],
        spot: Spot<'_>,
        guard: &Guard<'_>,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        guard.check_new(path, Some(FileKind::Symlink))?;
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        let is_free = matches!(self.standing(&tree, path)?, Standing::Missing);
        if path.must_be_dir() && !is_free {
            return Err(taken(path));
        }
        refuse_dir_name(path)?;
        check_target(target, path, is_free)?;
        if !is_free {
            return Err(exists());
        }
        let was = self.was(&tree, path.as_bytes(), &Standing::Missing)?;
        let id = fresh_id()?;
        self.account.charge(self.key(id), 0, true, None)?;
        let now = Now::Link {
            id,
            target: target.to_vec(),
        };
        self.record(&locked, vec![put(path, NodeEntry { was, now })])
    }

    /// Changes mode and times; a file is copied up first.
    pub(crate) fn set_attributes(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        attributes: &Attributes,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        if *attributes == Attributes::new() {
            let status = self.symlink_metadata(super::look::whole(path))?;
            return match status.is_symlink() {
                true => Err(super::tree::link()),
                false => Ok(()),
            };
        }
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        if let Standing::Dir = self.standing(&tree, path)? {
            let changes = self.dir_changes(&tree, path, attributes)?;
            return self.record(&locked, changes);
        }
        let id = self.own_object(&locked, path, Some(guard))?;
        handfast::Files::set_attributes(&self.store, &object_path(id), attributes)
    }

    /// The changes that give a directory its attributes.
    fn dir_changes(
        &self,
        tree: &Tree,
        path: &RelPath,
        attributes: &Attributes,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let at = path.as_bytes().to_vec();
        if let Some(mode) = attributes.mode {
            let old = self.old_mode(tree, path)?;
            let path = at.clone();
            changes.push(Change::DirMode { path, mode, old });
        }
        let (accessed, modified) = (attributes.accessed, attributes.modified);
        if accessed.is_some() || modified.is_some() {
            let times = DirTimes { accessed, modified };
            changes.push(Change::DirTimes { path: at, times });
        }
        Ok(changes)
    }

    /// The mode of the directory of the base that a path shows; nothing if it is changed already,
    /// or new.
    fn old_mode(&self, tree: &Tree, path: &RelPath) -> Result<Option<u32>, Error> {
        let at = match tree.find(path)? {
            TreeLookup::Base(at) => at,
            TreeLookup::Here(Now::Dir(DirNode {
                mode: None,
                origin: Some(origin),
                ..
            })) => base_path(origin)?,
            _ => return Ok(None),
        };
        Ok(Some(self.base.symlink_metadata(&at)?.mode & 0o7777))
    }
}

/// The file of the base that a file of the overlay was: known for what was moved here.
fn origin_of(tree: &Tree, path: &RelPath, file: Option<&FileAt>) -> Option<(Vec<u8>, String)> {
    file?;
    match &tree.entry(path.as_bytes())?.now {
        Now::File(node) => node.origin.clone(),
        _ => None,
    }
}

fn put_file(path: &RelPath, was: Was, id: u64, origin: Option<(Vec<u8>, String)>) -> Change {
    put(
        path,
        NodeEntry {
            was,
            now: Now::File(FileNode {
                content: ContentLocation::Object {
                    id,
                    sealed: false,
                    linked: None,
                },
                origin,
            }),
        },
    )
}

pub(super) fn put(path: &RelPath, entry: NodeEntry) -> Change {
    Change::Put {
        path: path.as_bytes().to_vec(),
        entry,
    }
}

pub(super) fn refuse_top(path: &RelPath) -> Result<(), Error> {
    if path.is_root() {
        return Err(top_itself());
    }
    Ok(())
}

/// Only a directory comes under a name with a slash behind it.
pub(super) fn refuse_dir_name(path: &RelPath) -> Result<(), Error> {
    if path.must_be_dir() {
        return Err(Error::refused(
            ErrorKind::NotFound,
            "there is no directory of that name",
        ));
    }
    Ok(())
}

/// A link's target is data to an overlay, which never follows it outside. A commit refuses a target
/// that leads there.
fn check_target(target: &[u8], path: &RelPath, is_free: bool) -> Result<(), Error> {
    match handfast::check_symlink_target(target, path) {
        Err(error) if error.kind() != ErrorKind::Escape || !is_free => Err(error),
        _ if target.len() > MAX_TARGET || target.contains(&0) => Err(Error::refused(
            ErrorKind::TooLong,
            "no filesystem keeps such a target",
        )),
        _ => Ok(()),
    }
}

/// The name of a new file is taken.
pub(super) fn taken(path: &RelPath) -> Error {
    match path.must_be_dir() {
        true => Error::refused(ErrorKind::IsADirectory, "is a directory"),
        false => exists(),
    }
}

pub(super) fn exists() -> Error {
    Error::refused(ErrorKind::Exists, "something is there already")
}

/// Directories and links of the overlay, and names of linked files: they use a name and no content.
pub(super) fn nodes_without_content(tree: &Tree) -> Vec<u64> {
    let mut found = Vec::new();
    tree.each(&mut |_, entry| match &entry.now {
        Now::Dir(dir) if dir.id != 0 => found.push(dir.id),
        Now::Link { id, .. } => found.push(*id),
        Now::File(FileNode {
            content: ContentLocation::Object {
                linked: Some(id), ..
            },
            ..
        }) => found.push(*id),
        _ => {}
    });
    found
}
