//! Before a commit: the contents that it is about to displace are copied into the session's store.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;

use handfast::{Durability, ErrorKind, Version, WriteOptions};

use super::kept::{Kept, KeptFile};
use super::{MAX_BYTES, Past};
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::commit::keep_times;
use crate::overlay::items::{Item, What};
use crate::overlay::store::{fresh_id, lost, object_path};
use crate::overlay::tree::{Was, base_path, join};

/// What a commit displaces, by where it lies in the base.
#[derive(Default)]
struct Displaced {
    files: Vec<(Vec<u8>, String)>,
    dirs: Vec<Vec<u8>>,
    /// Files that only move.
    moved: Vec<(Vec<u8>, String)>,
}

impl Displaced {
    fn by(items: &[Item]) -> Self {
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

impl Overlay {
    /// Keeps what a commit is about to displace. If that cannot be done the commit goes on, and the
    /// record says why it cannot be taken back. The number of the record, and that reason.
    pub(in crate::overlay) fn keep(
        &self,
        past: &Past<'_>,
        items: &[Item],
    ) -> Result<(u64, Option<String>), Error> {
        let id = fresh_id()?;
        let mut kept = match self.keep_displaced(items) {
            Ok(kept) => kept,
            Err(error) => Kept {
                why_not: Some(format!("what it replaced is not kept: {}", error.detail())),
                ..Kept::default()
            },
        };
        kept.commit = past.commit;
        kept.message = past.message.map(str::to_owned);
        if let Some(why) = past.why_not {
            self.drop_objects(kept.pack)?;
            kept = Kept {
                why_not: Some(why.to_owned()),
                commit: kept.commit,
                message: kept.message,
                ..Kept::default()
            };
        }
        self.write_kept(id, &kept, None)?;
        Ok((id, kept.why_not))
    }

    /// As [`Overlay::keep`], where going on would lose something.
    pub(super) fn keep_displaced(&self, items: &[Item]) -> Result<Kept, Error> {
        let displaced = Displaced::by(items);
        let mut kept = Kept::default();
        for (path, version) in displaced.files.iter().chain(&displaced.moved) {
            kept.versions.insert(path.clone(), version.clone());
        }
        for path in &displaced.dirs {
            let status = self.base.symlink_metadata(&base_path(path)?)?;
            kept.modes.insert(path.clone(), status.mode & 0o7777);
        }
        let mut bytes: u64 = 0;
        for (_, version) in &displaced.files {
            bytes = bytes.saturating_add(version.parse::<Version>()?.len());
        }
        if bytes > MAX_BYTES {
            return Err(Error::refused(
                ErrorKind::Limit,
                format!("{bytes} bytes are more than the {MAX_BYTES} that are kept"),
            ));
        }
        if displaced.files.is_empty() {
            return Ok(kept);
        }
        let pack = fresh_id()?;
        self.account.charge(self.key(pack), bytes, true, None)?;
        match self.pack(pack, &displaced.files, &mut kept) {
            Ok(()) => Ok(kept),
            Err(error) => {
                self.drop_objects([pack])?;
                Err(error)
            }
        }
    }

    fn pack(&self, id: u64, files: &[(Vec<u8>, String)], kept: &mut Kept) -> Result<(), Error> {
        let options = WriteOptions::new().mode(0o600).durability(Durability::File);
        let staged = self.store.stage(&object_path(id), options)?;
        let mut out = BufWriter::with_capacity(256 * 1024, staged);
        let mut buffer = vec![0; 64 * 1024];
        let mut offset = 0;
        for (path, version) in files {
            let version: Version = version.parse()?;
            let open = self.base.open(&base_path(path)?)?;
            let status = *open.metadata();
            if status.len != version.len() {
                return Err(Error::refused(
                    ErrorKind::Stale,
                    "a file was changed in the base meanwhile",
                ));
            }
            copy_out(&open.into_std(), status.len, &mut buffer, &mut out)?;
            let file = KeptFile {
                id: fresh_id()?,
                offset,
                len: status.len,
                mode: status.mode & 0o777,
                accessed: status.accessed,
                modified: status.modified,
            };
            offset += status.len;
            kept.files.insert(path.clone(), file);
        }
        let staged = out.into_inner().map_err(|error| error.into_error())?;
        staged.commit_new()?;
        kept.pack = Some(id);
        kept.bytes = offset;
        Ok(())
    }

    /// Makes objects of files that are kept. What a killed process left under their numbers goes.
    pub(super) fn unpack(&self, kept: &Kept, ids: &BTreeSet<u64>) -> Result<(), Error> {
        let Some(pack) = kept.pack else {
            return Ok(());
        };
        let pack = self.store.open(&object_path(pack)).map_err(lost)?;
        let pack = pack.into_std();
        for file in kept.files.values().filter(|file| ids.contains(&file.id)) {
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
        keep_times(&staged, file.accessed, file.modified)?;
        staged.commit_new()?;
        Ok(())
    }
}

/// Copies a file of a known length. A shorter one was changed meanwhile.
fn copy_out(file: &File, len: u64, buffer: &mut [u8], out: &mut impl Write) -> Result<(), Error> {
    let mut at = 0;
    while at < len {
        let most = usize::try_from(len - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        match file.read_at(&mut buffer[..most], at) {
            Ok(0) => {
                return Err(Error::refused(
                    ErrorKind::Stale,
                    "a file became shorter in the base meanwhile",
                ));
            }
            Ok(got) => {
                out.write_all(&buffer[..got])?;
                at += got as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn lost_content() -> Error {
    Error::refused(
        ErrorKind::Stale,
        "the earlier content that the session kept is shorter than it was",
    )
}
