//! Names are bytes; what people see is always escaped.
//!
//! File names are chosen by attackers. Printed raw they forge log lines (newline), repaint
//! terminals (ESC) or read backwards (bidirectional controls). [`escape`] keeps ordinary text as it
//! is and shows everything else as `\n`, `\u{202e}` or `\xff`. A backslash is doubled, so two
//! different names never look the same.

/// Shows bytes as one line of harmless text.
///
/// ```
/// use handfast::escape;
/// assert_eq!(escape(b"caf\xc3\xa9"), "caf\u{e9}");
/// assert_eq!(escape(b"a\nb\x1b[2J\xff"), "a\\nb\\u{1b}[2J\\xff");
/// ```
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_char(&mut out, character);
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

fn push_char(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        hidden if is_hidden(hidden) => {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(hidden)));
        }
        plain => out.push(plain),
    }
}

/// Whether a character does something to a terminal or a reader instead of being seen: controls,
/// what Unicode calls ignorable by default, line separators, and letters without a shape.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn different_names_never_look_the_same() {
        assert_eq!(escape(b"\n"), "\\n");
        assert_eq!(escape(b"\\n"), "\\\\n");
    }

    #[test]
    fn direction_and_width_tricks_are_shown() {
        assert_eq!(escape("a\u{202e}b".as_bytes()), "a\\u{202e}b");
        assert_eq!(
            escape("a\u{200b}b\u{feff}".as_bytes()),
            "a\\u{200b}b\\u{feff}"
        );
        let no_shape = "\u{34f}\u{115f}\u{2800}\u{3164}\u{ffa0}\u{e0101}";
        assert_eq!(escape(no_shape.as_bytes()).matches("\\u{").count(), 6);
    }
}
