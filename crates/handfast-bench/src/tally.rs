//! What an operation is seen to do, as a number: the same in every column.

/// What is asked of each entry of a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ask {
    /// Its name.
    Name,
    /// Its name and metadata.
    Metadata,
}

/// What was read: how much, its last byte, and the length the file was said to have.
pub(crate) fn read(buffer: &[u8], got: usize, length: u64) -> u64 {
    let last = buffer[..got].last().copied().map_or(0, u64::from);
    got as u64 + last + length
}

/// As [`read`], of content that was read whole.
pub(crate) fn whole(data: &[u8]) -> u64 {
    read(data, data.len(), data.len() as u64)
}

/// What an entry counts: itself, and the bytes of its name.
pub(crate) fn entry(name: &[u8]) -> u64 {
    1 + name.len() as u64
}
