//! A path below a root.

use std::cmp::Ordering;
use std::ffi::{CStr, CString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::limits::Limits;
use super::name::{Name, NameRef};
use super::rel_ref::RelPathRef;
use super::rules::NameRules;
use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::verb::Verb;

/// A path below a root: segments joined by single `/`, none of them empty, `.` or `..`.
///
/// ```
/// use handfast::{ErrorKind, RelPath};
///
/// let path = RelPath::parse("uploads/report.pdf")?;
/// assert_eq!(path.depth(), 2);
/// assert_eq!(RelPath::parse("../etc/passwd").unwrap_err().kind(), ErrorKind::Invalid);
/// assert_eq!(RelPath::parse("/etc/passwd").unwrap_err().kind(), ErrorKind::Invalid);
/// # Ok::<(), handfast::Error>(())
/// ```
///
/// # Security
/// Parsing is not confinement: `a/b` may still name a link to anywhere. It only makes sure that
/// the text itself cannot climb. Confinement happens when the path is resolved by a root.
///
/// Two paths are equal if they have the same names: a trailing `/` belongs to the request
/// ([`RelPath::must_be_dir`]) and is no part of a path's identity. They are ordered name by name.
#[derive(Clone)]
pub struct RelPath {
    // Kept as the kernel wants it, so that resolving needs no copy; shared, so that a handle can
    // remember its path for nothing.
    text: Arc<CStr>,
    /// A wish of the path's author, not a part of it: left out of equality, order and hash.
    must_be_dir: bool,
}

impl RelPath {
    /// Parses a path strictly, with the default [`Limits`].
    ///
    /// # Errors
    /// `Invalid` if it is empty or absolute, or has NUL, `..`, `.` or an empty segment (so also if
    /// it ends in `/`); `TooLong` if it exceeds a limit.
    pub fn parse(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::parse_with(bytes, &Limits::DEFAULT)
    }

    /// Parses a path strictly, with limits of your own.
    ///
    /// # Errors
    /// As [`RelPath::parse`].
    pub fn parse_with(bytes: impl AsRef<[u8]>, limits: &Limits) -> Result<Self, Error> {
        let bytes = bytes.as_ref();
        Self::check(bytes, limits).map_err(|fault| Error::new(Verb::Parse, escape(bytes), fault))
    }

    fn check(bytes: &[u8], limits: &Limits) -> Result<Self, Fault> {
        Self::check_whole(bytes, limits)?;
        for (index, segment) in bytes.split(|byte| *byte == b'/').enumerate() {
            NameRef::check(segment, limits)?;
            Self::check_depth(index, limits)?;
        }
        Ok(Self {
            text: shared(bytes),
            must_be_dir: false,
        })
    }

    /// Parses a path as people type it: folds `.` and repeated `/`, never `..`.
    ///
    /// A trailing `/` or `/.` means "must be a directory" and never makes a link be followed.
    /// `.` alone is the root itself ([`RelPath::is_root`]).
    ///
    /// # Errors
    /// `Invalid` if it is empty or absolute, or has NUL or `..`; `TooLong` if it exceeds a limit.
    pub fn clean(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::clean_with(bytes, &Limits::DEFAULT)
    }

    /// As [`RelPath::clean`], with limits of your own.
    ///
    /// # Errors
    /// As [`RelPath::clean`].
    pub fn clean_with(bytes: impl AsRef<[u8]>, limits: &Limits) -> Result<Self, Error> {
        let bytes = bytes.as_ref();
        Self::fold(bytes, limits).map_err(|fault| Error::new(Verb::Parse, escape(bytes), fault))
    }

    fn fold(bytes: &[u8], limits: &Limits) -> Result<Self, Fault> {
        Self::check_whole(bytes, limits)?;
        let mut text = Vec::with_capacity(bytes.len());
        let mut depth = 0;
        // The trailing slash is decided before anything else is: it is a wish about the kind of
        // the object and must never reach the kernel as a character.
        let mut must_be_dir = false;
        for segment in bytes.split(|byte| *byte == b'/') {
            must_be_dir = matches!(segment, b"" | b".");
            if must_be_dir {
                continue;
            }
            let name = NameRef::check(segment, limits)?;
            Self::check_depth(depth, limits)?;
            if depth > 0 {
                text.push(b'/');
            }
            text.extend_from_slice(name.as_bytes());
            depth += 1;
        }
        Ok(Self {
            text: shared(text),
            must_be_dir,
        })
    }

    fn check_whole(bytes: &[u8], limits: &Limits) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Err(Fault::rule(ErrorKind::Invalid, "the path is empty"));
        }
        if bytes.first() == Some(&b'/') {
            return Err(Fault::rule(ErrorKind::Invalid, "the path is absolute"));
        }
        if bytes.contains(&0) {
            return Err(Fault::rule(ErrorKind::Invalid, "the path holds a NUL byte"));
        }
        if bytes.len() > limits.total {
            return Err(Fault::rule(ErrorKind::TooLong, "the path is too long"));
        }
        Ok(())
    }

    fn check_depth(index: usize, limits: &Limits) -> Result<(), Fault> {
        if index >= limits.depth {
            return Err(Fault::rule(ErrorKind::TooLong, "the path is too deep"));
        }
        Ok(())
    }

    /// The root itself. Accepted by the verbs that look at a directory; the others answer
    /// `Invalid`.
    #[must_use]
    pub fn root() -> Self {
        Self {
            text: shared(""),
            must_be_dir: true,
        }
    }

    /// The path without a trailing `/`; empty for the root itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.to_bytes()
    }

    /// Whether this is the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.text.to_bytes().is_empty()
    }

    /// Whether the path was written so that it must name a directory (`a/`, `a/.`).
    #[must_use]
    pub fn must_be_dir(&self) -> bool {
        self.must_be_dir
    }

    /// The borrowed form, on which paths are compared, split and joined without copying.
    #[must_use]
    pub fn as_ref(&self) -> RelPathRef<'_> {
        RelPathRef::trusted(self.text.to_bytes())
    }

    /// The path as text, if it is UTF-8. It is not escaped: never print it to a terminal.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        self.as_ref().to_str()
    }

    /// The path for people and logs. See [`RelPathRef::escaped`].
    #[must_use]
    pub fn escaped(&self) -> String {
        self.as_ref().escaped()
    }

    /// The number of segments.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.as_ref().depth()
    }

    /// The segments, first to last.
    #[must_use]
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = NameRef<'_>> + Clone {
        self.as_ref().components()
    }

    /// The last segment; nothing for the root itself.
    #[must_use]
    pub fn name(&self) -> Option<NameRef<'_>> {
        self.as_ref().name()
    }

    /// The path without its last segment; nothing for the root itself.
    ///
    /// ```
    /// use handfast::RelPath;
    ///
    /// let path = RelPath::parse("a/b")?;
    /// let parent = path.parent().expect("two segments");
    /// assert_eq!(parent, RelPath::parse("a")?);
    /// assert!(parent.parent().is_some_and(|top| top.is_root()));
    /// # Ok::<(), handfast::Error>(())
    /// ```
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.as_ref().parent().map(RelPathRef::to_path)
    }

    /// Whether this path is `above` or lies below it, segment by segment.
    #[must_use]
    pub fn starts_with<'b>(&self, above: impl Into<RelPathRef<'b>>) -> bool {
        self.as_ref().starts_with(above)
    }

    /// What is left of this path below `above`; the root itself if both are equal.
    #[must_use]
    pub fn strip_prefix<'b>(&self, above: impl Into<RelPathRef<'b>>) -> Option<RelPathRef<'_>> {
        self.as_ref().strip_prefix(above)
    }

    /// This path with a segment or another path below it.
    #[must_use]
    pub fn join<'b>(&self, below: impl Into<RelPathRef<'b>>) -> Self {
        self.as_ref().join(below)
    }

    /// The same path, asked for as a directory or not.
    #[must_use]
    pub fn with_must_be_dir(mut self, must_be_dir: bool) -> Self {
        self.must_be_dir = must_be_dir || self.is_root();
        self
    }

    /// Two parts that were checked before, as one path.
    pub(super) fn joined(above: &[u8], below: &[u8]) -> Self {
        let mut text = Vec::with_capacity(above.len() + below.len() + 2);
        text.extend_from_slice(above);
        if !above.is_empty() && !below.is_empty() {
            text.push(b'/');
        }
        text.extend_from_slice(below);
        Self {
            must_be_dir: text.is_empty(),
            text: shared(text),
        }
    }

    /// Applies naming rules to every segment.
    ///
    /// # Errors
    /// `Invalid` with the rule that a segment breaks.
    pub fn require(&self, rules: &NameRules) -> Result<(), Error> {
        for name in self.segments() {
            rules
                .check_fault(name)
                .map_err(|fault| Error::new(Verb::Parse, self.to_string(), fault))?;
        }
        Ok(())
    }

    /// The parent's text (empty for a path of one segment) and the last segment.
    pub(crate) fn split(&self) -> Option<(&[u8], NameRef<'_>)> {
        let (parent, name) = self.as_ref().split_last()?;
        Some((parent.as_bytes(), name))
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        &self.text
    }
}

