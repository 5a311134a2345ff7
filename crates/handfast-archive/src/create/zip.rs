//! zip: deflated content with its lengths behind it, so that nothing is read twice.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress, Status};
use handfast::{Error, ErrorKind};

use super::MemberWriter;

/// 1 January 1980, the first day that a zip can store.
const FIRST_DAY: u32 = 0x0021_0000;
/// Lengths and checksum are written behind the content.
const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;

pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    at: u64,
    directory: Vec<u8>,
    entries: u16,
    open: Option<Open>,
}

/// The member whose content is being written.
struct Open {
    header: Header,
    offset: u32,
    packer: Compress,
    sum: crc32fast::Hasher,
}

struct Header {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    /// With the type of the file, as Unix has it.
    mode: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            at: 0,
            directory: Vec::new(),
            entries: 0,
            open: None,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn header(&self, name: &[u8], flags: u16, method: u16, mode: u32) -> io::Result<Header> {
        if std::str::from_utf8(name).is_err() || name.contains(&b'\\') {
            return Err(unfit("a name is not UTF-8, or has a backslash in it"));
        }
        let flags = if name.is_ascii() { flags } else { flags | UTF8 };
        Ok(Header {
            name: name.to_vec(),
            flags,
            method,
            mode,
        })
    }

    /// Writes a local header; says where it lies.
    fn local(&mut self, header: &Header, sum: u32, size: u32) -> io::Result<u32> {
        let offset = u32::try_from(self.at).map_err(|_| too_large())?;
        let mut bytes = b"PK\x03\x04\x14\0".to_vec();
        header.common(sum, size, size, &mut bytes)?;
        bytes.extend(&header.name);
        self.put(&bytes)?;
        Ok(offset)
    }

    /// Remembers a member for the directory.
    fn list(
        &mut self,
        header: &Header,
        offset: u32,
        sum: u32,
        packed: u32,
        size: u32,
    ) -> io::Result<()> {
        self.entries = self
            .entries
            .checked_add(1)
            .filter(|it| *it < u16::MAX)
            .ok_or_else(too_large)?;
        let out = &mut self.directory;
        // Made by Unix.
        out.extend(b"PK\x01\x02\x14\x03\x14\0");
        header.common(sum, packed, size, out)?;
        out.extend([0; 6]);
        let dos_dir = if header.name.ends_with(b"/") { 0x10 } else { 0 };
        out.extend((header.mode << 16 | dos_dir).to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend(&header.name);
        Ok(())
    }

    /// A member whose content is at hand.
    fn whole(&mut self, name: &[u8], mode: u32, content: &[u8]) -> io::Result<()> {
        let header = self.header(name, 0, 0, mode)?;
        let sum = crc32fast::hash(content);
        let size = u32::try_from(content.len()).map_err(|_| too_large())?;
        let offset = self.local(&header, sum, size)?;
        self.put(content)?;
        self.list(&header, offset, sum, size, size)
    }

    /// Packs a piece; the last one with `Finish`.
    fn pack(&mut self, mut data: &[u8], flush: FlushCompress) -> io::Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let mut packed = Vec::with_capacity(64 * 1024);
        loop {
            let before = open.packer.total_in();
            let status = open
                .packer
                .compress_vec(data, &mut packed, flush)
                .map_err(io::Error::other)?;
            // It fits: it is at most what the piece holds.
            data = &data[(open.packer.total_in() - before) as usize..];
            self.put(&packed)?;
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => data.is_empty(),
            };
            packed.clear();
            if is_done {
                break;
            }
        }
        self.open = Some(open);
        Ok(())
    }
}

impl Header {
    /// What both kinds of headers have, from the flags to the lengths of names.
    fn common(&self, sum: u32, packed: u32, size: u32, out: &mut Vec<u8>) -> io::Result<()> {
        let len = u16::try_from(self.name.len()).map_err(|_| unfit("a name is too long"))?;
        out.extend(self.flags.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend(FIRST_DAY.to_le_bytes());
        for number in [sum, packed, size] {
            out.extend(number.to_le_bytes());
        }
        out.extend(len.to_le_bytes());
        out.extend([0; 2]);
        Ok(())
    }
}

impl MemberWriter for Writer<'_> {
    fn dir(&mut self, name: &[u8]) -> io::Result<()> {
        self.whole(&[name, b"/"].concat(), 0o040_755, b"")
    }

    fn symlink(&mut self, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.whole(name, 0o120_777, target)
    }

    fn begin(&mut self, name: &[u8], size: u64, is_program: bool) -> io::Result<()> {
        if size >= u64::from(u32::MAX) {
            return Err(too_large());
        }
        let mode = if is_program { 0o100_755 } else { 0o100_644 };
        let header = self.header(name, DESCRIPTOR, 8, mode)?;
        let offset = self.local(&header, 0, 0)?;
        self.open = Some(Open {
            header,
            offset,
            packer: Compress::new(Compression::default(), false),
            sum: crc32fast::Hasher::new(),
        });
        Ok(())
    }

    fn content(&mut self, data: &[u8]) -> io::Result<()> {
        if let Some(open) = &mut self.open {
            open.sum.update(data);
        }
        self.pack(data, FlushCompress::None)
    }

    fn end(&mut self) -> io::Result<()> {
        self.pack(&[], FlushCompress::Finish)?;
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let sum = open.sum.finalize();
        let size = |number| u32::try_from(number).map_err(|_| too_large());
        let (packed, size) = (
            size(open.packer.total_out())?,
            size(open.packer.total_in())?,
        );
        let mut bytes = b"PK\x07\x08".to_vec();
        for number in [sum, packed, size] {
            bytes.extend(number.to_le_bytes());
        }
        self.put(&bytes)?;
        self.list(&open.header, open.offset, sum, packed, size)
    }

    fn finish(&mut self) -> io::Result<()> {
        let offset = u32::try_from(self.at).map_err(|_| too_large())?;
        let directory = std::mem::take(&mut self.directory);
        let size = u32::try_from(directory.len()).map_err(|_| too_large())?;
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend(self.entries.to_le_bytes());
        end.extend(self.entries.to_le_bytes());
        end.extend(size.to_le_bytes());
        end.extend(offset.to_le_bytes());
        end.extend([0; 2]);
        self.put(&directory)?;
        self.put(&end)
    }
}

fn too_large() -> io::Error {
    let why = "the tree is too large for a zip; make a tar of it";
    io::Error::other(Error::refused(ErrorKind::Limit, why))
}

fn unfit(why: &'static str) -> io::Error {
    io::Error::other(Error::refused(ErrorKind::Invalid, why))
}
