//! A path in all the forms that system calls want, made in advance.

use std::ffi::{CStr, CString};

use crate::Failure;

/// A path, cut up before the clock starts.
#[derive(Clone, Debug)]
pub struct RawPath {
    whole: CString,
    parent: Option<CString>,
    parts: Vec<CString>,
}

impl RawPath {
    /// Cuts a relative path up.
    ///
    /// # Errors
    /// If it holds a NUL byte or nothing.
    pub fn new(text: &str) -> Result<Self, Failure> {
        let parent = match text.rsplit_once('/') {
            Some((parent, _)) => Some(CString::new(parent)?),
            None => None,
        };
        let parts = text.split('/').map(CString::new);
        Ok(Self {
            whole: CString::new(text)?,
            parent,
            parts: parts.collect::<Result<_, _>>()?,
        })
    }

    /// Cuts several up.
    ///
    /// # Errors
    /// As [`RawPath::new`].
    pub fn all(texts: &[String]) -> Result<Vec<Self>, Failure> {
        texts.iter().map(|text| Self::new(text)).collect()
    }

    /// All of it.
    #[must_use]
    pub fn whole(&self) -> &CStr {
        &self.whole
    }

    /// All but the last component; nothing if there is only one.
    #[must_use]
    pub fn parent(&self) -> Option<&CStr> {
        self.parent.as_deref()
    }

    /// The components but the last.
    pub fn above(&self) -> impl Iterator<Item = &CStr> {
        let above = self.parts.len().saturating_sub(1);
        self.parts[..above].iter().map(CString::as_c_str)
    }

    /// The components.
    pub fn parts(&self) -> impl Iterator<Item = &CStr> {
        self.parts.iter().map(CString::as_c_str)
    }

    /// The last component.
    #[must_use]
    pub fn name(&self) -> &CStr {
        self.parts.last().map_or(c".", CString::as_c_str)
    }
}
