//! Which strings a regular expression lets through, decided by parsing it.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::facts::{ANY, mask};
use crate::term::MatchMode;

/// What is known of a string that a pattern accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Accepted {
    pub(crate) chars: u32,
    pub(crate) first: u32,
    pub(crate) max_len: u32,
    pub(crate) nonempty: bool,
    pub(crate) not_dot: bool,
    pub(crate) not_dotdot: bool,
    /// Anchored at both ends, so that the rest means something.
    pub(crate) anchored: bool,
    /// `$` lets a trailing newline through.
    pub(crate) newline: bool,
}

/// Which dialect `$` is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    Python,
    Other,
}

/// What acceptance by a pattern says of the string. `None`: the pattern is not understood.
pub(crate) fn accepted(
    pattern: &str,
    flags: &str,
    mode: MatchMode,
    dialect: Dialect,
) -> Option<Accepted> {
    let python_dollar = dialect == Dialect::Python && mode != MatchMode::Full;
    let newline = python_dollar && pattern.ends_with('$') && !pattern.ends_with("\\$");
    // Assertions that only narrow the language are dropped; what is left is what they narrow.
    let text = without_lookaround(pattern)?.replace("\\Z", "\\z");
    let hir = ParserBuilder::new()
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('m'))
        .dot_matches_new_line(flags.contains('s'))
        .unicode(dialect == Dialect::Python)
        .utf8(false)
        .build()
        .parse(&text)
        .ok()
        .or_else(|| ParserBuilder::new().build().parse(&text).ok())?;
    let starts = mode != MatchMode::Search || look_at(&hir, true, flags);
    let ends = mode == MatchMode::Full || look_at(&hir, false, flags);
    let chars = alphabet(&hir);
    let max = hir.properties().maximum_len().unwrap_or(usize::MAX);
    let extra = if newline {
        crate::facts::chars("\n")
    } else {
        0
    };
    let matches = |text: &str| ends_of(&hir, text.as_bytes(), 0).contains(&text.len());
    Some(Accepted {
        chars: chars | extra,
        first: first(&hir).0,
        max_len: u32::try_from(max).unwrap_or(u32::MAX),
        nonempty: hir.properties().minimum_len().unwrap_or(0) > 0,
        not_dot: !matches("."),
        not_dotdot: !matches(".."),
        anchored: starts && ends,
        newline,
    })
}

/// The pattern of one group, by its number or name.
pub(crate) fn group(pattern: &str, number: Option<i64>, name: Option<&str>) -> Option<String> {
    let mut open: Vec<(usize, Option<i64>, bool)> = Vec::new();
    let mut count = 0_i64;
    let mut in_class = false;
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            '(' if !in_class => {
                let rest = &pattern[at + 1..];
                let named = ["?P<", "?<"].iter().find_map(|mark| {
                    let inner = rest.strip_prefix(mark)?;
                    (!inner.starts_with(['=', '!'])).then(|| inner.split('>').next())?
                });
                let (from, is_counted) = match named {
                    Some(found) => (
                        at + 1 + rest.find('>').map_or(0, |end| end + 1),
                        Some(found),
                    ),
                    None if rest.starts_with('?') => (at + 1, None),
                    None => (at + 1, Some("")),
                };
                let mut own = None;
                let mut is_wanted = false;
                if let Some(found) = is_counted {
                    count += 1;
                    own = Some(count);
                    is_wanted = name.is_some_and(|name| name == found);
                }
                open.push((from, own, is_wanted));
            }
            ')' if !in_class => {
                let (from, own, is_wanted) = open.pop()?;
                if is_wanted || own.is_some() && own == number {
                    return pattern.get(from..at).map(str::to_owned);
                }
            }
            _ => {}
        }
    }
    None
}

/// Which characters a pattern that is one class, or several of them, looks for.
pub(crate) fn sought(pattern: &str) -> Option<u32> {
    let hir = ParserBuilder::new()
        .utf8(false)
        .unicode(false)
        .build()
        .parse(pattern)
        .ok()?;
    single(&hir)
}

