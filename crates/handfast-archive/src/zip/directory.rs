//! The directory of a zip.

use super::end::DirectoryEnd;
use super::extra::Extra;
use super::fields::Fields;
use super::kind::kind_of;
use super::local;
use super::spool::Spool;
use crate::limits::Limits;
use crate::member::MemberKind;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

const HEADER: usize = 46;

/// A flag: lengths and checksum are behind the content.
pub(super) const DESCRIPTOR: u16 = 1 << 3;
/// A flag: names are UTF-8.
const UTF8: u16 = 1 << 11;
/// How hard a compressor tried.
const EFFORT: u16 = 0b110;

/// One member, as the central directory describes it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Vec<u8>,
    pub(super) kind: MemberKind,
    pub(super) mode: Option<u32>,
    pub(super) modified: Option<(i64, u32)>,
    pub(super) flags: u16,
    pub(super) method: Method,
    /// Time and date as both headers have them.
    pub(super) stamp: u32,
    pub(super) sum: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    /// Where the content begins, once the local header was read.
    pub(super) content: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Method {
    Stored = 0,
    Deflate = 8,
    Zstd = 93,
}

impl Method {
    fn parse(number: u16) -> Result<Self, Stop> {
        Ok(match number {
            0 => Self::Stored,
            8 => Self::Deflate,
            93 => Self::Zstd,
            _ => return refuse(Rule::ZipMethod, "a compression method is not known here"),
        })
    }
}

/// Reads and judges the whole structure. The members come in the directory's order.
pub(super) fn read(spool: &Spool, limits: &Limits) -> Result<Vec<Record>, Stop> {
    let end = DirectoryEnd::find(spool)?;
    if end.entries > limits.entries {
        return refuse(Rule::Entries, "more members than allowed");
    }
    let most = limits
        .name_bytes
        .saturating_add(end.entries.saturating_mul(HEADER as u64 + 256));
    if end.size > most {
        return refuse(Rule::NameBytes, "the directory is larger than allowed");
    }
    // It fits: the limit was just checked.
    let data = spool.exact(end.offset, end.size as usize)?;
    let mut records = Vec::new();
    let mut rest = &data[..];
    while !rest.is_empty() {
        let (record, after) = Record::parse(rest)?;
        records.push(record);
        rest = after;
    }
    if records.len() as u64 != end.entries {
        return refuse(
            Rule::ZipDirectory,
            "the directory has more or fewer members than it says",
        );
    }
    local::check_all(spool, &mut records, end.offset)?;
    Ok(records)
}

impl Record {
    fn parse(data: &[u8]) -> Result<(Self, &[u8]), Stop> {
        let damaged = || {
            refuse(
                Rule::ZipDirectory,
                "the directory is not written as the format says",
            )
        };
        if data.len() < HEADER || !data.starts_with(b"PK\x01\x02") {
            return damaged();
        }
        let fields = Fields(data);
        let name_len = usize::from(fields.u16(28));
        let extra_len = usize::from(fields.u16(30));
        let comment_len = usize::from(fields.u16(32));
        if data.len() - HEADER < name_len + extra_len + comment_len {
            return damaged();
        }
        let name = &data[HEADER..HEADER + name_len];
        let extra = Extra::parse(&data[HEADER + name_len..HEADER + name_len + extra_len])?;
        let flags = fields.u16(8);
        if flags & !(DESCRIPTOR | UTF8 | EFFORT) != 0 {
            return refuse(
                Rule::ZipFlags,
                "the member is encrypted, or has a flag that is not known here",
            );
        }
        check_name(name, flags)?;
        if fields.u16(34) != 0 {
            return refuse(Rule::ZipDirectory, "a member lies in another volume");
        }
        let wide = extra.wide(&[fields.u32(24), fields.u32(20), fields.u32(42)])?;
        let (kind, mode) = kind_of(name, fields.u16(4), fields.u32(38))?;
        if kind == MemberKind::Symlink && fields.u16(36) != 0 {
            return refuse(
                Rule::ZipAttributes,
                "the attributes disagree about what a member is",
            );
        }
        let record = Self {
            name: name.to_vec(),
            kind,
            mode,
            modified: extra.modified.map(|seconds| (seconds.into(), 0)),
            flags,
            method: Method::parse(fields.u16(10))?,
            stamp: fields.u32(12),
            sum: fields.u32(16),
            packed: wide[1],
            size: wide[0],
            offset: wide[2],
            content: 0,
        };
        record.check_sizes()?;
        Ok((record, &data[HEADER + name_len + extra_len + comment_len..]))
    }

    fn check_sizes(&self) -> Result<(), Stop> {
        if self.method == Method::Stored && self.packed != self.size {
            return refuse(Rule::ZipContent, "stored content has two lengths");
        }
        if self.size != 0 && matches!(self.kind, MemberKind::Dir | MemberKind::Special) {
            return refuse(
                Rule::ContentOfNoFile,
                "a directory or a special file has content",
            );
        }
        Ok(())
    }
}

/// Without the flag a name may be in any character set. Backslashes are separators for some readers; others
/// take control characters and versions (`;1`) off.
fn check_name(name: &[u8], flags: u16) -> Result<(), Stop> {
    let is_known = match flags & UTF8 {
        0 => name.is_ascii(),
        _ => std::str::from_utf8(name).is_ok(),
    };
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let before = name.len() - digits.count();
    let has_version = before < name.len() && name[..before].ends_with(b";");
    // NUL has a rule of its own.
    let is_odd = |byte: &u8| *byte == b'\\' || (*byte != 0 && byte.is_ascii_control());
    match is_known && !has_version && !name.iter().any(is_odd) {
        true => Ok(()),
        false => refuse(
            Rule::ZipName,
            "readers disagree about the characters of a name",
        ),
    }
}
