//! Staging names.
//!
//! `.handfast-<role>-<inode>-<birth>-<random>`, all numbers in hexadecimal; the birth time in
//! nanoseconds, 0 where the filesystem keeps none. A conditional write adds what it expects to
//! displace: `-<inode>-<birth>-<size>-<mtime>` and, if known, `-<digest>` (its first 8 bytes).

use std::os::fd::AsFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::error::Fault;
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::Name;
use crate::sys;
use crate::version::Version;

/// The attribute that marks a staging directory, and a file that is about to displace another.
const MARK: &std::ffi::CStr = c"user.handfast.staging";

/// Every staging name begins with this.
pub(crate) const PREFIX: &[u8] = b".handfast-";

/// The kind of leftover that a name marks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// A file on its way to a name; after an exchange, the object it displaced.
    File,
    /// A directory that is being filled, or a temporary one.
    Tree,
    /// An object on its way out.
    Removed,
}

impl Role {
    const fn letter(self) -> char {
        match self {
            Self::File => 's',
            Self::Tree => 't',
            Self::Removed => 'd',
        }
    }
}

/// What a conditional operation expects to displace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Expected {
    inode: u64,
    born: u128,
    len: u64,
    modified: i128,
    digest: Option<u64>,
}

impl Expected {
    pub(crate) fn of(version: &Version) -> Self {
        Self {
            inode: version.inode,
            born: version
                .born
                .and_then(|born| u128::try_from(born.as_nanoseconds()).ok())
                .unwrap_or(0),
            len: version.len,
            modified: version.modified.as_nanoseconds(),
            digest: version.digest.map(short_digest),
        }
    }

    /// Whether an object is the expected one, as far as its metadata tells.
    pub(crate) fn matches(&self, status: &Metadata) -> bool {
        self.inode == status.identity.inode
            && self.born == status.identity.born_nanoseconds()
            && self.len == status.len
            && self.modified == status.modified.as_nanoseconds()
    }

    pub(crate) fn matches_digest(&self, digest: [u8; 32]) -> bool {
        self.digest
            .is_none_or(|wanted| wanted == short_digest(digest))
    }

    pub(crate) fn wants_digest(&self) -> bool {
        self.digest.is_some()
    }
}

