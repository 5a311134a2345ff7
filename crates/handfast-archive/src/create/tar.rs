//! tar: POSIX headers, and a pax header where something does not fit.

use std::io::{self, Write};

use super::MemberWriter;

const BLOCK: usize = 512;

/// The largest size that a header holds in octal.
const OCTAL_SIZE: u64 = 0o77_777_777_777;

pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    modified: u32,
    /// What fills the last block of content up.
    padding: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write, modified: u32) -> Self {
        Self {
            out,
            modified,
            padding: 0,
        }
    }

    fn member(
        &mut self,
        typeflag: u8,
        name: &[u8],
        target: &[u8],
        mode: u32,
        size: u64,
    ) -> io::Result<()> {
        let mut records = Vec::new();
        if name.len() > 100 {
            record("path", name, &mut records);
        }
        if target.len() > 100 {
            record("linkpath", target, &mut records);
        }
        if size > OCTAL_SIZE {
            record("size", size.to_string().as_bytes(), &mut records);
        }
        if !records.is_empty() {
            self.header(b'x', b"PaxHeader", b"", 0o644, records.len() as u64)?;
            self.out.write_all(&records)?;
            self.out
                .write_all(&[0; BLOCK][..padding(records.len() as u64)])?;
        }
        let size = if size > OCTAL_SIZE { 0 } else { size };
        self.header(typeflag, name, target, mode, size)
    }

    fn header(
        &mut self,
        typeflag: u8,
        name: &[u8],
        target: &[u8],
        mode: u32,
        size: u64,
    ) -> io::Result<()> {
        let mut block = [0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &name[..name.len().min(100)]);
        put(100, format!("{mode:07o}\0").as_bytes());
        put(108, b"0000000\x000000000\0");
        put(124, format!("{size:011o}\0").as_bytes());
        put(136, format!("{:011o}\0", self.modified).as_bytes());
        put(148, b"        ");
        put(156, &[typeflag]);
        put(157, &target[..target.len().min(100)]);
        put(257, b"ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.out.write_all(&block)
    }
}

impl MemberWriter for Writer<'_> {
    fn dir(&mut self, name: &[u8]) -> io::Result<()> {
        self.member(b'5', &[name, b"/"].concat(), b"", 0o755, 0)
    }

    fn symlink(&mut self, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.member(b'2', name, target, 0o777, 0)
    }

    fn begin(&mut self, name: &[u8], size: u64, is_program: bool) -> io::Result<()> {
        self.padding = padding(size);
        let mode = if is_program { 0o755 } else { 0o644 };
        self.member(b'0', name, b"", mode, size)
    }

    fn content(&mut self, data: &[u8]) -> io::Result<()> {
        self.out.write_all(data)
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(&[0; BLOCK][..self.padding])
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(&[0; 2 * BLOCK])
    }
}

fn padding(size: u64) -> usize {
    // It fits: it is less than a block.
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// `LENGTH KEY=VALUE\n`, where the length counts its own digits.
fn record(key: &str, value: &[u8], out: &mut Vec<u8>) {
    let rest = key.len() + value.len() + 3;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len += 1;
    }
    out.extend(format!("{len} {key}=").as_bytes());
    out.extend(value);
    out.push(b'\n');
}
