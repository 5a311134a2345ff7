//! Severity, classification and verdict: tables, and the few rules that read them.

use std::sync::OnceLock;

use serde::Deserialize;

/// One item of the checklist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecklistItem {
    /// `A1` to `F3`.
    pub id: String,
    /// What its absence is called.
    pub title: String,
    /// The report's category.
    pub category: String,
    /// Externally reachable, nothing compensates.
    pub severity: Severity,
    /// Otherwise.
    pub otherwise: Severity,
    /// Weakness numbers.
    pub cwe: Vec<u32>,
    /// A concrete scenario.
    pub trigger: String,
    /// What is lost.
    pub risk: String,
    /// What to do.
    pub guard: String,
}

/// How grave.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Clarity, maintainability, defensive hardening.
    Low,
    /// A robustness weakness.
    Medium,
    /// A strong risk with constraints or partial mitigation.
    High,
    /// Traversal, link-following or destruction within reach.
    Critical,
}

impl Severity {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// One grade milder.
    #[must_use]
    pub fn milder(self) -> Self {
        match self {
            Self::Critical => Self::High,
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}

/// How sure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Classification {
    /// The code shows it.
    Confirmed,
    /// One step is not visible.
    Likely,
    /// Context is missing.
    Open,
    /// Accepted by an owner with a reason.
    Accepted,
    /// Tests are missing.
    TestGap,
}

impl Classification {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "Confirmed issue",
            Self::Likely => "Likely risk",
            Self::Open => "Open question",
            Self::Accepted => "Accepted tradeoff",
            Self::TestGap => "Test gap",
        }
    }
}

/// The answer for a target.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// Nothing here turns external text into paths.
    NotApplicable,
    /// Every applicable item is anchored and tested.
    Clean,
    /// Findings remain, each mitigated or minor.
    Concerns,
    /// Findings that must be dealt with.
    Block,
}

impl Verdict {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotApplicable => "NOT_APPLICABLE",
            Self::Clean => "CLEAN",
            Self::Concerns => "CONCERNS",
            Self::Block => "BLOCK",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TablesFile {
    item: Vec<ChecklistItem>,
}

/// All items in order.
#[must_use]
pub fn items() -> &'static [ChecklistItem] {
    static ITEMS: OnceLock<Vec<ChecklistItem>> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let file: TablesFile =
            toml::from_str(include_str!("checklist.toml")).expect("the built-in checklist parses");
        file.item
    })
}

/// One item by its id.
#[must_use]
pub fn item(id: &str) -> Option<&'static ChecklistItem> {
    items().iter().find(|item| item.id.eq_ignore_ascii_case(id))
}

/// What the verdict needs to know of a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    /// How grave.
    pub(crate) severity: Severity,
    /// How sure.
    pub(crate) classification: Classification,
    /// Somebody outside can get there.
    pub(crate) reachable: bool,
    /// A documented control compensates.
    pub(crate) compensated: bool,
}

/// The verdict over all findings of a target.
#[must_use]
pub(crate) fn verdict(findings: impl IntoIterator<Item = Weighed>) -> Verdict {
    let mut worst = Verdict::Clean;
    for finding in findings {
        let one = if finding.classification == Classification::Open {
            Verdict::Block
        } else if finding.classification == Classification::Accepted
            || finding.compensated
            || !finding.reachable
            || finding.severity < Severity::High
        {
            Verdict::Concerns
        } else {
            Verdict::Block
        };
        worst = worst.max(one);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_mapping_is_the_checklists() {
        assert_eq!(items().len(), 25);
        let ids: Vec<&str> = items().iter().map(|item| item.id.as_str()).collect();
        let expected = "A1 A2 A3 A4 A5 A6 B1 B2 B3 C1 C2 C3 C4 C5 D1 D2 D3 D4 D5 E1 E2 E3 F1 F2 F3";
        assert_eq!(ids.join(" "), expected);
        for item in items() {
            let critical = matches!(
                item.id.as_str(),
                "C2" | "C3" | "C5" | "D1" | "D2" | "E1" | "E3"
            );
            let expected = match (critical, item.id.starts_with('F')) {
                (true, _) => (Severity::Critical, Severity::High),
                (_, true) => (Severity::Medium, Severity::Medium),
                _ => (Severity::High, Severity::High),
            };
            assert_eq!((item.severity, item.otherwise), expected, "{}", item.id);
            let category = match item.id.as_bytes()[0] {
                b'A' => "Input validation",
                b'B' => "Trusted-root handling",
                b'C' => "Walk and gate",
                b'D' => "Mutating operation",
                b'E' => "Resource ordering",
                _ => "Tests",
            };
            assert_eq!(item.category, category);
        }
    }

    #[test]
    fn the_verdict_follows_its_table() {
        let weigh = |severity, classification, reachable, compensated| {
            verdict([Weighed {
                severity,
                classification,
                reachable,
                compensated,
            }])
        };
        use Classification::{Accepted, Confirmed, Likely, Open, TestGap};
        use Severity::{Critical, High, Low, Medium};
        assert_eq!(verdict([]), Verdict::Clean);
        assert_eq!(weigh(Critical, Confirmed, true, false), Verdict::Block);
        assert_eq!(weigh(Critical, Likely, true, false), Verdict::Block);
        assert_eq!(weigh(High, Likely, true, false), Verdict::Block);
        assert_eq!(weigh(High, Confirmed, false, false), Verdict::Concerns);
        assert_eq!(weigh(High, Confirmed, true, true), Verdict::Concerns);
        assert_eq!(weigh(High, Accepted, true, false), Verdict::Concerns);
        assert_eq!(weigh(Medium, TestGap, true, false), Verdict::Concerns);
        assert_eq!(weigh(Low, Open, true, false), Verdict::Block);
    }
}
