//! Bundles of entries: each with its length in two bytes, big-endian.

use crate::error::Error;

/// The entries of one bundle, without a copy of each.
#[derive(Debug)]
pub(crate) struct Bundle {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Bundle {
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        let bundle = Self::parse_front(bytes);
        match bundle.ends.last().copied().unwrap_or(0) == bundle.bytes.len() {
            true => Ok(bundle),
            false => Err(Error::invalid("a bundle of entries ends half-way")),
        }
    }

    /// The entries up to the first that is not whole.
    pub(crate) fn parse_front(bytes: Vec<u8>) -> Self {
        let mut ends = Vec::new();
        let mut at = 0;
        while let Some(&[high, low]) = bytes.get(at..at + 2) {
            let length = usize::from(u16::from_be_bytes([high, low]));
            at += 2 + length;
            if length == 0 || at > bytes.len() {
                break;
            }
            ends.push(at);
        }
        Self { bytes, ends }
    }

    /// Leaves out what is behind so many entries.
    pub(crate) fn truncate(&mut self, entries: usize) {
        self.ends.truncate(entries);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let before = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(before + 2..end)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

/// Appends an entry. Its length has been checked when it was taken into the log.
pub(crate) fn push(bundle: &mut Vec<u8>, entry: &[u8]) {
    let length = u16::try_from(entry.len()).unwrap_or(u16::MAX);
    bundle.extend_from_slice(&length.to_be_bytes());
    bundle.extend_from_slice(entry);
}
