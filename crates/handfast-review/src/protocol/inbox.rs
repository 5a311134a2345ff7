//! Questions of rules that say `ask`, and answers that hold on.

use serde::{Deserialize, Serialize};

/// A request that waits for a person, or did.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct QuestionLine {
    /// The session.
    pub session: String,
    /// The ID that `Answer` names, and `handfast approve` too.
    pub id: String,
    /// The digest that `Answer` names.
    pub digest: String,
    /// What a yes allows.
    pub sentence: String,
    /// Who asks.
    pub caller: String,
    /// The rule that asks.
    pub rule: String,
    /// Name and value of what is known of the object.
    pub facts: Vec<(String, String)>,
    /// When it was asked, in RFC 3339.
    pub asked: String,
    /// When it is denied without an answer, in nanoseconds since the epoch.
    pub until: u64,
    /// The same in RFC 3339.
    pub ends: String,
}

/// An answer that holds for more than one request.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct GrantLine {
    /// The session.
    pub session: String,
    /// The ID of the question.
    pub id: String,
    /// The answer, in words.
    pub words: String,
}

/// What waits for an answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct InboxView {
    /// The questions, the oldest first.
    pub waiting: Vec<QuestionLine>,
    /// Questions that were shown here and wait no more, the newest first, with what became of them.
    pub ended: Vec<(QuestionLine, String)>,
    /// Answers that hold on.
    pub grants: Vec<GrantLine>,
    /// Sessions that could not be looked into, and why.
    pub problems: Vec<String>,
    /// What news about the inbox is compared with.
    pub stamp: String,
}
