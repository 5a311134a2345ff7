//! The end of a zip's directory: where readers begin, and where they can be led astray.

use super::fields::{Fields, IN_ZIP64};
use super::spool::Spool;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

const END: usize = 22;
const LOCATOR: usize = 20;
const END64: usize = 56;

/// Where the directory lies, and how many members it has.
#[derive(Debug)]
pub(super) struct DirectoryEnd {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) entries: u64,
}

impl DirectoryEnd {
    pub(super) fn find(spool: &Spool) -> Result<Self, Stop> {
        let (at, record) = last_record(spool)?;
        let fields = Fields(&record);
        if fields.u16(4) != 0 || fields.u16(6) != 0 || fields.u16(8) != fields.u16(10) {
            return refuse(Rule::ZipEnd, "the zip is one of several volumes");
        }
        let small = Self {
            offset: fields.u32(16).into(),
            size: fields.u32(12).into(),
            entries: fields.u16(10).into(),
        };
        let (end, at) = match locator(spool, at)? {
            Some(locator) => {
                let large = zip64(spool, at - LOCATOR as u64, &locator)?;
                large.require_agreement(&small)?;
                (large, at - (LOCATOR + END64) as u64)
            }
            None if small.needs_zip64() => {
                return refuse(Rule::Zip64, "the zip64 end of the directory is missing");
            }
            None => (small, at),
        };
        // A directory that ends elsewhere leaves bytes that some readers take for members.
        if end.offset.checked_add(end.size) != Some(at) {
            return refuse(
                Rule::ZipEnd,
                "the directory does not reach to its end record",
            );
        }
        Ok(end)
    }

    fn needs_zip64(&self) -> bool {
        let large = u64::from(IN_ZIP64);
        self.offset == large || self.size == large || self.entries == u64::from(u16::MAX)
    }

    /// A small field is the large one, or says that it does not fit.
    fn require_agreement(&self, small: &Self) -> Result<(), Stop> {
        let agree = |large: u64, small: u64, most: u64| small == large || small == most;
        let most = u64::from(IN_ZIP64);
        match agree(self.offset, small.offset, most)
            && agree(self.size, small.size, most)
            && agree(self.entries, small.entries, u16::MAX.into())
        {
            true => Ok(()),
            false => refuse(Rule::Zip64, "the two ends of the directory disagree"),
        }
    }
}

/// The one end record: the last signature of the file, with a comment that reaches to the file's end.
fn last_record(spool: &Spool) -> Result<(u64, Vec<u8>), Stop> {
    const SIGNATURE: &[u8] = b"PK\x05\x06";
    let len = spool.len.min((END + usize::from(u16::MAX)) as u64);
    let start = spool.len - len;
    // It fits: it is at most 64 KiB and a record.
    let tail = spool.exact(start, len as usize)?;
    let is_whole = |at: usize| {
        tail.len() >= at + END && at + END + usize::from(Fields(&tail[at..]).u16(20)) == tail.len()
    };
    let mut found = (0..tail.len().saturating_sub(SIGNATURE.len() - 1))
        .rev()
        .filter(|at| tail[*at..].starts_with(SIGNATURE));
    let Some(last) = found.next() else {
        return refuse(Rule::ZipEnd, "the end record of the directory is missing");
    };
    if !is_whole(last) {
        return refuse(
            Rule::ZipEnd,
            "something follows the end record of the directory, or hides in its comment",
        );
    }
    if found.any(is_whole) {
        return refuse(Rule::ZipEnd, "the zip has more than one end record");
    }
    Ok((start + last as u64, tail[last..last + END].to_vec()))
}

/// The zip64 locator, right before the end record.
fn locator(spool: &Spool, end: u64) -> Result<Option<Vec<u8>>, Stop> {
    let Some(at) = end.checked_sub(LOCATOR as u64) else {
        return Ok(None);
    };
    let record = spool.exact(at, LOCATOR)?;
    Ok(record.starts_with(b"PK\x06\x07").then_some(record))
}

/// The zip64 end record, right before its locator.
fn zip64(spool: &Spool, locator_at: u64, locator: &[u8]) -> Result<DirectoryEnd, Stop> {
    let locator = Fields(locator);
    let at = locator_at.checked_sub(END64 as u64);
    if at != Some(locator.u64(8)) || locator.u32(4) != 0 || locator.u32(16) != 1 {
        return refuse(Rule::Zip64, "the zip64 locator leads elsewhere");
    }
    let record = spool.exact(locator.u64(8), END64)?;
    let fields = Fields(&record);
    let is_sound = record.starts_with(b"PK\x06\x06")
        && fields.u64(4) == (END64 - 12) as u64
        && fields.u32(16) == 0
        && fields.u32(20) == 0
        && fields.u64(24) == fields.u64(32);
    if !is_sound {
        return refuse(
            Rule::Zip64,
            "the zip64 end record is not written as the format says",
        );
    }
    Ok(DirectoryEnd {
        offset: fields.u64(48),
        size: fields.u64(40),
        entries: fields.u64(32),
    })
}