fn single(hir: &Hir) -> Option<u32> {
    match hir.kind() {
        HirKind::Class(_) => Some(alphabet(hir)),
        HirKind::Literal(text) if text.0.len() == 1 => Some(alphabet(hir)),
        HirKind::Alternation(parts) => {
            let all: Option<Vec<u32>> = parts.iter().map(single).collect();
            Some(all?.into_iter().fold(0, |all, one| all | one))
        }
        HirKind::Repetition(inner) if inner.min == 1 => single(&inner.sub),
        HirKind::Capture(inner) => single(&inner.sub),
        _ => None,
    }
}

/// Removes `(?!…)`, `(?=…)`, `(?<!…)`, `(?<=…)`.
fn without_lookaround(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    loop {
        let at = ["(?!", "(?=", "(?<!", "(?<="]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min();
        let Some(at) = at else {
            out.push_str(rest);
            return Some(out);
        };
        out.push_str(&rest[..at]);
        let mut depth = 0_usize;
        let mut escaped = false;
        let mut end = None;
        for (index, c) in rest[at..].char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        end = Some(at + index + 1);
                        break;
                    }
                }
                _ => {}
            }
        }
        rest = &rest[end?..];
    }
}

/// Whether every way through begins (or ends) with an assertion of the text's border.
fn look_at(hir: &Hir, start: bool, flags: &str) -> bool {
    match hir.kind() {
        HirKind::Look(look) => match look {
            Look::Start => start,
            Look::End => !start,
            Look::StartLF | Look::StartCRLF => start && !flags.contains('m'),
            Look::EndLF | Look::EndCRLF => !start && !flags.contains('m'),
            _ => false,
        },
        HirKind::Concat(parts) => {
            let edge = if start { parts.first() } else { parts.last() };
            edge.is_some_and(|part| look_at(part, start, flags))
        }
        HirKind::Alternation(parts) => parts.iter().all(|part| look_at(part, start, flags)),
        HirKind::Capture(inner) => look_at(&inner.sub, start, flags),
        _ => false,
    }
}

fn class_mask(class: &Class) -> u32 {
    match class {
        Class::Unicode(class) => mask(|c| {
            class
                .iter()
                .any(|range| range.start() <= c && c <= range.end())
        }),
        Class::Bytes(class) => mask(|c| {
            let Ok(byte) = u8::try_from(u32::from(c)) else {
                return false;
            };
            // Beyond ASCII a byte class admits parts of any character.
            let byte = if c.is_ascii() { byte } else { 0xc3 };
            class
                .iter()
                .any(|range| range.start() <= byte && byte <= range.end())
        }),
    }
}

/// All characters that may occur.
fn alphabet(hir: &Hir) -> u32 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            mask(|c| text.contains(c))
        }
        HirKind::Class(class) => class_mask(class),
        HirKind::Repetition(inner) => alphabet(&inner.sub),
        HirKind::Capture(inner) => alphabet(&inner.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0, |all, part| all | alphabet(part))
        }
    }
}

/// Characters that may come first, and whether nothing may.
fn first(hir: &Hir) -> (u32, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, true),
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            let first = text.chars().next();
            (mask(|c| Some(c) == first), first.is_none())
        }
        HirKind::Class(class) => (class_mask(class), false),
        HirKind::Repetition(inner) => {
            let (mask, empty) = first(&inner.sub);
            (mask, empty || inner.min == 0)
        }
        HirKind::Capture(inner) => first(&inner.sub),
        HirKind::Concat(parts) => {
            let mut all = 0;
            for part in parts {
                let (mask, empty) = first(part);
                all |= mask;
                if !empty {
                    return (all, false);
                }
            }
            (all, true)
        }
        HirKind::Alternation(parts) => {
            let firsts = parts.iter().map(first);
            firsts.fold((0, false), |(all, any), (mask, empty)| {
                (all | mask, any || empty)
            })
        }
    }
    .min_with_any()
}

trait MinWithAny {
    fn min_with_any(self) -> Self;
}

impl MinWithAny for (u32, bool) {
    fn min_with_any(self) -> Self {
        (self.0 & ANY, self.1)
    }
}

