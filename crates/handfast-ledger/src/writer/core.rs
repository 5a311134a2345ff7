//! What is behind the lock of the thread that commits: the segment, the tree, the key.

use std::borrow::Cow;
use std::sync::Arc;

use super::recover::{Offset, Signed};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Record, Stop};
use crate::level::Level;
use crate::merkle::{Frontier, Hash};
use crate::note::{Checkpoint, SignedNote, Signer};
use crate::segment::{
    BATCH_FRAME, BatchBytes, BatchHeader, FrameKind, SegmentFile, SegmentHeader, TAIL_ROOM,
    push_frame,
};
use crate::store::Store;

/// No checkpoint with one signature is longer.
const NOTE_ROOM: u64 = 2048;

pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) disk: Arc<Disk>,
    pub(crate) level: Level,
    pub(crate) segment_bytes: u64,
    pub(crate) origin: String,
    pub(crate) signer: Box<dyn Signer>,
    pub(crate) segment: SegmentFile,
    pub(crate) frontier: Frontier,
    /// Events behind the last checkpoint frame.
    pub(crate) unsigned: u64,
    /// The last checkpoint that is on the disk with all its events.
    pub(crate) signed: Option<Signed>,
}

/// A checkpoint that has been written and not been synced.
pub(crate) struct PendingSync {
    pub(crate) file: Arc<std::fs::File>,
    signed: Signed,
}

impl Core {
    /// Writes a batch: one write, and at `strict` one sync. The index of its first event.
    ///
    /// # Errors
    /// `Full` before anything is written. After any other error nothing may be written again.
    pub(crate) fn commit(&mut self, batch: &mut BatchBytes, hashes: &[Hash]) -> Result<u64, Error> {
        let needed = (BATCH_FRAME + batch.len()) as u64 + NOTE_ROOM;
        let is_used = self.frontier.size() > self.segment.first;
        if is_used && self.segment.offset + needed + TAIL_ROOM > self.segment_bytes {
            self.next_segment()?;
        }
        self.segment.prepare(&self.disk, needed)?;
        self.write_batch(batch, hashes, self.level == Level::Strict)
    }

    fn write_batch(
        &mut self,
        batch: &mut BatchBytes,
        hashes: &[Hash],
        sign: bool,
    ) -> Result<u64, Error> {
        let first = self.frontier.size();
        for hash in hashes {
            self.frontier.append(*hash);
        }
        let note = if sign { Some(self.note()?) } else { None };
        let seal = note.as_ref().map_or(Vec::new(), |(_, note)| note.seal());
        let header = BatchHeader {
            first,
            count: batch.count(),
            length: u32::try_from(batch.len()).unwrap_or(u32::MAX),
            unsynced: self.segment.offset - self.segment.synced,
            seal: &seal,
        };
        self.segment.append(batch.finish(&header))?;
        self.unsigned += hashes.len() as u64;
        if let Some((checkpoint, note)) = note {
            self.segment.sync(&self.disk)?;
            self.unsigned = 0;
            self.signed = Some(self.signed_here(checkpoint, &note));
        }
        Ok(first)
    }

    fn signed_here(&self, checkpoint: Checkpoint, note: &SignedNote) -> Signed {
        Signed {
            checkpoint,
            note: note.to_text().into_bytes(),
            place: Offset {
                segment: self.segment.first,
                offset: self.segment.offset,
            },
            frontier: self.frontier.clone(),
        }
    }

    /// A signed checkpoint of the tree as it is.
    fn note(&self) -> Result<(Checkpoint, SignedNote), Error> {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size: self.frontier.size(),
            root: self.frontier.root(),
        };
        let note = checkpoint
            .sign(&*self.signer)
            .map_err(|error| Error::new(ErrorKind::Key, error.to_string()))?;
        Ok((checkpoint, note))
    }

    /// Signs what has been written since the last checkpoint; the caller syncs without the lock.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PendingSync>, Error> {
        if self.unsigned == 0 {
            return Ok(None);
        }
        let (checkpoint, note) = self.note()?;
        self.segment.prepare(&self.disk, NOTE_ROOM)?;
        let mut frame = Vec::new();
        push_frame(&mut frame, FrameKind::Checkpoint, note.to_text().as_bytes());
        self.segment.append(&frame)?;
        self.unsigned = 0;
        Ok(Some(PendingSync {
            file: Arc::clone(&self.segment.file),
            signed: self.signed_here(checkpoint, &note),
        }))
    }

    /// Notes that a pending checkpoint has reached the disk.
    pub(crate) fn end_sync(&mut self, pending: PendingSync) {
        let Offset { segment, offset } = pending.signed.place;
        if segment == self.segment.first {
            self.segment.synced = self.segment.synced.max(offset);
        }
        let newer = self
            .signed
            .as_ref()
            .is_none_or(|signed| signed.checkpoint.size < pending.signed.checkpoint.size);
        if newer {
            self.signed = Some(pending.signed);
        }
    }

    /// Signs and syncs everything, holding the lock.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        match self.begin_sync()? {
            Some(pending) => {
                self.disk.sync(&pending.file)?;
                self.end_sync(pending);
                Ok(())
            }
            // Signed already, by a sync that may still be on its way.
            None if self.segment.synced < self.segment.offset => self.segment.sync(&self.disk),
            None => Ok(()),
        }
    }

    /// Finishes a segment that holds anything and begins the next.
    pub(crate) fn turn_over(&mut self) -> Result<(), Error> {
        if self.frontier.size() > self.segment.first {
            self.next_segment()?;
        }
        Ok(())
    }

    /// Finishes a segment and begins the next, which knows the tree it continues.
    fn next_segment(&mut self) -> Result<(), Error> {
        self.settle()?;
        let checkpoint = match &self.signed {
            Some(signed) if signed.checkpoint.size == self.frontier.size() => signed.note.clone(),
            _ => self.note()?.1.to_text().into_bytes(),
        };
        let header = SegmentHeader {
            frontier: self.frontier.clone(),
            checkpoint,
        };
        self.segment = SegmentFile::create(&self.store, &self.disk, &header)?;
        Ok(())
    }

    /// The last event of a log whose disk is full, in the room that was kept for it.
    pub(crate) fn stop_full(&mut self) -> Result<(), Error> {
        let mut record = Record::about_log(EventKind::LogStop);
        record.stop = Some(Stop {
            reason: Cow::Borrowed("no-space"),
        });
        let leaf = record.to_leaf()?;
        self.write_batch(&mut BatchBytes::of(&leaf), &[Hash::leaf(&leaf)], true)?;
        Ok(())
    }
}
