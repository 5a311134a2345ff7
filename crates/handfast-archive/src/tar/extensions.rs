//! The extension headers before one member.

use super::header::{Dialect, Header};
use super::pax::{Pax, check_global};
use crate::member::{Member, MemberKind};
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// What the extension headers said so far.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    pax: Option<Pax>,
    long_name: Option<Vec<u8>>,
    long_target: Option<Vec<u8>>,
}

impl Extensions {
    /// Whether a type is an extension header's.
    pub(super) fn is_extension(typeflag: u8) -> bool {
        matches!(typeflag, b'x' | b'g' | b'L' | b'K')
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pax.is_none() && self.long_name.is_none() && self.long_target.is_none()
    }

    /// Takes one extension header with its content.
    pub(super) fn add(&mut self, header: &Header, content: &[u8]) -> Result<(), Stop> {
        match header.typeflag {
            b'g' => {
                if !self.is_empty() {
                    return refuse(
                        Rule::ExtensionsMixed,
                        "a pax global header comes between a member and its extension headers",
                    );
                }
                self.require(header, Dialect::Ustar)?;
                check_global(content)
            }
            b'x' => {
                self.require(header, Dialect::Ustar)?;
                if self.long_name.is_some() || self.long_target.is_some() {
                    return mixed();
                }
                set_once(&mut self.pax, Pax::parse(content)?)
            }
            kind => {
                self.require(header, Dialect::Gnu)?;
                if self.pax.is_some() {
                    return mixed();
                }
                let slot = match kind {
                    b'L' => &mut self.long_name,
                    _ => &mut self.long_target,
                };
                set_once(slot, long_name(content)?)
            }
        }
    }

    /// A pax header in GNU's dialect, or the other way round, is read differently by everybody.
    fn require(&self, header: &Header, dialect: Dialect) -> Result<(), Stop> {
        match header.dialect == dialect {
            true => Ok(()),
            false => mixed(),
        }
    }

    /// The member that all of this is about.
    pub(super) fn apply(self, header: Header) -> Result<Member, Stop> {
        let dialect = match (
            &self.pax,
            self.long_name.is_some() || self.long_target.is_some(),
        ) {
            (Some(_), _) => Some(Dialect::Ustar),
            (None, true) => Some(Dialect::Gnu),
            (None, false) => None,
        };
        if dialect.is_some_and(|dialect| dialect != header.dialect) {
            return mixed();
        }
        let pax = self.pax.unwrap_or_default();
        let kind = kind_of(&header)?;
        let size = match pax.size {
            Some(size) => pax_size(size, header.size)?,
            None => header.size,
        };
        if kind != MemberKind::File && size != 0 {
            return refuse(
                Rule::ContentOfNoFile,
                "a link, a directory or a special file has content",
            );
        }
        let has_target = pax.target.is_some() || self.long_target.is_some();
        let target = pax.target.or(self.long_target);
        let target = target.unwrap_or_else(|| header.target.clone());
        let is_link = matches!(kind, MemberKind::Symlink | MemberKind::HardLink);
        if !is_link && (has_target || !target.is_empty()) {
            return refuse(Rule::Type, "something that is no link has a link's target");
        }
        if is_link && has_target && header.target.is_empty() {
            return refuse(
                Rule::LinkTarget,
                "a link has a target in its extension header alone",
            );
        }
        let modified = header.modified.and_then(|it| i64::try_from(it).ok());
        Ok(Member {
            name: pax.path.or(self.long_name).unwrap_or(header.name),
            kind,
            size,
            mode: Some(header.mode),
            modified: pax.modified.or(modified.map(|seconds| (seconds, 0))),
            target,
        })
    }
}

/// The largest size that the header itself can hold in octal.
const OCTAL_SIZE: u64 = 0o77_777_777_777;

/// Only a size that the header cannot hold may be in the pax header alone.
fn pax_size(size: u64, of_header: u64) -> Result<u64, Stop> {
    match size == of_header || (size > OCTAL_SIZE && of_header == 0) {
        true => Ok(size),
        false => refuse(Rule::PaxSize, "a pax size differs from the header's"),
    }
}

fn kind_of(header: &Header) -> Result<MemberKind, Stop> {
    Ok(match header.typeflag {
        b'0' | 0 => MemberKind::File,
        b'1' => MemberKind::HardLink,
        b'2' => MemberKind::Symlink,
        b'3' | b'4' | b'6' => MemberKind::Special,
        b'5' => MemberKind::Dir,
        b'S' => return refuse(Rule::Sparse, "a member is a sparse file"),
        _ => return refuse(Rule::Type, "a member has a type that is not known here"),
    })
}

/// A name as GNU tar writes it: with a NUL at its end, and none before.
fn long_name(content: &[u8]) -> Result<Vec<u8>, Stop> {
    match content.split_last() {
        Some((0, name)) if !name.is_empty() && !name.contains(&0) => Ok(name.to_vec()),
        _ => refuse(
            Rule::GnuLongName,
            "a GNU long name is not ended by one NUL byte",
        ),
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T) -> Result<(), Stop> {
    if slot.is_some() {
        return refuse(
            Rule::ExtensionTwice,
            "a member has the same extension header twice",
        );
    }
    *slot = Some(value);
    Ok(())
}

fn mixed<T>() -> Result<T, Stop> {
    refuse(
        Rule::ExtensionsMixed,
        "headers of pax and of GNU are mixed before one member",
    )
}
