//! Changing: new content to the store, then one record.

use handfast::{ErrorKind, RelPath, Timestamp, Version, Written};

use super::base::{FileAt, Standing, top_itself};
use super::store::{Source, fresh_id, object_path};
use super::tree::{Change, Content, DirNode, Entry, FileNode, Found, Now, Tree, Was, base_path};
use super::{Overlay, State};
use crate::error::Error;
use crate::gate::Locked;
use crate::options::OpenOptions;

/// How often a file of the base that changes while it is copied is copied again.
const TRIES: u32 = 8;

/// How a file is put.
#[derive(Clone, Copy)]
pub(crate) enum Put<'a> {
    Replace,
    New,
    If(&'a Version),
}

impl Overlay {
    /// Replaces or creates a file.
    pub(crate) fn write(
        &self,
        path: &RelPath,
        source: Source<'_>,
        put: Put<'_>,
        mode: Option<u32>,
    ) -> Result<Written, Error> {
        let locked = self.begin()?;
        let (changes, written, old) = {
            let tree = locked.state().tree.clone_spine(path);
            let standing = self.standing(&tree, path)?;
            refuse_top(path)?;
            let (file, mode) = match (&standing, put) {
                (Standing::Missing, Put::If(_)) => {
                    return Err(Error::new(ErrorKind::Stale, "the file is gone"));
                }
                (Standing::Missing, _) => (None, mode),
                (Standing::Dir, Put::New) | (Standing::Link, Put::New) => {
                    return Err(exists());
                }
                (Standing::Dir, _) => {
                    return Err(Error::new(ErrorKind::IsADirectory, "is a directory"));
                }
                (Standing::Link, _) => return Err(super::tree::link()),
                (Standing::File(_), Put::New) => return Err(exists()),
                (Standing::File(file), put) => {
                    if let Put::If(version) = put
                        && !self.is_version(file, version)?
                    {
                        return Err(Error::new(ErrorKind::Stale, "the content was changed"));
                    }
                    let kept = self.mode_of(file)?;
                    (Some(file), Some(mode.unwrap_or(kept)))
                }
            };
            let old = file.and_then(|file| file.object.filter(|_| !file.sealed));
            let given = match put {
                Put::If(version) => Some(version),
                _ => None,
            };
            let was = self.was_given(&tree, path, file, given)?;
            let (id, written) = self.put_object(source, mode, old)?;
            let origin = origin_of(&tree, path, file);
            (vec![put_file(path, was, id, origin)], written, old)
        };
        self.record(&locked, changes)?;
        self.drop_objects(old)?;
        Ok(written)
    }

    /// Adds to the end of a file, creating it if it is missing.
    pub(crate) fn append(&self, path: &RelPath, data: &[u8]) -> Result<Written, Error> {
        let locked = self.begin()?;
        let standing = self.standing(&locked.state().tree.clone_spine(path), path)?;
        if let Standing::Missing = standing {
            drop(locked);
            return match self.write(path, Source::Bytes(data), Put::New, None) {
                Err(error) if error.kind() == ErrorKind::Exists => self.append(path, data),
                done => done,
            };
        }
        let id = self.own_object(&locked, path)?;
        let object = object_path(id);
        let end = self.store.symlink_metadata(&object)?.len + data.len() as u64;
        self.account.charge(self.key(id), end, true, None)?;
        Ok(self.store.append(&object, data)?)
    }

