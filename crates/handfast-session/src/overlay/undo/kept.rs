//! What a commit displaced, as a record in the session's store.
//!
//! A record has a head, and behind it the changes that take the commit back: an overlay's tree over
//! the base as the commit left it. The contents lie one behind the other in a single object of the
//! store, which costs a commit of many files one new file and not as many again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use handfast::{ErrorKind, RelPath, Timestamp};

use super::keep::MAX_OWN;
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::log::{Log, News};
use crate::overlay::attributes::Xattrs;
use crate::overlay::record::{self, read_string};
use crate::overlay::tree::{Change, NodeEntry, Now, Tree, UndoMark, Was};
use crate::overlay::{Overlay, UNDO};

/// A file as the base had it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct KeptFile {
    /// The number that its object gets when the commit is taken back.
    pub(super) id: u64,
    /// Where its content begins in the pack, and how long it is.
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) mode: u32,
    pub(super) accessed: Timestamp,
    pub(super) modified: Timestamp,
    /// It is the base's own file, which the commit moved into the store, and no part of the pack.
    pub(super) own: bool,
    /// Its extended attributes, where it is a part of the pack.
    pub(super) attributes: Xattrs,
}

/// The head of a record.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct UndoRecord {
    /// Which commit: when it was made, in nanoseconds. Commits of several mounts share it.
    pub(crate) commit: u64,
    pub(crate) message: Option<String>,
    /// Why the commit cannot be taken back.
    pub(crate) why_not: Option<String>,
    /// The object that holds the contents; nothing where none was displaced. Files of the base that
    /// were moved into the store have the numbers behind it.
    pub(super) pack: Option<u64>,
    /// How long all contents are.
    pub(crate) bytes: u64,
    /// By where they were in the base.
    pub(super) files: BTreeMap<Vec<u8>, KeptFile>,
    /// The modes of directories, likewise.
    pub(super) modes: BTreeMap<Vec<u8>, u32>,
    /// The versions of files that were displaced or moved, likewise.
    pub(super) versions: BTreeMap<Vec<u8>, String>,
    /// What the session itself shows under names that an undo gives back to the base for a moment.
    pub(super) stash: Vec<(Vec<u8>, Now)>,
    /// Versions of the session's own files that are moved into the base, by their new paths: what
    /// tells a process that ends the commit how far it came.
    pub(in crate::overlay) moving: BTreeMap<Vec<u8>, String>,
}