/// Where matches that begin at `from` can end: a tiny matcher for tiny texts.
fn ends_of(hir: &Hir, text: &[u8], from: usize) -> Vec<usize> {
    let mut out = match hir.kind() {
        HirKind::Empty => vec![from],
        HirKind::Look(look) => {
            let holds = match look {
                Look::Start | Look::StartLF | Look::StartCRLF => from == 0,
                Look::End | Look::EndLF | Look::EndCRLF => from == text.len(),
                _ => true,
            };
            if holds { vec![from] } else { Vec::new() }
        }
        HirKind::Literal(literal) => {
            if text[from..].starts_with(&literal.0) {
                vec![from + literal.0.len()]
            } else {
                Vec::new()
            }
        }
        HirKind::Class(class) => match text.get(from) {
            Some(byte) => {
                let c = char::from(*byte);
                let inside = match class {
                    Class::Unicode(class) => class.iter().any(|r| r.start() <= c && c <= r.end()),
                    Class::Bytes(class) => {
                        class.iter().any(|r| r.start() <= *byte && *byte <= r.end())
                    }
                };
                if inside { vec![from + 1] } else { Vec::new() }
            }
            None => Vec::new(),
        },
        HirKind::Repetition(inner) => {
            let mut all = Vec::new();
            let mut now = vec![from];
            let mut count = 0_u32;
            // The texts are two characters long: more turns change nothing.
            while !now.is_empty() && count <= inner.max.unwrap_or(u32::MAX) && count < 8 {
                if count >= inner.min {
                    all.extend(now.iter().copied());
                }
                let mut next = Vec::new();
                for at in now {
                    next.extend(ends_of(&inner.sub, text, at));
                }
                next.sort_unstable();
                next.dedup();
                now = next;
                count += 1;
            }
            all
        }
        HirKind::Capture(inner) => ends_of(&inner.sub, text, from),
        HirKind::Concat(parts) => {
            let mut now = vec![from];
            for part in parts {
                let mut next = Vec::new();
                for at in now {
                    next.extend(ends_of(part, text, at));
                }
                next.sort_unstable();
                next.dedup();
                now = next;
            }
            now
        }
        HirKind::Alternation(parts) => parts
            .iter()
            .flat_map(|part| ends_of(part, text, from))
            .collect(),
    };
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{FOREIGN, chars};

    fn js(pattern: &str, flags: &str) -> Accepted {
        accepted(pattern, flags, MatchMode::Search, Dialect::Other).unwrap()
    }

    #[test]
    fn an_anchored_allow_list_excludes_separators_and_dots() {
        let found = js("^[a-z0-9][a-z0-9_-]{0,63}$", "");
        assert!(found.anchored && found.nonempty && found.not_dotdot && found.not_dot);
        assert_eq!(found.max_len, 64);
        assert_eq!(found.chars & (FOREIGN | chars("/\\.")), 0);
        assert_eq!(found.first & chars("-"), 0);
    }

    #[test]
    fn subtle_mistakes_are_seen() {
        assert!(!js("[a-z]+", "").anchored);
        assert!(!js("^[a-z]+", "").anchored);
        assert!(!js("^[a-z]+$", "m").anchored);
        assert!(!js("^a|b$", "").anchored);
        assert!(!js("^[\\w.]+$", "").not_dotdot);
        assert_ne!(js("^[\\w./]+$", "").chars & chars("/"), 0);
        assert_ne!(js("^[^/]+$", "").chars & FOREIGN, 0);
        let python = accepted("^[a-z]+$", "", MatchMode::Start, Dialect::Python).unwrap();
        assert!(python.newline && python.chars & chars("\n") != 0);
        let full = accepted("[a-z]+", "", MatchMode::Full, Dialect::Python).unwrap();
        assert!(full.anchored && !full.newline);
    }

    #[test]
    fn lookarounds_only_narrow() {
        let found = js("^(?!\\.)[a-z.]+$", "");
        assert!(found.anchored);
        assert!(accepted("(?!(", "", MatchMode::Full, Dialect::Other).is_none());
    }
}
