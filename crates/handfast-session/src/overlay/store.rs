//! The files that hold new content, named by number.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use handfast::{Durability, ErrorKind, OpenOptions, RelPath, Staged, WriteOptions, Written};
use rustix::fs::FlockOperation;

use super::attributes::bytes_of;
use super::{Overlay, State};
use crate::error::Error;
use crate::gate::Locked;
use crate::meter::Key;

/// What is written.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Bytes(&'a [u8]),
    /// A file, from its beginning and no longer than this: that is what is charged.
    File(&'a File, u64),
}

impl<'a> Source<'a> {
    /// A file as long as it is now.
    pub(crate) fn of_file(file: &'a File) -> Result<Self, Error> {
        Ok(Self::File(file, file.metadata()?.len()))
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    /// Writes it into a staged file: shared blocks where the filesystem can, a copy otherwise.
    pub(crate) fn fill(&self, staged: &mut Staged) -> Result<u64, Error> {
        match self {
            Self::Bytes(bytes) => {
                staged.write_all(bytes)?;
                Ok(bytes.len() as u64)
            }
            Self::File(file, len) => handfast::copy_open(file, staged.as_fd(), *len),
        }
    }
}

/// The permission bits of a new object.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewMode {
    /// Exactly these.
    Exact(u32),
    /// Those of any new file.
    Usual,
    /// What the umask leaves of these.
    Umask(u32),
}

pub(super) fn object_path(id: u64) -> RelPath {
    RelPath::parse(format!("{id:016x}")).expect("a number is a name")
}

pub(crate) fn fresh_id() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes).max(1))
}

impl Overlay {
    /// Puts content into the store, charged before it is written. `freed` will be removed by the
    /// same change and counts as gone.
    pub(super) fn put_object(
        &self,
        source: Source<'_>,
        mode: NewMode,
        freed: Option<u64>,
        durability: Durability,
    ) -> Result<(u64, Written), Error> {
        let id = fresh_id()?;
        let freed = freed.map(|id| self.key(id));
        self.account
            .charge(self.key(id), source.len(), true, freed)?;
        let written = self.write_object(id, source, mode, durability);
        if written.is_err() {
            self.account.refund(self.key(id))?;
        }
        Ok((id, written?))
    }

    fn write_object(
        &self,
        id: u64,
        source: Source<'_>,
        mode: NewMode,
        durability: Durability,
    ) -> Result<Written, Error> {
        let options = WriteOptions::new().durability(durability);
        let options = match mode {
            NewMode::Exact(mode) => options.mode(mode),
            NewMode::Usual => options,
            NewMode::Umask(mode) => options.mode(self.under_umask(mode)?),
        };
        let path = object_path(id);
        match source {
            Source::Bytes(bytes) => Ok(self.store.write_new_with(&path, bytes, options)?),
            Source::File(..) => {
                let mut staged = self.store.stage(&path, options)?;
                source.fill(&mut staged)?;
                Ok(staged.commit_new()?)
            }
        }
    }

    /// What the umask leaves of a mode. The kernel is asked once, by making a file: asking for the
    /// umask itself would set it for the whole process.
    fn under_umask(&self, mode: u32) -> Result<u32, Error> {
        if let Some(left) = self.umask.get() {
            return Ok(mode & left);
        }
        let probe = object_path(fresh_id()?);
        let how = OpenOptions::new().write(true).create_new(true).mode(0o777);
        let made = self.store.open_with(&probe, how)?;
        let left = made.metadata().mode & 0o777;
        self.store.remove_file(&probe)?;
        Ok(mode & *self.umask.get_or_init(|| left))
    }

    /// Opens an object. One that is open for writing is marked as such for as long as it is.
    pub(super) fn open_object(
        &self,
        id: u64,
        how: OpenOptions,
        writes: bool,
    ) -> Result<handfast::File, Error> {
        let file = self.store.open_with(&object_path(id), how).map_err(lost)?;
        if writes {
            mark_written(&file)?;
        }
        Ok(file)
    }

    /// Whether somebody has an object open for writing.
    pub(super) fn is_being_written(&self, id: u64) -> Result<bool, Error> {
        Ok(self.open_settled(id)?.1)
    }

    /// Opens an object for reading, and says whether somebody has it open for writing.
    pub(super) fn open_settled(&self, id: u64) -> Result<(handfast::File, bool), Error> {
        let file = self.open_object(id, OpenOptions::new(), false)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                rustix::fs::flock(&file, FlockOperation::Unlock)?;
                Ok((file, false))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok((file, true)),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes objects that nothing names any more.
    pub(super) fn drop_objects(&self, ids: impl IntoIterator<Item = u64>) -> Result<(), Error> {
        for id in ids {
            match self.store.remove_file(&object_path(id)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            self.account.refund(self.key(id))?;
            self.account.refund(self.attribute_key(id))?;
        }
        Ok(())
    }

    /// Removes what no tree names: left by a process that was killed between content and record.
    pub(super) fn collect(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let mut named: BTreeSet<u64> = locked.state().tree.objects().into_iter().collect();
        for (_, tree) in self.snapshot_trees()? {
            named.extend(tree.objects());
        }
        let kept = self.collect_kept(&locked.state().tree)?;
        let is_named = |id: u64| named.contains(&id) || kept.iter().any(|all| all.contains(&id));
        let mut stray = Vec::new();
        let mut listing = self.store.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            let name = String::from_utf8_lossy(entry.name().as_bytes()).into_owned();
            match u64::from_str_radix(&name, 16) {
                Ok(id) if name.len() == 16 && is_named(id) => {}
                _ => stray.push(entry.name().to_name()),
            }
        }
        drop(listing);
        self.store.recover(&RelPath::root())?;
        for name in stray {
            match self.store.remove_tree(&RelPath::from(&name)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Counts what is there, for the account.
    pub(super) fn recount(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        if !self.account.is_counting() {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut listing = self.store.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            let name = String::from_utf8_lossy(entry.name().as_bytes()).into_owned();
            if let Ok(id) = u64::from_str_radix(&name, 16) {
                found.push((self.key(id), entry.metadata()?.len, 1));
                let attributes = self.xattrs_of(id);
                if !attributes.is_empty() {
                    found.push((self.attribute_key(id), bytes_of(&attributes), 0));
                }
            }
        }
        for id in super::change::nodes_without_content(&locked.state().tree) {
            found.push((self.key(id), 0, 1));
        }
        self.account.recount(self.mount, found)
    }

    pub(super) fn key(&self, id: u64) -> Key {
        Key {
            mount: self.mount,
            device: 0,
            number: id,
        }
    }
}

/// Says that an object is open for writing, for as long as it is.
pub(super) fn mark_written(file: &handfast::File) -> Result<(), Error> {
    // Never waits: only snapshots and commits ask whether anybody has it.
    Ok(rustix::fs::flock(file, FlockOperation::LockShared)?)
}

/// An object that should be there and is not was removed behind our back.
pub(super) fn lost(error: handfast::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::refused(
            ErrorKind::Stale,
            "the overlay's content for this file is gone: it was removed from outside",
        ),
        _ => error,
    }
}
