//! `fold`, `try_fold`, `reduce`: one value made from all elements, step by step.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::state::State;
use crate::term::{Pred, Term, Vid};

impl Interp<'_> {
    /// What is made of a collection. The function runs twice, so that what it made goes in again.
    pub(super) fn folded(
        &mut self,
        may_stop: bool,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let all = args.all();
        let function = all.iter().copied().find(|vid| self.is_any_function(*vid))?;
        let mut rest = all.into_iter().filter(|vid| *vid != function);
        let over = rest.next()?;
        let begin = rest.next();
        let coll = self.as_collection(over);
        let (element, coll) = match *self.terms.get(coll) {
            Term::Mapped { element, coll } => (element, coll),
            _ => (self.terms.make(Term::Elem(coll)), coll),
        };
        let begin = begin.unwrap_or(element);
        let mut made = begin;
        let mut end = state.clone();
        for _ in 0..2 {
            let given = Args {
                receiver: None,
                list: vec![(None, made), (None, element)],
                places: vec![None, None],
            };
            end = state.clone();
            let result = self.apply_value(function, &given, at, &mut end)?;
            if may_stop {
                for name in ["Some", "Ok"] {
                    let goes_on = Pred::Variant(result, Sym::from(name));
                    let goes_on = self.terms.make(Term::Pred(goes_on));
                    let mut inner = end.clone();
                    self.assume(goes_on, true, &mut inner, at);
                    if !inner.dead {
                        end = inner;
                    }
                }
            }
            let value = self.payload(result);
            let value = self.deref(value, &end);
            made = self.terms.phi(begin, value);
        }
        // It went on only with elements that passed.
        if may_stop && let Term::Coll { kind, of, .. } = *self.terms.get(coll) {
            let facts = self.facts_of(element, &end);
            self.lift_facts(kind, of, &facts, at, state);
        }
        Some(made)
    }
}
