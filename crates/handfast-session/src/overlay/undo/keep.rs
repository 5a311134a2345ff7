//! Before a commit: the contents that it is about to displace are kept in the session's store.
//!
//! A file that the session's own file replaces on the same filesystem needs no copy: the two change
//! places, and the base's own file is what is kept (see `commit::moving`). Everything else is copied
//! into one pack.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;

use handfast::files::FileHandle;
use handfast::{Durability, ErrorKind, Metadata, Version, WriteOptions};

use super::kept::{KeptFile, UndoRecord};
use super::{MAX_BYTES, Past};
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::attributes::{read_xattrs, write_xattrs};
use crate::overlay::commit::keep_times;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::store::{fresh_id, lost, object_path};
use crate::overlay::tree::{ContentLocation, FileNode, Now, Tree, Was, base_path, join};

/// So many files of the base are kept as they are for one commit; more are copied.
pub(super) const MAX_OWN: u64 = 1 << 20;

/// What a commit displaces, by where it lies in the base.
#[derive(Default)]
struct Displaced {
    files: Vec<(Vec<u8>, String)>,
    dirs: Vec<Vec<u8>>,
    /// Files that only move.
    moved: Vec<(Vec<u8>, String)>,
}

impl Displaced {
    fn by(items: &[ChangedName]) -> Self {
        let mut found = Self::default();
        for item in items {
            if let Some(home) = &item.home {
                found.add(home, &item.was);
            }
            match &item.what {
                What::File {
                    moved: Some((from, version)),
                    ..
                } => found.files.push((from.clone(), version.clone())),
                What::MoveFile { from, version } => {
                    found.moved.push((from.clone(), version.clone()));
                }
                What::MoveDir { from, .. } => found.dirs.push(from.clone()),
                What::DirMode { .. } => {
                    let home = item.home.as_ref().unwrap_or(&item.path);
                    found.dirs.push(home.clone());
                }
                _ => {}
            }
        }
        found
    }

    fn add(&mut self, home: &[u8], was: &Was) {
        let mut pending = vec![(home.to_vec(), was)];
        while let Some((at, was)) = pending.pop() {
            match was {
                Was::File(version) => self.files.push((at, version.clone())),
                Was::Dir(entries) => {
                    let inside = entries.iter();
                    pending.extend(inside.map(|(name, was)| (join(&at, name), was)));
                    self.dirs.push(at);
                }
                _ => {}
            }
        }
    }
}

/// The objects that a commit may move into the base.
#[derive(Default)]
pub(in crate::overlay) struct Movable {
    objects: BTreeSet<u64>,
}

impl Movable {
    /// The objects that are the content of one name and of no snapshot.
    pub(in crate::overlay) fn of(tree: &Tree) -> Self {
        let mut objects = BTreeSet::new();
        tree.each(&mut |_, entry| {
            if let Now::File(FileNode {
                content:
                    ContentLocation::Object {
                        id,
                        sealed: false,
                        linked: None,
                    },
                ..
            }) = &entry.now
            {
                objects.insert(*id);
            }
        });
        Self { objects }
    }
}

/// The record of a commit that is about to be made.
pub(in crate::overlay) struct UndoId {
    pub(in crate::overlay) id: u64,
    /// The paths to which the session's own files are moved.
    pub(in crate::overlay) moving: BTreeSet<Vec<u8>>,
}

impl Overlay {
    /// Keeps what a commit is about to displace. If that cannot be done the commit goes on, and the
    /// record says why it cannot be taken back. The number of the record, and that reason.
    pub(in crate::overlay) fn keep(
        &self,
        past: &Past<'_>,
        items: &[ChangedName],
        movable: &Movable,
    ) -> Result<(UndoId, Option<String>), Error> {
        let id = fresh_id()?;
        let mut kept = match self.keep_displaced(items, movable) {
            Ok(kept) => kept,
            Err(error) => UndoRecord {
                why_not: Some(format!("what it replaced is not kept: {}", error.detail())),
                ..UndoRecord::default()
            },
        };
        kept.commit = past.commit;
        kept.message = past.message.map(str::to_owned);
        if let Some(why) = past.why_not {
            self.drop_objects(kept.pack.into_iter().chain(kept.own_objects()))?;
            kept = UndoRecord {
                why_not: Some(why.to_owned()),
                commit: kept.commit,
                message: kept.message,
                ..UndoRecord::default()
            };
        }
        if let Err(error) = self.write_kept(id, &kept, None) {
            self.drop_objects(kept.pack.into_iter().chain(kept.own_objects()))?;
            return Err(error);
        }
        let why_not = kept.why_not.take();
        Ok((
            UndoId {
                id,
                moving: kept.moving.into_keys().collect(),
            },
            why_not,
        ))
    }

