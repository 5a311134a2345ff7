//! Accepted tradeoffs: with an owner and a reason, and for a time if one is given.
//!
//! `handfast-accept: D1 owner=@storage until=2027-03-01 reason="tmpfs per tenant"` in a comment
//! accepts findings of that item in the function below or around it. Without owner or reason it
//! accepts nothing; after its date it accepts nothing any more.

use crate::program::SourceFile;
use crate::report::Finding;
use crate::tables::Classification;

/// One acceptance in a file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Acceptance {
    pub(crate) items: Vec<String>,
    pub(crate) owner: String,
    pub(crate) until: String,
    pub(crate) reason: String,
    pub(crate) line: u32,
    pub(crate) file: String,
}

/// All that hold for one report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acceptances {
    pub(crate) list: Vec<Acceptance>,
    pub(crate) today: String,
}

impl Acceptances {
    pub(crate) fn read(file: &SourceFile, project: &[Acceptance], today: &str) -> Self {
        let mut list: Vec<Acceptance> = project.to_vec();
        if file.text.contains("handfast-accept:") {
            for (index, line) in file.text.lines().enumerate() {
                if let Some((_, rest)) = line.split_once("handfast-accept:") {
                    let mut one = parse(rest);
                    one.line = u32::try_from(index + 1).unwrap_or(u32::MAX);
                    one.file.clone_from(&file.path);
                    list.push(one);
                }
            }
        }
        Self {
            list,
            today: today.to_owned(),
        }
    }

    /// Acceptances that nobody answers for are findings themselves.
    pub(crate) fn incomplete(&self) -> Vec<Finding> {
        let bad = self
            .list
            .iter()
            .filter(|one| one.owner.is_empty() || one.reason.is_empty() || !one.has_good_date());
        bad.map(|one| Finding {
            id: crate::judge::short_hash(&format!("{}\n{}\naccept", one.file, one.items.join("+"))),
            items: one.items.clone(),
            title: if one.has_good_date() {
                "an acceptance names no owner or no reason".to_owned()
            } else {
                format!("`{}` is no date; write YYYY-MM-DD", one.until)
            },
            category: one
                .items
                .first()
                .and_then(|id| crate::tables::item(id))
                .map_or_else(|| "Tests".to_owned(), |item| item.category.clone()),
            severity: crate::tables::Severity::Medium,
            classification: Classification::Confirmed,
            file: one.file.clone(),
            line: one.line,
            end_line: one.line,
            snippet: String::new(),
            column: 0,
            width: 0,
            function: String::new(),
            sink: String::new(),
            source: String::new(),
            trigger: "somebody reads the acceptance and cannot ask anybody about it".to_owned(),
            risk: "a gap stays open that no one has decided to leave open".to_owned(),
            required_guard: "an owner and a reason, and a date if it is for a time".to_owned(),
            suggested_anchor: format!(
                "handfast-accept: {} owner=@team until=YYYY-MM-DD reason=\"…\"",
                one.items.join(",")
            ),
            trace: Vec::new(),
            acceptance: None,
            reachable: true,
            compensated: false,
            is_weak: false,
            within: (0, 0),
        })
        .collect()
    }

    /// A finding of which only some items are accepted becomes two.
    fn split(&self, findings: &mut Vec<Finding>) {
        for one in self.list.iter().filter(|one| !one.items.is_empty()) {
            let mut apart = Vec::new();
            for finding in findings.iter_mut().filter(|finding| one.is_about(finding)) {
                let (ours, theirs): (Vec<String>, Vec<String>) = finding
                    .items
                    .iter()
                    .cloned()
                    .partition(|id| one.items.contains(id));
                if ours.is_empty() || theirs.is_empty() {
                    continue;
                }
                let mut half = finding.clone();
                half.id = crate::judge::short_hash(&format!("{}\n{}", finding.id, ours.join("+")));
                half.items = ours;
                finding.items = theirs;
                apart.push(half);
            }
            findings.extend(apart);
        }
    }

