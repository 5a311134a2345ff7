//! Memory for the content of a small file.

use std::ops::{Deref, DerefMut};

use crate::rows::SMALL;

#[repr(align(4096))]
struct AlignedPage([u8; SMALL]);

/// A page of its own for each column: what a copy costs depends on where it goes, and no column
/// shall be lucky.
pub(crate) struct Buffer(Box<AlignedPage>);

impl Buffer {
    /// Nothing but zeros, to read into.
    pub(crate) fn new() -> Self {
        Self(Box::new(AlignedPage([0; SMALL])))
    }

    /// What is in a small file: no byte is zero.
    pub(crate) fn filled() -> Self {
        let mut buffer = Self::new();
        for (byte, value) in buffer.iter_mut().zip((1..=u8::MAX).cycle()) {
            *byte = value;
        }
        buffer
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0.0
    }
}
