//! The decoders, chosen by the first bytes of the input and never by its name.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::limits::Limits;
use crate::report::Format;
use crate::source::Raw;

/// How many bytes say which format it is.
pub(crate) const MAGIC: usize = 512;

/// How much packed data is read at a time.
const PIECE: usize = 128 * 1024;

/// The format of an input that begins like this.
pub(crate) fn format_of(beginning: &[u8]) -> Option<Format> {
    match beginning {
        [0x1f, 0x8b, ..] => Some(Format::TarGzip),
        [b'B', b'Z', b'h', ..] => Some(Format::TarBzip2),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Format::TarXz),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Format::TarZstd),
        // A beginning that is a header of tar, too, is one or the other to different readers.
        [b'P', b'K', 3, 4, ..] if crate::tar::is_header(beginning) => None,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Format::Zip),
        bytes if bytes.get(257..262) == Some(b"ustar") => Some(Format::Tar),
        // Old archives have no magic; a header's checksum is one.
        bytes if crate::tar::is_header(bytes) => Some(Format::Tar),
        // An archive without members is two blocks of zeros.
        bytes if bytes.len() == MAGIC && bytes.iter().all(|byte| *byte == 0) => Some(Format::Tar),
        _ => None,
    }
}

/// The decoder of a format. A tar is never in two layers of compression.
pub(crate) fn decoder<'a>(format: Format, raw: Raw<'a>, limits: &Limits) -> Box<dyn Read + 'a> {
    if format == Format::Tar || format == Format::Zip {
        return Box::new(raw);
    }
    let input = BufReader::with_capacity(PIECE, raw);
    match format {
        Format::TarGzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Format::TarBzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Format::TarXz => {
            let kib = u32::try_from(limits.window >> 10).unwrap_or(u32::MAX);
            Box::new(lzma_rust2::XzReader::new_mem_limit(input, true, kib))
        }
        _ => Box::new(Zstd::new(input, limits.window)),
    }
}

/// zstd frames one after the other. Frames that a decoder skips would hide data, and are refused.
pub(crate) struct Zstd<R: BufRead> {
    input: R,
    decoder: FrameDecoder,
    is_inside: bool,
    /// Bytes that came out of the frame so far.
    unpacked: u64,
}

impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(input: R, window: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window);
        Self {
            input,
            decoder,
            is_inside: false,
            unpacked: 0,
        }
    }

    /// Damaged data and data that ends too early are distinguished by whether any input is left.
    fn fault(&mut self, error: FrameDecoderError) -> io::Error {
        match self.input.fill_buf() {
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            _ => io::Error::other(error),
        }
    }

    /// Begins the next frame; `false` at the end of the input.
    fn begin(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.reset(&mut self.input) {
            Ok(()) => {}
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                ..
            })) => return Err(io::Error::other("a skippable frame")),
            Err(FrameDecoderError::ReadFrameHeaderError(
                error @ ReadFrameHeaderError::BadMagicNumber(_),
            )) => return Err(io::Error::other(error)),
            Err(error) => return Err(self.fault(error)),
        }
        (self.is_inside, self.unpacked) = (true, 0);
        Ok(true)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 {
                let got = self.decoder.read(buffer)?;
                self.unpacked += got as u64;
                return Ok(got);
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.input, one) {
                    return Err(self.fault(error));
                }
                continue;
            }
            // The decoder reads the size that a frame promises, and does not compare it. 0 is no promise.
            let promised = self.decoder.content_size();
            if promised != 0 && promised != self.unpacked {
                return Err(io::Error::other("the frame has another size than it says"));
            }
            let told = self.decoder.get_checksum_from_data();
            if told.is_some() && told != self.decoder.get_calculated_checksum() {
                return Err(io::Error::other("wrong checksum"));
            }
            self.is_inside = false;
        }
    }
}
