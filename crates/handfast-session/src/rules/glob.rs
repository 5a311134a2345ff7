//! One segment of a pattern: `*`, `?`, `[…]` and `\`, on bytes.

/// One step of a segment with wildcards.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Byte(u8),
    /// `?`
    One,
    /// `*`
    Many,
    /// `[…]`: the ranges, and whether they are excluded.
    Class(Vec<(u8, u8)>, bool),
}

/// A segment, sorted by how it can be looked up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Segment {
    /// `**`: any number of segments.
    AnyDepth,
    /// A name without wildcards.
    Literal(Vec<u8>),
    /// `text*`
    Prefix(Vec<u8>),
    /// `*text`
    Suffix(Vec<u8>),
    /// Everything else.
    Glob(Glob),
}

/// A segment with wildcards in its middle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Glob {
    pieces: Vec<Piece>,
}

impl Segment {
    /// Parses one segment. The message says what is wrong with it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        if text == b"**" {
            return Ok(Self::AnyDepth);
        }
        let pieces = parse_pieces(text)?;
        let bytes = |pieces: &[Piece]| -> Option<Vec<u8>> {
            pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Byte(byte) => Some(*byte),
                    _ => None,
                })
                .collect()
        };
        if let Some(name) = bytes(&pieces) {
            return match name.as_slice() {
                b"" => Err("it has an empty segment"),
                b"." | b".." => Err("`.` and `..` match nothing"),
                _ => Ok(Self::Literal(name)),
            };
        }
        if let Some((Piece::Many, rest)) = pieces.split_first()
            && let Some(suffix) = bytes(rest)
        {
            return Ok(Self::Suffix(suffix));
        }
        if let Some((Piece::Many, rest)) = pieces.split_last()
            && let Some(prefix) = bytes(rest)
        {
            return Ok(Self::Prefix(prefix));
        }
        Ok(Self::Glob(Glob { pieces }))
    }

    /// The segment for names whose case was folded.
    pub(super) fn folded(&self) -> Self {
        let fold = |text: &[u8]| handfast::fold_case(text);
        match self {
            Self::AnyDepth => Self::AnyDepth,
            Self::Literal(text) => Self::Literal(fold(text)),
            Self::Prefix(text) => Self::Prefix(fold(text)),
            Self::Suffix(text) => Self::Suffix(fold(text)),
            Self::Glob(glob) => Self::Glob(glob.folded()),
        }
    }
}

impl Glob {
    /// The byte every match begins with, where there is one.
    pub(super) fn first(&self) -> Option<u8> {
        match self.pieces.first() {
            Some(Piece::Byte(byte)) => Some(*byte),
            _ => None,
        }
    }

    /// The byte every match ends with, where there is one.
    pub(super) fn last(&self) -> Option<u8> {
        match self.pieces.last() {
            Some(Piece::Byte(byte)) => Some(*byte),
            _ => None,
        }
    }

    /// Whether the whole name fits. Linear in name times stars: one star is open at a time.
    pub(super) fn fits(&self, name: &[u8]) -> bool {
        let (mut at, mut piece) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            let fits = match self.pieces.get(piece) {
                Some(Piece::Many) => {
                    star = Some((piece + 1, at));
                    piece += 1;
                    continue;
                }
                Some(Piece::Byte(byte)) => *byte == name[at],
                Some(Piece::One) => true,
                Some(Piece::Class(ranges, excluded)) => {
                    ranges
                        .iter()
                        .any(|(low, high)| (*low..=*high).contains(&name[at]))
                        != *excluded
                }
                None => false,
            };
            if fits {
                at += 1;
                piece += 1;
            } else if let Some((after, from)) = star {
                star = Some((after, from + 1));
                piece = after;
                at = from + 1;
            } else {
                return false;
            }
        }
        self.pieces[piece..]
            .iter()
            .all(|piece| *piece == Piece::Many)
    }

    fn folded(&self) -> Self {
        let mut pieces = Vec::new();
        let mut run = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Byte(byte) => run.push(*byte),
                other => {
                    pieces.extend(handfast::fold_case(&run).into_iter().map(Piece::Byte));
                    run.clear();
                    pieces.push(match other {
                        Piece::Class(ranges, excluded) => fold_class(ranges, *excluded),
                        other => other.clone(),
                    });
                }
            }
        }
        pieces.extend(handfast::fold_case(&run).into_iter().map(Piece::Byte));
        Self { pieces }
    }
}

