//! The members of a zip, in the order of its directory.

use std::io::{BufReader, Read};

use super::directory::{self, DESCRIPTOR, Method, Record};
use super::local::SIGNATURE;
use super::spool::{Section, Spool};
use crate::limits::Limits;
use crate::member::{Member, MemberKind};
use crate::reader::Reader;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};
use crate::unpack::Zstd;

/// How much is unpacked at a time.
const PIECE: usize = 256 * 1024;

/// The longest target of a link.
const MAX_TARGET: u64 = 4096;

/// A zip whose structure was judged.
pub(crate) struct Zip<'s> {
    spool: &'s Spool,
    limits: Limits,
    records: std::vec::IntoIter<Record>,
    open: Option<MemberContent>,
    buffer: Vec<u8>,
    unpacked: u64,
}

/// The content of one member.
struct MemberContent {
    decoder: Decoder,
    sum: crc32fast::Hasher,
    /// What the directory promised.
    wanted_sum: u32,
    packed: u64,
    left: u64,
    /// Where the content is stored and a descriptor follows: its last bytes so far. A reader that has no
    /// directory looks for the descriptor's signature, and ends the content at the first one.
    last: Option<[u8; 3]>,
}

enum Decoder {
    Stored(Section),
    Deflate(flate2::bufread::DeflateDecoder<BufReader<Section>>),
    Zstd(Box<Zstd<BufReader<Section>>>),
}

impl<'s> Zip<'s> {
    pub(crate) fn new(spool: &'s Spool, limits: Limits) -> Result<Self, Stop> {
        let records = directory::read(spool, &limits)?;
        Ok(Self {
            spool,
            limits,
            records: records.into_iter(),
            open: None,
            buffer: vec![0; PIECE],
            unpacked: 0,
        })
    }

    fn open(&self, record: &Record) -> Result<MemberContent, Stop> {
        let section = self.spool.section(record.content, record.packed)?;
        let decoder = match record.method {
            Method::Stored => Decoder::Stored(section),
            Method::Deflate => {
                let input = BufReader::with_capacity(PIECE / 4, section);
                Decoder::Deflate(flate2::bufread::DeflateDecoder::new(input))
            }
            Method::Zstd => {
                let input = BufReader::with_capacity(PIECE / 4, section);
                Decoder::Zstd(Box::new(Zstd::new(input, self.limits.window)))
            }
        };
        Ok(MemberContent {
            decoder,
            sum: crc32fast::Hasher::new(),
            wanted_sum: record.sum,
            packed: record.packed,
            left: record.size,
            last: (record.method == Method::Stored && record.flags & DESCRIPTOR != 0)
                .then_some([0; 3]),
        })
    }

    /// The target of a link is its content.
    fn target(&mut self, record: &Record) -> Result<Vec<u8>, Stop> {
        if record.size > MAX_TARGET {
            return refuse(Rule::TooLong, "the target of a link is too long");
        }
        self.open = Some(self.open(record)?);
        let mut target = Vec::new();
        loop {
            let piece = self.content()?;
            if piece.is_empty() {
                return Ok(target);
            }
            target.extend_from_slice(piece);
        }
    }
}

impl Reader for Zip<'_> {
    fn next(&mut self) -> Result<Option<Member>, Stop> {
        self.open = None;
        let Some(record) = self.records.next() else {
            return Ok(None);
        };
        let target = match record.kind {
            MemberKind::Symlink => self.target(&record)?,
            _ => Vec::new(),
        };
        match record.kind {
            MemberKind::File => self.open = Some(self.open(&record)?),
            // A directory's content is empty, however it is packed.
            MemberKind::Dir => {
                self.open = Some(self.open(&record)?);
                while !self.content()?.is_empty() {}
            }
            _ => {}
        }
        let size = match record.kind {
            MemberKind::Symlink => 0,
            _ => record.size,
        };
        Ok(Some(Member {
            name: record.name,
            kind: record.kind,
            size,
            mode: record.mode,
            modified: record.modified,
            target,
        }))
    }

    fn content(&mut self) -> Result<&[u8], Stop> {
        let Some(content) = &mut self.open else {
            return Ok(&[]);
        };
        let got = content.read(&mut self.buffer)?;
        self.unpacked += got as u64;
        self.limits.check_ratio(self.spool.len, self.unpacked)?;
        if got == 0 {
            self.open = None;
        }
        Ok(&self.buffer[..got])
    }
}

impl MemberContent {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stop> {
        let got = match &mut self.decoder {
            Decoder::Stored(section) => section.read(buffer),
            Decoder::Deflate(decoder) => decoder.read(buffer),
            Decoder::Zstd(decoder) => decoder.read(buffer),
        };
        let got = got.map_err(|error| match error.kind() {
            std::io::ErrorKind::OutOfMemory => Stop::refused(
                Rule::Window,
                "the decoder needs a larger window than allowed",
            ),
            _ => Stop::refused(Rule::Compressed, "the content of a member is damaged"),
        })?;
        if got == 0 {
            return self.end();
        }
        self.look_for_descriptor(&buffer[..got])?;
        self.sum.update(&buffer[..got]);
        match self.left.checked_sub(got as u64) {
            Some(left) => self.left = left,
            None => {
                return refuse(
                    Rule::ZipContent,
                    "the content is longer than the directory says",
                );
            }
        }
        Ok(got)
    }

    fn look_for_descriptor(&mut self, piece: &[u8]) -> Result<(), Stop> {
        let Some(last) = &mut self.last else {
            return Ok(());
        };
        let beginning = [&last[..], &piece[..piece.len().min(3)]].concat();
        let holds = |bytes: &[u8]| bytes.windows(4).any(|it| it == SIGNATURE);
        if holds(&beginning) || holds(piece) {
            return refuse(
                Rule::ZipDescriptor,
                "stored content holds what looks like its data descriptor",
            );
        }
        let end = if piece.len() < 3 { &beginning } else { piece };
        last.copy_from_slice(&end[end.len() - 3..]);
        Ok(())
    }

    /// Everything was unpacked: what was promised has to be there, and nothing else.
    fn end(&mut self) -> Result<usize, Stop> {
        if self.left != 0 {
            return refuse(
                Rule::ZipContent,
                "the content is shorter than the directory says",
            );
        }
        if let Decoder::Deflate(decoder) = &self.decoder
            && decoder.total_in() != self.packed
        {
            return refuse(
                Rule::ZipContent,
                "more bytes follow the compressed content of a member",
            );
        }
        if std::mem::take(&mut self.sum).finalize() != self.wanted_sum {
            return refuse(
                Rule::Checksum,
                "the checksum of a member's content is wrong",
            );
        }
        Ok(0)
    }
}
