//! How an archive is extracted.

use handfast::{Error, RelPath};

use crate::events::Telling;
use crate::limits::Limits;

/// What happens with symbolic and hard links of the archive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LinkPolicy {
    /// They are refused.
    #[default]
    Refuse,
    /// They are made if they lead to something inside.
    Inside,
}

/// What happens if a name is taken: by an earlier member, or in the directory that is merged into.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Overwrite {
    /// It is refused.
    #[default]
    Refuse,
    /// A file is replaced by the later one.
    Replace,
}

/// Which names are accepted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Names {
    /// Whatever a filesystem of Linux holds.
    Any,
    /// Names that stay apart where case and normalisation are ignored.
    #[default]
    Distinct,
    /// As `Distinct`, and fit for Windows and macOS too.
    Portable,
}

/// Which permission bits files and directories get. Set-id bits and the sticky bit are never given.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Modes {
    /// The archive's, without writing for group and others, with reading and writing for the owner;
    /// narrowed by the umask.
    #[default]
    Safe,
    /// Exactly the archive's.
    Exact,
    /// 0644 for files and 0755 for directories, narrowed by the umask.
    Ignore,
}

/// What one refused member means for the others.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnRefusal {
    /// Nothing is extracted.
    #[default]
    RefuseAll,
    /// The others are extracted. An archive that is refused as a whole still leaves nothing.
    LeaveOut,
}

/// How far an extraction is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Members so far.
    pub entries: u64,
    /// Bytes of content so far.
    pub bytes: u64,
}

/// Options of [`extract`](crate::extract) and [`list`](crate::list); the default is the strictest.
#[derive(Default)]
#[non_exhaustive]
pub struct Options<'a> {
    /// How much the archive may ask for.
    pub limits: Limits,
    /// Links.
    pub links: LinkPolicy,
    /// Names that are taken.
    pub overwrite: Overwrite,
    /// Which names are accepted.
    pub names: Names,
    /// How many leading segments are taken off every name. What has no more segments is left out.
    pub strip_components: usize,
    /// Only these members and what lies below them, by their names before segments are taken off;
    /// everything if it is empty.
    pub only: Vec<RelPath>,
    /// Permission bits.
    pub modes: Modes,
    /// Whether files get the archive's times.
    pub times: bool,
    /// What one refusal means.
    pub on_refusal: OnRefusal,
    /// Whether the digest of the whole input is computed.
    pub digest: bool,
    /// Whether files and directories are on the disk before the result is published.
    pub durable: bool,
    /// Hears what becomes of the archive: the digest, which is then always computed, and the paths.
    pub telling: Option<Telling<'a>>,
    /// Told every so often how far it is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl Options<'_> {
    /// The strictest options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to what alone is extracted: a member, by its name in the archive, and what lies below it.
    ///
    /// # Errors
    /// `Invalid` or `Escape` for a name that no accepted member has.
    pub fn extract_only(&mut self, name: impl AsRef<[u8]>) -> Result<(), Error> {
        self.only.push(RelPath::clean(name)?);
        Ok(())
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("limits", &self.limits)
            .field("links", &self.links)
            .field("overwrite", &self.overwrite)
            .field("names", &self.names)
            .field("strip_components", &self.strip_components)
            .field("only", &self.only)
            .field("modes", &self.modes)
            .field("times", &self.times)
            .field("on_refusal", &self.on_refusal)
            .field("digest", &self.digest)
            .field("durable", &self.durable)
            .field("telling", &self.telling)
            .finish_non_exhaustive()
    }
}
