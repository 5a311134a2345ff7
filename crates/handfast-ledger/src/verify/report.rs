//! What a verification came to.

use crate::merkle::Hash;

/// The answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Everything here fits together and is signed.
    Good,
    /// Something does not.
    Tampered,
}

/// Something that does not fit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The first event that is affected, where it can be told.
    pub index: Option<u64>,
    /// What.
    pub what: String,
}

/// What a verification came to.
#[derive(Clone, Debug)]
#[must_use = "a verdict that nobody reads protects nobody"]
pub struct Report {
    /// Which log.
    pub origin: String,
    /// How many events there are.
    pub events: u64,
    /// How many of them the published checkpoint covers.
    pub published: Option<u64>,
    /// The root of the published checkpoint, if the events lead to it.
    pub root: Option<Hash>,
    /// How many checkpoints were checked.
    pub checkpoints: u64,
    /// Who signed the newest.
    pub signed_by: Option<String>,
    /// Events that no checkpoint covers yet.
    pub unsigned: u64,
    /// Bytes of a write that was cut off, behind everything that was answered.
    pub torn: u64,
    /// Events whose content was dropped by policy.
    pub pruned: u64,
    /// The size of the earlier checkpoint that was given.
    pub memory: Option<u64>,
    /// Whether a key was given from elsewhere.
    pub key_given: bool,
    /// What does not fit.
    pub problems: Vec<Problem>,
    /// What was not checked, one sentence each.
    pub not_checked: Vec<String>,
}

impl Report {
    pub(crate) fn new(origin: String) -> Self {
        Self {
            origin,
            events: 0,
            published: None,
            root: None,
            checkpoints: 0,
            signed_by: None,
            unsigned: 0,
            torn: 0,
            pruned: 0,
            memory: None,
            key_given: false,
            problems: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    pub(crate) fn problem(&mut self, index: Option<u64>, what: String) {
        // One damaged place shows in many ways; nobody reads a thousand of them.
        if self.problems.len() < 100 {
            self.problems.push(Problem { index, what });
        }
    }

    pub(crate) fn not_checked(&mut self, what: &str) {
        if self.not_checked.iter().all(|known| known != what) {
            self.not_checked.push(what.to_owned());
        }
    }

    /// The answer.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.problems.is_empty() {
            Verdict::Good
        } else {
            Verdict::Tampered
        }
    }

    /// The first event that does not fit, where it can be told.
    #[must_use]
    pub fn first_bad(&self) -> Option<u64> {
        self.problems
            .iter()
            .filter_map(|problem| problem.index)
            .min()
    }
}
