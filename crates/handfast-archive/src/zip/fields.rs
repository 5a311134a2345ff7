//! Little-endian numbers at fixed places of a record.

/// A record whose length was checked when it was cut out.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    pub(super) fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        u32::from(self.u16(at)) | u32::from(self.u16(at + 2)) << 16
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }
}

/// A 32-bit field that says "look at the zip64 field".
pub(super) const IN_ZIP64: u32 = u32::MAX;
