//! One line of the diagnosis.

/// How far something is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// It holds.
    Yes,
    /// It holds, but means less here.
    Weaker,
    /// It does not hold.
    No,
    /// It could not be tried.
    Unknown,
}

impl State {
    /// The state in one word, for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
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
pub struct Check {
    /// For programs.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// How far it holds.
    pub state: State,
    /// Why, in a sentence for people.
    pub detail: String,
}

impl Check {
    pub(crate) fn new(
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
}