    /// As [`Overlay::keep`], where going on would lose something.
    pub(super) fn keep_displaced(
        &self,
        items: &[ChangedName],
        movable: &Movable,
    ) -> Result<UndoRecord, Error> {
        let mut displaced = Displaced::by(items);
        let mut kept = UndoRecord::default();
        for (path, version) in displaced.files.iter().chain(&displaced.moved) {
            kept.versions.insert(path.clone(), version.clone());
        }
        for path in &displaced.dirs {
            let status = self.base.symlink_metadata(&base_path(path)?)?;
            kept.modes.insert(path.clone(), status.mode & 0o7777);
        }
        for (_, version) in &displaced.files {
            let len = version.parse::<Version>()?.len();
            kept.bytes = kept.bytes.saturating_add(len);
        }
        if kept.bytes > MAX_BYTES {
            let bytes = kept.bytes;
            return Err(Error::refused(
                ErrorKind::Limit,
                format!("{bytes} bytes are more than the {MAX_BYTES} that are kept"),
            ));
        }
        let pack = fresh_id()? >> 1;
        if !displaced.files.is_empty() {
            kept.pack = Some(pack);
        }
        let done = self.keep_moving(items, movable, pack, &mut kept);
        let done = done.and_then(|()| {
            let files = &mut displaced.files;
            files.retain(|(path, _)| !kept.files.contains_key(path));
            self.pack(pack, files, &mut kept)
        });
        match done {
            Ok(()) => Ok(kept),
            Err(error) => {
                self.drop_objects([pack].into_iter().chain(kept.own_objects()))?;
                Err(error)
            }
        }
    }

    /// Notes the files of the session that can be moved into the base, and the files of the base that
    /// they change places with.
    fn keep_moving(
        &self,
        items: &[ChangedName],
        movable: &Movable,
        pack: u64,
        kept: &mut UndoRecord,
    ) -> Result<(), Error> {
        let mut next = pack;
        for item in items {
            let What::File {
                object,
                moved: None,
            } = item.what
            else {
                continue;
            };
            if !movable.objects.contains(&object) || next - pack >= MAX_OWN {
                continue;
            }
            let ours = self.store.symlink_metadata(&object_path(object));
            let ours = ours.map_err(lost)?;
            let Some(old) = self.can_move(item, &ours)? else {
                continue;
            };
            if let Some(old) = old {
                next += 1;
                self.account
                    .charge(self.key(next), old.len, true, Some(self.key(object)))?;
                let file = KeptFile {
                    id: next,
                    offset: 0,
                    len: old.len,
                    mode: old.mode & 0o777,
                    accessed: old.accessed,
                    modified: old.modified,
                    own: true,
                    attributes: Vec::new(),
                };
                kept.files.insert(item.path.clone(), file);
            }
            let version = Version::of_metadata(&ours).to_string();
            kept.moving.insert(item.path.clone(), version);
        }
        Ok(())
    }

    /// Whether an object can become the base's file: nothing else is its content, and its place is on
    /// the same mount. With the file that it replaces, which has to be of the same owner: to others
    /// the new file is given, and an object that is not committed in the end must stay ours.
    fn can_move(
        &self,
        item: &ChangedName,
        ours: &Metadata,
    ) -> Result<Option<Option<Metadata>>, Error> {
        let same_mount = |status: &Metadata| {
            let (one, other) = (&status.identity, &ours.identity);
            (one.device, one.mount) == (other.device, other.mount)
        };
        if ours.nlink != 1 || ours.mode & 0o7000 != 0 {
            return Ok(None);
        }
        match (&item.was, &item.home) {
            (Was::File(version), Some(home)) if *home == item.path => {
                let old = self.base.symlink_metadata(&base_path(home)?)?;
                let version: Version = version.parse()?;
                let fits = version.is_of(&old)
                    && same_mount(&old)
                    && old.nlink == 1
                    && (old.uid, old.gid) == (ours.uid, ours.gid);
                Ok(fits.then_some(Some(old)))
            }
            (Was::Absent, _) => {
                // A directory that is new itself lies where the next one above it does.
                let mut above = crate::overlay::tree::split(&item.path).0;
                loop {
                    match self.base.symlink_metadata(&base_path(above)?) {
                        // Set-group-id: what is made in it gets its group.
                        Ok(dir) => {
                            let fits = same_mount(&dir) && dir.mode & 0o2000 == 0;
                            return Ok(fits.then_some(None));
                        }
                        Err(_) if !above.is_empty() => above = crate::overlay::tree::split(above).0,
                        Err(error) => return Err(error),
                    }
                }
            }
            _ => Ok(None),
        }
    }

