//! The bytes of one batch, made in place: room for the header, then the frames of its events.
//!
//! The header is known last, since it holds the signature of the tree with these events. It is put
//! directly before them, so that a batch is one piece of memory and one write.

use super::frame::{Checked, FrameKind, OVERHEAD, frame_in_place, push_checked};
use super::header::BatchHeader;

/// A header with an Ed25519 signature fits; a longer signature moves the events.
const ROOM: usize = 128;

/// A batch that is being made.
#[derive(Debug)]
pub(crate) struct BatchBytes {
    bytes: Vec<u8>,
    count: u32,
    /// The header with its frame, before it goes to its place.
    head: Vec<u8>,
}

impl Default for BatchBytes {
    fn default() -> Self {
        Self {
            bytes: vec![0; ROOM],
            count: 0,
            head: Vec::with_capacity(ROOM),
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
        self.head.clear();
        self.head.shrink_to(ROOM);
        self.count = 0;
    }

    /// The whole batch with its header, ready to be written.
    pub(crate) fn finish(&mut self, header: &BatchHeader<'_>) -> &[u8] {
        self.head.clear();
        self.head.resize(OVERHEAD, 0);
        header.put(&mut self.head);
        frame_in_place(&mut self.head, FrameKind::Batch);
        match ROOM.checked_sub(self.head.len()) {
            Some(from) => {
                self.bytes[from..ROOM].copy_from_slice(&self.head);
                &self.bytes[from..]
            }
            None => {
                self.head.extend_from_slice(&self.bytes[ROOM..]);
                &self.head
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{ScannedFrame, Stop, scan};
    use super::*;

    #[test]
    fn a_batch_is_read_as_it_was_made_whatever_its_seal() {
        // The last is longer than the room before the events.
        for seal in [0, 68, 4000] {
            let seal = vec![3; seal];
            let mut batch = BatchBytes::default();
            for round in 0..3 {
                batch.clear(0);
                for leaf in [&b"one"[..], b"two"] {
                    batch.push(leaf, Checked::event(leaf));
                }
                let header = BatchHeader {
                    first: 7,
                    count: batch.count(),
                    length: u32::try_from(batch.len()).unwrap(),
                    unsynced: 5,
                    seal: &seal,
                };
                let bytes = batch.finish(&header).to_vec();
                let mut found = Vec::new();
                let result = scan(&bytes, 10, 7, |item, _| {
                    found.push(match item {
                        ScannedFrame::Event { leaf, .. } => leaf.to_vec(),
                        ScannedFrame::Seal(seal) => seal.to_vec(),
                        ScannedFrame::Checkpoint(_) => panic!("there is none"),
                    });
                    Ok(())
                })
                .unwrap();
                assert_eq!(result.stop, Stop::Clean, "round {round}");
                assert_eq!((result.next, result.synced), (9, 5));
                let mut expected = vec![b"one".to_vec(), b"two".to_vec()];
                expected.extend((!seal.is_empty()).then(|| seal.clone()));
                assert_eq!(found, expected);
            }
        }
    }
}
