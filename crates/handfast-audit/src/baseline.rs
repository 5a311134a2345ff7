//! A baseline: findings that are known, so that only new ones are shown.
//!
//! A file of fingerprints, one per line after a heading. A fingerprint has no line numbers in it:
//! it survives moved lines, and dies with the function, the operation or the items it speaks of.

use std::collections::BTreeSet;

use crate::judge;
use crate::report::Outcome;
use crate::tables::Verdict;

const HEADING: &str = "# handfast audit baseline 1";

/// The fingerprints of all findings, as a file.
#[must_use]
pub fn write(outcome: &Outcome) -> String {
    let mut ids = BTreeSet::new();
    for finding in outcome.reports.iter().flat_map(|report| &report.findings) {
        ids.insert(format!("{} {}", finding.id, finding.items.join("+")));
    }
    let mut out = format!("{HEADING}\n");
    for line in ids {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Takes the findings of a baseline out, and weighs what is left.
///
/// # Errors
/// If the text is no baseline.
pub fn apply(outcome: &mut Outcome, text: &str) -> Result<usize, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADING) {
        return Err(format!("it does not begin with `{HEADING}`"));
    }
    let known: BTreeSet<&str> = lines
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut taken = 0;
    for report in &mut outcome.reports {
        let before = report.findings.len();
        report
            .findings
            .retain(|finding| !known.contains(finding.id.as_str()));
        let gone = before - report.findings.len();
        taken += gone;
        if gone == 0 {
            continue;
        }
        // Known gaps are still gaps: nothing new is no clean bill.
        report.verdict = judge::weigh(&report.findings).max(Verdict::Concerns);
        report
            .recommendations
            .push(format!("{gone} findings of the baseline are not shown"));
    }
    outcome.verdict = worst(outcome);
    Ok(taken)
}

/// The worst verdict of all reports.
pub(crate) fn worst(outcome: &Outcome) -> Verdict {
    let verdicts = outcome.reports.iter().map(|report| report.verdict);
    verdicts.max().unwrap_or(Verdict::NotApplicable)
}
