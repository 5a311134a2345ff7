//! The report as data; renderers print it.

use crate::tables::{Classification, Severity, Verdict};

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Depth {
    /// Blockers and grave findings only.
    Quick,
    /// Applicable areas.
    #[default]
    Standard,
    /// Everything.
    Exhaustive,
}

impl Depth {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Exhaustive => "exhaustive",
        }
    }
}

/// A step from source to sink.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// The file.
    pub file: String,
    /// The line, 1-based.
    pub line: u32,
    /// What happens there.
    pub note: String,
    /// For a guard: `sound`, `weak` or `beside the point`.
    pub guard: Option<&'static str>,
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// A fingerprint without line numbers.
    pub id: String,
    /// Item ids, in order.
    pub items: Vec<String>,
    /// Short.
    pub title: String,
    /// One of the report's categories.
    pub category: String,
    /// How grave.
    pub severity: Severity,
    /// How sure.
    pub classification: Classification,
    /// The file; empty if there is no anchor.
    pub file: String,
    /// The first line; 0 if there is no anchor.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
    /// The line of code, as it is written.
    pub snippet: String,
    /// Where the marked part of it begins, in characters, and how wide it is.
    pub column: u32,
    /// How many characters are marked.
    pub width: u32,
    /// The function.
    pub function: String,
    /// The operation.
    pub sink: String,
    /// The external text.
    pub source: String,
    /// A concrete scenario.
    pub trigger: String,
    /// What is lost.
    pub risk: String,
    /// What the checklist names.
    pub required_guard: String,
    /// Where to start.
    pub suggested_anchor: String,
    /// Source to sink.
    pub trace: Vec<Step>,
    /// Why it was accepted, and by whom.
    pub acceptance: Option<String>,
    pub(crate) reachable: bool,
    /// Containment holds, so that this is hardening: below the gate.
    pub(crate) compensated: bool,
    /// A guard is there and does not hold.
    pub(crate) is_weak: bool,
    /// First and last line of the function it is about; zero where there is none.
    pub(crate) within: (u32, u32),
}

impl Finding {
    /// Hardening that is worth doing and no hole: below every gate but `concerns`.
    #[must_use]
    pub fn is_advice(&self) -> bool {
        matches!(
            self.classification,
            Classification::Confirmed | Classification::Likely
        ) && (self.compensated || self.severity < Severity::High && !self.is_weak)
    }

    /// Whether this finding alone makes the verdict BLOCK, which fails the gate for a named file.
    #[must_use]
    pub fn blocks(&self) -> bool {
        crate::judge::weigh(std::slice::from_ref(self)) == Verdict::Block
    }
}

/// An item that is no finding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Evidence {
    /// The item's id.
    pub item: String,
    /// Whether it is answered yes; otherwise it is not applicable.
    pub is_yes: bool,
    /// `file:line` for yes.
    pub anchor: String,
    /// Why it is not applicable.
    pub reason: String,
    /// A short hash of the anchored line.
    pub hash: String,
}

/// Yes and applicable, per area.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Coverage {
    /// `A` to `F`.
    pub area: char,
    /// Answered yes.
    pub yes: usize,
    /// Applicable.
    pub applicable: usize,
}

/// What is said about one target.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file or diff.
    pub target: String,
    /// The trusted root.
    pub trusted_root: String,
    /// The external fields.
    pub input_surface: Vec<String>,
    /// `read`, `create`, `mutate`, `delete` or `mixed`.
    pub operation: String,
    /// The answer.
    pub verdict: Verdict,
    /// What is missing.
    pub findings: Vec<Finding>,
    /// What is there.
    pub evidence: Vec<Evidence>,
    /// Per area.
    pub coverage: Vec<Coverage>,
    /// Beyond single findings.
    pub recommendations: Vec<String>,
    /// What stays open in any case.
    pub residual_risk: Vec<String>,
    /// How much is shown.
    pub depth: Depth,
    /// Context is missing: one open question and nothing else.
    pub is_insufficient: bool,
    /// It is about the names of archive entries, which have a heading of their own.
    pub is_archive: bool,
}

/// A function whose parameters need no guess, because a caller was followed into it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Covered {
    /// `file:line` of the function, and its name.
    pub function: String,
    /// The entry from where it is reached.
    pub caller: String,
}

/// A target without enough context, in a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Insufficient {
    /// The file.
    pub target: String,
    /// The label of what is missing.
    pub missing: String,
}

/// A file that was not looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// Everything an audit came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The worst of all reports.
    pub verdict: Verdict,
    /// In the order of their targets.
    pub reports: Vec<Report>,
    /// Targets of a directory without context.
    pub insufficient: Vec<Insufficient>,
    /// Not looked at.
    pub skipped: Vec<Skipped>,
    /// How many files were read.
    pub files: usize,
    /// How many of them hold no path operation and stand near none: they were not parsed.
    pub unparsed: usize,
    /// Files in which some ways were not followed to their end, because the steps ran out.
    pub bounded: Vec<String>,
    /// The hash of the knowledge base.
    pub knowledge: String,
    /// Functions of a directory that were seen through their callers.
    pub covered: Vec<Covered>,
}
