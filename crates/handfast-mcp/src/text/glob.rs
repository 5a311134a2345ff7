//! Glob patterns as the reference server's `minimatch` reads them, matched in bounded time.
//!
//! A pattern becomes lists of names by expanding its braces; a name is matched by following all
//! positions at once, so that no pattern takes longer than its length times the name's. Only
//! `!(…)` has to look ahead; a budget bounds that.

mod brace;
mod name;

use std::cell::Cell;

use name::NamePattern;

/// Longer patterns are no patterns.
const MAX_LENGTH: usize = 4096;

/// How many steps one pattern may take for one path.
const BUDGET: u64 = 2_000_000;

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) struct Glob {
    /// What the braces come to; nothing for a comment, which matches nothing.
    alternatives: Vec<Vec<Piece>>,
    negated: bool,
}

#[derive(Debug)]
enum Piece {
    /// `**`: any number of names.
    Any,
    Name(NamePattern),
}

impl Glob {
    /// Reads a pattern. The error is a sentence.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_LENGTH {
            return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
        }
        if pattern.starts_with('#') {
            return Ok(Self {
                alternatives: Vec::new(),
                negated: false,
            });
        }
        let bangs = pattern.bytes().take_while(|byte| *byte == b'!').count();
        let mut alternatives = Vec::new();
        for text in brace::expand(&pattern[bangs..])? {
            let mut pieces = Vec::new();
            for (index, name) in split(&text).into_iter().enumerate() {
                // `a//b` is `a/b`; a slash at either end names nothing that is relative.
                pieces.push(match name.as_str() {
                    "" if index > 0 && !text.ends_with('/') => continue,
                    "**" => Piece::Any,
                    name => Piece::Name(NamePattern::new(name)?),
                });
            }
            alternatives.push(pieces);
        }
        Ok(Self {
            alternatives,
            negated: bangs % 2 == 1,
        })
    }

    /// Whether a relative path fits.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        let budget = Cell::new(BUDGET);
        let fits = self
            .alternatives
            .iter()
            .any(|pieces| fits(pieces, &names, &budget));
        fits != self.negated
    }
}

/// Splits at slashes that do not stand in a group or a class.
fn split(pattern: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let last = names.len() - 1;
        match c {
            '/' => names.push(String::new()),
            '\\' => {
                names[last].push(c);
                names[last].extend(chars.next());
            }
            c => names[last].push(c),
        }
    }
    names
}

/// Follows all positions in the path at once.
fn fits(pieces: &[Piece], names: &[&str], budget: &Cell<u64>) -> bool {
    // After how many names the pieces so far can end.
    let mut ends = vec![false; names.len() + 1];
    ends[0] = true;
    let last = pieces.len().saturating_sub(1);
    for (index, piece) in pieces.iter().enumerate() {
        let mut next = vec![false; names.len() + 1];
        match piece {
            Piece::Any => {
                // At the end of a pattern it stands for at least one name.
                let from = usize::from(index == last);
                let mut open = false;
                for at in 0..=names.len() {
                    if at >= from {
                        open |= ends[at - from];
                    }
                    next[at] = open;
                }
            }
            Piece::Name(pattern) => {
                for (at, name) in names.iter().enumerate() {
                    next[at + 1] = ends[at] && pattern.matches(name, budget);
                }
            }
        }
        ends = next;
    }
    ends[names.len()]
}

#[cfg(test)]
mod tests {
    use super::Glob;

    fn fits(pattern: &str, path: &str) -> bool {
        Glob::new(pattern).unwrap().matches(path)
    }

    #[test]
    fn stars_stay_in_one_name_and_double_stars_do_not() {
        assert!(fits("*.txt", "a.txt"));
        assert!(!fits("*.txt", "d/a.txt"));
        assert!(fits("**/*.txt", "a.txt"));
        assert!(fits("**/*.txt", "d/e/a.txt"));
        assert!(fits("*", ".hidden"));
        assert!(fits("src/**", "src/a"));
        assert!(!fits("src/**", "src"));
        assert!(fits("a/**/b", "a/b"));
        assert!(fits("a/**/b", "a/x/y/b"));
        assert!(fits("**", "a/b"));
        assert!(!fits("main.rs", "src/main.rs"));
        assert!(!fits("/a", "a") && !fits("a/", "a"));
    }

    #[test]
    fn braces_classes_and_groups() {
        assert!(fits("*.{rs,toml}", "a.toml"));
        assert!(fits("f{1..3}", "f2") && !fits("f{1..3}", "f4"));
        assert!(fits("{a,b{c,d}}/x", "bd/x"));
        assert!(fits("[ab]?", "bx") && !fits("[!ab]?", "bx"));
        assert!(fits("[[:digit:]]*", "7up") && fits("[a-c]", "b"));
        assert!(fits("@(a|b).c", "b.c") && !fits("@(a|b).c", "ab.c"));
        assert!(fits("+(a|b)", "abba") && fits("*(a)", "") && fits("x?(y)", "x"));
        assert!(fits("a!(b)c", "axc") && !fits("a!(b)c", "abc"));
        assert!(fits("\\*", "*") && !fits("\\*", "a"));
        assert!(fits("[", "[") && fits("{a}", "{a}"));
    }

    #[test]
    fn bangs_negate_and_comments_match_nothing() {
        assert!(!fits("!a", "a") && fits("!a", "b") && fits("!!a", "a"));
        assert!(!fits("#a", "#a"));
    }

    #[test]
    fn patterns_that_explode_elsewhere_are_quick_or_refused() {
        let name = "a".repeat(250);
        assert!(!fits(&format!("{}b", "*a".repeat(100)), &name));
        assert!(!fits(&format!("{}b", "+(a|aa)".repeat(50)), &name));
        fits(&format!("{}b", "!(a*)".repeat(50)), &name);
        assert!(Glob::new(&"{a,b}".repeat(30)).is_err());
        assert!(Glob::new("{1..100000000}").is_err());
        assert!(Glob::new(&"@(".repeat(1000)).is_err());
        assert!(Glob::new(&"x".repeat(5000)).is_err());
    }
}
