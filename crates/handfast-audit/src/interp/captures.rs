//! What a pattern caught: the pieces of a text that matched a group.

use crate::interp::Interp;
use crate::ir::{Span, Sym};
use crate::regex::{Dialect, accepted, group};
use crate::state::State;
use crate::term::{MatchMode, PartKind, Pred, Term, Vid};

impl Interp<'_> {
    /// A piece that a group of the pattern caught. `None`: the value is no match.
    pub(super) fn captured(
        &mut self,
        found: Vid,
        which: Option<Vid>,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let found = self.deref(found, state);
        let Term::Pred(Pred::Match { subject, regex, .. }) = *self.terms.get(found) else {
            return None;
        };
        let number = which.and_then(|vid| self.terms.number(vid));
        let name = which.and_then(|vid| self.terms.string(vid)).map(Sym::from);
        if which.is_none() || number == Some(0) {
            return Some(subject);
        }
        let key = match (&name, number) {
            (Some(name), _) => name.bytes().map(u32::from).sum::<u32>() + 1000,
            (None, Some(number)) => u32::try_from(number).unwrap_or(0),
            (None, None) => 0,
        };
        let piece = self.terms.make(Term::Part {
            kind: PartKind::Slice,
            of: subject,
            at: Span {
                file: at.file,
                start: key,
                ..Span::default()
            },
        });
        let regex = match self.terms.get(regex) {
            Term::Global { of, .. } => *of,
            _ => regex,
        };
        let pattern = match self.terms.get(regex) {
            Term::Regex(pattern, _) | Term::Str(pattern) => pattern.clone(),
            _ => return Some(piece),
        };
        // A piece between slashes of a text without ways up has none either.
        let whole = self.facts_of(subject, state);
        if whole.any(crate::facts::bit::SEGS_CLEAN)
            && number.is_some_and(|number| is_between_slashes(&pattern, number))
        {
            let known = whole.at(crate::facts::bit::SEGS_CLEAN).unwrap_or(at);
            state.add(piece, crate::facts::bit::SEGS_CLEAN, known);
        }
        let inner = group(&pattern, number, name.as_deref());
        if let Some(inner) = inner
            && let Some(known) = accepted(&inner, "", MatchMode::Full, Dialect::Other)
        {
            self.learn(piece, &known, at, state);
        }
        Some(piece)
    }
}

/// Whether a group of a pattern begins and ends where a segment does.
fn is_between_slashes(pattern: &str, number: i64) -> bool {
    let bytes = pattern.as_bytes();
    let is_escaped = |at: usize| at > 0 && bytes[at - 1] == b'\\';
    let mut count = 0;
    let mut begin = None;
    let mut depth = 0_i32;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' if !is_escaped(at) => {
                let is_group = bytes.get(at + 1) != Some(&b'?')
                    || pattern[at..].starts_with("(?P<")
                    || pattern[at..].starts_with("(?<");
                count += i64::from(is_group);
                match begin {
                    Some(_) => depth += 1,
                    None if is_group && count == number => begin = Some(at),
                    None => {}
                }
            }
            b')' if !is_escaped(at) && begin.is_some() && depth > 0 => depth -= 1,
            b')' if !is_escaped(at) && begin.is_some() => {
                let first = begin.unwrap_or(0);
                let before = first.checked_sub(1).map(|at| bytes[at]);
                let starts = matches!(before, None | Some(b'/' | b'^'))
                    || bytes.get(first + 1) == Some(&b'/');
                let ends = matches!(bytes.get(at + 1), None | Some(b'/' | b'$'));
                return starts && ends;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_between_slashes;

    #[test]
    fn a_group_is_whole_segments_or_not() {
        let pattern = r"^(/.+\.git)/(objects/.+)$";
        assert!(is_between_slashes(pattern, 1));
        assert!(is_between_slashes(pattern, 2));
        assert!(!is_between_slashes(pattern, 3), "there is no third group");
        assert!(
            !is_between_slashes(r"^/x(.+)\.txt$", 1),
            "it is glued to text"
        );
        assert!(is_between_slashes(r"^/(?:a|b)/((x)+)$", 1));
    }
}
