//! One line of the diagnosis.

use crate::json::Object;
use crate::output::Output;

/// Where the third column begins.
const INDENT: usize = 48;

/// How far something is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Yes,
    /// It holds, but means less here.
    Weaker,
    No,
    /// It could not be tried.
    Unknown,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Weaker => "weaker",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// For programs.
    pub(super) id: &'static str,
    /// For people.
    pub(super) title: &'static str,
    pub(super) state: State,
    pub(super) detail: String,
}

impl Check {
    pub(super) fn new(
        id: &'static str,
        title: &'static str,
        state: State,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            id,
            title,
            state,
            detail: detail.into(),
        }
    }

    pub(super) fn to_json(&self) -> Object {
        Object::new()
            .with("id", self.id)
            .with("state", self.state.name())
            .with("title", self.title)
            .with("detail", self.detail.as_str())
    }

    /// `yes      nothing leaves the root    all 24 attempts were refused`
    pub(super) fn print(&self, out: &mut Output) {
        let (state, title) = (self.state.name(), self.title);
        let line = format!("  {state:<8} {title:<36} {}", self.detail);
        out.folded(&line, INDENT);
    }
}
