//! Lines in which nothing is hidden.

use handfast_session::change::{Hunk, Line, Tag};

use crate::protocol::{HunkView, LineView, TextPiece};

/// Bytes as text: what a browser would obey, hide or turn around is spelled out.
pub(super) fn pieces(bytes: &[u8]) -> Vec<TextPiece> {
    let mut pieces: Vec<TextPiece> = Vec::new();
    let mut push = |hidden: bool, text: &str| match pieces.last_mut() {
        Some((known, before)) if *known == hidden && !hidden => before.push_str(text),
        _ => pieces.push((hidden, text.to_owned())),
    };
    let mut buffer = [0; 4];
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter != '\t' && handfast::is_hidden(letter) {
                true => push(true, &format!("U+{:04X}", letter as u32)),
                false => push(false, letter.encode_utf8(&mut buffer)),
            }
        }
        for byte in chunk.invalid() {
            push(true, &format!("0x{byte:02X}"));
        }
    }
    pieces
}

/// A line, of which at most so many bytes are shown.
pub(super) fn line(line: &Line, most: usize) -> LineView {
    let text = line.bytes.strip_suffix(b"\n");
    let ended = text.is_some();
    let text = text.unwrap_or(&line.bytes);
    let mut shown = text.len().min(most);
    // Not in the middle of a letter.
    while shown < text.len() && shown > 0 && text[shown] & 0xc0 == 0x80 {
        shown -= 1;
    }
    LineView {
        sign: line.tag.sign(),
        pieces: pieces(&text[..shown]),
        cut: text.len() - shown,
        ended,
    }
}

/// The part of a hunk that lies in a range of its lines.
pub(super) fn hunk(hunk: &Hunk, range: std::ops::Range<usize>, most: usize) -> HunkView {
    let skipped = &hunk.lines[..range.start];
    let passed = |wanted: Tag| skipped.iter().filter(|line| line.tag != wanted).count();
    HunkView {
        id: hunk.id.clone(),
        header: hunk.header(),
        starts: (
            hunk.old.0 + passed(Tag::Added) + 1,
            hunk.new.0 + passed(Tag::Removed) + 1,
        ),
        lines: hunk.lines[range.clone()]
            .iter()
            .map(|known| line(known, most))
            .collect(),
        before: range.start,
        after: hunk.lines.len() - range.end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden() {
        let found = pieces("a\u{202e}b\t<\u{0}\u{1b}".as_bytes());
        let shown: Vec<(bool, &str)> = found.iter().map(|(is, text)| (*is, &**text)).collect();
        let wanted = [
            (false, "a"),
            (true, "U+202E"),
            (false, "b\t<"),
            (true, "U+0000"),
            (true, "U+001B"),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(pieces(b"\xff\r").len(), 2);
        assert!(pieces(b"").is_empty());
    }

    #[test]
    fn a_long_line_says_how_much_is_missing() {
        let long = Line {
            tag: Tag::Added,
            bytes: "ä".repeat(10).into_bytes(),
        };
        let shown = line(&long, 5);
        assert_eq!((shown.cut, shown.ended), (16, false));
        assert_eq!(shown.pieces, [(false, "ää".to_owned())]);
    }
}
