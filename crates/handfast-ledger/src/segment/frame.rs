//! Frames: length, checksum, kind, payload.
//!
//! ```text
//!  len u32 | crc32c u32 | kind u8 | payload of len bytes          (little-endian)
//! ```
//! The checksum covers length, kind and payload. A length of 0 is the end of data and never a
//! frame: the checksum of nothing would be 0, so that zeroed space would look like valid frames.

/// What a frame holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FrameKind {
    Header = 1,
    Batch = 2,
    Event = 3,
    Checkpoint = 4,
}

/// Bytes before the payload.
pub(crate) const OVERHEAD: usize = 9;
/// No frame is longer; a damaged length is noticed before anything is read.
const MOST: usize = 128 * 1024;

/// The checksum of a frame that is yet to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked(u32);

impl Checked {
    /// Of an event: made by the thread that brings it, before any lock.
    pub(crate) fn event(leaf: &[u8]) -> Self {
        Self::of(FrameKind::Event, leaf)
    }

    fn of(kind: FrameKind, payload: &[u8]) -> Self {
        let length = (payload.len() as u32).to_le_bytes();
        Self(checksum(length, kind as u8, payload))
    }
}

/// Appends a frame. The payload is never empty.
pub(crate) fn push_frame(buffer: &mut Vec<u8>, kind: FrameKind, payload: &[u8]) {
    push_checked(buffer, kind, payload, Checked::of(kind, payload));
}

/// Makes a frame of a payload that is behind room for the rest.
pub(crate) fn frame_in_place(bytes: &mut [u8], kind: FrameKind) {
    if let Some((head, payload)) = bytes.split_first_chunk_mut::<OVERHEAD>() {
        *head = head_of(kind, payload, Checked::of(kind, payload));
    }
}

fn head_of(kind: FrameKind, payload: &[u8], checked: Checked) -> [u8; OVERHEAD] {
    let mut head = [kind as u8; OVERHEAD];
    head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[4..8].copy_from_slice(&checked.0.to_le_bytes());
    head
}

/// Appends a frame whose checksum is known.
pub(crate) fn push_checked(
    buffer: &mut Vec<u8>,
    kind: FrameKind,
    payload: &[u8],
    checked: Checked,
) {
    debug_assert!(!payload.is_empty() && payload.len() <= MOST);
    buffer.reserve(OVERHEAD + payload.len());
    buffer.extend_from_slice(&head_of(kind, payload, checked));
    buffer.extend_from_slice(payload);
}

fn checksum(length: [u8; 4], kind: u8, payload: &[u8]) -> u32 {
    let [a, b, c, d] = length;
    crc32c::crc32c_append(crc32c::crc32c(&[a, b, c, d, kind]), payload)
}

/// What is at an offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FrameScan<'a> {
    Frame {
        kind: FrameKind,
        payload: &'a [u8],
        end: usize,
    },
    /// A length of 0, or no byte at all.
    End,
    Bad,
}

/// Reads the frame at an offset.
pub(crate) fn frame_at(bytes: &[u8], offset: usize) -> FrameScan<'_> {
    let rest = bytes.get(offset..).unwrap_or(&[]);
    if rest.is_empty() {
        return FrameScan::End;
    }
    let Some((head, rest)) = rest.split_first_chunk::<OVERHEAD>() else {
        return if rest.iter().all(|byte| *byte == 0) {
            FrameScan::End
        } else {
            FrameScan::Bad
        };
    };
    let length_bytes = [head[0], head[1], head[2], head[3]];
    let length = u32::from_le_bytes(length_bytes) as usize;
    if length == 0 {
        return FrameScan::End;
    }
    let stored = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let kind = match head[8] {
        1 => FrameKind::Header,
        2 => FrameKind::Batch,
        3 => FrameKind::Event,
        4 => FrameKind::Checkpoint,
        _ => return FrameScan::Bad,
    };
    let Some(payload) = rest.get(..length).filter(|_| length <= MOST) else {
        return FrameScan::Bad;
    };
    if checksum(length_bytes, head[8], payload) != stored {
        return FrameScan::Bad;
    }
    FrameScan::Frame {
        kind,
        payload,
        end: offset + OVERHEAD + length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, FrameKind::Event, b"something");
        let FrameScan::Frame { payload, end, .. } = frame_at(&bytes, 0) else {
            panic!("a good frame is read");
        };
        assert_eq!((payload, end), (&b"something"[..], bytes.len()));
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(frame_at(&broken, 0), FrameScan::Bad, "bit {bit}");
        }
        for cut in 1..bytes.len() {
            assert_eq!(frame_at(&bytes[..cut], 0), FrameScan::Bad, "cut {cut}");
        }
        assert_eq!(frame_at(&[], 0), FrameScan::End);
        assert_eq!(frame_at(&[0; 40], 0), FrameScan::End);
    }
}
