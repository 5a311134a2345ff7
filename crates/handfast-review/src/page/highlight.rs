//! Colours for source text: comments, strings, numbers and keywords.
//!
//! By hand (docs/decisions/review-highlighting.md): it runs in the page's process, on text that an
//! attacker wrote. One pass over each line, no recursion, no regular expressions, no allocation but for the
//! result: the time is linear in the text whatever the text is. A wrong colour is the worst that it can do,
//! since what it gives back is the same text in pieces, which is escaped like all text.

use super::languages::{LANGUAGES, Language};
use crate::protocol::{HunkView, LineView};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TokenClass {
    /// Nothing in particular.
    Plain,
    /// Spells out something hidden.
    Hidden,
    Comment,
    Text,
    Number,
    Keyword,
}

/// So many pieces of a page have colours; what comes behind them has none.
pub(super) const MAX_COLOURS: usize = 300_000;

/// A piece of a line.
pub(super) type Token<'a> = (TokenClass, &'a str);

/// The language of a file, by its name alone.
pub(super) fn language(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or(name, |(_, end)| end);
    let is_it = |language: &&Language| {
        let mut names = language.names.split(' ');
        names.any(|known| known == name || known == end)
    };
    LANGUAGES.iter().find(is_it)
}

/// What a line begins in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Code,
    Block(&'static str),
    /// A text that ends with this; whether it goes on over lines.
    Quoted(&'static str, bool),
    /// A text that ends with this letter.
    Letter(char),
}

/// The lines of a hunk in pieces. Both sides of a change are read apart: a comment that one of them does
/// not close says nothing of the other.
pub(super) fn hunk<'a>(
    language: Option<&'static Language>,
    hunk: &'a HunkView,
    colours: &mut usize,
) -> Vec<Vec<Token<'a>>> {
    let (mut old, mut new) = (State::Code, State::Code);
    let line = |line: &'a LineView| {
        let found = match (language.filter(|_| *colours > 0), line.sign) {
            (None, _) => plain(line),
            (Some(language), '-') => tokens(language, line, &mut old),
            (Some(language), '+') => tokens(language, line, &mut new),
            (Some(language), _) => {
                tokens(language, line, &mut old);
                tokens(language, line, &mut new)
            }
        };
        *colours = colours.saturating_sub(found.len());
        found
    };
    hunk.lines.iter().map(line).collect()
}

fn plain(line: &LineView) -> Vec<Token<'_>> {
    let piece = |(is_hidden, text)| match is_hidden {
        true => (TokenClass::Hidden, text),
        false => (TokenClass::Plain, text),
    };
    let pieces = line.pieces.iter().map(|(is, text)| (*is, text.as_str()));
    pieces.map(piece).collect()
}

fn tokens<'a>(language: &Language, line: &'a LineView, state: &mut State) -> Vec<Token<'a>> {
    let mut found = Vec::new();
    for (is_hidden, text) in &line.pieces {
        match is_hidden {
            true => push(&mut found, TokenClass::Hidden, text),
            false => piece(language, text, state, &mut found),
        }
    }
    // A comment to the end of the line, or a text that was not closed.
    if matches!(
        state,
        State::Block("\n") | State::Letter(_) | State::Quoted(_, false)
    ) {
        *state = State::Code;
    }
    found
}

fn push<'a>(found: &mut Vec<Token<'a>>, class: TokenClass, text: &'a str) {
    if !text.is_empty() {
        found.push((class, text));
    }
}

/// One stretch of a line. Each turn takes at least one letter off its beginning.
fn piece<'a>(language: &Language, text: &'a str, state: &mut State, found: &mut Vec<Token<'a>>) {
    let mut rest = text;
    // What is nothing in particular grows until something is.
    let mut dull = 0;
    while dull < rest.len() {
        let here = &rest[dull..];
        let (class, length) = match *state {
            State::Block(end) => (TokenClass::Comment, to_end(here, end, false, state)),
            State::Quoted(end, _) => (TokenClass::Text, to_end(here, end, true, state)),
            State::Letter(end) => {
                let mut letter = [0; 4];
                let end = &*end.encode_utf8(&mut letter);
                (TokenClass::Text, to_end(here, end, true, state))
            }
            State::Code => begin(language, here, state),
        };
        if class == TokenClass::Plain {
            dull += length;
            continue;
        }
        push(found, TokenClass::Plain, &rest[..dull]);
        push(found, class, &rest[dull..dull + length]);
        rest = &rest[dull + length..];
        dull = 0;
    }
    push(found, TokenClass::Plain, rest);
}

/// How much belongs to what was begun. At its end the state is code again.
fn to_end(text: &str, end: &str, has_escapes: bool, state: &mut State) -> usize {
    let mut at = 0;
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        if text[index..].starts_with(end) {
            *state = State::Code;
            return index + end.len();
        }
        at = index + letter.len_utf8();
        if has_escapes
            && letter == '\\'
            && let Some((index, letter)) = letters.next()
        {
            at = index + letter.len_utf8();
        }
    }
    at
}

