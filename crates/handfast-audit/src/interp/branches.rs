//! Expressions with branches and names of their own: choices, tables, comprehensions, patterns.

use crate::interp::Interp;
use crate::ir::{Expr, Span, Sym};
use crate::state::State;
use crate::term::{Pred, Term, Vid};

impl Interp<'_> {
    pub(super) fn eval_cond(
        &mut self,
        cond: &Expr,
        then: &Expr,
        otherwise: &Expr,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let cond_vid = self.eval(cond, state);
        let mark = self.terms.len();
        let mut other = state.clone();
        self.assume(cond_vid, true, state, cond.span);
        self.assume(cond_vid, false, &mut other, cond.span);
        let one = self.eval(then, state);
        let two = self.eval(otherwise, &mut other);
        if other.dead {
            return one;
        }
        if state.dead {
            *state = other;
            return two;
        }
        if self.is_nothing(one) != self.is_nothing(two) {
            return self.either((one, state.clone()), (two, other), state);
        }
        // What was asked to choose a value holds of that value.
        let one = self.chosen(one, at, state, &other);
        let two = self.chosen(two, at, &mut other, state);
        let one = self.keep_either(one, at, state);
        let two = self.keep_either(two, at, &mut other);
        state.join(other, &mut self.terms, mark);
        self.terms.phi(one, two)
    }

    pub(super) fn eval_dict(&mut self, pairs: &[(Expr, Expr)], state: &mut State) -> Vid {
        let mut out = Vec::new();
        for (key, value) in pairs {
            let key = self.eval(key, state);
            let value = self.eval(value, state);
            if let Some(key) = self.terms.string(key).map(Sym::from) {
                self.note_route(&key, value);
                out.push((key, value));
            }
        }
        self.terms.make(Term::Dict(out))
    }

    /// Element, target and collection of a comprehension.
    pub(super) fn eval_comprehension(
        &mut self,
        (element, target, iter): (&Expr, &Expr, &Expr),
        filters: &[Expr],
        at: Span,
        state: &mut State,
    ) -> Vid {
        let coll = self.eval(iter, state);
        let entry = self.iterated(coll, iter.span, state);
        let coll = self.as_collection(coll);
        let elem = match (entry, self.terms.get(coll)) {
            (Some(entry), _) => entry,
            (None, Term::Mapped { element, .. }) => *element,
            _ => self.terms.make(Term::Elem(coll)),
        };
        let mut inner = state.clone();
        self.assign(target, elem, &mut inner, at);
        for filter in filters {
            let vid = self.eval(filter, &mut inner);
            self.assume(vid, true, &mut inner, filter.span);
        }
        let element = self.eval(element, &mut inner);
        let element = self.each_letter(coll, elem, element, at, &mut inner);
        let element = self.keep(element, at, &mut inner);
        if let Some(facts) = inner.own(element).cloned() {
            *state.edit(element) = facts;
        }
        self.terms.make(Term::Mapped { element, coll })
    }

    pub(super) fn eval_variant(
        &mut self,
        subject: &Expr,
        name: &Sym,
        binds: &[Sym],
        state: &mut State,
    ) -> Vid {
        let vid = self.eval(subject, state);
        let payload = self.payload(vid);
        for (index, bind) in binds.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(0);
            let value = match (binds.len(), index) {
                (1, _) => payload,
                _ => self.project(payload, index),
            };
            state.env.insert(bind.clone(), value);
        }
        self.terms
            .make(Term::Pred(Pred::Variant(vid, name.clone())))
    }

    /// One of several values, of which something is known together, stays one value.
    fn keep_either(&mut self, value: Vid, at: Span, state: &mut State) -> Vid {
        let is_known = matches!(self.terms.get(value), Term::Phi(_)) && state.own(value).is_some();
        if is_known {
            self.keep(value, at, state)
        } else {
            value
        }
    }

    /// A value of one branch, with what only this branch knows of it.
    fn chosen(&mut self, value: Vid, at: Span, here: &mut State, there: &State) -> Vid {
        let differs = match (here.own(value), there.own(value)) {
            (Some(one), Some(two)) => one.bits != two.bits || one.chars != two.chars,
            (Some(_), None) => true,
            _ => false,
        };
        let is_path = matches!(
            self.terms.get(value),
            Term::Join { .. } | Term::Concat(_) | Term::Norm { .. }
        );
        // Text of which one branch alone knows that it is harmless: `ok(x) ? x : y`.
        let is_text = matches!(
            self.terms.get(value),
            Term::Source { .. }
                | Term::Field(..)
                | Term::Index(..)
                | Term::Part { .. }
                | Term::Param { .. }
                | Term::Elem(_)
        );
        let is_guarded = |facts: &crate::facts::Facts| {
            facts.is_validated() || facts.is_one_segment() || facts.has_no_dots()
        };
        let is_better =
            here.own(value).is_some_and(is_guarded) && !there.own(value).is_some_and(is_guarded);
        if !(differs && (is_path || is_text && is_better)) {
            return value;
        }
        let facts = self.facts_of(value, here);
        let kept = self.terms.make(Term::Part {
            kind: crate::term::PartKind::Text,
            of: value,
            at,
        });
        *here.edit(kept) = facts;
        kept
    }
}
