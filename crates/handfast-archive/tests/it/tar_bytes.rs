//! tar archives, byte by byte, past all checks of a builder.

/// A header block that can be changed at will before it is sealed with its checksum.
#[derive(Clone)]
pub(crate) struct Block(pub(crate) [u8; 512]);

impl Block {
    /// A well-formed POSIX header.
    pub(crate) fn ustar(typeflag: u8, name: &[u8], size: usize) -> Self {
        let mut block = Self([0; 512]);
        block
            .put(0, name)
            .octal(100, 8, 0o644)
            .octal(108, 8, 0)
            .octal(116, 8, 0)
            .octal(124, 12, size as u64)
            .octal(136, 12, 1_700_000_000)
            .put(156, &[typeflag])
            .put(257, b"ustar\x0000");
        block
    }

    /// A well-formed GNU header.
    pub(crate) fn gnu(typeflag: u8, name: &[u8], size: usize) -> Self {
        let mut block = Self::ustar(typeflag, name, size);
        block.put(257, b"ustar  \0");
        block
    }

    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn octal(&mut self, at: usize, len: usize, value: u64) -> &mut Self {
        let text = format!("{value:0width$o}\0", width = len - 1);
        self.put(at, text.as_bytes())
    }

    pub(crate) fn target(&mut self, target: &[u8]) -> &mut Self {
        self.put(157, target)
    }

    /// The bytes, with the right checksum.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let mut block = self.clone();
        block.put(148, &[b' '; 8]);
        let sum: u64 = block.0.iter().map(|byte| u64::from(*byte)).sum();
        block.put(148, format!("{sum:06o}\0 ").as_bytes());
        block.0.to_vec()
    }
}

/// A row of blocks that becomes an archive.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn header(mut self, block: &Block) -> Self {
        self.0.extend(block.sealed());
        self
    }

    /// Raw bytes, as they are.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Content, filled up to a block.
    pub(crate) fn content(mut self, content: &[u8]) -> Self {
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn file(self, name: &str, content: &[u8]) -> Self {
        self.header(&Block::ustar(b'0', name.as_bytes(), content.len()))
            .content(content)
    }

    pub(crate) fn dir(self, name: &str) -> Self {
        let mut block = Block::ustar(b'5', name.as_bytes(), 0);
        block.octal(100, 8, 0o755);
        self.header(&block)
    }

    pub(crate) fn symlink(self, name: &str, target: &str) -> Self {
        let mut block = Block::ustar(b'2', name.as_bytes(), 0);
        self.header(block.target(target.as_bytes()))
    }

    pub(crate) fn hard_link(self, name: &str, target: &str) -> Self {
        let mut block = Block::ustar(b'1', name.as_bytes(), 0);
        self.header(block.target(target.as_bytes()))
    }

    /// A pax header with these records.
    pub(crate) fn pax(self, records: &[(&str, &[u8])]) -> Self {
        let records: Vec<u8> = records
            .iter()
            .flat_map(|(key, value)| record(key, value))
            .collect();
        self.extension(
            &Block::ustar(b'x', b"PaxHeaders/x", records.len()),
            &records,
        )
    }

    /// A pax header with these bytes.
    pub(crate) fn pax_raw(self, records: &[u8]) -> Self {
        self.extension(&Block::ustar(b'x', b"PaxHeaders/x", records.len()), records)
    }

    pub(crate) fn global(self, records: &[(&str, &[u8])]) -> Self {
        let records: Vec<u8> = records
            .iter()
            .flat_map(|(key, value)| record(key, value))
            .collect();
        self.extension(
            &Block::ustar(b'g', b"pax_global_header", records.len()),
            &records,
        )
    }

    /// A GNU long name (`L`) or long target (`K`).
    pub(crate) fn long(self, typeflag: u8, name: &[u8]) -> Self {
        self.extension(&Block::gnu(typeflag, b"././@LongLink", name.len()), name)
    }

    pub(crate) fn extension(self, block: &Block, content: &[u8]) -> Self {
        self.header(block).content(content)
    }

    /// The end marker, and the bytes.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }
}

/// `LENGTH KEY=VALUE\n`
pub(crate) fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let body = key.len() + value.len() + 3;
    let mut len = body + 1;
    while len != body + len.to_string().len() {
        len += 1;
    }
    let mut record = format!("{len} {key}=").into_bytes();
    record.extend(value);
    record.push(b'\n');
    record
}
