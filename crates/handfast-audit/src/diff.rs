//! A change instead of a whole file: unified diffs, the functions they touch, the guards they remove.

use std::collections::BTreeMap;

use crate::audit::{Input, Options, audit};
use crate::baseline::worst;
use crate::judge;
use crate::kb::Knowledge;
use crate::report::Outcome;

/// What a diff does to one file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Change {
    /// The file as it is now, relative, with `/`.
    pub path: String,
    /// First and last line of each touched place, in the new file.
    pub touched: Vec<(u32, u32)>,
    /// For each hunk: where it begins in the new file, how many lines it has there, and the lines
    /// that stood there before.
    hunks: Vec<(u32, u32, Vec<String>)>,
}

impl Change {
    /// The file before the change. `None` if the diff does not fit the text.
    #[must_use]
    pub fn undo(&self, new: &str) -> Option<String> {
        let lines: Vec<&str> = new.lines().collect();
        let mut out: Vec<String> = Vec::new();
        let mut at = 0_usize;
        for (start, count, old) in &self.hunks {
            let start = usize::try_from(*start).ok()?;
            let count = usize::try_from(*count).ok()?;
            // A hunk without new lines names the line before it.
            let from = if count == 0 {
                start
            } else {
                start.checked_sub(1)?
            };
            out.extend(lines.get(at..from)?.iter().map(|line| (*line).to_owned()));
            out.extend(old.iter().cloned());
            at = from.checked_add(count)?;
        }
        out.extend(lines.get(at..)?.iter().map(|line| (*line).to_owned()));
        let mut text = out.join("\n");
        text.push('\n');
        Some(text)
    }
}

/// Reads a unified diff. Files that were deleted are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    let mut open = false;
    let mut left = (0_u32, 0_u32);
    let mut at = 0_u32;
    for line in text.lines() {
        if left.0 == 0 && left.1 == 0 {
            if let Some(name) = line.strip_prefix("+++ ") {
                let name = name.split('\t').next().unwrap_or(name);
                let path = name.strip_prefix("b/").unwrap_or(name).to_owned();
                open = path != "/dev/null";
                if open {
                    out.push(Change {
                        path,
                        ..Change::default()
                    });
                }
            } else if let (true, Some(head)) = (open, line.strip_prefix("@@ ")) {
                let mut parts = head.split_whitespace();
                let old = range(parts.next().unwrap_or(""));
                let new = range(parts.next().unwrap_or(""));
                if let (Some(old), Some(new), Some(change)) = (old, new, out.last_mut()) {
                    left = (old.1, new.1);
                    at = new.0;
                    change.hunks.push((new.0, new.1, Vec::new()));
                }
            }
            continue;
        }
        let Some(change) = out.last_mut() else {
            continue;
        };
        let Some((_, _, before)) = change.hunks.last_mut() else {
            continue;
        };
        match line.as_bytes().first() {
            Some(b'+') => {
                left.1 = left.1.saturating_sub(1);
                change.touched.push((at, at));
                at += 1;
            }
            Some(b'-') => {
                left.0 = left.0.saturating_sub(1);
                before.push(line[1..].to_owned());
                // What follows the removed line is touched by its absence.
                change.touched.push((at.saturating_sub(1), at));
            }
            Some(b'\\') => {}
            _ => {
                left.0 = left.0.saturating_sub(1);
                left.1 = left.1.saturating_sub(1);
                before.push(line.get(1..).unwrap_or("").to_owned());
                at += 1;
            }
        }
    }
    out
}

/// `-12,3` or `+12`: where, and how many lines.
fn range(text: &str) -> Option<(u32, u32)> {
    let text = text.trim_start_matches(['-', '+']);
    let (at, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((at.parse().ok()?, count.parse().ok()?))
}

/// Audits a change: findings in touched functions, and every finding that the old text did not have.
///
/// `inputs` hold the new texts. An item that was answered yes before and is a finding now is a
/// guard that the change removed.
#[must_use]
pub fn audit_change(
    inputs: Vec<Input>,
    changes: &[Change],
    knowledge: &Knowledge,
    options: &Options,
) -> Outcome {
    let by_path: BTreeMap<&str, &Change> = changes
        .iter()
        .map(|change| (change.path.as_str(), change))
        .collect();
    let mut before = inputs.clone();
    for input in &mut before {
        let text = String::from_utf8_lossy(&input.bytes).into_owned();
        if let Some(old) = by_path
            .get(input.path.as_str())
            .and_then(|change| change.undo(&text))
        {
            input.bytes = old.into_bytes();
        }
    }
    let old = audit(before, knowledge, options);
    let mut new = audit(inputs, knowledge, options);
    for report in &mut new.reports {
        if report.is_insufficient {
            continue;
        }
        let was = old.reports.iter().find(|old| old.target == report.target);
        let touched = by_path
            .get(report.target.as_str())
            .map(|change| change.touched.as_slice())
            .unwrap_or_default();
        report.findings.retain_mut(|finding| {
            let (from, to) = finding.within;
            let is_touched = from > 0
                && touched
                    .iter()
                    .any(|(first, last)| *first <= to && *last >= from);
            let known = was.is_some_and(|was| was.findings.iter().any(|old| old.id == finding.id));
            let lost: Vec<&str> = was
                .map(|was| {
                    let yes = was.evidence.iter().filter(|one| one.is_yes);
                    yes.map(|one| one.item.as_str())
                        .filter(|item| finding.items.iter().any(|id| id == item))
                        .collect()
                })
                .unwrap_or_default();
            if !lost.is_empty() {
                finding.title = format!(
                    "{} (the change removes the guard of {})",
                    finding.title,
                    lost.join(", ")
                );
            }
            is_touched || !known
        });
        report.verdict = judge::weigh(&report.findings);
    }
    new.reports
        .retain(|report| report.is_insufficient || !report.findings.is_empty());
    new.verdict = worst(&new);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/app.py\n+++ b/app.py\n@@ -2,3 +2,2 @@\n two\n-gone\n+new\n-last\n";

    #[test]
    fn a_diff_can_be_undone() {
        let changes = parse(DIFF);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].path, "app.py");
        let old = changes[0].undo("one\ntwo\nnew\nend\n");
        assert_eq!(old.as_deref(), Some("one\ntwo\ngone\nlast\nend\n"));
        assert_eq!(changes[0].undo("too short\n"), None);
    }

    #[test]
    fn a_deleted_file_is_no_target() {
        assert!(parse("--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").is_empty());
    }
}
