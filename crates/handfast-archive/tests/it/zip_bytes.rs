//! zip archives, byte by byte, past all checks of a builder.

use std::io::Write as _;

/// One member: what its two headers and its descriptor say, each on its own.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) local: Header,
    pub(crate) central: Header,
    pub(crate) made_by: u16,
    pub(crate) attributes: u32,
    pub(crate) disk: u16,
    /// Instead of where the member really lies.
    pub(crate) offset: Option<u32>,
    pub(crate) data: Vec<u8>,
    /// Bytes before the local header, and behind the content.
    pub(crate) before: Vec<u8>,
    pub(crate) behind: Vec<u8>,
}

#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) stamp: u32,
    pub(crate) sum: u32,
    pub(crate) packed: u32,
    pub(crate) size: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) extra: Vec<u8>,
}

impl Entry {
    pub(crate) fn stored(name: &str, data: &[u8]) -> Self {
        Self::packed(name, 0, data, data.to_vec())
    }

    pub(crate) fn deflated(name: &str, data: &[u8]) -> Self {
        Self::packed(name, 8, data, deflate(data))
    }

    pub(crate) fn packed(name: &str, method: u16, data: &[u8], packed: Vec<u8>) -> Self {
        let header = Header {
            flags: if name.is_ascii() { 0 } else { 1 << 11 },
            method,
            stamp: 0x5a21_0000,
            sum: crc32fast::hash(data),
            packed: packed.len() as u32,
            size: data.len() as u32,
            name: name.as_bytes().to_vec(),
            extra: Vec::new(),
        };
        Self {
            local: header.clone(),
            central: header,
            made_by: 3 << 8,
            attributes: 0o100_644 << 16,
            disk: 0,
            offset: None,
            data: packed,
            before: Vec::new(),
            behind: Vec::new(),
        }
    }

    pub(crate) fn dir(name: &str) -> Self {
        let mut entry = Self::stored(name, b"");
        entry.attributes = 0o040_755 << 16 | 0x10;
        entry
    }

    pub(crate) fn symlink(name: &str, target: &str) -> Self {
        let mut entry = Self::stored(name, target.as_bytes());
        entry.attributes = 0o120_777 << 16;
        entry
    }

    /// Lengths and checksum behind the content.
    pub(crate) fn streamed(mut self) -> Self {
        for header in [&mut self.local, &mut self.central] {
            header.flags |= 1 << 3;
        }
        (self.local.sum, self.local.packed, self.local.size) = (0, 0, 0);
        let central = &self.central;
        self.behind = [
            b"PK\x07\x08".to_vec(),
            central.sum.to_le_bytes().to_vec(),
            central.packed.to_le_bytes().to_vec(),
            central.size.to_le_bytes().to_vec(),
        ]
        .concat();
        self
    }

    /// Changes both headers.
    pub(crate) fn both(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    /// Changes whatever is to be changed.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A zip: members, and what its end says if not the truth.
#[derive(Clone, Default)]
pub(crate) struct Zip {
    pub(crate) entries: Vec<Entry>,
    pub(crate) comment: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    pub(crate) count: Option<u16>,
    pub(crate) size: Option<u32>,
    pub(crate) offset: Option<u32>,
    pub(crate) disk: u16,
    /// Bytes between the directory and its end.
    pub(crate) gap: Vec<u8>,
    pub(crate) zip64: Option<Zip64>,
}

/// A zip64 end record and its locator, with what they say instead of the truth.
#[derive(Clone, Default)]
pub(crate) struct Zip64 {
    pub(crate) entries: Option<u64>,
    pub(crate) size: Option<u64>,
    pub(crate) record_size: Option<u64>,
    pub(crate) locates: Option<u64>,
    pub(crate) disks: Option<u32>,
}

impl Zip {
    pub(crate) fn of(entries: impl Into<Vec<Entry>>) -> Self {
        Self {
            entries: entries.into(),
            ..Self::default()
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for entry in &self.entries {
            out.extend(&entry.before);
            let offset = entry.offset.unwrap_or(out.len() as u32);
            out.extend(b"PK\x03\x04\x14\0");
            header(&entry.local, &mut out);
            out.extend(&entry.local.name);
            out.extend(&entry.local.extra);
            out.extend(&entry.data);
            out.extend(&entry.behind);
            directory.extend(b"PK\x01\x02");
            directory.extend(entry.made_by.to_le_bytes());
            directory.extend(b"\x14\0");
            header(&entry.central, &mut directory);
            directory.extend([0, 0]);
            directory.extend(entry.disk.to_le_bytes());
            directory.extend([0, 0]);
            directory.extend(entry.attributes.to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(&entry.central.name);
            directory.extend(&entry.central.extra);
        }
        let offset = out.len();
        let size = directory.len();
        out.extend(directory);
        out.extend(&self.gap);
        if let Some(zip64) = &self.zip64 {
            self.end64(zip64, offset as u64, size as u64, &mut out);
        }
        let count = self.count.unwrap_or(self.entries.len() as u16);
        out.extend(b"PK\x05\x06");
        out.extend(self.disk.to_le_bytes());
        out.extend([0, 0]);
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(self.size.unwrap_or(size as u32).to_le_bytes());
        out.extend(self.offset.unwrap_or(offset as u32).to_le_bytes());
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.tail);
        out
    }

    fn end64(&self, zip64: &Zip64, offset: u64, size: u64, out: &mut Vec<u8>) {
        let at = out.len() as u64;
        let entries = zip64.entries.unwrap_or(self.entries.len() as u64);
        out.extend(b"PK\x06\x06");
        out.extend(zip64.record_size.unwrap_or(44).to_le_bytes());
        out.extend([45, 0, 45, 0]);
        out.extend([0; 8]);
        out.extend(entries.to_le_bytes());
        out.extend(entries.to_le_bytes());
        out.extend(zip64.size.unwrap_or(size).to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend(b"PK\x06\x07");
        out.extend([0; 4]);
        out.extend(zip64.locates.unwrap_or(at).to_le_bytes());
        out.extend(zip64.disks.unwrap_or(1).to_le_bytes());
    }
}

/// What both kinds of headers have, from the flags to the lengths of names.
fn header(header: &Header, out: &mut Vec<u8>) {
    out.extend(header.flags.to_le_bytes());
    out.extend(header.method.to_le_bytes());
    out.extend(header.stamp.to_le_bytes());
    out.extend(header.sum.to_le_bytes());
    out.extend(header.packed.to_le_bytes());
    out.extend(header.size.to_le_bytes());
    out.extend((header.name.len() as u16).to_le_bytes());
    out.extend((header.extra.len() as u16).to_le_bytes());
}

/// An extra field.
pub(crate) fn extra(id: u16, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u16;
    [&id.to_le_bytes()[..], &len.to_le_bytes(), data].concat()
}

pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