    fn pack(
        &self,
        id: u64,
        files: &[(Vec<u8>, String)],
        kept: &mut UndoRecord,
    ) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        let mut bytes: u64 = 0;
        for (_, version) in files {
            bytes += version.parse::<Version>()?.len();
        }
        self.account.charge(self.key(id), bytes, true, None)?;
        let options = WriteOptions::new().mode(0o600).durability(Durability::File);
        let staged = self.store.stage(&object_path(id), options)?;
        let mut out = BufWriter::with_capacity(256 * 1024, staged);
        let mut buffer = vec![0; 64 * 1024];
        let mut offset = 0;
        for (path, version) in files {
            let version: Version = version.parse()?;
            let open = self.base.open(&base_path(path)?)?;
            let status = *open.metadata();
            if !version.is_of(&status) {
                return Err(changed_meanwhile());
            }
            copy_out(&open, status.len, &mut buffer, &mut out)?;
            // What was copied is the version that the session saw.
            let is_still_it = match version.digest() {
                Some(_) => FileHandle::version(&open, true)? == version,
                None => version.is_of(&open.metadata_now()?),
            };
            if !is_still_it {
                return Err(changed_meanwhile());
            }
            let file = KeptFile {
                id: fresh_id()?,
                offset,
                len: status.len,
                mode: status.mode & 0o777,
                accessed: status.accessed,
                modified: status.modified,
                own: false,
                attributes: read_xattrs(&open)?,
            };
            offset += status.len;
            kept.files.insert(path.clone(), file);
        }
        let staged = out.into_inner().map_err(|error| error.into_error())?;
        staged.commit_new()?;
        Ok(())
    }

    /// Makes objects of files that are kept. What a killed process left under their numbers goes.
    pub(super) fn unpack(&self, kept: &UndoRecord, ids: &BTreeSet<u64>) -> Result<(), Error> {
        let files = kept.files.values().filter(|file| ids.contains(&file.id));
        let (own, packed): (Vec<_>, Vec<_>) = files.partition(|file| file.own);
        for file in own {
            self.account
                .charge(self.key(file.id), file.len, true, None)?;
            let object = object_path(file.id);
            self.store.chmod(&object, file.mode).map_err(lost)?;
        }
        let Some(pack) = kept.pack.filter(|_| !packed.is_empty()) else {
            return Ok(());
        };
        let pack = self.store.open(&object_path(pack)).map_err(lost)?;
        let pack = pack.into_std();
        for file in packed {
            self.drop_objects([file.id])?;
            self.account
                .charge(self.key(file.id), file.len, true, None)?;
            if let Err(error) = self.unpack_one(&pack, file) {
                self.account.refund(self.key(file.id))?;
                return Err(error);
            }
        }
        Ok(())
    }

    fn unpack_one(&self, pack: &File, file: &KeptFile) -> Result<(), Error> {
        let options = WriteOptions::new()
            .mode(file.mode)
            .durability(Durability::None);
        let mut staged = self.store.stage(&object_path(file.id), options)?;
        let mut buffer = vec![0; 64 * 1024];
        let mut at = file.offset;
        let end = file.offset + file.len;
        while at < end {
            let most =
                usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
            match pack.read_at(&mut buffer[..most], at)? {
                0 => return Err(lost_content()),
                got => {
                    staged.write_all(&buffer[..got])?;
                    at += got as u64;
                }
            }
        }
        write_xattrs(&staged, &file.attributes)?;
        keep_times(&staged, file.accessed, file.modified)?;
        staged.commit_new()?;
        Ok(())
    }
}

/// Copies a file of a known length. A shorter one was changed meanwhile.
fn copy_out(
    file: &handfast::File,
    len: u64,
    buffer: &mut [u8],
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut at = 0;
    while at < len {
        let most = usize::try_from(len - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        match FileHandle::read_at(file, &mut buffer[..most], at)? {
            0 => return Err(changed_meanwhile()),
            got => {
                out.write_all(&buffer[..got])?;
                at += got as u64;
            }
        }
    }
    Ok(())
}

fn changed_meanwhile() -> Error {
    Error::refused(ErrorKind::Stale, "a file was changed in the base meanwhile")
}

fn lost_content() -> Error {
    Error::refused(
        ErrorKind::Stale,
        "the earlier content that the session kept is shorter than it was",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::base::tests::empty_overlay;

    /// The commit was judged for one content, and somebody wrote another one of the same length.
    #[test]
    fn content_of_the_same_length_is_not_kept_for_the_one_that_was_seen() {
        let (overlay, base, _dirs) = empty_overlay();
        let path = handfast::RelPath::parse("f").unwrap();
        let seen = base.write(&path, "seen").and_then(|_| base.version(&path));
        let files = [(b"f".to_vec(), seen.unwrap().to_string())];
        let mut kept = UndoRecord::default();
        overlay.pack(1, &files, &mut kept).unwrap();
        assert_eq!(kept.files.len(), 1);
        for replace in [true, false] {
            match replace {
                true => drop(base.write(&path, "else").unwrap()),
                false => {
                    let file = base.open_with(&path, handfast::OpenOptions::new().write(true));
                    FileHandle::write_at(&file.unwrap(), b"more", 0).unwrap();
                }
            }
            let mut kept = UndoRecord::default();
            let error = overlay.pack(2, &files, &mut kept).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stale);
            assert!(kept.files.is_empty());
        }
    }
}
