//! What is compared.

use std::path::Path;

use handfast::{ErrorKind, Files, Links};

/// An implementation of [`Files`] that is put to the test.
pub trait Layer {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// Opens it on a directory that was just planted. Whatever it keeps beside that directory must
    /// be new with every call, and must go with what is returned.
    fn open(&self, root: &Path, links: Links) -> Box<dyn Files>;

    /// What it refuses, and why.
    fn refusals(&self) -> &[Refusal] {
        &[]
    }

    /// Whether changes are seen at once in the directory that it was opened on.
    fn is_on_disk(&self) -> bool {
        true
    }

    /// How it shows a path that a root shows as `path`.
    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// Something that a layer refuses and a root does not.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// How the names of the cases begin.
    pub case: &'static str,
    /// The path, if it is refused for that one only.
    pub path: Option<&'static str>,
    /// What the layer answers instead.
    pub kind: ErrorKind,
    /// Why.
    pub why: &'static str,
}

impl Refusal {
    /// A verb that the layer does not have.
    #[must_use]
    pub const fn verb(case: &'static str, why: &'static str) -> Self {
        Self {
            case,
            path: None,
            kind: ErrorKind::Unsupported,
            why,
        }
    }

    pub(crate) fn covers(&self, case: &str, path: &str) -> bool {
        case.starts_with(self.case) && self.path.is_none_or(|only| only == path)
    }
}
