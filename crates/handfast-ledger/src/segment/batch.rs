//! The bytes of one batch, made in place: room for the header, then the frames of its events.
//!
//! The header is known last, since it holds the signature of the tree with these events. It is put
//! directly before them, so that a batch is one piece of memory and one write.

use super::frame::{Checked, FrameKind, OVERHEAD, push_checked, push_frame};
use super::header::BatchHeader;

/// A header with an Ed25519 signature fits; a longer signature moves the events.
const ROOM: usize = 128;

/// A batch that is being made.
#[derive(Debug)]
pub(crate) struct BatchBytes {
    bytes: Vec<u8>,
    count: u32,
}

impl Default for BatchBytes {
    fn default() -> Self {
        Self {
            bytes: vec![0; ROOM],
            count: 0,
        }
    }
}

impl BatchBytes {
    /// A batch of one event.
    pub(crate) fn of(leaf: &[u8]) -> Self {
        let mut batch = Self::default();
        batch.push(leaf, Checked::event(leaf));
        batch
    }

    pub(crate) fn push(&mut self, leaf: &[u8], checked: Checked) {
        push_checked(&mut self.bytes, FrameKind::Event, leaf, checked);
        self.count += 1;
    }

    /// Copies the events of another batch behind those that are here.
    pub(crate) fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes[ROOM..]);
        self.count += other.count;
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of the events with their frames.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - ROOM
    }

    /// Bytes that an event adds.
    pub(crate) const fn taken_by(leaf: usize) -> usize {
        OVERHEAD + leaf
    }

    /// Makes it empty; the memory stays, unless it is more than this.
    pub(crate) fn clear(&mut self, most: usize) {
        self.bytes.truncate(ROOM);
        self.bytes.shrink_to(most);
        self.count = 0;
    }

    /// The whole batch with its header, ready to be written.
    pub(crate) fn finish(&mut self, header: &BatchHeader<'_>) -> &[u8] {
        let mut head = Vec::with_capacity(ROOM);
        push_frame(&mut head, FrameKind::Batch, &header.to_bytes());
        match ROOM.checked_sub(head.len()) {
            Some(from) => {
                self.bytes[from..ROOM].copy_from_slice(&head);
                &self.bytes[from..]
            }
            None => {
                self.bytes.splice(..ROOM, head);
                &self.bytes
            }
        }
    }
}
