//! The short form: one block for each flow, for people who want to repair it.

use std::fmt::Write;

use crate::gate::FailOn;
use crate::report::{Finding, Outcome};
use crate::tables::Classification;

/// Lines are folded here.
const WIDTH: usize = 80;

/// At most so many files without context are listed.
const MAX_LISTED: usize = 5;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
struct Paint(bool);

impl Paint {
    fn text(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// All flows that matter, and one line for what is left out.
#[must_use]
pub fn short(outcome: &Outcome, fail_on: FailOn, is_coloured: bool) -> String {
    let paint = Paint(is_coloured);
    let mut out = String::new();
    let mut advice = 0;
    let mut accepted = 0;
    let mut gaps = 0;
    let mut counts = [0_usize; 2];
    for report in &outcome.reports {
        let mut is_first = report.is_archive;
        for finding in &report.findings {
            match finding.classification {
                Classification::TestGap => gaps += 1,
                Classification::Accepted => accepted += 1,
                _ if finding.is_advice() => advice += 1,
                _ => {
                    counts[usize::from(finding.classification != Classification::Confirmed)] += 1;
                    if std::mem::take(&mut is_first) {
                        writeln!(out, "{}\n", paint.text("1", "Archive entry names")).ok();
                    }
                    out.push_str(&block(finding, &report.target, paint));
                }
            }
        }
    }
    let missing = &outcome.insufficient;
    if !missing.is_empty() {
        let listed: Vec<&str> = missing
            .iter()
            .take(MAX_LISTED)
            .map(|one| one.target.as_str())
            .collect();
        let more = missing.len().saturating_sub(MAX_LISTED);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        let line = format!(
            "{}: root or input not declared: {}{more}",
            count(missing.len(), "file"),
            listed.join(", ")
        );
        out.push_str(&folded(&line, "", "  "));
    }
    out.push_str(&limits(outcome));
    let mut parts = vec![
        format!("{} confirmed", counts[0]),
        format!("{} likely", counts[1]),
    ];
    for (number, what) in [
        (advice, "advice"),
        (gaps, "untested"),
        (accepted, "accepted"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    let passes = outcome.passes(fail_on);
    let gate = if passes {
        paint.text("32", "pass")
    } else {
        paint.text("31;1", "fail")
    };
    writeln!(
        out,
        "{}: {}; verdict {}, gate {gate}",
        count(outcome.files, "file"),
        parts.join(", "),
        outcome.verdict.name()
    )
    .ok();
    if let Some(line) = outcome.difference(fail_on) {
        out.push_str(&folded(&line, "", "  "));
    }
    out
}

/// What was not looked at, or not to its end.
fn limits(outcome: &Outcome) -> String {
    let mut out = String::new();
    if outcome.unparsed > 0 {
        let line = format!(
            "{} of {} hold no path operation, stand near none and were not parsed",
            outcome.unparsed,
            count(outcome.files, "file")
        );
        out.push_str(&folded(&line, "", "  "));
    }
    if !outcome.bounded.is_empty() {
        let listed: Vec<&str> = outcome.bounded.iter().map(String::as_str).collect();
        let more = match listed.len().saturating_sub(MAX_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = format!(
            "{}: the steps ran out before all ways were followed: {}{more}",
            count(listed.len(), "file"),
            listed[..listed.len().min(MAX_LISTED)].join(", ")
        );
        out.push_str(&folded(&line, "", "  "));
    }
    out
}

/// Text of the target without what moves a cursor or turns the line around.
fn plain(text: &str) -> String {
    let is_harmless = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars()
        .map(|c| if is_harmless(c) { c } else { '?' })
        .collect()
}

/// `1 file`, `2 files`.
fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

fn block(finding: &Finding, target: &str, paint: Paint) -> String {
    let mut out = String::new();
    let (word, code) = match finding.classification {
        Classification::Confirmed => ("error", "31;1"),
        Classification::Open => ("question", "36;1"),
        _ => ("warning", "33;1"),
    };
    let ids = finding.items.join(" ");
    let ids = if ids.is_empty() {
        String::new()
    } else {
        format!(" [{ids}]")
    };
    let title = folded(
        &format!("{word}: {}{ids}", plain(&finding.title)),
        "",
        "    ",
    );
    out.push_str(&title.replacen(word, &paint.text(code, word), 1));
    let file = if finding.file.is_empty() {
        target
    } else {
        &finding.file
    };
    let gutter = finding.line.to_string().len().max(2);
    let bar = paint.text("34", "|");
    let pad = " ".repeat(gutter);
    writeln!(
        out,
        "{pad}{} {file}:{}",
        paint.text("34", "-->"),
        finding.line.max(1)
    )
    .ok();
    if !finding.snippet.is_empty() {
        let room = WIDTH.saturating_sub(gutter + 4);
        let (code, at, width) = cut(
            &finding.snippet,
            finding.column as usize,
            finding.width as usize,
            room,
        );
        writeln!(out, "{pad} {bar}").ok();
        writeln!(out, "{:>gutter$} {bar} {code}", finding.line).ok();
        let carets = paint.text("31;1", &"^".repeat(width.max(1)));
        writeln!(out, "{pad} {bar} {}{carets}", " ".repeat(at)).ok();
    }
    for step in &finding.trace {
        let line = format!("{} ({}:{})", plain(&step.note), step.file, step.line);
        out.push_str(&folded(&line, &format!("{pad} = "), &format!("{pad}     ")));
    }
    out.push_str(&folded(
        &finding.risk,
        &format!("{pad} = why: "),
        &format!("{pad}     "),
    ));
    for (index, line) in finding.suggested_anchor.lines().enumerate() {
        let head = if index == 0 { " = fix: " } else { "        " };
        writeln!(out, "{pad}{head}{line}").ok();
    }
    out.push('\n');
    out
}

/// A line of code without its indent, around the marked part: text, where the mark begins, how wide.
fn cut(line: &str, at: usize, width: usize, room: usize) -> (String, usize, usize) {
    let line = line.replace('\t', " ");
    let chars: Vec<char> = plain(&line).chars().collect();
    let indent = chars.iter().take_while(|c| **c == ' ').count();
    let at = at.min(chars.len());
    let from = if at.saturating_sub(indent) + width.min(room) <= room {
        indent
    } else {
        at.saturating_sub(room / 3)
    };
    let to = chars.len().min(from + room);
    let text: String = chars[from.min(to)..to].iter().collect();
    let at = at.saturating_sub(from);
    (text, at, width.min(to.saturating_sub(from + at)))
}

/// Words below a margin.
fn folded(text: &str, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            rest.clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_at_eighty_columns() {
        let text = folded(&"word ".repeat(40), "  = ", "      ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().count() > 2);
    }

    #[test]
    fn the_mark_stays_below_its_code() {
        let line = format!("    {}open(name)", "x = ".repeat(40));
        let at = line.find("open").unwrap();
        let (text, column, width) = cut(&line, at, 4, 70);
        let marked: String = text.chars().skip(column).take(width).collect();
        assert_eq!(marked, "open");
        assert!(text.chars().count() <= 70);
    }
}