/// Both cases of every letter. An excluded class is left out of folding: it may only match more.
fn fold_class(ranges: &[(u8, u8)], excluded: bool) -> Piece {
    if excluded {
        return Piece::One;
    }
    let mut both = ranges.to_vec();
    for byte in b'A'..=b'Z' {
        let covered = |byte: u8| {
            ranges
                .iter()
                .any(|(low, high)| (*low..=*high).contains(&byte))
        };
        if covered(byte) || covered(byte.to_ascii_lowercase()) {
            both.push((byte.to_ascii_lowercase(), byte.to_ascii_lowercase()));
        }
    }
    Piece::Class(both, false)
}

fn parse_pieces(text: &[u8]) -> Result<Vec<Piece>, &'static str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'*' => {
                if pieces.last() != Some(&Piece::Many) {
                    pieces.push(Piece::Many);
                }
            }
            b'?' => pieces.push(Piece::One),
            b'\\' => {
                let (byte, after) = rest
                    .split_first()
                    .ok_or("it ends in a backslash; write `\\\\` for one")?;
                pieces.push(Piece::Byte(*byte));
                rest = after;
            }
            b'[' => {
                let (class, after) = parse_class(rest)?;
                pieces.push(class);
                rest = after;
            }
            byte => pieces.push(Piece::Byte(*byte)),
        }
    }
    Ok(pieces)
}

fn parse_class(text: &[u8]) -> Result<(Piece, &[u8]), &'static str> {
    const OPEN: &str = "a `[` is not closed; write `\\[` for the character";
    let (excluded, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    let mut first = true;
    loop {
        let (mut byte, mut after) = take(rest).ok_or(OPEN)?;
        if byte == b']' && !first {
            return Ok((Piece::Class(ranges, excluded), after));
        }
        if byte == b'[' && after.first() == Some(&b':') {
            return Err("named classes such as `[:alpha:]` are not known; write the range");
        }
        if byte == b'\\' {
            (byte, after) = take(after).ok_or(OPEN)?;
        }
        first = false;
        match after {
            [b'-', high, beyond @ ..] if *high != b']' => {
                let (high, beyond) = match high {
                    b'\\' => take(beyond).ok_or(OPEN)?,
                    high => (*high, beyond),
                };
                if high < byte {
                    return Err("a range in `[…]` runs backwards");
                }
                ranges.push((byte, high));
                rest = beyond;
            }
            _ => {
                ranges.push((byte, byte));
                rest = after;
            }
        }
    }
}

fn take(text: &[u8]) -> Option<(u8, &[u8])> {
    text.split_first().map(|(byte, rest)| (*byte, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        match Segment::parse(pattern.as_bytes()).unwrap() {
            Segment::AnyDepth => true,
            Segment::Literal(text) => text == name.as_bytes(),
            Segment::Prefix(text) => name.as_bytes().starts_with(&text),
            Segment::Suffix(text) => name.as_bytes().ends_with(&text),
            Segment::Glob(glob) => glob.fits(name.as_bytes()),
        }
    }

    #[test]
    fn wildcards_fit_as_in_gitignore() {
        for (pattern, name, expected) in [
            ("*.pem", ".pem", true),
            ("*.pem", "a.pem", true),
            ("*.pem", "a.pem.bak", false),
            ("a*", "a", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]]x", "]x", true),
            ("[a-]x", "-x", true),
            ("\\*x", "*x", true),
            ("\\*x", "ax", false),
            ("*", "", true),
            ("a**b", "axxb", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_that_could_never_match_are_errors() {
        for bad in ["[a", "a\\", "..", ".", "[b-a]", "[[:alpha:]]", ""] {
            assert!(Segment::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn many_stars_stay_linear() {
        let pattern = "*a".repeat(100) + "b";
        let name = "a".repeat(255);
        assert!(!fits(&pattern, &name));
    }
}
