//! A path below a root, borrowed.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::name::NameRef;
use super::rel::{RelPath, UNLIMITED};
use crate::escape::escape;

/// A path below a root, borrowed: a [`RelPath`] or a part of one.
///
/// Two paths are equal if they have the same names. They are ordered name by name, so everything
/// below a directory follows the directory itself.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct RelPathRef<'a>(&'a [u8]);

impl<'a> RelPathRef<'a> {
    /// The root itself.
    pub const ROOT: Self = Self(b"");

    /// Text that a parser has accepted, or a part of it that was cut at a `/`.
    pub(super) fn trusted(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The path as bytes: names joined by `/`, without one at the end; empty for the root itself.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The path as text, if it is UTF-8. It is not escaped: never print it to a terminal.
    #[must_use]
    pub fn to_str(self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok()
    }

    /// The path for people and logs: control characters and bytes that are no UTF-8 are escaped,
    /// and the root itself is `.`.
    #[must_use]
    pub fn escaped(self) -> String {
        if self.is_root() {
            return ".".to_owned();
        }
        escape(self.0)
    }

    /// Whether this is the root itself.
    #[must_use]
    pub fn is_root(self) -> bool {
        self.0.is_empty()
    }

    /// The number of names.
    #[must_use]
    pub fn depth(self) -> usize {
        self.components().count()
    }

    /// The names, first to last.
    #[must_use]
    pub fn components(self) -> impl DoubleEndedIterator<Item = NameRef<'a>> + Clone {
        self.0
            .split(|byte| *byte == b'/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| NameRef::check(segment, &UNLIMITED).expect("checked when parsed"))
    }

    /// The last name; nothing for the root itself.
    #[must_use]
    pub fn name(self) -> Option<NameRef<'a>> {
        self.split_last().map(|(_, name)| name)
    }

    /// The path without its last name; nothing for the root itself.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        self.split_last().map(|(parent, _)| parent)
    }

    /// The parent and the last name; nothing for the root itself.
    #[must_use]
    pub fn split_last(self) -> Option<(Self, NameRef<'a>)> {
        if self.is_root() {
            return None;
        }
        let (parent, name) = match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&self.0[..slash], &self.0[slash + 1..]),
            None => (&self.0[..0], self.0),
        };
        let name = NameRef::check(name, &UNLIMITED).expect("checked when parsed");
        Some((Self(parent), name))
    }

    /// The first name and the rest; nothing for the root itself.
    #[must_use]
    pub fn split_first(self) -> Option<(NameRef<'a>, Self)> {
        if self.is_root() {
            return None;
        }
        let (name, rest) = match self.0.iter().position(|byte| *byte == b'/') {
            Some(slash) => (&self.0[..slash], &self.0[slash + 1..]),
            None => (self.0, &self.0[..0]),
        };
        let name = NameRef::check(name, &UNLIMITED).expect("checked when parsed");
        Some((name, Self(rest)))
    }

    /// Whether this path is `above` or lies below it, name by name: `ab` is not below `a`.
    #[must_use]
    pub fn starts_with<'b>(self, above: impl Into<RelPathRef<'b>>) -> bool {
        self.strip_prefix(above).is_some()
    }

    /// What is left of this path below `above`; the root itself if both are equal.
    #[must_use]
    pub fn strip_prefix<'b>(self, above: impl Into<RelPathRef<'b>>) -> Option<Self> {
        let above = above.into();
        if above.is_root() {
            return Some(self);
        }
        match self.0.strip_prefix(above.0)? {
            [] => Some(Self::ROOT),
            [b'/', rest @ ..] => Some(Self(rest)),
            _ => None,
        }
    }

    /// This path with another one below it.
    #[must_use]
    pub fn join<'b>(self, below: impl Into<RelPathRef<'b>>) -> RelPath {
        RelPath::joined(self.0, below.into().0)
    }

    /// The owned form.
    #[must_use]
    pub fn to_path(self) -> RelPath {
        RelPath::joined(self.0, b"")
    }
}