    /// Opens a file for writing in place, creating it as asked. `true` if it is new.
    pub(crate) fn open_write(
        &self,
        path: &RelPath,
        options: OpenOptions,
    ) -> Result<(handfast::File, u64), Error> {
        let locked = self.begin()?;
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        let id = match self.standing(&tree, path)? {
            Standing::Missing if options.create || options.create_new => {
                let was = self.was(&tree, path.as_bytes())?;
                // A new object is made under the umask, as any new file.
                let (id, written) = self.put_object(Source::Bytes(b""), None, None)?;
                drop(written);
                if options.mode != 0o666 {
                    let now = self.store.symlink_metadata(&object_path(id))?.mode;
                    self.store.chmod(&object_path(id), now & options.mode)?;
                }
                self.record(&locked, vec![put_file(path, was, id, None)])?;
                id
            }
            Standing::Missing => return Err(Error::new(ErrorKind::NotFound, "nothing is there")),
            Standing::Dir => return Err(Error::new(ErrorKind::IsADirectory, "is a directory")),
            Standing::Link => return Err(super::tree::link()),
            Standing::File(_) if options.create_new => return Err(exists()),
            Standing::File(_) => self.own_object(&locked, path)?,
        };
        let how = handfast::OpenOptions::new()
            .read(options.read)
            .write(options.write)
            .append(options.append);
        let file = self.open_object(id, how, true)?;
        if options.truncate {
            file.set_len(0)?;
            self.account.charge(self.key(id), 0, true, None)?;
        }
        Ok((file, id))
    }

    /// An object of the live tree alone, with the file's content: copied up if it is not there.
    pub(super) fn own_object(
        &self,
        locked: &Locked<'_, State>,
        path: &RelPath,
    ) -> Result<u64, Error> {
        let tree = locked.state().tree.clone_spine(path);
        let standing = self.standing(&tree, path)?;
        let file = match &standing {
            Standing::File(file) => file,
            Standing::Dir => return Err(Error::new(ErrorKind::IsADirectory, "is a directory")),
            Standing::Link => return Err(super::tree::link()),
            Standing::Missing => return Err(Error::new(ErrorKind::NotFound, "nothing is there")),
        };
        if let Some(id) = file.object.filter(|_| !file.sealed) {
            return Ok(id);
        }
        for _ in 0..TRIES {
            let source = self.open_standing(&standing)?;
            let before = source.version()?;
            let mode = Some(source.metadata().mode & 0o777);
            let content = source.into_std();
            let (id, written) = self.put_object(Source::of_file(&content)?, mode, None)?;
            drop(written);
            // The version that is remembered must be that of the content that was copied.
            if file.object.is_none() && !self.is_version(file, &before)? {
                self.drop_objects([id])?;
                continue;
            }
            let was = match (tree.entry(path.as_bytes()), file.object) {
                (None, None) => Was::File(before.to_string()),
                _ => self.was(&tree, path.as_bytes())?,
            };
            let origin = origin_of(&tree, path, Some(file));
            self.record(locked, vec![put_file(path, was, id, origin)])?;
            return Ok(id);
        }
        Err(Error::new(
            ErrorKind::Raced,
            "the file of the base kept changing while it was copied",
        ))
    }

    fn mode_of(&self, file: &FileAt) -> Result<u32, Error> {
        let (root, path) = self.backing(file)?;
        Ok(root.symlink_metadata(&path)?.mode & 0o777)
    }

    pub(crate) fn create_dir(&self, path: &RelPath, mode: Option<u32>) -> Result<(), Error> {
        let locked = self.begin()?;
        refuse_top(path).map_err(|_| exists())?;
        let tree = locked.state().tree.clone_spine(path);
        if !matches!(self.standing(&tree, path)?, Standing::Missing) {
            return Err(exists());
        }
        let was = self.was(&tree, path.as_bytes())?;
        let id = fresh_id()?;
        self.account.charge(self.key(id), 0, true, None)?;
        let mut dir = DirNode {
            id,
            mode,
            ..DirNode::default()
        };
        let entry = match was {
            // A directory of the base that was emptied and removed is back, still emptied.
            Was::Dir(entries) => {
                dir.origin = tree.base_of(path.as_bytes());
                let gone = |was| Entry {
                    was,
                    now: Now::Gone,
                };
                dir.children = entries
                    .into_iter()
                    .map(|(name, was)| (name, gone(was)))
                    .collect();
                Entry {
                    was: Was::Kept,
                    now: Now::Dir(dir),
                }
            }
            was => Entry {
                was,
                now: Now::Dir(dir),
            },
        };
        self.record(&locked, vec![put(path, entry)])
    }

