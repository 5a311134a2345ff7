//! The two frames that are not events: the segment's header and the batch's.

use crate::merkle::{Frontier, Hash};

const SEGMENT_MAGIC: &[u8; 8] = b"hfseg\0\0\x01";
/// A zero byte, which is in no event.
pub(crate) const BATCH_MAGIC: [u8; 2] = [0, b'b'];
/// No header with one Ed25519 signature is longer, with its frame.
pub(crate) const BATCH_FRAME: usize = 128;

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
pub(crate) struct BatchHeader<'a> {
    pub(crate) first: u64,
    pub(crate) count: u32,
    /// Bytes of the batch after this frame.
    pub(crate) length: u32,
    /// How many bytes before this frame were not known to be on the disk when it was written. What
    /// is damaged before those was not torn by a crash.
    pub(crate) unsynced: u64,
    /// Key id and signature of the checkpoint of the tree with these events; empty at `ordered`.
    /// The text is not repeated: origin, size and root follow from the log.
    pub(crate) seal: &'a [u8],
}

impl<'a> BatchHeader<'a> {
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&BATCH_MAGIC);
        for number in [
            self.first,
            u64::from(self.count),
            u64::from(self.length),
            self.unsynced,
        ] {
            push_number(bytes, number);
        }
        bytes.extend_from_slice(self.seal);
    }

    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&BATCH_MAGIC)?;
        let first = take_number(&mut rest)?;
        let count = u32::try_from(take_number(&mut rest)?).ok()?;
        let length = u32::try_from(take_number(&mut rest)?).ok()?;
        let unsynced = take_number(&mut rest)?;
        Some(Self {
            first,
            count,
            length,
            unsynced,
            seal: rest,
        })
    }
}

impl BatchHeader<'_> {
    /// Up to where the segment was known to be on the disk; `at` is where this frame begins.
    pub(crate) fn synced(&self, at: u64) -> u64 {
        at.saturating_sub(self.unsynced)
    }
}

/// Seven bits a byte, the lowest first; all but the last with the high bit.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits
            .checked_shl(shift)
            .is_none_or(|high| high >> shift != bits)
        {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_header_comes_back_and_is_short() {
        for (first, unsynced) in [
            (0, 0),
            (127, 128),
            (70_000, 9_000_000),
            (u64::MAX, u64::MAX),
        ] {
            for seal in [&[][..], &[7; 68]] {
                let header = BatchHeader {
                    first,
                    count: u32::MAX,
                    length: 0,
                    unsynced,
                    seal,
                };
                let mut bytes = Vec::new();
                header.put(&mut bytes);
                assert_eq!(BatchHeader::parse(&bytes), Some(header));
                for cut in 0..bytes.len() - seal.len() {
                    assert_eq!(BatchHeader::parse(&bytes[..cut]), None, "{cut}");
                }
            }
        }
        // A number of more than 64 bits is none.
        let long = [&BATCH_MAGIC[..], &[0xff; 9], &[2, 0, 0, 0]].concat();
        assert_eq!(BatchHeader::parse(&long), None);
    }
}
