//! pax records: `LENGTH KEY=VALUE\n`.

use std::collections::HashSet;

use super::number::{decimal, time};
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// What a pax header says about the member behind it.
#[derive(Debug, Default)]
pub(super) struct Pax {
    pub(super) path: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<(i64, u32)>,
}

impl Pax {
    pub(super) fn parse(data: &[u8]) -> Result<Self, Stop> {
        let mut pax = Self::default();
        let mut seen = HashSet::new();
        each(data, |key, value| {
            if !seen.insert(key) {
                return refuse(Rule::PaxTwice, "a pax header has a keyword twice");
            }
            pax.set(key, value)
        })?;
        Ok(pax)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        match key {
            b"path" => self.path = Some(name(value)?),
            b"linkpath" => self.target = Some(name(value)?),
            b"size" => {
                let size = decimal(value).filter(|size| i64::try_from(*size).is_ok());
                let Some(size) = size else {
                    return refuse(Rule::Number, "a pax size is not a decimal number");
                };
                self.size = Some(size);
            }
            b"mtime" => match time(value) {
                Some(modified) => self.modified = Some(modified),
                None => return refuse(Rule::Number, "a pax time is not a decimal number"),
            },
            b"hdrcharset" if value != b"BINARY" && value != b"ISO-IR 10646 2000 UTF-8" => {
                return refuse(
                    Rule::PaxKey,
                    "names are in a character set that is not known here",
                );
            }
            // What is not restored has to be well-formed all the same: other readers stop there.
            b"atime" | b"ctime" if time(value).is_none() => {
                return refuse(Rule::Number, "a pax time is not a decimal number");
            }
            b"uid" | b"gid" if decimal(value).is_none() => {
                return refuse(Rule::Number, "an owner in a pax header is not a number");
            }
            b"atime" | b"ctime" | b"uid" | b"gid" | b"uname" | b"gname" | b"comment"
            | b"hdrcharset" => {}
            b"SCHILY.realsize" | b"SUN.holesdata" => return sparse(),
            key if key.starts_with(b"GNU.sparse.") => return sparse(),
            key if is_vendors(key) => {}
            _ => return refuse(Rule::PaxKey, "a pax keyword is not known here"),
        }
        Ok(())
    }
}

/// A global header may hold comments, and nothing that changes the members behind it.
pub(super) fn check_global(data: &[u8]) -> Result<(), Stop> {
    each(data, |key, _| match key {
        b"comment" => Ok(()),
        _ => refuse(
            Rule::PaxGlobal,
            "a pax global header sets something for every member",
        ),
    })
}

fn sparse<T>() -> Result<T, Stop> {
    refuse(Rule::Sparse, "a pax header describes a sparse file")
}

/// Keywords of vendors that change what a member is, or where its content goes. The others are about owners,
/// flags and extended attributes, which are not restored.
const MEANINGFUL: [&[u8]; 6] = [
    b"GNU.",
    b"SCHILY.filetype",
    b"SCHILY.tarfiletype",
    b"SCHILY.offset",
    b"SCHILY.size",
    b"SCHILY.dir",
];

/// Whether a keyword is a vendor's, and none that other readers act on.
fn is_vendors(key: &[u8]) -> bool {
    if MEANINGFUL.iter().any(|it| key.starts_with(it)) {
        return false;
    }
    let vendor = key
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_');
    let vendor = vendor.count();
    vendor > 0 && key.get(vendor) == Some(&b'.') && key.len() > vendor + 1
}

/// A name that a C program reads as it is written.
fn name(value: &[u8]) -> Result<Vec<u8>, Stop> {
    if value.is_empty() {
        // The format says that an empty value takes the header's own away; readers disagree.
        return refuse(Rule::PaxRecord, "a name in a pax header is empty");
    }
    if value.contains(&0) {
        return refuse(Rule::Nul, "a name in a pax header holds a NUL byte");
    }
    Ok(value.to_vec())
}

fn each<'a>(
    mut data: &'a [u8],
    mut take: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    while !data.is_empty() {
        let Some((key, value, rest)) = record(data) else {
            return refuse(
                Rule::PaxRecord,
                "a pax record is not written as the format says",
            );
        };
        take(key, value)?;
        data = rest;
    }
    Ok(())
}

fn record(data: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let len = usize::try_from(decimal(&data[..space])?).ok()?;
    // At least a space, a keyword, `=` and a newline.
    if len < space + 4 || len > data.len() {
        return None;
    }
    let (record, rest) = data.split_at(len);
    let body = record[space + 1..].strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (&body[..equals], &body[equals + 1..]);
    let is_word = !key.is_empty() && !key.iter().any(|byte| *byte <= b' ' || *byte == 0x7f);
    is_word.then_some((key, value, rest))
}
