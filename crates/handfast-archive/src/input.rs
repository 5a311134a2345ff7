//! The bytes that are taken for an archive.

use std::fmt;
use std::io::{self, Read};

use handfast::Root;

/// An archive to read: a stream, and a place for a private copy of what has to be read in another order
/// than it is stored.
pub struct Input<'a> {
    pub(crate) stream: Box<dyn Read + 'a>,
    pub(crate) scratch: &'a Root,
}

impl<'a> Input<'a> {
    /// Reads a stream. A zip is first copied to a nameless file in `scratch`: what is judged is what is
    /// extracted, whatever happens to the stream's file meanwhile.
    #[must_use]
    pub fn new(stream: impl Read + 'a, scratch: &'a Root) -> Self {
        Self {
            stream: Box::new(stream),
            scratch,
        }
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

/// Reads the first bytes of a stream, as far as it has so many.
pub(crate) fn beginning(stream: &mut dyn Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    stream.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
