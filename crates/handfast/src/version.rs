//! The state of a file at the time it was read.

use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::metadata::{Metadata, Timestamp};
use crate::sys;
use crate::verb::Verb;

/// A file younger than this may change again within the resolution of its timestamps, so only
/// its content tells.
const YOUNG: Duration = Duration::from_secs(2);

/// How often a file that changes while it is digested is tried again.
const MAX_TRIES: u32 = 8;

/// The state of a file at one moment: which object, how long, when it changed, and for files that
/// are very young or on request the digest of its content.
///
/// Without a digest the file's times decide. A program that has the file mapped may store
/// into it without changing any time, while the page is not yet written back; only a version with a
/// digest notices that: [`Root::read_versioned_with_digest`](crate::Root::read_versioned_with_digest),
/// [`Root::version_with_digest`](crate::Root::version_with_digest).
///
/// Its text form is opaque and stable: [`Display`](fmt::Display) writes it, [`FromStr`] reads it.
#[derive(Clone, Copy, Eq, PartialEq, Hash)]
pub struct Version {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) born: Option<Timestamp>,
    pub(crate) len: u64,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
    pub(crate) digest: Option<[u8; 32]>,
}

/// In what a file is not as it was seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Difference {
    /// Another object is there.
    Object,
    /// Its content was changed.
    Content,
    /// Its mode, owner, names or attributes were changed.
    Metadata,
}

impl Difference {
    /// The difference in one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Content => "content",
            Self::Metadata => "metadata",
        }
    }

    /// The difference as a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Object => "another file has replaced it since you read it",
            Self::Content => "the content was changed",
            Self::Metadata => "the file's metadata was changed",
        }
    }
}

impl Version {
    /// What a file's metadata alone shows.
    pub(crate) fn of_status(status: &Metadata, digest: Option<[u8; 32]>) -> Self {
        Self {
            device: status.identity.device,
            inode: status.identity.inode,
            born: status.identity.born,
            len: status.len,
            modified: status.modified,
            changed: status.changed,
            digest,
        }
    }

    /// What a file's metadata tells: a version without a digest, however young the file is.
    #[must_use]
    pub fn of_metadata(status: &Metadata) -> Self {
        Self::of_status(status, None)
    }

    /// The version of an open, readable file. `digest` asks for the digest in any case.
    pub(crate) fn of_file(fd: impl AsFd, digest: bool, limit: u64) -> Result<Self, Fault> {
        let mut before = sys::status(&fd)?;
        for _ in 0..MAX_TRIES {
            if !digest && !is_young(&before) {
                return Ok(Self::of_status(&before, None));
            }
            if before.len > limit {
                return Err(Fault::rule(
                    ErrorKind::Limit,
                    "the file is too large to be digested",
                ));
            }
            let digest = digest_of(&fd, limit)?;
            let after = sys::status(&fd)?;
            if Self::of_status(&before, None) == Self::of_status(&after, None) {
                return Ok(Self::of_status(&after, Some(digest)));
            }
            before = after;
        }
        Err(Fault::rule(
            ErrorKind::Raced,
            "the file kept changing while it was read",
        ))
    }

    /// What differs between this version and the file as it is now, in words; `None` if nothing.
    ///
    /// `digest` is only called if everything else agrees and this version has one.
    pub(crate) fn difference(
        &self,
        now: &Metadata,
        digest: impl FnOnce() -> Result<[u8; 32], Fault>,
    ) -> Result<Option<&'static str>, Fault> {
        match self.differs_from(&Self::of_status(now, None)) {
            Some(difference) => Ok(Some(difference.sentence())),
            None => self.digest_difference(digest),
        }
    }

    /// In what a later version of what the name refers to differs from this one; `None` if both
    /// are the same state of the same object. Digests are compared where both have one.
    #[must_use]
    pub fn differs_from(&self, now: &Self) -> Option<Difference> {
        if (self.device, self.inode, self.born) != (now.device, now.inode, now.born) {
            return Some(Difference::Object);
        }
        let digests = self.digest.zip(now.digest);
        if (self.len, self.modified) != (now.len, now.modified)
            || digests.is_some_and(|(one, other)| one != other)
        {
            return Some(Difference::Content);
        }
        (self.changed != now.changed).then_some(Difference::Metadata)
    }

    /// Whether this is the version of an object in exactly this state. The digest is not compared.
    #[must_use]
    pub fn is_of(&self, now: &Metadata) -> bool {
        Self::of_status(now, self.digest) == *self
    }

    /// Whether this is a version of this object, in whatever state.
    #[must_use]
    pub fn is_of_object(&self, now: &Metadata) -> bool {
        let now = Self::of_status(now, None);
        (self.device, self.inode, self.born) == (now.device, now.inode, now.born)
    }

    /// As [`Version::difference`], for an object that we renamed ourselves: renaming changes the
    /// change time, and nothing else.
    pub(crate) fn difference_after_rename(
        &self,
        now: &Metadata,
        digest: impl FnOnce() -> Result<[u8; 32], Fault>,
    ) -> Result<Option<&'static str>, Fault> {
        let same_change = Metadata {
            changed: self.changed,
            ..*now
        };
        self.difference(&same_change, digest)
    }

    /// Whether this can be the file of a version that was renamed since: everything but the change
    /// time is as it was. The digest is not compared.
    #[must_use]
    pub fn is_of_renamed(&self, now: &Metadata) -> bool {
        let renamed = Self::of_status(now, self.digest);
        Self {
            changed: renamed.changed,
            ..*self
        } == renamed
    }

    fn digest_difference(
        &self,
        digest: impl FnOnce() -> Result<[u8; 32], Fault>,
    ) -> Result<Option<&'static str>, Fault> {
        match self.digest {
            Some(seen) if seen != digest()? => Ok(Some(Difference::Content.sentence())),
            _ => Ok(None),
        }
    }

    /// The file's length when it was seen.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file was empty when it was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The SHA-256 of the content, where it was taken.
    #[must_use]
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.digest
    }
}

