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

    /// What it answers otherwise than a root, and why.
    fn differences(&self) -> &[Difference] {
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

/// What was answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LayerAnswer {
    /// It was done.
    Done,
    /// It was refused, with this kind.
    Refused(ErrorKind),
    /// It was done or refused.
    Anything,
}

impl LayerAnswer {
    fn fits(self, kind: Option<ErrorKind>) -> bool {
        match self {
            Self::Done => kind.is_none(),
            Self::Refused(wanted) => kind == Some(wanted),
            Self::Anything => true,
        }
    }
}

/// An answer that is not a root's, for a reason.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// How the names of the cases begin.
    pub case: &'static str,
    /// The path, if it is about that one only; or how it begins, with `*` behind it.
    pub path: Option<&'static str>,
    /// What a root answers.
    pub root: LayerAnswer,
    /// What the layer answers.
    pub layer: LayerAnswer,
    /// Why.
    pub why: &'static str,
}

impl Difference {
    pub(crate) fn covers(
        &self,
        asked: (&str, &str),
        root: Option<ErrorKind>,
        layer: Option<ErrorKind>,
    ) -> bool {
        let (case, path) = asked;
        case.starts_with(self.case)
            && self.path.is_none_or(|only| match only.strip_suffix('*') {
                Some(begin) => path.starts_with(begin),
                None => only == path,
            })
            && self.root.fits(root)
            && self.layer.fits(layer)
    }
}