impl UndoRecord {
    /// What the journal says of it.
    pub(super) fn mark(&self, record: u64) -> UndoMark {
        UndoMark {
            record,
            commit: self.commit,
            pack: self.pack.unwrap_or(0),
            bytes: self.bytes,
        }
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(2);
        out.number(self.commit);
        for text in [&self.message, &self.why_not] {
            out.option(text.as_ref(), |out, text| out.text(text.as_bytes()));
        }
        out.number(self.pack.unwrap_or(0));
        out.number(self.bytes);
        out.number(self.files.len() as u64);
        for (path, file) in &self.files {
            out.text(path);
            for number in [file.id, file.offset, file.len, u64::from(file.mode)] {
                out.number(number);
            }
            for time in [file.accessed, file.modified] {
                out.number(time.seconds.cast_unsigned());
                out.number(u64::from(time.nanoseconds));
            }
            out.byte(u8::from(file.own));
            out.number(file.attributes.len() as u64);
            for (name, value) in &file.attributes {
                out.text(name);
                out.text(value);
            }
        }
        out.number(self.modes.len() as u64);
        for (path, mode) in &self.modes {
            out.text(path);
            out.number(u64::from(*mode));
        }
        out.number(self.versions.len() as u64);
        for (path, version) in &self.versions {
            out.text(path);
            out.text(version.as_bytes());
        }
        let stash = self.stash.iter().map(|(path, now)| Change::Put {
            path: path.clone(),
            entry: NodeEntry {
                was: Was::Absent,
                now: now.clone(),
            },
        });
        out.text(&record::write(&stash.collect::<Vec<_>>()));
        out.number(self.moving.len() as u64);
        for (path, version) in &self.moving {
            out.text(path);
            out.text(version.as_bytes());
        }
        out.bytes
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        // The first form kept no attributes, and had all contents in the pack.
        let form = input.byte()?;
        if !(1..=2).contains(&form) {
            return Err(unknown());
        }
        let mut kept = Self {
            commit: input.number()?,
            message: input.option(read_string)?,
            why_not: input.option(read_string)?,
            pack: Some(input.number()?).filter(|id| *id != 0),
            bytes: input.number()?,
            ..Self::default()
        };
        let small = |number: u64| u32::try_from(number).map_err(|_| unknown());
        for _ in 0..input.number()? {
            let path = input.text()?.to_vec();
            let (id, offset, len) = (input.number()?, input.number()?, input.number()?);
            let mode = small(input.number()?)?;
            let mut time = || -> Result<Timestamp, Error> {
                Ok(Timestamp {
                    seconds: input.number()?.cast_signed(),
                    nanoseconds: small(input.number()?)?,
                })
            };
            let (accessed, modified) = (time()?, time()?);
            let (mut own, mut attributes) = (false, Vec::new());
            if form > 1 {
                own = input.byte()? == 1;
                for _ in 0..input.number()? {
                    attributes.push((input.text()?.to_vec(), input.text()?.to_vec()));
                }
            }
            let file = KeptFile {
                id,
                offset,
                len,
                mode,
                accessed,
                modified,
                own,
                attributes,
            };
            kept.files.insert(path, file);
        }
        for _ in 0..input.number()? {
            let path = input.text()?.to_vec();
            kept.modes.insert(path, small(input.number()?)?);
        }
        for _ in 0..input.number()? {
            let path = input.text()?.to_vec();
            kept.versions.insert(path, read_string(&mut input)?);
        }
        for change in record::read(input.text()?)? {
            match change {
                Change::Put { path, entry } => kept.stash.push((path, entry.now)),
                _ => return Err(unknown()),
            }
        }
        if form > 1 {
            for _ in 0..input.number()? {
                let path = input.text()?.to_vec();
                kept.moving.insert(path, read_string(&mut input)?);
            }
        }
        Ok(kept)
    }

    /// The numbers of files of the base that lie in the store, or will.
    pub(super) fn own_objects(&self) -> impl Iterator<Item = u64> {
        let own = self.files.values().filter(|file| file.own);
        own.map(|file| file.id)
    }

    /// The number that the file of the base at a path gets in the store when it is replaced.
    pub(in crate::overlay) fn own_object(&self, path: &[u8]) -> Option<u64> {
        let file = self.files.get(path).filter(|file| file.own)?;
        Some(file.id)
    }
}

impl Overlay {
    /// Writes a record: its head, and the changes that take the commit back once they are known.
    pub(super) fn write_kept(
        &self,
        id: u64,
        kept: &UndoRecord,
        back: Option<&Tree>,
    ) -> Result<(), Error> {
        match self.home.create_dir_with(&RelPath::parse(UNDO)?, 0o700) {
            Err(error) if error.kind() != ErrorKind::Exists => return Err(error),
            _ => {}
        }
        let mut records = vec![kept.write()];
        records.extend(back.into_iter().flat_map(record::of_tree));
        Log::replace(&self.home, &record_name(id), &records)
    }

