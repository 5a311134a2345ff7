//! One header block of a tar.

use super::number::{octal, octal_or_binary};
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// Bytes of a block.
pub(super) const BLOCK: usize = 512;

/// Which format a header is written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Dialect {
    /// POSIX, with or without pax headers.
    Ustar,
    /// GNU.
    Gnu,
    /// Seventh Edition Unix, which has no magic. Release archives of GNU programs are written so.
    V7,
}

/// What a header block says, after its fields were found to be well-formed.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) dialect: Dialect,
    pub(super) typeflag: u8,
    pub(super) name: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) modified: Option<u64>,
}

impl Header {
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Self, Stop> {
        check_sum(block)?;
        let dialect = match &block[257..265] {
            b"ustar\x0000" => Dialect::Ustar,
            b"ustar  \0" => Dialect::Gnu,
            // A reader that does not look at the magic could read other bytes there as fields.
            _ if is_v7(block) => Dialect::V7,
            _ => return refuse(Rule::Magic, "a header has neither POSIX's nor GNU's magic"),
        };
        // The fields that are not used have to be numbers all the same.
        octal_or_binary(&block[108..116])?;
        octal_or_binary(&block[116..124])?;
        let mode = octal(&block[100..108])?.unwrap_or(0);
        let Some(size) = octal_or_binary(&block[124..136])? else {
            return refuse(Rule::Number, "a header has no size");
        };
        let modified = octal_or_binary(&block[136..148])?;
        let name = text(&block[..100])?;
        let prefix = match dialect {
            Dialect::Ustar => text(&block[345..500])?,
            Dialect::Gnu => {
                check_gnu_fields(block)?;
                &[]
            }
            Dialect::V7 => &[],
        };
        let name = match prefix {
            [] => name.to_vec(),
            prefix => [prefix, b"/", name].concat(),
        };
        // Device numbers of what is no device are zero or empty.
        octal(&block[329..337])?;
        octal(&block[337..345])?;
        Ok(Self {
            dialect,
            typeflag: block[156],
            name,
            target: text(&block[157..257])?.to_vec(),
            size,
            // Twelve bits are the mode; some writers put the type of the file above them.
            mode: (mode & 0o7777) as u32,
            modified,
        })
    }
}

/// The sum of all bytes, with those of the sum itself taken for spaces. The sum of signed bytes, which
/// some old writers meant, is not accepted: a header would have two meanings.
pub(super) fn check_sum(block: &[u8; BLOCK]) -> Result<(), Stop> {
    let told = octal(&block[148..156])?;
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let found = sum(&block[..148]) + 8 * u64::from(b' ') + sum(&block[156..]);
    if told != Some(found) {
        return refuse(Rule::Checksum, "the checksum of a header is wrong");
    }
    Ok(())
}

/// Nothing behind the link's target, but for device numbers of zero: GNU tar writes them.
fn is_v7(block: &[u8; BLOCK]) -> bool {
    let devices = &block[329..345];
    let is_zero = |byte: &u8| *byte == 0;
    block[257..329].iter().all(is_zero)
        && devices.iter().all(|byte| matches!(byte, 0 | b'0'))
        && block[345..].iter().all(is_zero)
}

/// Text up to a NUL, with nothing after it.
fn text(field: &[u8]) -> Result<&[u8], Stop> {
    let len = field.iter().position(|byte| *byte == 0);
    let (text, rest) = field.split_at(len.unwrap_or(field.len()));
    if rest.iter().any(|byte| *byte != 0) {
        return refuse(Rule::Text, "a text field of a header goes on after its end");
    }
    Ok(text)
}

/// What GNU keeps where POSIX has the prefix: two times, and the fields of continued and sparse files. All
/// of it has to be empty: a reader that takes it for a prefix sees another name.
fn check_gnu_fields(block: &[u8; BLOCK]) -> Result<(), Stop> {
    if block[345..369].iter().any(|byte| *byte != 0) {
        return refuse(
            Rule::Text,
            "a header of GNU has times that some readers take for a part of the name",
        );
    }
    if block[369..500].iter().any(|byte| *byte != 0) {
        return refuse(
            Rule::Sparse,
            "a header has fields of a sparse or continued file",
        );
    }
    Ok(())
}