impl Ord for RelPathRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Bytes alone would put `a-b` between `a` and `a/b`.
        self.components().cmp(other.components())
    }
}

impl PartialOrd for RelPathRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for RelPathRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<'a> From<NameRef<'a>> for RelPathRef<'a> {
    fn from(name: NameRef<'a>) -> Self {
        Self(name.as_bytes())
    }
}

impl<'a> From<&'a super::name::Name> for RelPathRef<'a> {
    fn from(name: &'a super::name::Name) -> Self {
        Self(name.as_bytes())
    }
}

impl<'a> From<&'a RelPath> for RelPathRef<'a> {
    fn from(path: &'a RelPath) -> Self {
        path.as_ref()
    }
}

impl fmt::Debug for RelPathRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelPathRef({})", self.escaped())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_trailing_slash_is_no_part_of_a_paths_identity() {
        use std::collections::HashSet;
        let (plain, slash) = (path("a/b"), RelPath::clean("a/b/").unwrap());
        assert_eq!(plain, slash);
        assert_eq!(plain.cmp(&slash), Ordering::Equal);
        assert_eq!(HashSet::from([plain, slash]).len(), 1);
        assert_eq!(path("a/b").parent(), Some(path("a")));
    }

    #[test]
    fn paths_are_ordered_name_by_name() {
        let mut paths = [
            path("a-b"),
            path("a/b"),
            path("a"),
            path("a/b-c"),
            path("b"),
        ];
        paths.sort();
        let shown: Vec<_> = paths.iter().map(|path| path.as_ref().escaped()).collect();
        assert_eq!(shown, ["a", "a/b", "a/b-c", "a-b", "b"]);
    }

    #[test]
    fn prefixes_are_compared_name_by_name() {
        for (whole, above, rest) in [
            ("a/b/c", "a", Some("b/c")),
            ("a/b/c", "a/b", Some("c")),
            ("ab", "a", None),
            ("a/bc", "a/b", None),
            ("a", "a/b", None),
        ] {
            let (whole, above) = (path(whole), path(above));
            let left = whole.as_ref().strip_prefix(&above);
            assert_eq!(left.map(RelPathRef::to_path), rest.map(path));
            assert_eq!(whole.as_ref().starts_with(&above), rest.is_some());
        }
        let same = path("a/b");
        assert!(
            same.as_ref()
                .strip_prefix(&same)
                .is_some_and(RelPathRef::is_root)
        );
        assert_eq!(
            same.as_ref().strip_prefix(RelPathRef::ROOT),
            Some(same.as_ref())
        );
    }

    #[test]
    fn joining_and_splitting_are_inverse() {
        let joined = path("a").as_ref().join(&path("b/c"));
        assert_eq!(joined, path("a/b/c"));
        assert_eq!(RelPathRef::ROOT.join(&path("x")), path("x"));
        assert_eq!(path("x").as_ref().join(RelPathRef::ROOT), path("x"));
        let (first, rest) = joined.as_ref().split_first().unwrap();
        assert_eq!(
            (first.as_bytes(), rest.as_bytes()),
            (&b"a"[..], &b"b/c"[..])
        );
        let (above, last) = joined.as_ref().split_last().unwrap();
        assert_eq!(
            (above.as_bytes(), last.as_bytes()),
            (&b"a/b"[..], &b"c"[..])
        );
        assert!(RelPathRef::ROOT.split_first().is_none());
    }

    #[test]
    fn text_and_escaped_text_are_asked_for_by_name() {
        let odd = RelPath::parse(b"a\x1b[31m/\xff").unwrap();
        assert_eq!(odd.as_ref().to_str(), None);
        assert!(!odd.as_ref().escaped().contains('\x1b'));
        assert_eq!(path("a/b").as_ref().to_str(), Some("a/b"));
        assert_eq!(RelPathRef::ROOT.escaped(), ".");
    }
}
