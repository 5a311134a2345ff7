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
    /// bytes of ten are text, lines are shown.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let Some(why) = oddity(content) else {
            return Self::Text;
        };
        let begin = &content[..content.len().min(LOOKED_AT)];
        match odd_bytes(begin) * 10 <= begin.len() {
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
    let odd = content.utf8_chunks().map(|chunk| {
        let controls = chunk.valid().chars().filter(|letter| is_hidden(*letter));
        controls.count() + chunk.invalid().len()
    });
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
    let (at, found) = text.char_indices().find(|(_, letter)| is_hidden(*letter))?;
    Some(format!("the character U+{:04X} at byte {at}", found as u32))
}

/// Characters that a terminal obeys or hides instead of showing them.
pub(super) fn is_hidden(letter: char) -> bool {
    let control = letter.is_control() && !matches!(letter, '\t' | '\n' | '\r');
    control
        || matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_byte_hides_nothing() {
        assert_eq!(Form::of(b"#!/bin/sh\nrm -rf x\n"), Form::Text);
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
    }
}