fn shared(text: impl Into<Vec<u8>>) -> Arc<CStr> {
    CString::new(text).expect("segments hold no NUL").into()
}

pub(super) const UNLIMITED: Limits = Limits {
    segment: usize::MAX,
    total: usize::MAX,
    depth: usize::MAX,
};

impl Eq for RelPath {}

impl PartialEq for RelPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for RelPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl From<RelPathRef<'_>> for RelPath {
    fn from(path: RelPathRef<'_>) -> Self {
        path.to_path()
    }
}

impl From<NameRef<'_>> for RelPath {
    fn from(name: NameRef<'_>) -> Self {
        Self::root().join(name)
    }
}

impl From<&Name> for RelPath {
    fn from(name: &Name) -> Self {
        Self::root().join(name.as_ref())
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        f.write_str(&escape(self.as_bytes()))?;
        if self.must_be_dir {
            f.write_str("/")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelPath({self})")
    }
}

impl std::str::FromStr for RelPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ErrorKind {
        RelPath::parse(text).unwrap_err().kind()
    }

    #[test]
    fn the_strict_parser_refuses_every_shape_that_could_climb() {
        for bad in [
            "", "/", "//", "///", "/a", "//a", ".", "..", "./a", "a/.", "a/./b", "a/..", "../a",
            "a/../b", "a//b", "a/", "a\0", "a\0/../b", "../", "./",
        ] {
            assert_eq!(kind(bad), ErrorKind::Invalid, "{bad:?}");
        }
    }