    /// Reads a record.
    pub(in crate::overlay) fn read_kept(&self, id: u64) -> Result<(UndoRecord, Tree), Error> {
        let (mut kept, mut tree) = (None, Tree::new());
        let mut log = Log::open(&self.home, &record_name(id))?;
        log.catch_up(false, |bytes| {
            if kept.is_none() {
                kept = Some(UndoRecord::read(bytes)?);
                return Ok(());
            }
            record::read(bytes)?
                .into_iter()
                .try_for_each(|change| tree.apply(change))
        })?;
        match kept.filter(|_| log.news().is_ok_and(|news| news == News::None)) {
            Some(kept) => Ok((kept, tree)),
            None => Err(Error::refused(
                ErrorKind::Stale,
                "the record of a commit was changed from outside",
            )),
        }
    }

    /// Removes records with what they keep, but for objects that are a session's again. Nothing names
    /// them any more.
    pub(in crate::overlay) fn drop_kept(
        &self,
        ids: &[u64],
        named: &BTreeSet<u64>,
    ) -> Result<(), Error> {
        for id in ids {
            if let Ok((kept, _)) = self.read_kept(*id) {
                self.drop_objects(kept.pack)?;
                self.drop_objects(kept.own_objects().filter(|id| !named.contains(id)))?;
            }
            match self.home.remove_file(&RelPath::parse(record_name(*id))?) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The numbers that the records of a tree keep for their objects. Records that it does not name are
    /// removed.
    pub(in crate::overlay) fn collect_kept(
        &self,
        tree: &Tree,
    ) -> Result<Vec<RangeInclusive<u64>>, Error> {
        let numbers = |mark: &UndoMark| mark.pack..=mark.pack.saturating_add(MAX_OWN);
        let packs = tree.undo.iter().filter(|mark| mark.pack != 0);
        let packs: Vec<_> = packs.map(numbers).collect();
        let dir = match self.home.open_dir(&RelPath::parse(UNDO)?) {
            Ok(dir) => dir.into_root(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(packs),
            Err(error) => return Err(error),
        };
        dir.recover(&RelPath::root())?;
        let named = tree.undo.iter().map(|mark| format!("{:016x}", mark.record));
        let named: Vec<String> = named.collect();
        let mut stray = Vec::new();
        let mut listing = dir.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            if !named
                .iter()
                .any(|name| name.as_bytes() == entry.name().as_bytes())
            {
                stray.push(entry.name().to_name());
            }
        }
        drop(listing);
        for name in stray {
            dir.remove_tree(&RelPath::from(&name))?;
        }
        Ok(packs)
    }
}

fn record_name(id: u64) -> String {
    format!("{UNDO}/{id:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::tree::{ContentLocation, FileNode};

    #[test]
    fn a_head_survives_the_round_trip_and_a_cut_one_is_an_error() {
        let time = |seconds| Timestamp {
            seconds,
            nanoseconds: 7,
        };
        let file = KeptFile {
            id: 1,
            offset: 2,
            len: 3,
            mode: 0o640,
            accessed: time(-4),
            modified: time(5),
            own: true,
            attributes: vec![(b"user.a".to_vec(), b"\0".to_vec())],
        };
        let content = ContentLocation::Object {
            id: 9,
            sealed: false,
            linked: None,
        };
        let node = FileNode {
            content,
            origin: None,
        };
        let kept = UndoRecord {
            commit: 8,
            message: Some("why".into()),
            why_not: Some("too large".into()),
            pack: Some(6),
            bytes: 12,
            files: BTreeMap::from([(b"a/\xff".to_vec(), file)]),
            modes: BTreeMap::from([(b"d".to_vec(), 0o700)]),
            versions: BTreeMap::from([(b"v".to_vec(), "v1.x".to_owned())]),
            stash: vec![(b"s".to_vec(), Now::File(node)), (b"g".to_vec(), Now::Gone)],
            moving: BTreeMap::from([(b"m".to_vec(), "v1.y".to_owned())]),
        };
        let bytes = kept.write();
        assert_eq!(UndoRecord::read(&bytes).unwrap(), kept);
        for end in 0..bytes.len() {
            assert!(UndoRecord::read(&bytes[..end]).is_err(), "{end}");
        }
    }
}
