//! What was done, from the log.

use serde::{Deserialize, Serialize};

/// An event of the log.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EventLine {
    /// Its number.
    pub index: u64,
    /// When.
    pub time: String,
    /// Who.
    pub who: String,
    /// What kind of event.
    pub kind: String,
    /// What it is about.
    pub text: String,
    /// Whether it was refused.
    pub refused: bool,
}

/// What the log says, and whether it can be believed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TimelineView {
    /// `good`, `consistent`, `tampered` or `none`.
    pub state: String,
    /// The verdict, in words.
    pub verdict: String,
    /// What does not fit.
    pub problems: Vec<String>,
    /// How many events there are.
    pub total: u64,
    /// The newest events first.
    pub events: Vec<EventLine>,
    /// What news about the log is compared with.
    pub stamp: String,
}