/// What begins here, in code, and how long it is. What goes on changes the state and is only begun.
fn begin(language: &Language, text: &str, state: &mut State) -> (TokenClass, usize) {
    if let Some(mark) = language.line.iter().find(|mark| text.starts_with(**mark)) {
        *state = State::Block("\n");
        return (TokenClass::Comment, mark.len());
    }
    if let Some((mark, end)) = language.block
        && text.starts_with(mark)
    {
        *state = State::Block(end);
        return (TokenClass::Comment, mark.len());
    }
    if let Some(mark) = language.long.iter().find(|mark| text.starts_with(**mark)) {
        *state = State::Quoted(mark, true);
        return (TokenClass::Text, mark.len());
    }
    let Some(first) = text.chars().next() else {
        return (TokenClass::Plain, 0);
    };
    if language.has_lifetimes && first == '\'' {
        let mut next = text.chars().skip(1);
        let (one, two) = (next.next(), next.next());
        if one == Some('\\') || two == Some('\'') {
            *state = State::Letter('\'');
            return (TokenClass::Text, 1);
        }
        return (TokenClass::Plain, 1);
    }
    if language.quotes.contains(&first) {
        *state = State::Letter(first);
        return (TokenClass::Text, 1);
    }
    word(language, text, first)
}

fn word(language: &Language, text: &str, first: char) -> (TokenClass, usize) {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    if !is_part(first) {
        return (TokenClass::Plain, first.len_utf8());
    }
    let length = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let word = &text[..length];
    let class = match first.is_ascii_digit() {
        true if !language.keywords.is_empty() => TokenClass::Number,
        _ if language.keywords.split(' ').any(|known| known == word) => TokenClass::Keyword,
        _ => TokenClass::Plain,
    };
    (class, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(sign: char, text: &str) -> LineView {
        LineView {
            sign,
            pieces: vec![(false, text.to_owned())],
            cut: 0,
            ended: true,
        }
    }

    fn view(lines: Vec<LineView>) -> HunkView {
        HunkView {
            id: String::new(),
            header: String::new(),
            starts: (1, 1),
            lines,
            before: 0,
            after: 0,
        }
    }

    fn classes(path: &str, lines: &[(char, &str)]) -> Vec<Vec<(TokenClass, String)>> {
        let view = view(lines.iter().map(|(sign, text)| line(*sign, text)).collect());
        let mut colours = MAX_COLOURS;
        let found = hunk(language(path), &view, &mut colours);
        let own = |(class, text): (TokenClass, &str)| (class, text.to_owned());
        found
            .into_iter()
            .map(|line| line.into_iter().map(own).collect())
            .collect()
    }

    #[test]
    fn the_usual_things_have_colours() {
        let found = classes(
            "/src/a.rs",
            &[
                ('+', "let x: &'a str = \"a\\\"b\"; // 1"),
                (' ', "'x' 12u8"),
            ],
        );
        let has =
            |class: TokenClass, text: &str| found.concat().contains(&(class, text.to_owned()));
        assert!(has(TokenClass::Keyword, "let"), "{found:?}");
        assert!(has(TokenClass::Text, "a\\\"b\""), "{found:?}");
        assert!(has(TokenClass::Comment, " 1"), "{found:?}");
        assert!(has(TokenClass::Number, "12u8"), "{found:?}");
        assert!(
            !found[0]
                .iter()
                .any(|(class, text)| *class == TokenClass::Text && text.contains("str"))
        );
        assert!(
            classes("/a.unknown", &[(' ', "let 1")])[0]
                .iter()
                .all(|(class, _)| *class == TokenClass::Plain)
        );
    }

    #[test]
    fn both_sides_are_read_apart() {
        // The old side opens a comment that the new side does not have.
        let found = classes(
            "/a.c",
            &[('-', "/* open"), ('+', "int x;"), ('-', "int y;")],
        );
        assert_eq!(found[1][0], (TokenClass::Keyword, "int".to_owned()));
        assert_eq!(found[2], [(TokenClass::Comment, "int y;".to_owned())]);
        // A text that is not closed ends with its line, unless it may go on.
        let found = classes(
            "/a.py",
            &[
                ('+', "x = 'open"),
                ('+', "def"),
                ('+', "\"\"\""),
                ('+', "def"),
            ],
        );
        assert_eq!(found[1], [(TokenClass::Keyword, "def".to_owned())]);
        assert_eq!(found[3], [(TokenClass::Text, "def".to_owned())]);
    }

    /// Whatever the text is, the pieces are the text, and a long one takes no longer than its length says.
    #[test]
    fn nothing_is_lost_and_the_time_is_linear() {
        let hostile = [
            "\"",
            "'",
            "/*",
            "*/",
            "\\",
            "`",
            "<!--",
            "é\u{301}",
            "#",
            "0x",
            "let",
            "\"\"\"",
            " ",
        ];
        let mut number: u64 = 7;
        for path in [
            "/a.rs", "/a.js", "/a.py", "/a.sh", "/a.sql", "/a.html", "/a",
        ] {
            for _ in 0..300 {
                let mut text = String::new();
                for _ in 0..30 {
                    number = number
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    text.push_str(hostile[(number >> 33) as usize % hostile.len()]);
                }
                let found = classes(path, &[('+', &text)]);
                let again: String = found[0].iter().map(|(_, text)| text.as_str()).collect();
                assert_eq!(again, text, "{path}");
            }
        }
        for part in hostile {
            let begun = std::time::Instant::now();
            classes("/a.js", &[('+', &part.repeat((512 << 10) / part.len()))]);
            assert!(begun.elapsed().as_secs() < 20, "{part}");
        }
    }
}
