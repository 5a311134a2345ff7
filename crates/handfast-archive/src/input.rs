//! The bytes that are taken for an archive.

use std::fmt;
use std::io::{self, Read};

use handfast::Root;

/// An archive to read: a stream, and a place for a private copy of what has to be read in another order
/// than it is stored.
pub struct Input<'a> {
    pub(crate) stream: Box<dyn Read + 'a>,
    /// In memory, if there is none.
    pub(crate) scratch: Option<&'a Root>,
}

impl<'a> Input<'a> {
    /// Reads a stream. A zip is first copied to a nameless file in `scratch`: what is judged is what is
    /// extracted, whatever happens to the stream's file meanwhile.
    #[must_use]
    pub fn new(stream: impl Read + 'a, scratch: &'a Root) -> Self {
        Self {
            stream: Box::new(stream),
            scratch: Some(scratch),
        }
    }

    /// As [`Input::new`], with the copy of a zip in memory, for programs that have no directory to
    /// themselves. Then [`Limits::bytes`](crate::Limits::bytes) is a limit on memory, too.
    #[must_use]
    pub fn in_memory(stream: impl Read + 'a) -> Self {
        Self {
            stream: Box::new(stream),
            scratch: None,
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
