//! Lines in which nothing is hidden.

use handfast_session::change::{Hunk, Line, Tag};

use crate::protocol::{HunkView, LineView, TextPiece};

/// What a piece costs besides its letters: marks in the message and on the page.
const PIECE: usize = 32;

/// How much still fits on a page. A letter that is spelled out takes ten times its room, and a file is
/// written by the agent: without a bound, one of 30 MB ends the page.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Room {
    /// The room of one page.
    pub(super) fn of_page() -> Self {
        Self(4 << 20)
    }

    fn take(&mut self, cost: usize) -> bool {
        let left = self.0.checked_sub(cost);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Bytes as text: what a browser would obey, hide or turn around is spelled out. As many as there is room
/// for, and how many these are.
fn pieces(bytes: &[u8], room: &mut Room) -> (Vec<TextPiece>, usize) {
    let mut pieces: Vec<TextPiece> = Vec::new();
    let mut push = |hidden: bool, text: &str| match pieces.last_mut() {
        Some((known, before)) if *known == hidden && !hidden => {
            let fits = room.take(text.len());
            if fits {
                before.push_str(text);
            }
            fits
        }
        _ => {
            let fits = room.take(PIECE + text.len());
            if fits {
                pieces.push((hidden, text.to_owned()));
            }
            fits
        }
    };
    let mut shown = 0;
    let mut buffer = [0; 4];
    'all: for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let fits = match letter != '\t' && handfast::is_hidden(letter) {
                true => push(true, &format!("U+{:04X}", letter as u32)),
                false => push(false, letter.encode_utf8(&mut buffer)),
            };
            if !fits {
                break 'all;
            }
            shown += letter.len_utf8();
        }
        for byte in chunk.invalid() {
            if !push(true, &format!("0x{byte:02X}")) {
                break 'all;
            }
            shown += 1;
        }
    }
    (pieces, shown)
}

/// A line, of which at most so many bytes are shown, if there is room for them.
pub(super) fn line(line: &Line, most: usize, room: &mut Room) -> LineView {
    let text = line.bytes.strip_suffix(b"\n");
    let ended = text.is_some();
    let text = text.unwrap_or(&line.bytes);
    let mut shown = text.len().min(most);
    // Not in the middle of a letter.
    while shown < text.len() && shown > 0 && text[shown] & 0xc0 == 0x80 {
        shown -= 1;
    }
    let (pieces, shown) = pieces(&text[..shown], room);
    LineView {
        sign: line.tag.sign(),
        pieces,
        cut: text.len() - shown,
        ended,
    }
}

/// The part of a hunk that lies in a range of its lines.
pub(super) fn hunk(
    hunk: &Hunk,
    range: std::ops::Range<usize>,
    most: usize,
    room: &mut Room,
) -> HunkView {
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
            .map(|known| line(known, most, room))
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
        let all = |bytes| pieces(bytes, &mut Room::of_page()).0;
        let found = all("a\u{202e}b\t<\u{0}\u{1b}".as_bytes());
        let shown: Vec<(bool, &str)> = found.iter().map(|(is, text)| (*is, &**text)).collect();
        let wanted = [
            (false, "a"),
            (true, "U+202E"),
            (false, "b\t<"),
            (true, "U+0000"),
            (true, "U+001B"),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(all(b"\xff\r").len(), 2);
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_long_line_says_how_much_is_missing() {
        let long = Line {
            tag: Tag::Added,
            bytes: "ä".repeat(10).into_bytes(),
        };
        let shown = line(&long, 5, &mut Room::of_page());
        assert_eq!((shown.cut, shown.ended), (16, false));
        assert_eq!(shown.pieces, [(false, "ää".to_owned())]);
        // The room is for all lines: what comes later has what is left of it.
        let mut room = Room(PIECE + 24);
        assert_eq!(line(&long, 100, &mut room).cut, 0);
        let shown = line(&long, 100, &mut room);
        assert_eq!((shown.cut, shown.pieces.len()), (20, 0));
    }
}
