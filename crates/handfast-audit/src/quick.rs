//! A quick hash for small keys that nobody outside chooses to collide.
//!
//! The keys are names and terms of the audited text. Somebody could write names that collide; the
//! bounds on steps per file keep even that finite, and a lookup compares whole keys.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps that are asked very often. Never iterated over.
pub(crate) type Quick = BuildHasherDefault<QuickHasher>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickHasher(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl QuickHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            if let Ok(word) = chunk.try_into() {
                self.mix(u64::from_le_bytes(word));
            }
        }
        let mut last = [0; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the good ones; a table looks at the lower ones too.
        self.0 ^ (self.0 >> 32)
    }
}
