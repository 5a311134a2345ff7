//! The gate: whether a result fails a build. The verdict is the checklist's; the gate decides the
//! exit code.

use crate::report::Outcome;
use crate::tables::{Classification, Severity, Verdict};

/// What makes the gate fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailOn {
    /// The verdict BLOCK: the checklist's own use, for a named file or a diff.
    Block,
    /// A confirmed finding that is no advice: for a directory.
    Confirmed,
    /// The verdict CONCERNS or BLOCK.
    Concerns,
}

impl FailOn {
    /// As it is printed and typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Confirmed => "confirmed",
            Self::Concerns => "concerns",
        }
    }
}

impl Outcome {
    /// Whether nothing fails the gate.
    #[must_use]
    pub fn passes(&self, fail_on: FailOn) -> bool {
        match fail_on {
            FailOn::Block => self.verdict != Verdict::Block,
            FailOn::Concerns => self.verdict < Verdict::Concerns,
            FailOn::Confirmed => {
                !self
                    .reports
                    .iter()
                    .flat_map(|report| &report.findings)
                    .any(|finding| {
                        finding.classification == Classification::Confirmed
                            && finding.severity >= Severity::High
                            && !finding.is_advice()
                    })
            }
        }
    }

    /// One line where verdict and gate differ.
    #[must_use]
    pub fn difference(&self, fail_on: FailOn) -> Option<String> {
        let passes = self.passes(fail_on);
        match (self.verdict, passes) {
            (Verdict::Block, true) => Some(format!(
                "the verdict is BLOCK and the gate passes: nothing is confirmed (--fail-on {})",
                fail_on.name()
            )),
            (Verdict::Concerns, false) => Some(format!(
                "the verdict is CONCERNS and the gate fails (--fail-on {})",
                fail_on.name()
            )),
            _ => None,
        }
    }
}
