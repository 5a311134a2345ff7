//! A path as the agent writes it: absolute, in the session's own namespace.

use std::borrow::Cow;
use std::fmt;

use handfast::{ErrorKind, Limits, RelPath, RelPathRef, Verb, escape};

use crate::error::Error;

/// An absolute path in a session. `.`, `//` and `..` are folded in the text; `..` stops at `/`.
///
/// Folding is sound here because the namespace is the session's own: which mount a path belongs to
/// is decided by its text. Links inside a mount are resolved later, one by one.
///
/// ```
/// use handfast_session::VirtualPath;
///
/// assert_eq!(VirtualPath::parse("/ws/./a/../b/")?.to_string(), "/ws/b/");
/// assert_eq!(VirtualPath::parse("/../../etc")?.to_string(), "/etc");
/// assert!(VirtualPath::parse("relative").is_err());
/// # Ok::<(), handfast_session::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct VirtualPath {
    rel: RelPath,
}

impl VirtualPath {
    /// Parses a path with the default limits: 255 bytes a name, 4096 in all, 128 names, counted
    /// before anything is folded.
    ///
    /// # Errors
    /// `Invalid` if it is empty, relative or holds NUL; `TooLong` beyond a limit.
    pub fn parse(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        let bytes = bytes.as_ref();
        fold(bytes, &Limits::DEFAULT).map_err(|error| error.on(Verb::Parse, escape(bytes)))
    }

    /// The path below `/`.
    #[must_use]
    pub fn as_rel(&self) -> &RelPath {
        &self.rel
    }

    /// Whether this is `/`.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.rel.is_root()
    }

    /// A name or a path below this directory.
    #[must_use]
    pub fn join<'b>(&self, below: impl Into<RelPathRef<'b>>) -> Self {
        Self {
            rel: self.rel.join(below),
        }
    }

    /// `/`.
    #[must_use]
    pub fn root() -> Self {
        Self::from(RelPath::root())
    }

    /// The path without its last name; nothing for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.rel.parent().map(Self::from)
    }

    /// Whether this path is `above` or lies below it, name by name.
    #[must_use]
    pub fn starts_with(&self, above: &Self) -> bool {
        self.rel.starts_with(&above.rel)
    }

    /// What is left of this path below `above`.
    #[must_use]
    pub fn strip_prefix(&self, above: &Self) -> Option<RelPathRef<'_>> {
        self.rel.strip_prefix(&above.rel)
    }
}

impl From<RelPath> for VirtualPath {
    /// A path below `/`.
    fn from(rel: RelPath) -> Self {
        Self { rel }
    }
}

/// What a session's verbs take for a path: a [`VirtualPath`], or text that becomes one at the door.
pub trait AsVirtualPath {
    /// The path.
    ///
    /// # Errors
    /// As [`VirtualPath::parse`].
    fn as_virtual(&self) -> Result<Cow<'_, VirtualPath>, Error>;

    /// The text as it came, for an event that says it was refused.
    fn as_text(&self) -> &[u8];
}

impl AsVirtualPath for VirtualPath {
    fn as_virtual(&self) -> Result<Cow<'_, VirtualPath>, Error> {
        Ok(Cow::Borrowed(self))
    }

    fn as_text(&self) -> &[u8] {
        self.rel.as_bytes()
    }
}

macro_rules! from_text {
    ($($text:ty),*) => {$(
        impl AsVirtualPath for $text {
            fn as_virtual(&self) -> Result<Cow<'_, VirtualPath>, Error> {
                VirtualPath::parse(self).map(Cow::Owned)
            }

            fn as_text(&self) -> &[u8] {
                self.as_ref()
            }
        }
    )*};
}

from_text!(str, String, [u8], Vec<u8>);

impl<P: AsVirtualPath + ?Sized> AsVirtualPath for &P {
    fn as_virtual(&self) -> Result<Cow<'_, VirtualPath>, Error> {
        (**self).as_virtual()
    }

    fn as_text(&self) -> &[u8] {
        (**self).as_text()
    }
}

fn fold(bytes: &[u8], limits: &Limits) -> Result<VirtualPath, Error> {
    let invalid = |why| Error::refused(ErrorKind::Invalid, why);
    if bytes.is_empty() {
        return Err(invalid("the path is empty"));
    }
    // Cheap refusals first: hostile input may be long.
    if bytes.len() > limits.total {
        return Err(Error::refused(ErrorKind::TooLong, "the path is too long"));
    }
    if bytes.contains(&0) {
        return Err(invalid("the path holds a NUL byte"));
    }
    if bytes.first() != Some(&b'/') {
        return Err(invalid("paths in a session are absolute"));
    }
    // The usual path has nothing to fold, and is parsed once.
    if bytes.len() > 1 && !bytes.ends_with(b"/") {
        let whole = limits.with_total(limits.total + 1);
        if let Ok(rel) = RelPath::parse_with(&bytes[1..], &whole) {
            return Ok(VirtualPath::from(rel));
        }
    }
    let mut names: Vec<&[u8]> = Vec::new();
    let mut seen = 0;
    let mut must_be_dir = false;
    for segment in bytes.split(|byte| *byte == b'/') {
        must_be_dir = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => continue,
            b".." => {
                names.pop();
            }
            name if name.len() > limits.segment => {
                return Err(Error::refused(ErrorKind::TooLong, "a name is too long"));
            }
            name => names.push(name),
        }
        seen += 1;
        if seen > limits.depth {
            return Err(Error::refused(ErrorKind::TooLong, "the path is too deep"));
        }
    }
    if names.is_empty() {
        return Ok(VirtualPath::from(RelPath::root()));
    }
    let mut text = names.join(&b'/');
    if must_be_dir {
        text.push(b'/');
    }
    // One byte for the slash that stood in front.
    let limits = limits.with_total(limits.total + 1);
    Ok(VirtualPath::from(RelPath::clean_with(text, &limits)?))
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("/");
        }
        write!(f, "/{}", self.rel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        VirtualPath::parse(text).unwrap().to_string()
    }

    #[test]
    fn folding_stays_in_the_text_and_stops_at_the_top() {
        assert_eq!(shown("/"), "/");
        assert_eq!(shown("//a//b"), "/a/b");
        assert_eq!(shown("/a/./b/.."), "/a/");
        assert_eq!(shown("/a/../.."), "/");
        assert_eq!(shown("/../a"), "/a");
        assert_eq!(shown("/.../..a"), "/.../..a");
        assert_eq!(shown("/%2e%2e/a"), "/%2e%2e/a");
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        for bad in ["", "a", "./a", "../a", "/a\0b"] {
            let error = VirtualPath::parse(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad:?}");
        }
        let long = format!("/{}", "a".repeat(256));
        assert_eq!(
            VirtualPath::parse(long).unwrap_err().kind(),
            ErrorKind::TooLong
        );
        let hidden = format!("{}{}", "/a/..".repeat(100), "/b");
        assert_eq!(
            VirtualPath::parse(hidden).unwrap_err().kind(),
            ErrorKind::TooLong,
            "folding does not hide depth"
        );
        assert!(VirtualPath::parse(format!("/{}", vec!["a"; 128].join("/"))).is_ok());
    }
}
