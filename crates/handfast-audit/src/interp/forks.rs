//! Values that come with a condition: kept apart until somebody has looked at them.

use crate::interp::{Interp, Way};
use crate::ir::{Span, Sym};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// One value where a condition holds, another where it does not.
    pub(super) fn fork(
        &mut self,
        cond: Vid,
        then: Vid,
        otherwise: Vid,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let mut other = state.clone();
        self.assume(cond, true, state, at);
        self.assume(cond, false, &mut other, at);
        self.either((then, state.clone()), (otherwise, other), state)
    }

    /// Two values, each with the state in which it is the one.
    pub(super) fn either(
        &mut self,
        one: (Vid, State),
        two: (Vid, State),
        state: &mut State,
    ) -> Vid {
        let (one, two) = match (one.1.dead, two.1.dead) {
            (true, true) => {
                state.dead = true;
                return self.terms.unknown();
            }
            (true, false) => {
                *state = two.1;
                return two.0;
            }
            (false, true) => {
                *state = one.1;
                return one.0;
            }
            (false, false) => (one, two),
        };
        let ways = [&one, &two].map(|(value, end)| Way {
            value: *value,
            facts: end.facts.clone(),
            epoch: end.epoch,
        });
        let mark = self.terms.len();
        let mut joined = one.1;
        joined.join(two.1, &mut self.terms, mark);
        *state = joined;
        let call = u32::try_from(self.ways.len()).unwrap_or(u32::MAX);
        self.ways.push(ways.into());
        self.terms.make(Term::Outcome(call))
    }

    /// A value that says "nothing": the code that gets it has to look first.
    pub(super) fn is_nothing(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Null | Term::Bool(_) => true,
            Term::Undefined(name) => matches!(&**name, "undefined" | "None" | "nil"),
            Term::Config { label, .. } => label.ends_with("nullopt"),
            Term::Variant(name, _) => matches!(&**name, "None" | "Err"),
            _ => false,
        }
    }

    /// Rust: `cond.then_some(x)`, `option.filter(|x| …)`.
    pub(super) fn some_if(&mut self, cond: Vid, value: Vid, at: Span, state: &mut State) -> Vid {
        let some = self.terms.make(Term::Variant(Sym::from("Some"), value));
        let nothing = self.terms.make(Term::Null);
        let none = self.terms.make(Term::Variant(Sym::from("None"), nothing));
        self.fork(cond, some, none, at, state)
    }
}
