//! What it means that two texts or paths are the same.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::Span;
use crate::state::State;
use crate::term::{CollKind, PartKind, Pred, SourceKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn not_equal_text(&mut self, a: Vid, b: Vid, state: &mut State, at: Span) {
        if self.lang() == crate::lang::Lang::Rust
            && matches!(self.terms.get(a), Term::Elem(_))
            && self.name_of(b).is_some_and(|name| name == "ParentDir")
        {
            state.add(a, bit::NOT_DOTDOT, at);
            return;
        }
        // `rel.split(sep)[0] != ".."`: the first part alone can lead up in a plain form.
        if self.terms.string(b) == Some("..")
            && let Term::Index(coll, first) = *self.terms.get(a)
            && self.terms.number(first) == Some(0)
            && let Term::Coll {
                kind: CollKind::Split | CollKind::Components,
                of,
                ..
            } = *self.terms.get(coll)
        {
            self.assume_prefix(of, b, false, state, at);
        }
        if self.terms.string(b).is_some() {
            let member = self.terms.make(Term::List(vec![b]));
            let pred = self.terms.make(Term::Pred(Pred::Member(a, member)));
            self.assume(pred, false, state, at);
        }
    }

    /// `p == root`, `commonpath([root, p]) == root`.
    pub(super) fn equal_paths(&mut self, a: Vid, b: Vid, state: &mut State, at: Span) {
        for (one, two) in [(a, b), (b, a)] {
            let one = self.deref(one, state);
            let two = self.deref(two, state);
            match self.terms.get(one).clone() {
                // `dirname(p) == root`: right below it.
                Term::Part {
                    kind: PartKind::Parent,
                    of,
                    ..
                } if !self.leaves(of, state).is_empty() => {
                    self.contained(of, two, true, state, at);
                    return;
                }
                // `basename(x) == x`: one segment.
                Term::Part {
                    kind: PartKind::Base,
                    of,
                    ..
                } if of == two => {
                    state.add(two, bit::SEGMENT, at);
                    state.edit(two).narrow_chars(!crate::facts::chars("/"), at);
                    if self.lang() == crate::lang::Lang::Rust {
                        state.add(two, bit::NOT_DOTDOT | bit::NONEMPTY, at);
                    }
                    return;
                }
                Term::CommonPath(parts) => {
                    for part in parts {
                        if part != two && !self.leaves(part, state).is_empty() {
                            self.contained(part, two, true, state, at);
                        }
                    }
                    return;
                }
                Term::CommonPrefix(parts) => {
                    for part in parts {
                        if part != two && !self.leaves(part, state).is_empty() {
                            self.contained(part, two, false, state, at);
                        }
                    }
                    return;
                }
                _ => {}
            }
        }
        let (a, b) = (self.deref(a, state), self.deref(b, state));
        // `strcmp(KNOWN[i], x) == 0`: one of a list that is written down.
        for (one, two) in [(a, b), (b, a)] {
            if self.is_entry_of_constants(one) {
                state.add(two, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                return;
            }
        }
        // `x.replace("..", "") == x`: there was nothing to take out.
        for (one, two) in [(a, b), (b, a)] {
            if let Term::Part { of, .. } = *self.terms.get(one)
                && of == two
                && let Some(taken) = self.removed.get(&one).cloned()
            {
                let needle = self.terms.make(Term::Str(taken));
                self.assume_contains(two, needle, false, state, at);
                self.assume_contains(one, needle, false, state, at);
                return;
            }
        }
        // `x == "/" + clean("/" + x)`: it is in its plain form already.
        for (one, two) in [(a, b), (b, a)] {
            if self.is_plain_form(one, two, state, 0) {
                state.add(two, bit::ROOTED | bit::SEGS_CLEAN, at);
                if let Term::Concat(parts) = self.terms.get(two).clone()
                    && let [slash, rest] = parts.as_slice()
                    && self.is_separator(*slash)
                {
                    state.add(*rest, bit::ROOTED | bit::SEGS_CLEAN, at);
                }
                return;
            }
        }
        // `x == clean(x)`: ways up are left only where the text begins.
        for (one, two) in [(a, b), (b, a)] {
            if let Term::Norm {
                canonical: false,
                of,
                ..
            } = *self.terms.get(one)
                && of == two
            {
                // Below a slash the plain form has no way up at all.
                let begins = self.facts_of(two, state).first & !crate::facts::chars("/");
                let below = if begins == 0 {
                    bit::ROOTED | bit::SEGS_CLEAN
                } else {
                    0
                };
                state.add(two, bit::PLAIN_FORM | below, at);
                return;
            }
        }
        for (one, two) in [(a, b), (b, a)] {
            if !self.leaves(one, state).is_empty()
                && self.leaves(two, state).iter().all(|leaf| {
                    // A root that the caller or the operator decides.
                    matches!(leaf.kind, SourceKind::Guessed | SourceKind::Process)
                })
            {
                self.contained(one, two, true, state, at);
                return;
            }
        }
    }

    /// An entry of a list or table of texts that are written down.
    fn is_entry_of_constants(&self, vid: Vid) -> bool {
        let (Term::Index(of, _) | Term::Elem(of)) = self.terms.get(vid) else {
            return false;
        };
        let of = match self.terms.get(*of) {
            Term::Coll { of, .. } => *of,
            _ => *of,
        };
        let entries = self.entries_of(of);
        !entries.is_empty() && entries.iter().all(|one| self.terms.string(*one).is_some())
    }

    /// Whether a value is another one with `..` folded away below a slash.
    pub(super) fn is_plain_form(&self, form: Vid, of: Vid, state: &State, depth: usize) -> bool {
        if depth > 6 {
            return false;
        }
        match self.terms.get(form) {
            Term::Norm {
                canonical: false,
                of: inner,
                ..
            } => {
                let holds = match self.terms.get(*inner) {
                    _ if *inner == of => true,
                    Term::Concat(parts) | Term::Join { parts, .. } => parts.contains(&of),
                    _ => false,
                };
                holds && self.facts_of(form, state).has(bit::ROOTED)
            }
            Term::Concat(parts) => match parts.as_slice() {
                [slash, rest] => {
                    self.is_separator(*slash) && self.is_plain_form(*rest, of, state, depth + 1)
                }
                _ => false,
            },
            Term::Part { of: inner, .. } => self.is_plain_form(*inner, of, state, depth + 1),
            _ => false,
        }
    }

    /// C: `*s == '\0'` ends a walk through a text; no character of the text is meant.
    pub(super) fn is_end_of_text(&self, one: Vid, two: Vid) -> bool {
        self.lang().family() == "c"
            && matches!(self.terms.get(one), Term::Elem(_))
            && (self.terms.string(two) == Some("\0") || self.terms.number(two) == Some(0))
    }

    pub(super) fn is_single_char(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Elem(coll) => matches!(
                self.terms.get(*coll),
                Term::Coll {
                    kind: CollKind::Chars,
                    ..
                }
            ),
            Term::Index(_, index) => self.terms.number(*index).is_some(),
            _ => false,
        }
    }
}