/// Whether the timestamps cannot distinguish the next change from this one yet.
pub(crate) fn is_young(status: &Metadata) -> bool {
    let newest = status.modified.max(status.changed).to_system_time();
    // A file from the future is young for as long as its clock is ahead of ours.
    SystemTime::now()
        .duration_since(newest)
        .map_or(true, |age| age < YOUNG)
}

/// The SHA-256 of the whole content, read by position so that nobody's offset moves.
pub(crate) fn digest_of(fd: impl AsFd, limit: u64) -> Result<[u8; 32], Fault> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let got = sys::pread(&fd, &mut buffer, offset)?;
        if got == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&buffer[..got]);
        offset += got as u64;
        if offset > limit {
            return Err(Fault::rule(
                ErrorKind::Limit,
                "the file is too large to be digested",
            ));
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{:x}.{:x}.", self.device, self.inode)?;
        match self.born {
            Some(born) => write_time(f, born)?,
            None => f.write_str("0")?,
        }
        write!(f, ".{:x}.", self.len)?;
        write_time(f, self.modified)?;
        f.write_str(".")?;
        write_time(f, self.changed)?;
        if let Some(digest) = self.digest {
            f.write_str(".")?;
            for byte in digest {
                write!(f, "{byte:02x}")?;
            }
        }
        Ok(())
    }
}

fn write_time(f: &mut fmt::Formatter<'_>, time: Timestamp) -> fmt::Result {
    write!(f, "{:x}-{:x}", time.seconds, time.nanoseconds)
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text)
            // Exactly one text for one version: what does not come back the same was not ours.
            .filter(|version| version.to_string() == text)
            .ok_or_else(|| {
                Error::new(
                    Verb::Version,
                    escape(text.as_bytes()),
                    Fault::rule(ErrorKind::Invalid, "not a version this program printed"),
                )
            })
    }
}

fn parse(text: &str) -> Option<Version> {
    let mut parts = text.strip_prefix("v1.")?.split('.');
    let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
    let device = number()?;
    let inode = number()?;
    let born = match parts.next()? {
        "0" => None,
        time => Some(parse_time(time)?),
    };
    let len = u64::from_str_radix(parts.next()?, 16).ok()?;
    let modified = parse_time(parts.next()?)?;
    let changed = parse_time(parts.next()?)?;
    let digest = match parts.next() {
        None => None,
        Some(hex) => Some(parse_digest(hex)?),
    };
    parts.next().is_none().then_some(Version {
        device,
        inode,
        born,
        len,
        modified,
        changed,
        digest,
    })
}

fn parse_time(text: &str) -> Option<Timestamp> {
    let (seconds, nanoseconds) = text.split_once('-')?;
    Some(Timestamp {
        seconds: u64::from_str_radix(seconds, 16).ok()?.cast_signed(),
        nanoseconds: u32::from_str_radix(nanoseconds, 16).ok()?,
    })
}

fn parse_digest(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (index, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(digest: Option<[u8; 32]>) -> Version {
        let time = |seconds| Timestamp {
            seconds,
            nanoseconds: 999_999_999,
        };
        Version {
            device: 0x801,
            inode: u64::MAX,
            born: Some(time(-5)),
            len: 7,
            modified: time(1),
            changed: time(2),
            digest,
        }
    }

    #[test]
    fn the_text_form_survives_the_round_trip() {
        for version in [
            sample(None),
            sample(Some([0xab; 32])),
            Version {
                born: None,
                ..sample(None)
            },
        ] {
            assert_eq!(version.to_string().parse::<Version>().unwrap(), version);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let good = sample(Some([1; 32])).to_string();
        for bad in [
            "".to_owned(),
            "v1.".to_owned(),
            good.to_uppercase(),
            format!("{good}0"),
            format!("{good}.1"),
            good.replacen("v1", "v2", 1),
            good.replacen("801", "0801", 1),
            "v1.1.1.0.1.\u{e9}-1.1-1".to_owned(),
        ] {
            let error = bad.parse::<Version>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }

    #[test]
    fn what_differs_is_named_by_its_weight() {
        let seen = sample(Some([1; 32]));
        let later = Timestamp {
            seconds: 3,
            ..seen.changed
        };
        let is = |now: Version| seen.differs_from(&now);
        assert_eq!(is(seen), None);
        // An old file needs no digest any more: its times are enough.
        assert_eq!(is(sample(None)), None);
        let metadata = Version {
            changed: later,
            ..seen
        };
        assert_eq!(is(metadata), Some(Difference::Metadata));
        for content in [
            Version { len: 8, ..metadata },
            Version {
                modified: later,
                ..metadata
            },
            Version {
                digest: Some([2; 32]),
                ..metadata
            },
        ] {
            assert_eq!(is(content), Some(Difference::Content));
            let object = Version {
                inode: 1,
                ..content
            };
            assert_eq!(is(object), Some(Difference::Object));
        }
    }
}
