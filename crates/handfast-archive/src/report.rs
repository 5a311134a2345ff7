//! What was decided about an archive, as data.

use std::borrow::Cow;

use handfast::{ErrorKind, RelPath};

use crate::member::MemberKind;
use crate::refusal::Refusal;

/// The format of an archive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// tar, as it is.
    Tar,
    /// tar in gzip.
    TarGzip,
    /// tar in bzip2.
    TarBzip2,
    /// tar in xz.
    TarXz,
    /// tar in zstd.
    TarZstd,
    /// zip.
    Zip,
}

impl Format {
    /// The format as reports say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::TarGzip => "tar.gz",
            Self::TarBzip2 => "tar.bz2",
            Self::TarXz => "tar.xz",
            Self::TarZstd => "tar.zst",
            Self::Zip => "zip",
        }
    }
}

/// What was decided about one member.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is extracted, if the archive is.
    Accepted,
    /// It was not asked for.
    LeftOut,
    /// It is refused.
    Refused(Refusal),
}

/// One member of an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberVerdict {
    /// The name, as the archive stores it.
    pub name: Vec<u8>,
    /// Where it goes, below the target; `None` if it has no place.
    pub path: Option<RelPath>,
    /// What it is.
    pub kind: MemberKind,
    /// Bytes of content.
    pub size: u64,
    /// The mode, as the archive stores it.
    pub mode: Option<u32>,
    /// The target of a link, as the archive stores it; empty for other kinds.
    pub target: Vec<u8>,
    /// What was decided.
    pub outcome: Outcome,
}

/// What was decided about an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The format; `None` if it is not known.
    pub format: Option<Format>,
    /// Every member that was reached.
    pub verdicts: Vec<MemberVerdict>,
    /// Why the archive as a whole is refused. Members behind that place were not looked at.
    pub refusal: Option<Refusal>,
    /// Whether anything was extracted. Of [`list`](crate::list): whether it would be.
    pub extracted: bool,
    /// Bytes of content that were unpacked.
    pub bytes: u64,
    /// The SHA-256 of the input, if it was asked for and read to its end.
    pub digest: Option<[u8; 32]>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            format: None,
            verdicts: Vec::new(),
            refusal: None,
            extracted: false,
            bytes: 0,
            digest: None,
        }
    }

    /// The members that are refused, each with its reason.
    pub fn refused(&self) -> impl Iterator<Item = (&MemberVerdict, &Refusal)> {
        self.verdicts.iter().filter_map(|verdict| {
            let Outcome::Refused(refusal) = &verdict.outcome else {
                return None;
            };
            Some((verdict, refusal))
        })
    }

    /// Why not everything was or would be extracted, in a sentence, with its kind; `None` if nothing was
    /// refused.
    #[must_use]
    pub fn trouble(&self) -> Option<(ErrorKind, Cow<'static, str>)> {
        if let Some(refusal) = &self.refusal {
            return Some((refusal.rule.kind(), refusal.to_string().into()));
        }
        let (_, first) = self.refused().next()?;
        let detail = match (self.refused().count(), self.extracted) {
            (1, false) => "1 member is refused, and with it the whole archive".into(),
            (count, false) => {
                format!("{count} members are refused, and with them the whole archive").into()
            }
            (1, true) => "1 member is refused and left out".into(),
            (count, true) => format!("{count} members are refused and left out").into(),
        };
        Some((first.rule.kind(), detail))
    }

    /// Whether nothing at all was refused.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refusal.is_none() && self.refused().next().is_none()
    }
}
