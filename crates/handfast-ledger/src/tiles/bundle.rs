//! Bundles of entries: each with its length in two bytes, big-endian.

use crate::error::Error;

/// Splits a bundle into its entries.
///
/// # Errors
/// `Invalid` if a length points beyond the end, or an entry is empty.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut rest = bytes;
    let mut entries = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((entry, more)) = more.split_at_checked(length).filter(|_| length > 0) else {
            return Err(Error::invalid("a bundle of entries ends half-way"));
        };
        entries.push(entry);
        rest = more;
    }
    if rest.is_empty() {
        Ok(entries)
    } else {
        Err(Error::invalid("a bundle of entries ends half-way"))
    }
}

/// The entries of one bundle, without a copy of each.
#[derive(Debug)]
pub(crate) struct Bundle {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Bundle {
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        let mut end = 0;
        let ends = parse(&bytes)?
            .into_iter()
            .map(|entry| {
                end += 2 + entry.len();
                end
            })
            .collect();
        Ok(Self { bytes, ends })
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
