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
        let inner = group(&pattern, number, name.as_deref());
        if let Some(inner) = inner
            && let Some(known) = accepted(&inner, "", MatchMode::Full, Dialect::Other)
        {
            self.learn(piece, &known, at, state);
        }
        Some(piece)
    }
}
