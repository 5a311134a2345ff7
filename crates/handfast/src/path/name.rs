//! One component of a path.

use std::ffi::{CStr, CString};
use std::fmt;

use super::limits::Limits;
use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::verb::Verb;

/// One component, owned: never empty, `.` or `..`, and without `/` and NUL.
#[derive(Clone, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct Name(CString);

/// One component, borrowed. See [`Name`].
#[derive(Clone, Copy, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct NameRef<'a>(&'a [u8]);

impl Name {
    /// Parses one component.
    ///
    /// # Errors
    /// `Invalid` if it is empty, `.` or `..`, or has `/` or NUL; `TooLong` beyond 255 bytes.
    pub fn parse(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        NameRef::parse(bytes.as_ref()).map(NameRef::to_name)
    }

    /// The name as it is in the directory.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name as text, if it is UTF-8. It is not escaped: never print it to a terminal.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        self.as_ref().to_str()
    }

    /// The name for people and logs, escaped.
    #[must_use]
    pub fn escaped(&self) -> String {
        escape(self.as_bytes())
    }

    /// The borrowed form.
    #[must_use]
    pub fn as_ref(&self) -> NameRef<'_> {
        NameRef(self.0.as_bytes())
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        &self.0
    }
}

impl<'a> NameRef<'a> {
    /// Parses one component.
    ///
    /// # Errors
    /// `Invalid` if it is empty, `.` or `..`, or has `/` or NUL; `TooLong` beyond 255 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::check(bytes, &Limits::DEFAULT)
            .map_err(|fault| Error::new(Verb::Parse, escape(bytes), fault))
    }

    pub(crate) fn check(bytes: &'a [u8], limits: &Limits) -> Result<Self, Fault> {
        let invalid = |why| Err(Fault::rule(ErrorKind::Invalid, why));
        match bytes {
            b"" => return invalid("a segment is empty"),
            b"." => return invalid("`.` is not a name"),
            b".." => return invalid("`..` is not allowed"),
            _ => {}
        }
        // One pass for both forbidden bytes: this runs for every component of every path.
        for byte in bytes {
            match byte {
                0 => return invalid("a name holds a NUL byte"),
                b'/' => return invalid("a name holds `/`"),
                _ => {}
            }
        }
        if bytes.len() > limits.segment {
            return Err(Fault::rule(ErrorKind::TooLong, "a name is too long"));
        }
        Ok(Self(bytes))
    }

    /// A name that the kernel listed, however long the filesystem lets it be.
    #[inline]
    pub(crate) fn listed(name: &'a std::ffi::CStr) -> Self {
        Self(name.to_bytes())
    }

    /// The name as it is in the directory.
    #[must_use]
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The name as text, if it is UTF-8. It is not escaped: never print it to a terminal.
    #[must_use]
    pub fn to_str(self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok()
    }

    /// The name for people and logs, escaped.
    #[must_use]
    pub fn escaped(self) -> String {
        escape(self.0)
    }

    /// The owned form.
    #[must_use]
    pub fn to_name(self) -> Name {
        Name(CString::new(self.0).expect("a NameRef holds no NUL"))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(self.as_bytes()))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({})", escape(self.as_bytes()))
    }
}

impl fmt::Display for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(self.0))
    }
}

impl fmt::Debug for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NameRef({})", escape(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Name;
    use crate::ErrorKind;

    #[test]
    fn a_name_cannot_make_the_kernel_walk() {
        for bad in ["", ".", "..", "/", "a/", "/a", "a/b", "a\0b", "\0"] {
            assert_eq!(
                Name::parse(bad).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{bad:?}"
            );
        }
        for good in ["...", "..a", "a..", " ", "~", "-", "a\\b", "a\nb"] {
            assert_eq!(Name::parse(good).unwrap().as_bytes(), good.as_bytes());
        }
    }

    #[test]
    fn length_is_bounded() {
        assert!(Name::parse("a".repeat(255)).is_ok());
        assert_eq!(
            Name::parse("a".repeat(256)).unwrap_err().kind(),
            ErrorKind::TooLong
        );
    }
}
