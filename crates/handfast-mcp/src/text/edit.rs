//! Replacing passages of a text.

/// One replacement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    /// Every place, not only the first.
    pub(crate) all: bool,
}

/// What came of all edits.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Edited {
    /// The text before, with LF endings.
    pub(crate) before: String,
    /// The text after, with LF endings.
    pub(crate) after: String,
    /// The text after, with the endings of the file.
    pub(crate) content: String,
    /// The edits that fitted more than one place: number from 1, and how many places.
    pub(crate) ambiguous: Vec<(usize, usize)>,
}

/// A passage that fits nowhere, and the text that it was looked for in.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Missed {
    pub(crate) passage: String,
    pub(crate) text: String,
}

/// Applies edits in order, each to the first place that fits, or to all of them.
pub(crate) fn apply(original: &str, edits: &[Edit]) -> Result<Edited, Missed> {
    let before = lf(original);
    let mut after = before.clone();
    let mut ambiguous = Vec::new();
    for (number, edit) in (1..).zip(edits) {
        let (old, new) = (lf(&edit.old), lf(&edit.new));
        let places = match old.is_empty() {
            true => 1,
            false => after.matches(&old).take(100).count(),
        };
        if places > 1 && !edit.all {
            ambiguous.push((number, places));
        }
        after = match places {
            0 => by_lines(&after, &old, &new).ok_or_else(|| Missed {
                passage: edit.old.clone(),
                text: after.clone(),
            })?,
            _ if edit.all && !old.is_empty() => after.replace(&old, &new),
            _ => after.replacen(&old, &new, 1),
        };
    }
    Ok(Edited {
        content: restore_endings(original, &after),
        before,
        after,
        ambiguous,
    })
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Line by line, ignoring blanks at both ends. New lines stand where the old ones stood: the
/// first has the old indent, the others keep their distance to it.
fn by_lines(text: &str, old: &str, new: &str) -> Option<String> {
    let wanted: Vec<&str> = old.split('\n').map(str::trim).collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let at = lines
        .windows(wanted.len())
        .position(|window| window.iter().zip(&wanted).all(|(a, b)| a.trim() == *b))?;
    let here = indent(lines[at]);
    let first = new.split('\n').next().map_or(0, |line| indent(line).len());
    let replaced = new.split('\n').map(|line| {
        let deeper = indent(line).len().saturating_sub(first);
        match line.trim() {
            "" => String::new(),
            _ => format!("{here}{}{}", " ".repeat(deeper), line.trim_start()),
        }
    });
    let mut all: Vec<String> = lines[..at].iter().map(|line| (*line).to_owned()).collect();
    all.extend(replaced);
    all.extend(
        lines[at + wanted.len()..]
            .iter()
            .map(|line| (*line).to_owned()),
    );
    Some(all.join("\n"))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Lines that were not touched keep their endings; new ones get the file's usual one.
fn restore_endings(original: &str, after: &str) -> String {
    if !original.contains("\r\n") {
        return after.to_owned();
    }
    let old: Vec<&str> = original.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = |a: &str, b: &str| match a.strip_suffix("\r\n") {
        Some(line) => b.strip_suffix('\n') == Some(line),
        None => a == b,
    };
    let shorter = old.len().min(new.len());
    let head = (0..shorter)
        .take_while(|at| same(old[*at], new[*at]))
        .count();
    let tail = (1..=shorter - head)
        .take_while(|back| same(old[old.len() - back], new[new.len() - back]))
        .count();
    let carriage = old.iter().filter(|line| line.ends_with("\r\n")).count();
    let usual_is_crlf = carriage * 2 >= old.len();
    let mut text: String = old[..head].concat();
    for line in &new[head..new.len() - tail] {
        match line.strip_suffix('\n') {
            Some(line) if usual_is_crlf => {
                text.push_str(line);
                text.push_str("\r\n");
            }
            _ => text.push_str(line),
        }
    }
    text.push_str(&old[old.len() - tail..].concat());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit {
            old: old.to_owned(),
            new: new.to_owned(),
            all: false,
        }
    }

    fn content(text: &str, edits: &[Edit]) -> String {
        apply(text, edits).unwrap().content
    }

    #[test]
    fn the_first_exact_place_is_replaced_and_the_others_counted() {
        let edited = apply("a b a", &[edit("a", "$&")]).unwrap();
        assert_eq!(edited.content, "$& b a");
        assert_eq!(edited.ambiguous, [(1, 2)]);
        assert_eq!(
            content("one\ntwo\n", &[edit("one", "1"), edit("1\n", "")]),
            "two\n"
        );
        assert_eq!(content("x", &[edit("", "y")]), "yx");
    }

    #[test]
    fn blanks_do_not_matter_and_indents_are_kept() {
        let text = "fn a() {\n    if x {\n        y();\n    }\n}\n";
        let edits = [edit("if x {\n  y();\n}", "if z {\n    w();\n}")];
        assert_eq!(
            content(text, &edits),
            "fn a() {\n    if z {\n        w();\n    }\n}\n"
        );
    }

    #[test]
    fn a_passage_that_fits_nowhere_is_named() {
        let missed = |text, edits: &[Edit]| apply(text, edits).unwrap_err();
        assert_eq!(missed("a", &[edit("b", "c")]).passage, "b");
        assert_eq!(missed("", &[edit("b\nc", "")]).passage, "b\nc");
        let second = missed("a", &[edit("a", "x"), edit("a", "c")]);
        assert_eq!((second.passage.as_str(), second.text.as_str()), ("a", "x"));
    }

    #[test]
    fn every_place_is_replaced_if_that_is_asked() {
        let every = Edit {
            all: true,
            ..edit("a", "b")
        };
        let edited = apply("a a\na", &[every]).unwrap();
        assert_eq!(edited.content, "b b\nb");
        assert_eq!(edited.ambiguous, []);
    }

    #[test]
    fn endings_survive() {
        assert_eq!(
            content("a\r\nb\r\nc\r\n", &[edit("b", "B\nB")]),
            "a\r\nB\r\nB\r\nc\r\n"
        );
        assert_eq!(
            content("a\nb\r\nc\r\nd", &[edit("c", "C")]),
            "a\nb\r\nC\r\nd"
        );
        assert_eq!(content("a\r\n", &[edit("a\n", "")]), "");
        assert_eq!(content("a\r\na\r\n", &[edit("a\na", "a")]), "a\r\n");
    }
}
