//! The text that is most like a passage that was not found.

use std::collections::BTreeSet;

/// Larger texts and passages are looked at in part.
const MOST_LINES: usize = 20_000;
const MOST_WANTED: usize = 24;

/// Less alike than this is nothing to show.
const ALIKE: f64 = 0.34;

/// How much of a line is shown.
const WIDTH: usize = 300;

/// Says, in words and with line numbers, which lines are most like a passage.
pub(crate) fn find(text: &str, passage: &str) -> String {
    let wanted: Vec<BTreeSet<&str>> = passage.lines().take(MOST_WANTED).map(words).collect();
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let known: Vec<BTreeSet<&str>> = lines.iter().map(|line| words(line)).collect();
    let best = (0..lines.len())
        .map(|at| (score(&wanted, &known[at..]), at))
        .filter(|(score, _)| *score >= ALIKE)
        // The first of those that are equally good.
        .fold(None, |best: Option<(f64, usize)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        });
    let Some((_, at)) = best else {
        return "Nothing in the file is like it. Read the file again.".to_owned();
    };
    let end = (at + wanted.len()).min(lines.len());
    let shown: Vec<String> = (at..end)
        .map(|index| {
            let line: String = lines[index].chars().take(WIDTH).collect();
            format!("{:>6}\t{line}", index + 1)
        })
        .collect();
    format!(
        "The nearest text is in lines {} to {end}:\n{}",
        at + 1,
        shown.join("\n")
    )
}

/// How much alike two runs of lines are, from 0 to 1.
fn score(wanted: &[BTreeSet<&str>], lines: &[BTreeSet<&str>]) -> f64 {
    let mut sum = 0.0;
    let mut weight = 0.0;
    for (index, want) in wanted.iter().enumerate() {
        // An empty line says little.
        let counts = if want.is_empty() { 0.1 } else { 1.0 };
        weight += counts;
        sum += counts * lines.get(index).map_or(0.0, |have| alike(want, have));
    }
    if weight == 0.0 { 0.0 } else { sum / weight }
}

#[allow(clippy::cast_precision_loss, reason = "lines are short")]
fn alike(one: &BTreeSet<&str>, other: &BTreeSet<&str>) -> f64 {
    let all = one.len() + other.len();
    if all == 0 {
        return 1.0;
    }
    2.0 * one.intersection(other).count() as f64 / all as f64
}

/// The words of a line, and its other signs each for itself.
fn words(line: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        if !first.is_whitespace() {
            found.insert(&rest[..end]);
        }
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_most_alike_lines_are_shown_with_their_numbers() {
        let text = "fn one() {\n    first();\n}\n\nfn two(x: u32) {\n    second(x);\n}\n";
        assert_eq!(
            find(text, "fn two(x: u64) {\n    second(y);"),
            "The nearest text is in lines 5 to 6:\n     5\tfn two(x: u32) {\n     6\t    second(x);"
        );
        assert!(find(text, "nothing like that").starts_with("Nothing in the file"));
        assert!(find("", "x").starts_with("Nothing in the file"));
        assert!(find("a\n", "").starts_with("Nothing in the file"));
    }
}