    #[test]
    fn nothing_is_decoded() {
        for literal in [
            "%2e%2e%2fx",
            "..%2f",
            "..\\..\\x",
            "....",
            "~root/x",
            "$HOME/x",
            ".. /x",
            "..\t/x",
            "\u{ff0e}\u{ff0e}/x",
            "\u{2024}\u{2024}/x",
            "a\u{2215}b",
            "file:",
            "&#46;&#46;",
        ] {
            let path = RelPath::parse(literal).unwrap();
            assert_eq!(path.as_bytes(), literal.as_bytes());
        }
    }

    #[test]
    fn limits_hold_at_the_edge() {
        assert!(RelPath::parse("a".repeat(255)).is_ok());
        assert_eq!(kind(&"a".repeat(256)), ErrorKind::TooLong);
        let deep = vec!["a"; 128].join("/");
        assert!(RelPath::parse(&deep).is_ok());
        assert_eq!(kind(&format!("{deep}/a")), ErrorKind::TooLong);
        let long = vec!["b".repeat(127); 32].join("/");
        assert_eq!(long.len(), 4095);
        assert!(RelPath::parse(&long).is_ok());
        assert!(RelPath::parse(format!("{long}c")).is_ok());
        assert_eq!(kind(&format!("{long}cc")), ErrorKind::TooLong);
        let wide = Limits::new().with_total(10_000).with_depth(5_000);
        assert!(RelPath::parse_with(vec!["a"; 3_000].join("/"), &wide).is_ok());
    }

    #[test]
    fn clean_folds_for_people_and_never_parents() {
        let clean = |text: &str| {
            let path = RelPath::clean(text).unwrap();
            (path.to_string(), path.must_be_dir())
        };
        assert_eq!(clean("./a//b"), ("a/b".into(), false));
        assert_eq!(clean("a/"), ("a/".into(), true));
        assert_eq!(clean("a/."), ("a/".into(), true));
        assert_eq!(clean("a/./"), ("a/".into(), true));
        assert_eq!(clean("."), (".".into(), true));
        assert_eq!(clean("./."), (".".into(), true));
        for bad in ["", "/", "//a", "..", "a/..", "a/../b", "./..", "a\0"] {
            assert_eq!(
                RelPath::clean(bad).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn splitting_gives_parent_and_name() {
        let path = RelPath::parse("a/b/c").unwrap();
        let (parent, name) = path.split().unwrap();
        assert_eq!((parent, name.as_bytes()), (&b"a/b"[..], &b"c"[..]));
        let path = RelPath::parse("a").unwrap();
        let (parent, name) = path.split().unwrap();
        assert_eq!((parent, name.as_bytes()), (&b""[..], &b"a"[..]));
        assert!(RelPath::root().split().is_none());
    }
}
