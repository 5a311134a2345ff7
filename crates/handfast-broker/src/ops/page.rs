//! The entries of one answer: as many as a message holds.

use std::io;

use serde::Serialize;

use crate::fault::{Code, Fault};
use crate::wire::MAX_MESSAGE;

/// An answer is full with this many bytes of entries. One more entry still fits, whatever it is: a
/// lease is shorter than an event of the log, which has at most 64 KiB, and a path of 4096 bytes
/// takes at most six times that in JSON.
const ROOM: usize = MAX_MESSAGE / 2;

/// Entries that go out together.
#[derive(Debug)]
pub(super) struct Page<T> {
    entries: Vec<T>,
    bytes: usize,
    most: usize,
}

impl<T: Serialize> Page<T> {
    /// An empty page for at most so many entries.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self {
            entries: Vec::new(),
            bytes: 0,
            most,
        }
    }

    /// Whether the next entry belongs to the next page.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.most || self.bytes >= ROOM
    }

    pub(super) fn push(&mut self, entry: T) -> Result<(), Fault> {
        let mut length = Length(0);
        serde_json::to_writer(&mut length, &entry)
            .map_err(|error| Fault::new(Code::Failed, error.to_string()))?;
        // The comma.
        self.bytes += length.0 + 1;
        self.entries.push(entry);
        Ok(())
    }

    /// Takes what fits from the front, and leaves the rest.
    pub(super) fn fill(&mut self, from: &mut impl Iterator<Item = T>) -> Result<(), Fault> {
        while !self.is_full()
            && let Some(entry) = from.next()
        {
            self.push(entry)?;
        }
        Ok(())
    }

    /// The entries; the page is empty again.
    pub(super) fn take(&mut self) -> Vec<T> {
        self.bytes = 0;
        std::mem::take(&mut self.entries)
    }
}

/// Counts what is written.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
