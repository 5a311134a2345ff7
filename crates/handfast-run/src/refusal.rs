//! Why a program is not run.

use std::fmt;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RefusalKind {
    /// What was asked for is wrong, or names something that is not there.
    Request,
    /// This system cannot enforce what was asked for.
    System,
}

/// Why a program is not run, in one sentence.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// Whose fault it is.
    pub kind: RefusalKind,
    /// The sentence.
    pub why: String,
}

impl Refusal {
    pub(crate) fn request(why: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Request,
            why: why.into(),
        }
    }

    pub(crate) fn system(why: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::System,
            why: why.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refusal {}
