//! A segment, a piece at a time: the same memory for all of it, and no more than is needed.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::Error;
use crate::segment::{self, Scan, ScannedFrame};
use crate::store::Store;

/// Several batches of a log at work. In tests less than one batch, so that every one of them goes
/// over the edge of a piece.
const PIECE: usize = if cfg!(test) { 200 } else { 4 * 1024 * 1024 };
/// No header of a segment is longer.
const HEADER: usize = 256 * 1024;

/// A piece of a segment.
pub(super) struct Window {
    file: Option<File>,
    /// Of the whole segment.
    pub(super) length: u64,
    pub(super) bytes: Vec<u8>,
    /// Where the piece begins.
    at: u64,
}

impl Window {
    /// The piece with the header. A segment that is not there is empty.
    pub(super) fn open(store: &Store, name: &str) -> Result<Self, Error> {
        let file = store.open_read(name)?;
        let length = match &file {
            Some(file) => file
                .metadata()
                .map_err(|error| Error::os("looking at a segment", error))?
                .len(),
            None => 0,
        };
        let mut window = Self {
            file,
            length,
            bytes: Vec::new(),
            at: 0,
        };
        window.read(0, HEADER)?;
        Ok(window)
    }

    /// Makes this the piece from an offset on, of so many bytes or up to the end.
    fn read(&mut self, at: u64, wanted: usize) -> Result<(), Error> {
        let rest = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
        self.bytes.resize(wanted.min(rest), 0);
        self.at = at;
        if let Some(file) = &self.file {
            file.read_exact_at(&mut self.bytes, at)
                .map_err(|error| Error::os("reading a segment", error))?;
        }
        Ok(())
    }

    pub(super) fn is_missing(&self) -> bool {
        self.file.is_none()
    }

    fn is_last(&self) -> bool {
        self.at + self.bytes.len() as u64 >= self.length
    }

    /// As [`segment::scan`] over everything from an offset on.
    ///
    /// What a piece ends with may be cut off there only. It is looked at again as the beginning of
    /// the next piece, and if that brings nothing, of one twice as long, up to the end.
    pub(super) fn scan(
        &mut self,
        from: u64,
        first: u64,
        mut visit: impl FnMut(ScannedFrame<'_>) -> Result<(), Error>,
    ) -> Result<Scan, Error> {
        let (mut next, mut synced) = (first, 0);
        self.read(from, PIECE)?;
        loop {
            let scan = segment::scan(&self.bytes, self.at, next, |item, _| visit(item))?;
            synced = scan.synced.max(synced);
            if self.is_last() {
                return Ok(Scan { synced, ..scan });
            }
            let wanted = if scan.end > self.at {
                PIECE
            } else {
                self.bytes.len().saturating_mul(2)
            };
            next = scan.next;
            self.read(scan.end, wanted)?;
        }
    }
}
