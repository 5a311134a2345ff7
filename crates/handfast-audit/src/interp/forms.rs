//! What only looks like a call.

use crate::interp::Interp;
use crate::ir::{Arg, Span};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// What only looks like a call: forms that the lowering makes, and Go's `new`.
    pub(super) fn eval_form(
        &mut self,
        dotted: Option<&str>,
        args: &[Arg],
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        if dotted == Some("%yield") {
            let args = self.eval_args(args, None, state);
            if let Some(value) = args.at(0) {
                let value = self.deref(value, state);
                let kept = self.keep(value, at, state);
                if let Some(frame) = self.frames.last_mut() {
                    frame.yields.push(kept);
                }
            }
            return Some(self.terms.make(Term::Null));
        }
        if dotted == Some("%unreachable") {
            state.dead = true;
            return Some(self.terms.make(Term::Null));
        }
        if let (Some("%assert"), [holds, ..]) = (dotted, args) {
            let vid = self.eval(&holds.value, state);
            let mut failed = state.clone();
            self.assume(vid, true, state, at);
            self.assume(vid, false, &mut failed, at);
            if !failed.dead {
                self.throw(&mut failed);
            }
            return Some(self.terms.make(Term::Null));
        }
        // `i++`: a number is another one; a pointer goes on in the same text.
        if let (Some("%step"), [step]) = (dotted, args) {
            let old = self.eval(&step.value, state);
            if matches!(self.terms.get(old), Term::Num(_)) {
                let new = self.terms.unknown();
                self.assign(&step.value, new, state, at);
            }
            return Some(old);
        }
        // Go: `new(T)` is a `T` without values.
        if let (Lang::Go, Some("new"), [of]) = (self.lang(), dotted, args)
            && let Some(class) = of.value.dotted()
            && let Some(object) = self.construct(&class, &[], true, at, state)
        {
            return Some(object);
        }
        None
    }
}
