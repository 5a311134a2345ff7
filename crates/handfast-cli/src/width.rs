//! Lines that are longer than a terminal is wide, and quantities as people say them.

/// How wide the terminal is that standard output goes to; nothing if it goes elsewhere, where a
/// line stays a line.
pub(crate) fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(match size.ws_col {
        0 => 80,
        columns => columns.into(),
    })
}

/// Breaks a line between words where it would pass `columns`; what follows stands below `indent`,
/// or nearer to the margin where that would leave no room.
pub(crate) fn fold(line: &str, indent: usize, columns: usize) -> String {
    let indent = if indent + 24 > columns { 4 } else { indent };
    let mut folded = String::new();
    let mut rest = line;
    let mut room = columns;
    while rest.chars().count() > room {
        let end = rest.char_indices().nth(room).map_or(rest.len(), |it| it.0);
        // The last space that fits, or the first at all: a word is not cut, somebody may copy it.
        let at = match rest[end..].starts_with(' ') {
            true => Some(end),
            false => rest[..end].rfind(' '),
        };
        let at = at.filter(|at| !rest[..*at].trim().is_empty());
        let Some(at) = at.or_else(|| rest[end..].find(' ').map(|more| end + more)) else {
            break;
        };
        let (before, after) = (rest[..at].trim_end(), rest[at..].trim_start());
        folded.push_str(before);
        folded.push('\n');
        folded.push_str(&" ".repeat(indent));
        rest = after;
        room = columns.saturating_sub(indent).max(1);
    }
    folded.push_str(rest);
    folded
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
        let cells = table.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    table
        .iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
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
    use super::{duration, fold, size};

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
