//! Loops, and what holds of all that they went over.

use crate::facts::{FOREIGN, bit, chars};
use crate::interp::{Interp, Loop};
use crate::ir::{Expr, ExprKind, Operation, Span, Stmt};
use crate::state::State;
use crate::term::{CollKind, Term, Vid};

impl Interp<'_> {
    /// A loop is run twice, so that the second turn has what the first one left. While a loop around it is
    /// rehearsed, once is enough.
    fn first_round(&self) -> usize {
        usize::from(self.rehearsals > 0)
    }

    pub(super) fn exec_while(
        &mut self,
        cond: Option<&Expr>,
        step: &[Stmt],
        body: &[Stmt],
        body_first: bool,
        state: &mut State,
    ) {
        let mut exits: Vec<State> = Vec::new();
        let mark = self.terms.len();
        let mut over: Option<Vid> = None;
        let before = state.clone();
        let mut ends = State {
            dead: true,
            ..State::default()
        };
        let pointer = self.segment_pointer(body, step, state);
        for round in self.first_round()..2 {
            if round == 0 {
                self.muted += 1;
                self.rehearsals += 1;
            }
            let mut now = state.clone();
            if let Some((name, segment)) = &pointer {
                now.env.insert(name.clone(), *segment);
                over = self.walked_over(*segment);
            }
            if let Some(cond) = cond.filter(|_| !body_first) {
                let vid = self.eval(cond, &mut now);
                over = over.or_else(|| self.walked_over(vid));
                let mut out = now.clone();
                self.assume(vid, false, &mut out, cond.span);
                self.assume(vid, true, &mut now, cond.span);
                if round == 1 {
                    exits.push(out);
                }
            }
            self.push_loop();
            self.exec_all(body, &mut now);
            let looped = self.pop_loop();
            for copy in looped.continues {
                now.join(copy, &mut self.terms, mark);
            }
            if let Some(cond) = cond.filter(|_| body_first && !now.dead) {
                let vid = self.eval(cond, &mut now);
                let mut out = now.clone();
                self.assume(vid, false, &mut out, cond.span);
                self.assume(vid, true, &mut now, cond.span);
                exits.push(out);
            }
            ends = now.clone();
            self.push_loop();
            self.exec_all(step, &mut now);
            self.pop_loop();
            if round == 0 {
                self.muted -= 1;
                self.rehearsals -= 1;
                let dead = state.dead;
                let mut head = now;
                head.join(state.clone(), &mut self.terms, mark);
                *state = head;
                state.dead = dead;
            } else {
                exits.extend(looped.breaks);
            }
        }
        // A loop over characters or segments by pointer or index is one over the collection.
        if cond.is_none() {
            let mut result = exits.pop().unwrap_or(State {
                dead: true,
                ..State::default()
            });
            for exit in exits {
                result.join(exit, &mut self.terms, mark);
            }
            *state = result;
        } else {
            let mut result = State {
                dead: true,
                ..State::default()
            };
            for exit in exits {
                result.join(exit, &mut self.terms, mark);
            }
            *state = result;
        }
        self.lift_walk(&before, &ends, state);
        if let Some(coll) = over {
            self.lift(coll, &ends, state);
        }
    }

    /// `*p` as a condition, where `p` runs over a string.
    pub(super) fn walked_over(&mut self, vid: Vid) -> Option<Vid> {
        match self.terms.get(vid) {
            Term::Elem(coll) => Some(*coll),
            // `i < strlen(name)`
            Term::Pred(crate::term::Pred::Compare(Operation::Lt | Operation::Ne, _, length))
                if matches!(self.terms.get(*length), Term::Length(..)) =>
            {
                let Term::Length(of, _) = *self.terms.get(*length) else {
                    return None;
                };
                Some(self.terms.make(Term::Coll {
                    kind: CollKind::Chars,
                    of,
                    seps: 0,
                }))
            }
            Term::Pred(crate::term::Pred::Compare(_, a, b)) => {
                let (a, b) = (*a, *b);
                self.walked_over(a).or_else(|| self.walked_over(b))
            }
            _ => None,
        }
    }

    pub(super) fn loop_level(&self) -> i64 {
        let level = self.frames.last().map_or(0, |frame| frame.loops.len());
        i64::try_from(level).unwrap_or(i64::MAX)
    }

    pub(super) fn is_in_loop(&self) -> bool {
        self.frames
            .last()
            .is_some_and(|frame| !frame.loops.is_empty())
    }

    pub(super) fn push_loop(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.loops.push(Loop::default());
        }
    }

    pub(super) fn pop_loop(&mut self) -> Loop {
        self.frames
            .last_mut()
            .and_then(|frame| frame.loops.pop())
            .unwrap_or_default()
    }

    pub(super) fn exec_for(
        &mut self,
        target: &Expr,
        iter: &Expr,
        body: &[Stmt],
        is_pair: bool,
        state: &mut State,
    ) {
        let coll = self.eval(iter, state);
        if state.dead {
            return;
        }
        let entry = self.iterated(coll, iter.span, state);
        let key = self.map_key(coll, state);
        let coll = self.as_collection(coll);
        let elem = match *self.terms.get(coll) {
            _ if entry.is_some() => entry.unwrap_or(coll),
            Term::Mapped { element, .. } => element,
            _ => self.terms.make(Term::Elem(coll)),
        };
        let mark = self.terms.len();
        let before = state.clone();
        let mut breaks = Vec::new();
        let mut ends = State {
            dead: true,
            ..State::default()
        };
        for round in self.first_round()..2 {
            if round == 0 {
                self.muted += 1;
                self.rehearsals += 1;
            }
            let mut now = state.clone();
            // What an earlier turn proved of its element says nothing of this one; what an earlier
            // loop proved of all of them does.
            if matches!(self.terms.get(elem), Term::Elem(_)) {
                let facts = std::sync::Arc::make_mut(&mut now.facts);
                match before.facts.get(elem) {
                    Some(known) => facts.insert(elem, known.clone()),
                    None => facts.remove(elem),
                }
            }
            match (&target.kind, is_pair) {
                (ExprKind::List(parts), true) if parts.len() == 2 => {
                    let index = match key {
                        Some(key) => key,
                        None => self.terms.unknown(),
                    };
                    self.assign(&parts[0], index, &mut now, iter.span);
                    self.assign(&parts[1], elem, &mut now, iter.span);
                }
                (ExprKind::Opaque(_), _) => {}
                _ => self.assign(target, key.unwrap_or(elem), &mut now, iter.span),
            }
            self.push_loop();
            self.exec_all(body, &mut now);
            let looped = self.pop_loop();
            for copy in looped.continues {
                now.join(copy, &mut self.terms, mark);
            }
            ends = now.clone();
            if round == 0 {
                self.muted -= 1;
                self.rehearsals -= 1;
                let mut head = now;
                head.join(state.clone(), &mut self.terms, mark);
                let dead = state.dead;
                *state = head;
                state.dead = dead;
            } else {
                breaks = looped.breaks;
                now.join(state.clone(), &mut self.terms, mark);
                *state = now;
            }
        }
        self.lift(coll, &ends, state);
        self.lift_walk(&before, &ends, state);
        if breaks.is_empty() && !ends.dead {
            self.lift_elements(coll, key.unwrap_or(elem), &ends, state);
        }
        for copy in breaks {
            let mut copy = copy;
            self.lift_walk(&before, &copy.clone(), &mut copy);
            // Facts of a walk survive leaving it early: what is not there needs no look.
            let walked = self.walk_facts(state, &copy);
            state.join(copy, &mut self.terms, mark);
            for (vid, bits, at) in walked {
                state.add(vid, bits, at);
            }
        }
    }

    pub(super) fn walk_facts(&self, one: &State, two: &State) -> Vec<(Vid, u64, Span)> {
        const WALK: u64 = bit::WALKED | bit::WALK_NOT_LINK | bit::WALK_IS_DIR | bit::FRESH_WALK;
        let mut out = Vec::new();
        for (vid, facts) in one.facts.iter() {
            let both = facts.bits & two.own(vid).map_or(0, |other| other.bits) & WALK;
            if both != 0 {
                out.push((vid, both, facts.at(both).unwrap_or_default()));
            }
        }
        out
    }

    /// What holds at the end of every turn of a loop over a collection holds of all its elements.
    pub(super) fn lift(&mut self, coll: Vid, ends: &State, state: &mut State) {
        if ends.dead || state.dead {
            return;
        }
        let Term::Coll { kind, of, .. } = *self.terms.get(coll) else {
            return;
        };
        let elem = self.terms.make(Term::Elem(coll));
        let Some(facts) = ends.own(elem).cloned() else {
            return;
        };
        let at = facts.anchors.last().map(|(_, at)| *at).unwrap_or_default();
        self.lift_facts(kind, of, &facts, at, state);
    }

    pub(super) fn lift_facts(
        &mut self,
        kind: CollKind,
        of: Vid,
        facts: &crate::facts::Facts,
        at: Span,
        state: &mut State,
    ) {
        match kind {
            CollKind::Chars => {
                let at = facts.at(crate::facts::AT_CHARS).unwrap_or(at);
                state.edit(of).narrow_chars(facts.chars, at);
            }
            CollKind::Split | CollKind::Components => {
                if facts.has(bit::NOT_DOTDOT)
                    || facts.chars & chars(".") == 0
                    || facts.has_no_dots()
                {
                    let at = facts
                        .at(bit::NOT_DOTDOT | crate::facts::AT_CHARS)
                        .unwrap_or(at);
                    state.add(of, bit::SEGS_CLEAN, at);
                }
                let seps = if kind == CollKind::Components {
                    0
                } else {
                    chars("/")
                };
                if facts.chars & (FOREIGN | chars("\\")) & !seps == 0 {
                    let at = facts.at(crate::facts::AT_CHARS).unwrap_or(at);
                    state.add(of, bit::SEGS_ALLOWED, at);
                    state.edit(of).narrow_chars(facts.chars | chars("/"), at);
                }
                if facts.max_len <= 255 {
                    let at = facts.at(crate::facts::AT_LEN).unwrap_or(at);
                    if facts.is_bounded() {
                        state.add(of, bit::SEGS_BOUNDED, at);
                    }
                }
                if facts.first & chars("-+") == 0 {
                    let at = facts.at(crate::facts::AT_FIRST).unwrap_or(at);
                    state.add(of, bit::SEGS_NO_DASH, at);
                }
                if facts.has(bit::NONEMPTY) {
                    state.add(of, bit::NONEMPTY | bit::NOT_ABSOLUTE, at);
                }
                if facts.has(bit::NFC) {
                    state.add(of, bit::NFC, at);
                }
                if facts.has(bit::UNSEEN_CHECK) {
                    state.add(of, bit::UNSEEN_CHECK, at);
                }
            }
            CollKind::Parents => {
                if facts.has(bit::NOT_LINK) {
                    state.add(of, bit::WALKED | bit::WALK_NOT_LINK | bit::FRESH_WALK, at);
                }
                if facts.has(bit::IS_DIR) {
                    state.add(of, bit::WALK_IS_DIR, at);
                }
            }
            CollKind::Other => {}
        }
    }

    /// A loop that looks at every element and goes on only if it is right says it of all of them.
    fn lift_elements(&mut self, coll: Vid, elem: Vid, ends: &State, state: &mut State) {
        if !matches!(self.terms.get(elem), Term::Elem(_)) {
            return;
        }
        let own = ends.own(elem).cloned();
        if let Some(facts) = &own {
            state.edit(elem).and(facts);
        }
        self.lift_fields(elem, ends, state);
        // `for x in a + b`: the elements of both.
        let of = match self.terms.get(coll) {
            Term::Coll { of, .. } => *of,
            _ => coll,
        };
        let (Term::Concat(parts), Some(facts)) = (self.terms.get(of).clone(), own) else {
            return;
        };
        for part in parts {
            let part = self.as_collection(part);
            let one = self.terms.make(Term::Elem(part));
            state.edit(one).and(&facts);
        }
    }

    /// Facts of a walk that every turn ends with hold after the loop, also after no turn at all.
    pub(super) fn lift_walk(&mut self, before: &State, ends: &State, state: &mut State) {
        const WALK: u64 = bit::WALKED | bit::WALK_NOT_LINK | bit::WALK_IS_DIR | bit::FRESH_WALK;
        if ends.dead || state.dead {
            return;
        }
        let mut found = Vec::new();
        for (vid, facts) in ends.facts.changed_since(&before.facts) {
            let new = facts.bits & WALK & !before.own(vid).map_or(0, |facts| facts.bits);
            if new != 0 {
                found.push((vid, new, facts.at(new).unwrap_or_default()));
            }
        }
        for (vid, bits, at) in found {
            state.add(vid, bits, at);
        }
    }
}

impl Interp<'_> {
    /// Go: what a loop over a map of external text gives first is text as well.
    fn map_key(&mut self, coll: Vid, state: &State) -> Option<Vid> {
        if self.lang() != crate::lang::Lang::Go {
            return None;
        }
        let real = self.deref(coll, state);
        let Term::Field(_, name) = self.terms.get(real) else {
            return None;
        };
        let file = self.here().0;
        let classes = &self.program.file(file).module.classes;
        let is_map = classes
            .iter()
            .flat_map(|class| &class.fields)
            .any(|(field, ty)| field == name && ty.starts_with("map["));
        if !is_map || self.external_base(real, 0).is_none() {
            return None;
        }
        let keys = self.terms.make(Term::Field(real, "%keys".into()));
        let keys = self.as_collection(keys);
        Some(self.terms.make(Term::Elem(keys)))
    }
}