fn short_digest(digest: [u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

/// A parsed staging name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct StagingName {
    pub(crate) role: Role,
    inode: u64,
    born: u128,
    random: u64,
    pub(crate) expected: Option<Expected>,
}

impl StagingName {
    pub(crate) fn new(
        role: Role,
        identity: &Identity,
        random: u64,
        expected: Option<Expected>,
    ) -> Self {
        Self {
            role,
            inode: identity.inode,
            born: identity.born_nanoseconds(),
            random,
            expected,
        }
    }

    /// A name for an object whose identity is not known yet. It proves nothing.
    pub(crate) fn nameless(role: Role, random: u64) -> Self {
        Self {
            role,
            inode: 0,
            born: 0,
            random,
            expected: None,
        }
    }

    /// Whether the name was made for this object.
    pub(crate) fn is_for(&self, status: &Metadata) -> bool {
        self.inode != 0
            && self.inode == status.identity.inode
            && self.born == status.identity.born_nanoseconds()
    }

    /// Marks an object as the one this name was made for, and says whether that was possible.
    /// Inode and birth time can be read by anybody who wants to forge a name; the mark can only be
    /// set by who may write the object, and who may do that may also empty it.
    pub(crate) fn mark(&self, object: impl AsFd) -> bool {
        let value = self.random.to_be_bytes();
        // Where there are no attributes, `recover` cannot prove anything and keeps the object.
        sys::retry(|| rustix::fs::fsetxattr(&object, MARK, &value, XattrFlags::empty())).is_ok()
    }

    /// Takes the mark away, before the object gets its public name: with it, a user who can read it
    /// could pass the object off as ours.
    pub(crate) fn unmark(object: impl AsFd) -> Result<(), Fault> {
        match sys::retry(|| rustix::fs::fremovexattr(&object, MARK)) {
            // There was none, or there are none here.
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(Fault::sys("fremovexattr", errno)),
        }
    }

    /// Whether an object has the mark of this name.
    pub(crate) fn has_mark(&self, object: impl AsFd) -> bool {
        let mut value = [0; 8];
        rustix::fs::fgetxattr(&object, MARK, &mut value[..]).is_ok_and(|len| len == value.len())
            && value == self.random.to_be_bytes()
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn to_name(self) -> Name {
        let mut text = format!(
            ".handfast-{}-{:x}-{:x}-{:016x}",
            self.role.letter(),
            self.inode,
            self.born,
            self.random
        );
        if let Some(expected) = self.expected {
            text += &format!(
                "-{:x}-{:x}-{:x}-{:x}",
                expected.inode, expected.born, expected.len, expected.modified
            );
            if let Some(digest) = expected.digest {
                text += &format!("-{digest:016x}");
            }
        }
        Name::parse(text).expect("hexadecimal digits and dashes make a name")
    }

    /// Parses a name. Anything that is not exactly what [`StagingName::to_name`] makes is not ours.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.strip_prefix(PREFIX)?).ok()?;
        let mut parts = text.split('-');
        let role = match parts.next()? {
            "s" => Role::File,
            "t" => Role::Tree,
            "d" => Role::Removed,
            _ => return None,
        };
        let inode = u64::from_str_radix(parts.next()?, 16).ok()?;
        let born = u128::from_str_radix(parts.next()?, 16).ok()?;
        let random = u64::from_str_radix(parts.next()?, 16).ok()?;
        let expected = match parts.next() {
            None => None,
            Some(inode) => Some(Expected {
                inode: u64::from_str_radix(inode, 16).ok()?,
                born: u128::from_str_radix(parts.next()?, 16).ok()?,
                len: u64::from_str_radix(parts.next()?, 16).ok()?,
                modified: u128::from_str_radix(parts.next()?, 16).ok()?.cast_signed(),
                digest: parts
                    .next()
                    .map(|digest| u64::from_str_radix(digest, 16))
                    .transpose()
                    .ok()?,
            }),
        };
        let name = Self {
            role,
            inode,
            born,
            random,
            expected,
        };
        (name.to_name().as_bytes() == bytes).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_round_trip() {
        let identity = Identity {
            device: 1,
            inode: 77,
            mount: None,
            born: Some(crate::Timestamp {
                seconds: 1_700_000_000,
                nanoseconds: 5,
            }),
        };
        let expected = Expected {
            inode: 3,
            born: 9,
            len: 1 << 40,
            modified: -1,
            digest: Some(5),
        };
        for name in [
            StagingName::new(Role::File, &identity, 42, None),
            StagingName::new(Role::Removed, &identity, u64::MAX, Some(expected)),
            StagingName::new(
                Role::File,
                &identity,
                0,
                Some(Expected {
                    digest: None,
                    ..expected
                }),
            ),
            StagingName::nameless(Role::Tree, 7),
        ] {
            assert_eq!(StagingName::parse(name.to_name().as_bytes()), Some(name));
            assert!(name.to_name().as_bytes().len() < 255);
        }
    }

    #[test]
    fn lookalikes_are_not_ours() {
        for text in [
            ".handfast-",
            ".handfast-s",
            ".handfast-s-1-2",
            ".handfast-s-01-2-0000000000000003",
            ".handfast-s-1-2-3",
            ".handfast-x-1-2-0000000000000003",
            ".handfast-s-1-2-0000000000000003-",
            ".handfast-s-1-2-0000000000000003-1-2-3",
            ".handfast-s-+1-2-0000000000000003",
            "handfast-s-1-2-0000000000000003",
        ] {
            assert_eq!(StagingName::parse(text.as_bytes()), None, "{text}");
        }
    }
}
