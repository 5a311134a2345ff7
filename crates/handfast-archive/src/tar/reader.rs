//! A tar, read once from its beginning to its end.

use super::extensions::Extensions;
use super::header::{BLOCK, Header};
use crate::limits::Limits;
use crate::member::Member;
use crate::reader::Reader;
use crate::refusal::Rule;
use crate::source::Source;
use crate::stop::{Stop, refuse};

/// Zeros that may follow the end marker: tapes have blocks of their own size.
const MAX_PADDING: u64 = 1 << 20;

/// A tar.
pub(crate) struct Tar<'s, 'a> {
    source: &'s mut Source<'a>,
    limits: Limits,
    /// Content of the member that was returned last, still to be read.
    left: u64,
    /// What fills its last block up.
    padding: u64,
    done: bool,
}

impl<'s, 'a> Tar<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>, limits: Limits) -> Self {
        Self {
            source,
            limits,
            left: 0,
            padding: 0,
            done: false,
        }
    }

    fn block(&mut self) -> Result<[u8; BLOCK], Stop> {
        let mut block = [0; BLOCK];
        match self.source.exact(&mut block)? {
            true => Ok(block),
            false => refuse(Rule::EndMarker, "the archive ends without an end marker"),
        }
    }

    /// The whole content of an extension header.
    fn extension(&mut self, header: &Header, so_far: &mut u64) -> Result<Vec<u8>, Stop> {
        // What a reader keeps in memory for one member is bounded, whatever the sizes say.
        *so_far = so_far
            .saturating_add(header.size)
            .saturating_add(BLOCK as u64);
        if *so_far > self.limits.extension_bytes {
            return refuse(
                Rule::ExtensionBytes,
                "more bytes of extension headers than allowed",
            );
        }
        // It fits: the limit was just checked.
        let mut content = vec![0; header.size as usize];
        if !self.source.exact(&mut content)? && !content.is_empty() {
            return truncated();
        }
        self.padding = padding(header.size);
        self.end_of_content()?;
        Ok(content)
    }

    /// Reads what fills the last block up: it has to be zero, so that nothing hides there.
    fn end_of_content(&mut self) -> Result<(), Stop> {
        while self.padding > 0 {
            let piece = self.source.piece(self.padding)?;
            if piece.is_empty() {
                return truncated();
            }
            if piece.iter().any(|byte| *byte != 0) {
                return refuse(Rule::Padding, "what fills a block up is not zero");
            }
            self.padding -= piece.len() as u64;
        }
        Ok(())
    }

    /// One block of zeros was read. There has to be another, and then nothing but zeros.
    fn end(&mut self) -> Result<(), Stop> {
        if self.block()?.iter().any(|byte| *byte != 0) {
            return refuse(
                Rule::EndMarker,
                "one block of zeros is followed by something else",
            );
        }
        let mut padding = 0;
        loop {
            let piece = self.source.piece(u64::MAX)?;
            if piece.is_empty() {
                self.done = true;
                return Ok(());
            }
            padding += piece.len() as u64;
            if padding > MAX_PADDING || piece.iter().any(|byte| *byte != 0) {
                return refuse(Rule::AfterEnd, "something follows the end of the archive");
            }
        }
    }
}

impl Reader for Tar<'_, '_> {
    fn next(&mut self) -> Result<Option<Member>, Stop> {
        while !self.content()?.is_empty() {}
        if self.done {
            return Ok(None);
        }
        let mut extensions = Extensions::default();
        let mut bytes = 0;
        loop {
            let block = self.block()?;
            if block.iter().all(|byte| *byte == 0) {
                if !extensions.is_empty() {
                    return refuse(
                        Rule::ExtensionDangling,
                        "no member follows an extension header",
                    );
                }
                self.end()?;
                return Ok(None);
            }
            let header = Header::parse(&block)?;
            if !Extensions::is_extension(header.typeflag) {
                let member = extensions.apply(header)?;
                (self.left, self.padding) = (member.size, padding(member.size));
                return Ok(Some(member));
            }
            let content = self.extension(&header, &mut bytes)?;
            extensions.add(&header, &content)?;
        }
    }

    fn content(&mut self) -> Result<&[u8], Stop> {
        if self.left == 0 {
            self.end_of_content()?;
            return Ok(&[]);
        }
        let piece = self.source.piece(self.left)?;
        if piece.is_empty() {
            return truncated();
        }
        self.left -= piece.len() as u64;
        Ok(piece)
    }
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

fn truncated<T>() -> Result<T, Stop> {
    refuse(
        Rule::Truncated,
        "the archive ends in the middle of a member",
    )
}
