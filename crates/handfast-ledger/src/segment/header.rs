//! The two frames that are not events: the segment's header and the batch's.

use super::frame::OVERHEAD;
use crate::merkle::{Frontier, Hash};

const SEGMENT_MAGIC: &[u8; 8] = b"hfseg\0\0\x01";
const BATCH_MAGIC: &[u8; 4] = b"hfb\x01";
const BATCH_PAYLOAD: usize = 32;

/// Bytes of a batch's header with its frame.
pub(crate) const BATCH_FRAME: usize = OVERHEAD + BATCH_PAYLOAD;

/// The first frame of a segment: the tree before its first event, and who signed for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SegmentHeader {
    pub(crate) frontier: Frontier,
    /// The signed checkpoint of exactly that tree; empty for the first segment.
    pub(crate) checkpoint: Vec<u8>,
}

impl SegmentHeader {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = SEGMENT_MAGIC.to_vec();
        bytes.extend_from_slice(&self.frontier.size().to_le_bytes());
        for peak in self.frontier.peaks() {
            bytes.extend_from_slice(&peak.0);
        }
        bytes.extend_from_slice(&self.checkpoint);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(SEGMENT_MAGIC)?;
        let (size, bytes) = bytes.split_first_chunk::<8>()?;
        let size = u64::from_le_bytes(*size);
        let (peaks, checkpoint) = bytes.split_at_checked(32 * size.count_ones() as usize)?;
        let peaks = peaks
            .chunks_exact(32)
            .map(|chunk| chunk.try_into().map(Hash))
            .collect::<Result<_, _>>()
            .ok()?;
        Some(Self {
            frontier: Frontier::from_peaks(size, peaks)?,
            checkpoint: checkpoint.to_vec(),
        })
    }
}

/// Stands before the events of one write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BatchHeader {
    pub(crate) first: u64,
    pub(crate) count: u32,
    /// Bytes of the batch after this frame, its checkpoint included.
    pub(crate) length: u32,
    /// Up to where this segment was known to be on the disk when the batch was written. What is
    /// damaged before that was not torn by a crash.
    pub(crate) synced: u64,
}

impl BatchHeader {
    pub(crate) fn to_bytes(self) -> [u8; BATCH_PAYLOAD] {
        let mut bytes = [0; BATCH_PAYLOAD];
        bytes[..4].copy_from_slice(BATCH_MAGIC);
        bytes[4..12].copy_from_slice(&self.first.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.synced.to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BATCH_PAYLOAD] = bytes.try_into().ok()?;
        let number = |from: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[from + i]));
        let long = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[from + i]));
        (bytes.starts_with(BATCH_MAGIC) && number(28) == 0).then(|| Self {
            first: long(4),
            count: number(12),
            length: number(16),
            synced: long(20),
        })
    }
}
