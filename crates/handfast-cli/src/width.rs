//! Lines that are longer than a terminal is wide, and quantities as people say them.

use unicode_width::UnicodeWidthStr;

/// How wide the terminal is that standard output goes to; nothing if it goes elsewhere, where a
/// line stays a line.
pub(crate) fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(match size.ws_col {
        0 => 80,
        columns => columns.into(),
    })
}

/// Breaks a line between words where it would pass `columns`; what follows is below `indent`,
/// or nearer to the margin where that would leave no room. A word is not cut: somebody may copy it.
pub(crate) fn fold(line: &str, indent: usize, columns: usize) -> String {
    let indent = if indent + 24 > columns { 4 } else { indent };
    let margin = " ".repeat(indent);
    let options = textwrap::Options::new(columns)
        .subsequent_indent(&margin)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).join("\n")
}

/// A time in seconds in the two largest units that it needs: `45s`, `9m 58s`, `2h`, `1d 3h`; one
/// of them can be given back to the options that take a time.
pub(crate) fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let first = units
        .iter()
        .position(|(size, _)| seconds >= *size)
        .unwrap_or(units.len() - 1);
    let (size, unit) = units[first];
    let mut text = format!("{}{unit}", seconds / size);
    if let Some((next, unit)) = units.get(first + 1)
        && seconds % size >= *next
    {
        text.push_str(&format!(" {}{unit}", seconds % size / next));
    }
    text
}

/// The rows of a table, with columns as wide as their widest cell; the last is not filled up.
pub(crate) fn aligned<const N: usize>(table: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| {
        let cells = table.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    table
        .iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width - cell.width() + 2));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// `1 event`, `2 events`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// A size in bytes as people say it: `512 bytes`, `11.7 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return crate::fs::write::bytes(bytes);
    }
    let mut unit = 0;
    // Tenths, rounded down: a limit is never shown as more than it is.
    let mut tenths = u128::from(bytes) * 10;
    while tenths >= 10_240 && unit < 6 {
        tenths /= 1024;
        unit += 1;
    }
    let name = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][unit];
    match tenths % 10 {
        0 => format!("{} {name}B", tenths / 10),
        tenth => format!("{}.{tenth} {name}B", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::{aligned, duration, fold, size};

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        let table = [["漢字", "a"], ["abcde", "b"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&table), ["漢字   a", "abcde  b"]);
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(fold("short", 4, 80), "short");
        let line = "  yes  a title   and then some words that explain it";
        let folded = fold(line, 17, 42);
        assert_eq!(
            folded,
            "  yes  a title   and then some words that\n                 explain it"
        );
        // Without room below the indent, further to the left.
        assert_eq!(
            fold("one two three four", 30, 9),
            "one two\n    three\n    four"
        );
        assert_eq!(fold("abcdefghij klm", 4, 6), "abcdefghij\n    klm");
        assert_eq!(fold("abcdefghij", 4, 6), "abcdefghij");
        assert_eq!(fold("ä ö ü", 0, 30), "ä ö ü");
        // Two columns each: three of them fill six.
        assert_eq!(fold("漢字漢 字", 0, 7), "漢字漢\n    字");
    }

    #[test]
    fn quantities_are_short() {
        for (seconds, text) in [
            (0, "0s"),
            (45, "45s"),
            (60, "1m"),
            (598, "9m 58s"),
            (7200, "2h"),
            (7201, "2h"),
            (97_200, "1d 3h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (11_945, "11.6 KiB"),
            (64 << 20, "64 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