    pub(crate) fn symlink(&self, target: &[u8], path: &RelPath) -> Result<(), Error> {
        require_beneath(target, path)?;
        let locked = self.begin()?;
        refuse_top(path).map_err(|_| exists())?;
        let tree = locked.state().tree.clone_spine(path);
        if !matches!(self.standing(&tree, path)?, Standing::Missing) {
            return Err(exists());
        }
        let was = self.was(&tree, path.as_bytes())?;
        let id = fresh_id()?;
        self.account.charge(self.key(id), 0, true, None)?;
        let now = Now::Link {
            id,
            target: target.to_vec(),
        };
        self.record(&locked, vec![put(path, Entry { was, now })])
    }

    pub(crate) fn chmod(&self, path: &RelPath, mode: u32) -> Result<(), Error> {
        let locked = self.begin()?;
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        let standing = self.standing(&tree, path)?;
        match standing {
            Standing::Dir => {
                let old = self.old_mode(&tree, path)?;
                let path = path.as_bytes().to_vec();
                self.record(&locked, vec![Change::DirMode { path, mode, old }])
            }
            _ => {
                let id = self.own_object(&locked, path)?;
                Ok(self.store.chmod(&object_path(id), mode)?)
            }
        }
    }

    /// The mode of the directory of the base that a path shows; nothing if it is changed already,
    /// or new.
    fn old_mode(&self, tree: &Tree, path: &RelPath) -> Result<Option<u32>, Error> {
        let at = match tree.find(path)? {
            Found::Base(at) => at,
            Found::Here(Now::Dir(DirNode {
                mode: None,
                origin: Some(origin),
                ..
            })) => base_path(origin)?,
            _ => return Ok(None),
        };
        Ok(Some(self.base.symlink_metadata(&at)?.mode & 0o7777))
    }

    pub(crate) fn set_times(
        &self,
        path: &RelPath,
        accessed: Option<Timestamp>,
        modified: Option<Timestamp>,
    ) -> Result<(), Error> {
        let locked = self.begin()?;
        if let Standing::Dir = self.standing(&locked.state().tree.clone_spine(path), path)? {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "an overlay keeps no times of directories",
            ));
        }
        let id = self.own_object(&locked, path)?;
        Ok(self.store.set_times(&object_path(id), accessed, modified)?)
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
        Entry {
            was,
            now: Now::File(FileNode {
                content: Content::Object { id, sealed: false },
                origin,
            }),
        },
    )
}

pub(super) fn put(path: &RelPath, entry: Entry) -> Change {
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

pub(super) fn exists() -> Error {
    Error::new(ErrorKind::Exists, "something is there already")
}

/// The library's rule for links: relative, and not out of the mount.
fn require_beneath(target: &[u8], path: &RelPath) -> Result<(), Error> {
    let escape = || Error::new(ErrorKind::Escape, "the link would lead outside the mount");
    if target.is_empty() || target.contains(&0) {
        return Err(Error::new(ErrorKind::Invalid, "the target is not a path"));
    }
    if target.len() > 4095 {
        return Err(Error::new(ErrorKind::TooLong, "the target is too long"));
    }
    if target.first() == Some(&b'/') {
        return Err(escape());
    }
    let mut depth = path.depth().saturating_sub(1);
    for segment in target.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => depth = depth.checked_sub(1).ok_or_else(escape)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

/// Directories and links of the overlay: they use a name and no content.
pub(super) fn nodes_without_content(tree: &Tree) -> Vec<u64> {
    let mut found = Vec::new();
    tree.each(&mut |_, entry| match &entry.now {
        Now::Dir(dir) if dir.id != 0 => found.push(dir.id),
        Now::Link { id, .. } => found.push(*id),
        _ => {}
    });
    found
}
