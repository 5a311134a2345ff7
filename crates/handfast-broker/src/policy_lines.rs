//! Which line of a policy file an error is about.

use crate::start::StartError;

/// A longer file is not searched: each line takes a reading of its own.
const MAX_LINES: usize = 2000;

/// The headers of a policy file and their lines, counted from 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyLines(Vec<(String, usize)>);

impl PolicyLines {
    pub(crate) fn of(text: &str) -> Self {
        let lines = text.lines().enumerate();
        let headers = lines.filter_map(|(at, line)| {
            let line = line.split('#').next().unwrap_or_default().trim();
            line.starts_with('[').then(|| (line.to_owned(), at + 1))
        });
        Self(headers.collect())
    }

    /// The line of a header, if the file has one: `[limits]`, or the table `[[allow]]` of this number.
    pub(crate) fn of_header(&self, header: &str, number: usize) -> Option<usize> {
        let mut of_name = self.0.iter().filter(|(name, _)| name == header);
        of_name.nth(number).map(|(_, line)| *line)
    }

    /// A sentence with the line of a header before it.
    pub(crate) fn locate(&self, header: &str, number: usize, why: &str) -> StartError {
        StartError::Config(match self.of_header(header, number) {
            Some(line) => format!("line {line}: {why}"),
            None => why.to_owned(),
        })
    }
}

/// Puts the line before an error that `read` gives for a text: first the table is found up to which
/// the file has this error, then the line in it from which on it has. For a missing key that is the
/// header of its table. A table that was cut short is only read if the error is in it: it may be
/// wrong in a way of its own.
pub(crate) fn with_line<T>(
    text: &str,
    error: StartError,
    read: impl Fn(&str) -> Result<T, StartError>,
) -> StartError {
    let StartError::Config(why) = &error else {
        return error;
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if is_syntax(why) || lines.len() > MAX_LINES {
        return error;
    }
    let ends: Vec<usize> = lines.iter().scan(0, add_length).collect();
    let ways = |at: usize| match read(&text[..ends[at]]) {
        Err(StartError::Config(other)) if other == *why => Cut::Same,
        // The middle of a list or of a text of several lines is no policy.
        Err(StartError::Config(other)) if is_syntax(&other) => Cut::NoPolicy,
        _ => Cut::Other,
    };
    let is_header = |at: &usize| lines[*at].trim_start().starts_with('[');
    let mut first = 0;
    for last in (0..lines.len()).filter(|at| at + 1 == lines.len() || is_header(&(at + 1))) {
        if ways(last) == Cut::Same {
            let back = (first..=last).rev().map(|at| (at, ways(at)));
            let having = back.take_while(|(_, way)| *way != Cut::Other);
            let same = having.filter(|(_, way)| *way == Cut::Same);
            let found = same.last().map_or(last, |(at, _)| at);
            return StartError::Config(format!("line {}: {why}", found + 1));
        }
        first = last + 1;
    }
    // An empty file has one line as well.
    StartError::Config(format!("line {}: {why}", lines.len().max(1)))
}

fn add_length(end: &mut usize, line: &&str) -> Option<usize> {
    *end += line.len();
    Some(*end)
}

/// What the beginning of a file is, compared with the whole.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Same,
    NoPolicy,
    Other,
}

/// Whether an error is one of the form of the file, which names its line already.
fn is_syntax(why: &str) -> bool {
    why.contains("not valid: line ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::rulebook::Rulebook;

    const ROOT: &str = "version = 1\n[[root]]\nname = \"ws\"\npath = \"/ws\"\nmount = \"/ws\"\nmode = \"read-only\"\n";

    #[test]
    fn an_error_names_the_line_that_brings_it() {
        for (rest, expected) in [
            ("[[allow]]\nuid = 1\nverb = [\"read\"]\n", "line 9: "),
            (
                "[[allow]]\nuid = 1\nverbs = [\n  \"read\",\n  \"raed\",\n]\n",
                "line 12: ",
            ),
            (
                "[[allow]]\nuid = 1\n\n[[allow]]\nverbs = [\"read\"]\n",
                "line 10: ",
            ),
            ("[[allow]]\nuser = \"nobody-has-this-name\"\n", "line 8: "),
            // A list of several lines comes later.
            (
                "[[allow]]\nuid = 1\nverb = [\"read\"]\n[[allow]]\nuid = 2\nverbs = [\n  \"read\",\n]\n",
                "line 9: ",
            ),
            ("ask = [\"*.conf\"]\n", "line 7: "),
            ("[ask]\ntimeout = \"5s\"\n", "line 8: "),
            ("[lease]\nttl = \"2h\"\nmax_ttl = \"1h\"\n", "line 9: "),
            // A complete table follows, and cut short it has an error of its own.
            (
                "[[allow]]\nuser = \"nobody-has-this-name\"\n\n[[allow]]\nuid = 1\n",
                "line 8: ",
            ),
            // Two errors: the one that is told is the second in the file.
            (
                "[[allow]]\nuser = \"nobody-has-this-name\"\n[[allow]]\nverbs = [\"read\"]\n",
                "line 9: ",
            ),
            ("[[allow]\n", "line 7: "),
        ] {
            let text = format!("{ROOT}{rest}");
            let error = Rulebook::parse(text.as_bytes(), Path::new("/"), true).unwrap_err();
            let told = error.to_string();
            assert_eq!(told.matches("line ").count(), 1, "{rest}: {told}");
            assert!(told.contains(expected), "{rest}: {told}");
        }
    }
}
