//! Writes what others read: tiles, then the checkpoint, then where that leaves off.
//!
//! Only what is synced is published: a checkpoint that others have seen must never be larger than
//! what a crash leaves.

use handfast::Durability;

use super::ledger::{Shared, hold};
use super::open::shrink_reserve;
use super::recover::Offset;
use crate::error::{Error, ErrorKind};
use crate::event::U64;
use crate::level::Level;
use crate::merkle::Hash;
use crate::published::CHECKPOINT;
use crate::segment::{self, ScannedFrame};
use crate::state::{self, State};
use crate::store::Store;
use crate::tiles::{TileWriter, WIDTH};

/// When something is published.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Occasion {
    /// The writer goes on.
    Running,
    /// The writer goes; the next one may be another program.
    Closing,
}

/// A segment of so many bytes is followed by another at the next publication, so that it can go.
/// What is in a segment lies on the disk twice, once it is published.
const TURN_RUNNING: u64 = 128 * 1024;
/// The same when a writer goes: many writers that stay for one event each have no publications.
const TURN_CLOSING: u64 = 32 * 1024;
/// So many bytes of segments are worth a sync of the last bundle.
const LARGE: u64 = 192 * 1024;

/// How far others have been told.
#[derive(Debug)]
pub(crate) struct Publisher {
    tiles: TileWriter,
    /// Behind the last batch that is in the tiles.
    place: Offset,
    published: u64,
    /// How many full bundles there were when the rule for keeping was followed last.
    looked_at: u64,
}

impl Publisher {
    /// Takes up where the published checkpoint ends; if its tiles are not there, where the oldest
    /// segment begins.
    pub(crate) fn resume(
        store: &Store,
        published: Option<(u64, Hash)>,
        place: Option<Offset>,
    ) -> Result<Self, Error> {
        let oldest = segment::list(store)?.first().copied().unwrap_or(0);
        if let (Some((size, root)), Some(place)) = (published, place)
            && let Some(tiles) = TileWriter::resume(store, size, root, oldest)?
        {
            return Ok(Self {
                tiles,
                place,
                published: size,
                looked_at: size / WIDTH,
            });
        }
        let bytes = store.read(&segment::name(oldest))?.unwrap_or_default();
        let tiles = match segment::read_header(&bytes) {
            Some((header, _)) if oldest > 0 => TileWriter::rebuild(store, &header.frontier)?,
            _ => Some(TileWriter::default()),
        };
        let place = Offset {
            segment: oldest,
            offset: 0,
        };
        match tiles {
            Some(tiles) => Ok(Self {
                tiles,
                place,
                published: 0,
                looked_at: 0,
            }),
            None => Err(Error::new(
                ErrorKind::Corrupt,
                "the tiles do not fit the checkpoint, and the events to make them from are gone",
            )),
        }
    }

    pub(super) fn published(&self) -> u64 {
        self.published
    }

    /// Whether so many full bundles have come since this was asked with success.
    pub(super) fn is_time_to_look(&mut self, bundles: u64) -> bool {
        let full = self.published / WIDTH;
        let enough = full >= self.looked_at + bundles;
        if enough {
            self.looked_at = full;
        }
        enough
    }

    /// The segment that the next publication reads.
    pub(crate) fn segment(&self) -> u64 {
        self.place.segment
    }

