//! Writes what others read: tiles, then the checkpoint, then where that leaves off.
//!
//! Only what is synced is published: a checkpoint that others have seen must never be larger than
//! what a crash leaves.

use handfast::Durability;

use super::ledger::{Shared, hold};
use super::recover::Place;
use crate::error::{Error, ErrorKind};
use crate::event::U64;
use crate::level::Level;
use crate::merkle::Hash;
use crate::published::CHECKPOINT;
use crate::segment::{self, Item};
use crate::state::{self, State};
use crate::store::Store;
use crate::tiles::TileWriter;

/// How far others have been told.
#[derive(Debug)]
pub(crate) struct Publisher {
    tiles: TileWriter,
    /// Behind the last batch that is in the tiles.
    place: Place,
    published: u64,
}

impl Publisher {
    /// Takes up where the published checkpoint ends; if its tiles are not there, from the start.
    pub(crate) fn resume(
        store: &Store,
        published: Option<(u64, Hash)>,
        place: Option<Place>,
    ) -> Result<Self, Error> {
        if let (Some((size, root)), Some(place)) = (published, place)
            && let Some(tiles) = TileWriter::resume(store, size, root)?
        {
            return Ok(Self {
                tiles,
                place,
                published: size,
            });
        }
        match segment::list(store)?.first() {
            None | Some(0) => Ok(Self {
                tiles: TileWriter::default(),
                place: Place {
                    segment: 0,
                    offset: 0,
                },
                published: 0,
            }),
            Some(_) => Err(Error::new(
                ErrorKind::Corrupt,
                "the tiles do not fit the checkpoint, and the events to make them anew were pruned",
            )),
        }
    }

    /// The segment that the next publication reads.
    pub(crate) fn segment(&self) -> u64 {
        self.place.segment
    }

    /// Feeds the tiles from the segments up to a place.
    fn feed(&mut self, store: &Store, to: Place, size: u64) -> Result<(), Error> {
        use std::os::unix::fs::FileExt;
        while self.tiles.size() < size {
            let name = segment::name(self.place.segment);
            let file = store
                .open_read(&name)?
                .ok_or_else(|| Error::corrupt(self.tiles.size(), "a segment is missing"))?;
            let length = file
                .metadata()
                .map_err(|error| Error::os("looking at a segment", error))?
                .len();
            let end = if self.place.segment == to.segment {
                to.offset
            } else {
                length
            };
            let wanted = usize::try_from(end.saturating_sub(self.place.offset)).unwrap_or(0);
            let mut bytes = vec![0; wanted];
            file.read_exact_at(&mut bytes, self.place.offset)
                .map_err(|error| Error::os("reading a segment", error))?;
            let mut start = 0;
            if self.place.offset == 0 {
                let header = segment::read_header(&bytes);
                start = header.map_or(0, |(_, end)| end);
            }
            let (tiles, base) = (&mut self.tiles, self.place.offset + start as u64);
            let scan = segment::scan(&bytes[start..], base, tiles.size(), |item, _| match item {
                Item::Event { leaf, .. } if tiles.size() < size => tiles.append(store, leaf),
                _ => Ok(()),
            })?;
            self.place.offset = scan.end;
            if self.tiles.size() < size {
                if self.place.segment == to.segment {
                    return Err(Error::corrupt(self.tiles.size(), "events are missing"));
                }
                self.place = Place {
                    segment: self.tiles.size(),
                    offset: 0,
                };
            }
        }
        Ok(())
    }
}

impl Shared {
    /// Signs and syncs what has been written, without holding up who writes.
    pub(crate) fn sync_behind(&self) -> Result<(), Error> {
        // One at a time: whoever comes second learns that the first is done, or that it failed. An
        // error is told to one caller only, so that a second sync would seem to have succeeded.
        let _turn = hold(&self.syncing);
        self.check()?;
        let mut core = hold(&self.core);
        let pending = match core.begin_sync() {
            Ok(Some(pending)) => pending,
            Ok(None) => return Ok(()),
            Err(error) => return Err(self.poison(&error)),
        };
        drop(core);
        match self.disk.sync(&pending.file) {
            Ok(()) => {
                hold(&self.core).end_sync(pending);
                Ok(())
            }
            Err(error) => Err(self.poison(&error)),
        }
    }

    /// Signs, syncs and publishes everything.
    pub(crate) fn publish_now(&self) -> Result<(), Error> {
        let synced = self.sync_behind();
        // A full log is published with its last event.
        if self
            .poison
            .get()
            .is_none_or(|error| error.kind() == ErrorKind::Full)
        {
            self.publish_synced()?;
        }
        synced
    }

    /// Publishes what is synced.
    pub(crate) fn publish_synced(&self) -> Result<(), Error> {
        let mut publisher = hold(&self.publisher);
        let Some(signed) = hold(&self.core).signed.clone() else {
            return Ok(());
        };
        let size = signed.checkpoint.size;
        if size <= publisher.published {
            return Ok(());
        }
        let strict = self.level == Level::Strict;
        publisher.feed(&self.store, signed.place, size)?;
        publisher.tiles.flush(&self.store, strict)?;
        let durability = if strict {
            Durability::Full
        } else {
            Durability::File
        };
        self.store.write(CHECKPOINT, &signed.note, durability)?;
        publisher.published = size;
        // The tiles may end before the checkpoint's frame; both are behind the same batch.
        publisher.place = signed.place;
        let state = State {
            version: 1,
            segment: U64(signed.place.segment),
            offset: U64(signed.place.offset),
            size: U64(size),
            peaks: signed
                .frontier
                .peaks()
                .iter()
                .map(|peak| peak.to_base64())
                .collect(),
            boot_id: self.boot_id.clone(),
        };
        let text = serde_json::to_vec(&state)
            .map_err(|error| Error::invalid(format!("{}: {error}", state::FILE)))?;
        self.store.write(state::FILE, &text, Durability::None)
    }
}
