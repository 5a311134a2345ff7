//! Comparisons of what a call gave, and of what a look at a file told.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Operation, Span};
use crate::state::State;
use crate::term::{ObjectKind, Pred, Term, Vid};

/// Calls whose result is compared with something that has a meaning of its own.
pub(super) const COMPARED: [&str; 8] = [
    "%prefix",
    "strcmp",
    "strncmp",
    "strstr",
    "strchr",
    "errors.Join",
    "strspn",
    "typeof",
];

impl Interp<'_> {
    /// A comparison of what a call gives: of texts in C, of types, of errors.
    pub(super) fn compare_call(
        &mut self,
        name: &str,
        args: &[Vid],
        two: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) -> bool {
        match name {
            "%prefix" => {
                if let [text, root] = args {
                    let same = self.deref(two, state) == self.deref(*root, state);
                    if same {
                        self.assume_prefix(*text, *root, truth, state, at);
                    }
                }
                true
            }
            "strcmp" | "strncmp" if self.terms.number(two) == Some(0) => {
                if let [a, b, ..] = args {
                    let pred = if name == "strcmp" {
                        Pred::Compare(Operation::Eq, *a, *b)
                    } else {
                        self.strncmp(args)
                    };
                    let pred = self.terms.make(Term::Pred(pred));
                    self.assume(pred, truth, state, at);
                }
                true
            }
            "strstr" | "strchr" if matches!(self.terms.get(two), Term::Null) => {
                if let [text, needle] = args {
                    self.assume_contains(*text, *needle, !truth, state, at);
                }
                true
            }
            // Go: several errors at once are none if each is none.
            "errors.Join" if matches!(self.terms.get(two), Term::Null) => {
                if truth {
                    for error in args.iter().copied() {
                        let none = Pred::Compare(Operation::Eq, error, two);
                        self.assume_pred(&none, true, state, at);
                    }
                }
                true
            }
            "strspn" => {
                // strspn(name, OK) == strlen(name), or the length that the name has
                let of = match (self.terms.get(two), args.first()) {
                    (Term::Length(of, _), Some(text)) if of == text => Some(*of),
                    (Term::Num(n), Some(text)) => {
                        let longest = i64::from(self.facts_of(*text, state).max_len);
                        (longest <= *n).then_some(*text)
                    }
                    _ => None,
                };
                if truth
                    && let Some(of) = of
                    && let Some(allowed) = args
                        .get(1)
                        .and_then(|arg| self.terms.string(*arg))
                        .map(str::to_owned)
                {
                    state
                        .edit(of)
                        .narrow_chars(crate::facts::stands_for(&allowed), at);
                }
                true
            }
            "typeof" => {
                if truth
                    && self.terms.string(two) == Some("string")
                    && let Some(arg) = args.first()
                {
                    let arg = self.deref(*arg, state);
                    state.add(arg, bit::TYPED, at);
                }
                true
            }
            _ => false,
        }
    }

    pub(super) fn compare_stat(
        &mut self,
        stat: Vid,
        field: &str,
        two: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) -> bool {
        if field.contains("nlink") {
            if self.terms.number(two) == Some(1)
                && truth
                && let Term::Stat { of, .. } = *self.terms.get(stat)
            {
                state.add(of, bit::NLINK_ONE, at);
                self.fd_places.push((of, bit::NLINK_ONE, at));
            }
            return true;
        }
        let name = self.name_of(two).unwrap_or_default();
        let kind = if name.contains("LNK") || name.contains("ymlink") {
            ObjectKind::Link
        } else if name.contains("DIR") {
            ObjectKind::Dir
        } else if name.contains("REG") {
            ObjectKind::Reg
        } else {
            return false;
        };
        let pred = self.terms.make(Term::Pred(Pred::StatIs(stat, kind)));
        self.assume(pred, truth, state, at);
        true
    }

    /// The end of a C string.
    pub(super) fn ends_text(&self, vid: Vid) -> bool {
        self.terms.string(vid) == Some("\0") || self.terms.number(vid) == Some(0)
    }

    /// The text whose length a number is: by what it was made from, or because a prefix of that
    /// length was compared.
    pub(super) fn length_of(&self, vid: Vid) -> Option<Vid> {
        match self.terms.get(vid) {
            Term::Length(of, _) => Some(*of),
            _ => self.lengths.get(&vid).copied(),
        }
    }

    pub(super) fn strncmp(&mut self, args: &[Vid]) -> Pred {
        let (subject, prefix) = (args[0], args[1]);
        if let Some(length) = args.get(2)
            && self.terms.number(*length).is_none()
        {
            self.lengths.insert(*length, prefix);
        }
        // strncmp(p, root, strlen(root)): a prefix without separator.
        Pred::Prefix(subject, prefix)
    }
}
