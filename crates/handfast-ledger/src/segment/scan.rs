//! Reads the frames of a segment and says where and how they end.

use super::frame::{FrameKind, FrameScan, OVERHEAD, frame_at};
use super::header::{BATCH_MAGIC, BatchHeader, SegmentHeader};
use crate::error::Error;

/// The header of a segment, and where it ends.
pub(crate) fn read_header(bytes: &[u8]) -> Option<(SegmentHeader, usize)> {
    match frame_at(bytes, 0) {
        FrameScan::Frame {
            kind: FrameKind::Header,
            payload,
            end,
        } => Some((SegmentHeader::parse(payload)?, end)),
        _ => None,
    }
}

/// What a scan meets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScannedFrame<'a> {
    Event {
        index: u64,
        leaf: &'a [u8],
    },
    /// A signed note.
    Checkpoint(&'a [u8]),
    /// Key id and signature of the checkpoint of exactly the events up to here.
    Seal(&'a [u8]),
}

/// How the frames end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// Nothing but zeros follows.
    Clean,
    /// Something follows that is no frame, or half a batch.
    Bad {
        /// The first event that cannot be read.
        index: u64,
    },
}

/// The outcome of a scan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Scan {
    /// Behind the last whole batch or checkpoint.
    pub(crate) end: u64,
    /// The index of the event that would come next.
    pub(crate) next: u64,
    pub(crate) stop: Stop,
    /// The largest offset that any readable batch knew to be on the disk.
    pub(crate) synced: u64,
}

/// Scans from an offset at which the event `next` is to come. `base` is the offset in the file of
/// `bytes[0]`. Events of a batch are told only if the whole batch is good; the visitor also learns
/// the offset behind each item's batch or checkpoint.
pub(crate) fn scan(
    bytes: &[u8],
    base: u64,
    mut next: u64,
    mut visit: impl FnMut(ScannedFrame<'_>, u64) -> Result<(), Error>,
) -> Result<Scan, Error> {
    let mut offset = 0;
    let mut synced = 0;
    let stop = loop {
        let (kind, payload, end) = match frame_at(bytes, offset) {
            FrameScan::Frame { kind, payload, end } => (kind, payload, end),
            FrameScan::End
                if bytes[offset.min(bytes.len())..]
                    .iter()
                    .all(|byte| *byte == 0) =>
            {
                break Stop::Clean;
            }
            FrameScan::End | FrameScan::Bad => break Stop::Bad { index: next },
        };
        match kind {
            FrameKind::Checkpoint => {
                visit(ScannedFrame::Checkpoint(payload), base + end as u64)?;
                offset = end;
            }
            FrameKind::Batch => {
                let header = BatchHeader::parse(payload).filter(|header| header.first == next);
                // No log has as many events as numbers allow; what says so is damaged.
                let after = next.checked_add(header.map_or(0, |header| header.count.into()));
                let (Some(header), Some(after)) = (header, after) else {
                    break Stop::Bad { index: next };
                };
                // It counts although its batch may be torn.
                synced = synced.max(header.synced(base + offset as u64));
                match batch_end(bytes, end, header) {
                    Ok(behind) => {
                        tell_batch(bytes, end, behind, header, |item| {
                            visit(item, base + behind as u64)
                        })?;
                        offset = behind;
                        next = after;
                    }
                    Err(good) => {
                        break Stop::Bad {
                            index: next + u64::from(good),
                        };
                    }
                }
            }
            FrameKind::Header | FrameKind::Event => break Stop::Bad { index: next },
        }
    };
    Ok(Scan {
        end: base + offset as u64,
        next,
        stop,
        synced: synced.max(match stop {
            Stop::Clean => 0,
            Stop::Bad { .. } => evidence_behind(bytes, base, offset),
        }),
    })
}

/// Where a batch ends if all of it is good, or how many of its events are.
fn batch_end(bytes: &[u8], start: usize, header: BatchHeader<'_>) -> Result<usize, u32> {
    let behind = start + header.length as usize;
    let mut offset = start;
    let mut good = 0;
    while offset < behind {
        match frame_at(bytes, offset) {
            FrameScan::Frame { kind, end, .. } if end <= behind => {
                if kind != FrameKind::Event || good == header.count {
                    return Err(good);
                }
                good += 1;
                offset = end;
            }
            _ => return Err(good),
        }
    }
    if good == header.count && good > 0 {
        Ok(behind)
    } else {
        Err(good)
    }
}

fn tell_batch(
    bytes: &[u8],
    start: usize,
    behind: usize,
    header: BatchHeader<'_>,
    mut visit: impl FnMut(ScannedFrame<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut offset, mut index) = (start, header.first);
    while offset < behind {
        // The lengths were checked with their checksums a moment ago.
        let head = &bytes[offset..offset + OVERHEAD];
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let payload = &bytes[offset + OVERHEAD..offset + OVERHEAD + length];
        visit(ScannedFrame::Event {
            index,
            leaf: payload,
        })?;
        index += 1;
        offset += OVERHEAD + length;
    }
    if header.seal.is_empty() {
        return Ok(());
    }
    visit(ScannedFrame::Seal(header.seal))
}

/// The largest synced offset of any batch header behind a damaged place.
///
/// Pages that were not synced reach the disk in any order, so a readable frame behind a bad one
/// proves nothing by itself. But a batch that was written when a place was already known to be on
/// the disk proves that the place was whole once. Events are JSON without control characters, so
/// no name of a file can look like a header, which holds zero bytes.
fn evidence_behind(bytes: &[u8], base: u64, from: usize) -> u64 {
    let mut most = 0;
    let mut rest = from;
    while let Some((offset, header)) = batch_behind(bytes, rest) {
        most = most.max(header.synced(base + offset as u64));
        rest = offset + 1;
    }
    most
}

/// Where the next readable batch begins from an offset on, and its first event.
pub(crate) fn next_batch(bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    batch_behind(bytes, from).map(|(offset, header)| (offset, header.first))
}

/// The next header of a batch that begins at an offset or behind it.
fn batch_behind(bytes: &[u8], from: usize) -> Option<(usize, BatchHeader<'_>)> {
    let mut rest = from + OVERHEAD - 1;
    // The kind of a batch is a byte that neither events nor empty space have.
    while let Some(step) = bytes.get(rest..).and_then(|bytes| {
        bytes
            .iter()
            .position(|byte| *byte == FrameKind::Batch as u8)
    }) {
        rest += step + 1;
        if bytes[rest..].starts_with(&BATCH_MAGIC)
            && let FrameScan::Frame { payload, .. } = frame_at(bytes, rest - OVERHEAD)
            && let Some(header) = BatchHeader::parse(payload)
        {
            return Some((rest - OVERHEAD, header));
        }
    }
    None
}