    /// Turns findings into accepted ones where somebody answers for them.
    pub(crate) fn apply(&mut self, findings: &mut Vec<Finding>) {
        self.split(findings);
        for one in &self.list {
            let complete = !one.owner.is_empty() && !one.reason.is_empty() && one.has_good_date();
            let expired = one.has_good_date()
                && !one.until.is_empty()
                && !self.today.is_empty()
                && one.until.as_str() < self.today.as_str();
            for finding in findings.iter_mut() {
                let covered = !one.items.is_empty()
                    && finding.items.iter().all(|id| one.items.contains(id))
                    && one.is_about(finding);
                if covered && complete && !expired {
                    finding.classification = Classification::Accepted;
                    let until = if one.until.is_empty() {
                        String::new()
                    } else {
                        format!(" until {}", one.until)
                    };
                    finding.acceptance = Some(format!("{}{until}: {}", one.owner, one.reason));
                } else if covered && expired {
                    finding.title = format!(
                        "{} (the acceptance by {} expired on {})",
                        finding.title, one.owner, one.until
                    );
                } else if covered && !one.has_good_date() {
                    finding.title = format!(
                        "{} (the date of the acceptance at line {} is none)",
                        finding.title, one.line
                    );
                } else if covered && !complete {
                    finding.title = format!(
                        "{} (the acceptance at line {} names no owner or no reason)",
                        finding.title, one.line
                    );
                }
            }
        }
    }
}

impl Acceptance {
    /// No date, or one of the calendar.
    fn has_good_date(&self) -> bool {
        self.until.is_empty() || is_date(&self.until)
    }

    /// One in a function, or just above it, speaks of that function; one at the head of the file,
    /// or of the project, of all.
    fn is_about(&self, finding: &Finding) -> bool {
        let (from, to) = finding.within;
        let at_head = self.line <= HEAD;
        from == 0 || at_head || (self.line + ABOVE >= from && self.line <= to)
    }
}

/// Whether a text is a date of the calendar, `YYYY-MM-DD`.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return false;
    }
    let (Ok(year), Ok(month), Ok(day)) = (
        year.parse::<u32>(),
        month.parse::<u32>(),
        day.parse::<u32>(),
    ) else {
        return false;
    };
    let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Lines at the head of a file that speak of the whole file.
const HEAD: u32 = 5;

/// How far above a function its acceptance may stand.
const ABOVE: u32 = 4;

fn parse(text: &str) -> Acceptance {
    let mut out = Acceptance::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some((key, value)) = word.split_once('=') {
            let (value, after) = if value.starts_with('"') {
                let from = rest.find('"').map_or(0, |at| at + 1);
                let end = rest[from..].find('"').map_or(rest.len(), |end| from + end);
                (
                    rest[from..end].to_owned(),
                    rest.get(end + 1..).unwrap_or("").trim_start(),
                )
            } else {
                (value.to_owned(), after.trim_start())
            };
            match key {
                "owner" => out.owner = value,
                "until" => out.until = value,
                "reason" => out.reason = value,
                _ => {}
            }
            rest = after;
            continue;
        }
        for id in word.split(',') {
            let id = id.trim();
            if crate::tables::item(id).is_some() {
                out.items.push(id.to_ascii_uppercase());
            }
        }
        rest = after.trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acceptance_has_items_an_owner_a_date_and_a_reason() {
        let one = parse(
            r#" D1, C5 owner=@storage until=2027-03-01 reason="tmpfs per tenant, no foreign writer" */"#,
        );
        assert_eq!(one.items, ["D1", "C5"]);
        assert_eq!(
            (one.owner.as_str(), one.until.as_str()),
            ("@storage", "2027-03-01")
        );
        assert_eq!(one.reason, "tmpfs per tenant, no foreign writer");
        assert!(parse("D1 reason=\"x\"").owner.is_empty());
    }

    #[test]
    fn a_date_that_is_none_is_said_to_be_none() {
        assert!(is_date("2028-02-29") && is_date("2027-12-31"));
        for text in [
            "2027-02-29",
            "2027-13-01",
            "soon",
            "2027-3-1",
            "2027-03-01x",
            "",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }
}
