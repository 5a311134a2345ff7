//! The bytes of an archive, unpacked, in pieces; counted on both sides of the decoder.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use sha2::Digest as _;

use crate::limits::Limits;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// How much is unpacked at a time.
const PIECE: usize = 256 * 1024;

/// What is known of the packed side.
#[derive(Default)]
struct Packed {
    bytes: u64,
    error: Option<io::Error>,
    digest: Option<sha2::Sha256>,
}

/// The packed input: counts, digests, and keeps an error of the system apart from damaged data.
pub(crate) struct Raw<'a> {
    inner: Box<dyn Read + 'a>,
    packed: Rc<RefCell<Packed>>,
}

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut packed = self.packed.borrow_mut();
            match self.inner.read(buffer) {
                Ok(got) => {
                    packed.bytes += got as u64;
                    if let Some(digest) = &mut packed.digest {
                        digest.update(&buffer[..got]);
                    }
                    return Ok(got);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    packed.error = Some(error);
                    return Err(kind.into());
                }
            }
        }
    }
}

/// The unpacked bytes.
pub(crate) struct Source<'a> {
    decoder: Box<dyn Read + 'a>,
    packed: Rc<RefCell<Packed>>,
    limits: Limits,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    unpacked: u64,
}

impl<'a> Source<'a> {
    /// `unpack` puts a decoder around the raw input.
    pub(crate) fn new(
        input: Box<dyn Read + 'a>,
        digest: bool,
        limits: Limits,
        unpack: impl FnOnce(Raw<'a>) -> Box<dyn Read + 'a>,
    ) -> Self {
        let packed = Rc::new(RefCell::new(Packed {
            digest: digest.then(sha2::Sha256::new),
            ..Packed::default()
        }));
        let raw = Raw {
            inner: input,
            packed: Rc::clone(&packed),
        };
        Self {
            decoder: unpack(raw),
            packed,
            limits,
            buffer: vec![0; PIECE],
            start: 0,
            end: 0,
            unpacked: 0,
        }
    }

    /// At most so many bytes that come next; none at the end. They count as read.
    pub(crate) fn piece(&mut self, most: u64) -> Result<&[u8], Stop> {
        if self.start == self.end {
            self.fill()?;
        }
        let have = (self.end - self.start) as u64;
        // It fits: it is at most what the buffer holds.
        let len = have.min(most) as usize;
        self.start += len;
        Ok(&self.buffer[self.start - len..self.start])
    }

    /// Fills a buffer; `false` if the input ended before its first byte.
    pub(crate) fn exact(&mut self, buffer: &mut [u8]) -> Result<bool, Stop> {
        let mut filled = 0;
        while filled < buffer.len() {
            let piece = self.piece((buffer.len() - filled) as u64)?;
            if piece.is_empty() {
                return match filled {
                    0 => Ok(false),
                    _ => refuse(
                        Rule::Truncated,
                        "the archive ends in the middle of a header",
                    ),
                };
            }
            buffer[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        }
        Ok(true)
    }

    /// The digest of the packed input, once it was read to its end.
    pub(crate) fn digest(&self) -> Option<[u8; 32]> {
        let digest = self.packed.borrow_mut().digest.take()?;
        Some(digest.finalize().into())
    }

    fn fill(&mut self) -> Result<(), Stop> {
        let got = match self.decoder.read(&mut self.buffer) {
            Ok(got) => got,
            Err(error) => return Err(self.fault(&error)),
        };
        (self.start, self.end) = (0, got);
        self.unpacked += got as u64;
        let packed = self.packed.borrow().bytes;
        self.limits.check_ratio(packed, self.unpacked)
    }

    /// What an error of the decoder means.
    fn fault(&self, error: &io::Error) -> Stop {
        if let Some(error) = self.packed.borrow_mut().error.take() {
            return Stop::unreadable(&error);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Stop::refused(Rule::Truncated, "the compressed data ends in the middle")
            }
            io::ErrorKind::OutOfMemory => Stop::refused(
                Rule::Window,
                "the decoder needs a larger window than allowed",
            ),
            _ => {
                let text = handfast::escape(error.to_string().as_bytes());
                Stop::refused(
                    Rule::Compressed,
                    format!("the compressed data is damaged: {text}"),
                )
            }
        }
    }
}
