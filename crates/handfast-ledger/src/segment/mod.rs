//! Segments: the files that are the log. Everything else is derived from them.
//!
//! A segment is a row of frames (`frame.rs`): one header, then batches and checkpoints. What follows
//! the last frame is zero. `scan.rs` reads them and says where and how the row ends; `file.rs`
//! appends.

mod batch;
mod file;
mod frame;
mod header;
mod scan;

pub(crate) use batch::BatchBytes;
pub(crate) use file::{SegmentFile, TAIL_ROOM};
pub(crate) use frame::{Checked, FrameKind, push_frame};
pub(crate) use header::{BATCH_FRAME, BatchHeader, SegmentHeader};
pub(crate) use scan::{Scan, ScannedFrame, Stop, next_batch, read_header, scan};

/// Where segments lie.
pub(crate) const DIR: &str = "segments";

/// The name of the segment that begins with this event; sorts as the numbers do.
pub(crate) fn name(first: u64) -> String {
    format!("{DIR}/seg-{first:020}.wal")
}

/// The first event of a segment of this name.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("seg-")?.strip_suffix(".wal")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

/// The first events of all segments, in order.
pub(crate) fn list(store: &crate::store::Store) -> Result<Vec<u64>, crate::Error> {
    let names = store.list(DIR)?;
    Ok(names
        .iter()
        .filter_map(|(name, _)| first_of(name))
        .collect())
}