    /// Feeds the tiles from the segments up to a place.
    fn feed(&mut self, store: &Store, to: Offset, size: u64) -> Result<(), Error> {
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
                ScannedFrame::Event { leaf, .. } if tiles.size() < size => {
                    tiles.append(store, leaf)
                }
                _ => Ok(()),
            })?;
            self.place.offset = scan.end;
            if self.tiles.size() < size {
                if self.place.segment == to.segment {
                    return Err(Error::corrupt(self.tiles.size(), "events are missing"));
                }
                self.place = Offset {
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
        self.flush();
        // One at a time: the second thread learns that the first is done, or that it failed. An
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
        self.publish_as(Occasion::Running)
    }

    fn publish_as(&self, why: Occasion) -> Result<(), Error> {
        let synced = self.sync_behind();
        // A full log is published with its last event.
        if self
            .poison
            .get()
            .is_none_or(|error| error.kind() == ErrorKind::Full)
        {
            self.publish_synced(why)?;
        }
        synced
    }

    /// Publishes what is synced.
    pub(crate) fn publish_synced(&self, why: Occasion) -> Result<(), Error> {
        let mut publisher = hold(&self.publisher);
        let Some(signed) = hold(&self.core).signed.clone() else {
            return Ok(());
        };
        let size = signed.checkpoint.size;
        if size <= publisher.published && why == Occasion::Running {
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
        self.turn_over_used(&mut publisher, size, why)?;
        let state = State {
            version: 1,
            segment: U64(publisher.place.segment),
            offset: U64(publisher.place.offset),
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
        self.store.write(state::FILE, &text, Durability::None)?;
        self.drop_published(&mut publisher, why)
    }

    /// Begins another segment if the present one is worth it, so that it can go.
    fn turn_over_used(
        &self,
        publisher: &mut Publisher,
        size: u64,
        why: Occasion,
    ) -> Result<(), Error> {
        let enough = match why {
            Occasion::Running => TURN_RUNNING,
            Occasion::Closing => TURN_CLOSING,
        };
        let mut core = hold(&self.core);
        let is_worth_it = self.poison.get().is_none() && core.segment.offset >= enough;
        match is_worth_it.then(|| core.turn_over()) {
            // Without space for another the log stays with the segment that it has.
            Some(Err(error)) if error.kind() != ErrorKind::Full => return Err(self.poison(&error)),
            _ => {}
        }
        // Begun now or at an earlier publication, with nothing in it yet.
        if core.segment.first == size && core.segment.start > 0 {
            publisher.place = Offset {
                segment: size,
                offset: core.segment.start,
            };
        }
        Ok(())
    }

    /// Removes segments whose events are in bundles that are on the disk, all of them published.
    /// A bundle that is not full keeps the segments it was made from, unless the writer goes and
    /// they are large: then it is synced itself, and stays until a later form of it is.
    fn drop_published(&self, publisher: &mut Publisher, why: Occasion) -> Result<(), Error> {
        let segments = segment::list(&self.store)?;
        let mut sizes = 0;
        for first in &segments {
            sizes += self.store.length(&segment::name(*first))?;
        }
        let partial = why == Occasion::Closing && sizes >= LARGE;
        let until = match partial {
            true => publisher.published,
            false => publisher.published - publisher.published % WIDTH,
        };
        let used = publisher.place.segment;
        let goes = |pair: &&[u64]| {
            let last = match partial {
                true => pair[1],
                false => pair[1].next_multiple_of(WIDTH),
            };
            last <= until && pair[0] != used
        };
        let gone: Vec<_> = segments.windows(2).take_while(goes).collect();
        let Some(next) = gone.last().map(|pair| pair[1]) else {
            return Ok(());
        };
        publisher.tiles.sync(&self.store, partial)?;
        publisher.tiles.anchor_at(next);
        for pair in gone {
            self.store.remove(&segment::name(pair[0]))?;
        }
        Ok(())
    }

    /// The last publication: what was only kept for a writer at work is given back.
    pub(crate) fn publish_last(&self) -> Result<(), Error> {
        self.publish_as(Occasion::Closing)?;
        self.keep_to_rule(1)?;
        let mut publisher = hold(&self.publisher);
        if self.poison.get().is_some() {
            return Ok(());
        }
        publisher.tiles.tidy(&self.store)?;
        shrink_reserve(&self.store, publisher.published)?;
        drop(publisher);
        hold(&self.core).segment.trim()
    }
}
