//! Whether content is text, and how that was decided.

/// What content is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// UTF-8 without control characters but for tabs and ends of lines.
    Text,
    /// Text with something in it that text has not; it is shown all the same, escaped. Why.
    Odd(String),
    /// Something else; only its size and its digest are shown. Why.
    Binary(String),
}

/// So much of a file is looked at to tell whether lines can be shown.
const LOOKED_AT: usize = 64 * 1024;

impl Form {
    /// What some content is. A script with one NUL byte in it is still a script: where at least nine
    /// bytes of ten are text, lines are shown. So are those of whatever the kernel starts as a script:
    /// padding must not hide what will run.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let Some(why) = oddity(content) else {
            return Self::Text;
        };
        let begin = &content[..content.len().min(LOOKED_AT)];
        match content.starts_with(b"#!") || odd_bytes(begin) * 10 <= begin.len() {
            true => Self::Odd(why),
            false => Self::Binary(why),
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Odd(_) => "odd",
            Self::Binary(_) => "binary",
        }
    }

    /// Why it is no plain text.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Text => None,
            Self::Odd(why) | Self::Binary(why) => Some(why),
        }
    }
}

/// How many bytes are no UTF-8, or control something.
fn odd_bytes(content: &[u8]) -> usize {
    let odd = content
        .utf8_chunks()
        .map(|chunk| hidden(chunk.valid()).count() + chunk.invalid().len());
    odd.sum()
}

/// The first thing in content that text does not have.
fn oddity(content: &[u8]) -> Option<String> {
    if let Some(at) = content.iter().position(|byte| *byte == 0) {
        return Some(format!("a NUL byte at {at}"));
    }
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => return Some(format!("not UTF-8 at byte {}", error.valid_up_to())),
    };
    let (at, found) = hidden(text).next()?;
    Some(format!("the character U+{:04X} at byte {at}", found as u32))
}

/// Characters that a terminal obeys or hides instead of showing them, with their places.
fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = ' ';
    text.char_indices()
        .filter(move |(_, letter)| is_hidden(std::mem::replace(&mut before, *letter), *letter))
}

/// Whether a letter is obeyed or hidden behind another one. The two selectors that choose between
/// text and picture are usual behind a symbol; anywhere else they are a way to hide bytes.
pub(super) fn is_hidden(before: char, letter: char) -> bool {
    match letter {
        '\t' | '\n' | '\r' => false,
        '\u{fe0e}' | '\u{fe0f}' => {
            let is_key = matches!(before, '0'..='9' | '#' | '*');
            !is_key && (before.is_ascii() || handfast::is_hidden(before))
        }
        _ => handfast::is_hidden(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_byte_hides_nothing() {
        assert_eq!(Form::of(b"#!/bin/sh\nrm -rf x\n"), Form::Text);
        let padded = [&b"#!/bin/sh\nrm -rf x\nexit\n"[..], &[0; 500]].concat();
        assert!(matches!(Form::of(&padded), Form::Odd(_)));
        assert!(matches!(Form::of(&padded[2..]), Form::Binary(_)));
        let script = Form::of(b"#!/bin/sh\nrm -rf x\n\0");
        assert_eq!(script, Form::Odd("a NUL byte at 19".to_owned()));
        let bidi = Form::of("if a \u{202e}{ // }\n".as_bytes());
        assert_eq!(bidi, Form::Odd("the character U+202E at byte 5".to_owned()));
        assert_eq!(
            Form::of(&[0; 100]),
            Form::Binary("a NUL byte at 0".to_owned())
        );
        assert!(matches!(Form::of(b"abcdefghijklm\xff\n"), Form::Odd(_)));
        assert!(matches!(Form::of(&[0xff; 20]), Form::Binary(_)));
        assert_eq!(Form::of(b""), Form::Text);
        assert_eq!(
            Form::of("I \u{2764}\u{fe0f} it, 1\u{fe0f}\n".as_bytes()),
            Form::Text
        );
        for hidden in [
            "a\u{fe0f}",
            "\u{2764}\u{fe0f}\u{fe0f}",
            "a\u{e0101}",
            "\u{3164}",
            "\u{2800}",
        ] {
            let text = format!("const a_long_name = '{hidden}';\n");
            assert!(
                matches!(Form::of(text.as_bytes()), Form::Odd(_)),
                "{hidden:?}"
            );
        }
    }
}
