//! A change in words, with everything visible that a terminal would obey or hide.

use handfast::FileKind;

use super::form::is_hidden;
use super::{Change, Content, NotShown, Side, Tag};

impl Change {
    /// What is known of it besides its name, in words: kinds, modes, sizes, targets, flags.
    #[must_use]
    pub fn facts(&self) -> String {
        let mut facts = Vec::new();
        if let Some(from) = &self.from {
            facts.push(format!("was {from}"));
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.kind == after.kind => {
                between(before, after, &mut facts)
            }
            (before, after) => {
                if let Some(before) = before {
                    let gone = if after.is_some() { "was a " } else { "" };
                    facts.push(format!("{gone}{}", alone(before)));
                }
                facts.extend(after.as_ref().map(alone));
            }
        }
        facts.extend(self.flags.iter().map(|flag| flag.words().to_owned()));
        if let Some(why) = &self.meanwhile {
            facts.push(format!("meanwhile: {why}"));
        }
        facts.join(", ")
    }

    /// The content in lines: headers, hunks, or what is not shown and why.
    #[must_use]
    pub fn lines(&self) -> Vec<(Option<Tag>, String)> {
        let side = |there: bool, letter: char, path: &str| match there {
            true => format!("{letter}{path}"),
            false => "/dev/null".to_owned(),
        };
        match &self.content {
            Content::Same => Vec::new(),
            Content::NotShown { why, bytes } => {
                let what = match why {
                    NotShown::Binary => {
                        format!(
                            "{} that are no text; see the digests with `--json`",
                            counted(*bytes)
                        )
                    }
                    NotShown::TooLong => format!("{} of text; `--full` shows it", size(*bytes)),
                    NotShown::Denied(why) => format!("{}: {why}", counted(*bytes)),
                };
                vec![(None, format!("not shown: {what}"))]
            }
            Content::Hunks(hunks) => {
                let from = self.from.as_ref().unwrap_or(&self.path).to_string();
                let path = self.path.to_string();
                let mut lines = vec![
                    (
                        None,
                        format!("--- {}", side(self.before.is_some(), 'a', &from)),
                    ),
                    (
                        None,
                        format!("+++ {}", side(self.after.is_some(), 'b', &path)),
                    ),
                ];
                for hunk in hunks {
                    lines.push((None, hunk.header()));
                    for line in &hunk.lines {
                        let whole = line.bytes.strip_suffix(b"\n");
                        let text = visible(whole.unwrap_or(&line.bytes));
                        lines.push((Some(line.tag), format!("{}{text}", line.tag.sign())));
                        if whole.is_none() {
                            lines.push((None, "\\ No newline at end of file".to_owned()));
                        }
                    }
                }
                lines
            }
        }
    }
}

fn between(before: &Side, after: &Side, facts: &mut Vec<String>) {
    match (before.mode, after.mode) {
        (Some(old), Some(new)) if old != new => {
            facts.push(format!("mode {old:04o} to {new:04o}"));
        }
        _ => {}
    }
    if before.len != after.len {
        facts.push(format!("{} to {}", before.len, counted(after.len)));
    }
    match (&before.target, &after.target) {
        (Some(old), Some(new)) if old != new => {
            facts.push(format!(
                "link to `{}`, was `{}`",
                visible(new),
                visible(old)
            ));
        }
        _ => {}
    }
    if before.xattrs != after.xattrs {
        facts.extend(attributes(after));
    }
    facts.extend(form(after));
}

/// The names of extended attributes.
fn attributes(side: &Side) -> Option<String> {
    let names = || visible(side.xattrs.join(", ").as_bytes());
    (!side.xattrs.is_empty()).then(|| format!("attributes {}", names()))
}

/// A side for itself.
fn alone(side: &Side) -> String {
    let mode = side
        .mode
        .map(|mode| format!(" {mode:04o}"))
        .unwrap_or_default();
    let mut text = match side.kind {
        FileKind::File => format!("file{mode}, {}", counted(side.len)),
        FileKind::Dir => format!("directory{mode}"),
        FileKind::Symlink => {
            let target = side.target.as_deref().unwrap_or_default();
            format!("link to `{}`", visible(target))
        }
        kind => kind.to_string(),
    };
    if let Some(form) = form(side) {
        text = format!("{text}, {form}");
    }
    text
}

/// Why a side is no plain text.
fn form(side: &Side) -> Option<String> {
    let form = side.form.as_ref()?;
    Some(format!("{}: {}", form.name(), form.why()?))
}

fn counted(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => counted(bytes),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// Bytes as text in which nothing is hidden: control and bidirectional characters and bytes that are
/// no UTF-8 are spelled out. Tabs stay.
#[must_use]
pub(crate) fn visible(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut before = ' ';
        for letter in chunk.valid().chars() {
            let is_hidden = is_hidden(before, letter);
            before = letter;
            // Writing to a string does not fail.
            let _ = match letter == '\r' || letter == '\n' || is_hidden {
                true => write!(text, "<U+{:04X}>", letter as u32),
                false => write!(text, "{letter}"),
            };
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "<0x{byte:02X}>");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_goes_out() {
        let text = visible("a\u{1b}[2J\u{202e}b\tc\r".as_bytes());
        assert_eq!(text, "a<U+001B>[2J<U+202E>b\tc<U+000D>");
        assert_eq!(visible(b"x\xffy\0"), "x<0xFF>y<U+0000>");
        assert_eq!(visible("grün 漢".as_bytes()), "grün 漢");
    }
}
