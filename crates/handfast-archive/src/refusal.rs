//! Why an archive, or one member of it, is refused.

use std::borrow::Cow;
use std::fmt;

use handfast::ErrorKind;

/// A rule that refused something, and what it saw.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The rule, for programs.
    pub rule: Rule,
    /// What was seen, for people. Names in it are escaped.
    pub detail: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(rule: Rule, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { rule, detail }
    }
}

impl Rule {
    /// The kind of error that a refusal by this rule is to a program that knows no rules.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        match self {
            Self::Entries
            | Self::Bytes
            | Self::FileSize
            | Self::Ratio
            | Self::NameBytes
            | Self::ExtensionBytes
            | Self::Time
            | Self::Window => ErrorKind::Limit,
            Self::Climbs | Self::Absolute | Self::LinkTarget | Self::HardLinkTarget => {
                ErrorKind::Escape
            }
            Self::TooLong | Self::TooDeep => ErrorKind::TooLong,
            Self::Link => ErrorKind::Link,
            Self::Special => ErrorKind::Kind,
            Self::Policy => ErrorKind::Denied,
            Self::Exists | Self::Duplicate | Self::Collision => ErrorKind::Exists,
            _ => ErrorKind::Invalid,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.rule.name())
    }
}

impl std::error::Error for Refusal {}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The rules that refuse. Match on this, never on the text.
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The rule's name, as reports say it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

rules! {
    // --- the archive as a whole ---
    /// It is no archive that is known here.
    Format = "format",
    /// The compressed data is damaged, or something follows it.
    Compressed = "compressed",
    /// The decoder would need a larger window than is allowed.
    Window = "window",
    /// The archive ends in the middle.
    Truncated = "truncated",
    /// The checksum of a header or of content is wrong.
    Checksum = "checksum",
    /// A tar header has no known magic.
    Magic = "magic",
    /// A number is not written as the format says.
    Number = "number",
    /// A text field goes on after its end.
    Text = "text",
    /// A type that is not known here, where readers disagree about what follows.
    Type = "type",
    /// A link, a directory or a special file has content.
    ContentOfNoFile = "content-of-no-file",
    /// A pax record is not written as the format says.
    PaxRecord = "pax-record",
    /// A pax keyword that changes how an archive is read, and is not known here.
    PaxKey = "pax-key",
    /// A pax header has a keyword twice.
    PaxTwice = "pax-twice",
    /// A pax size differs from the size in the header.
    PaxSize = "pax-size",
    /// A pax global header sets something for every member.
    PaxGlobal = "pax-global",
    /// A member has extension headers of different formats.
    ExtensionsMixed = "extensions-mixed",
    /// A member has the same extension header twice.
    ExtensionTwice = "extension-twice",
    /// No member follows an extension header.
    ExtensionDangling = "extension-dangling",
    /// A GNU long name is not written as GNU tar writes it.
    GnuLongName = "gnu-long-name",
    /// A sparse file.
    Sparse = "sparse",
    /// What fills a block up is not zero.
    Padding = "padding",
    /// The end marker is missing or incomplete.
    EndMarker = "end-marker",
    /// Something follows the end marker.
    AfterEnd = "after-end",
    /// The end of a zip's directory is missing, ambiguous or disagrees with the file.
    ZipEnd = "zip-end",
    /// A record of a zip's directory is not written as the format says.
    ZipDirectory = "zip-directory",
    /// The zip64 fields disagree with the others, or are missing or needless.
    Zip64 = "zip64",
    /// A local header disagrees with the directory.
    ZipLocal = "zip-local",
    /// Two members of a zip overlap.
    ZipOverlap = "zip-overlap",
    /// A zip holds bytes that belong to no member.
    ZipGap = "zip-gap",
    /// A data descriptor disagrees with the directory.
    ZipDescriptor = "zip-descriptor",
    /// A compression method that is not known here.
    ZipMethod = "zip-method",
    /// An encrypted member, or a flag that is not known here.
    ZipFlags = "zip-flags",
    /// An extra field that is damaged, or that changes what a member is.
    ZipExtra = "zip-extra",
    /// A name in a zip whose encoding readers disagree about.
    ZipName = "zip-name",
    /// A zip's attributes disagree about what a member is.
    ZipAttributes = "zip-attributes",
    /// The content of a zip's member is not as long as the directory says.
    ZipContent = "zip-content",
    // --- limits ---
    /// More members than allowed.
    Entries = "entries",
    /// More bytes in all than allowed.
    Bytes = "bytes",
    /// A larger file than allowed.
    FileSize = "file-size",
    /// Unpacking gives more for less than allowed: a bomb.
    Ratio = "ratio",
    /// More bytes of names than allowed.
    NameBytes = "name-bytes",
    /// More bytes of extension headers than allowed.
    ExtensionBytes = "extension-bytes",
    /// It takes longer than allowed.
    Time = "time",
    // --- one member ---
    /// The name is empty, or names the top itself.
    EmptyName = "empty-name",
    /// The name holds a NUL byte.
    Nul = "nul",
    /// The name begins with `/`.
    Absolute = "absolute",
    /// The name has `..` in it.
    Climbs = "climbs",
    /// The name is too long, or one segment of it.
    TooLong = "too-long",
    /// The name is too deep.
    TooDeep = "too-deep",
    /// The name of a file ends in `/`.
    SlashOnFile = "slash-on-file",
    /// Another member has the same name.
    Duplicate = "duplicate",
    /// Another member's name differs by case or normalisation only.
    Collision = "collision",
    /// The name lies below a file or a link of the archive.
    BelowFile = "below-file",
    /// A segment of the name begins like the names of unfinished work.
    Reserved = "reserved",
    /// The name is not portable.
    Portable = "portable",
    /// Links are refused.
    Link = "link",
    /// A link leads outside, or nowhere it may lead.
    LinkTarget = "link-target",
    /// A hard link does not name a file that the archive gave before.
    HardLinkTarget = "hard-link-target",
    /// A device, a FIFO or a socket.
    Special = "special",
    /// A rule of the target forbids the name.
    Policy = "policy",
    /// Something is there already.
    Exists = "exists",
}
