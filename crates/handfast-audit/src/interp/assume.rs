//! What a condition proves on the way where it holds.

use std::sync::Arc;

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Operation, Span};
use crate::state::State;
use crate::term::{CollKind, ObjectKind, Pred, Term, Vid};

impl Interp<'_> {
    /// Adds to `state` what follows from `vid` being true (or false).
    pub(super) fn assume(&mut self, vid: Vid, truth: bool, state: &mut State, at: Span) {
        if state.dead {
            return;
        }
        let before = state.facts.clone();
        self.assume_value(vid, truth, state, at);
        if !state.dead && !self.wraps.is_empty() && !Arc::ptr_eq(&before, &state.facts) {
            self.unwrap_facts(&before, state);
        }
    }

    /// What is known of `Path::new(x)` is known of `x`: it is the same text.
    fn unwrap_facts(&self, before: &crate::known::KnownValues, state: &mut State) {
        for (outer, inner) in self.wraps.iter().rev() {
            let Some(facts) = state.facts.get(*outer) else {
                continue;
            };
            if before
                .get(*outer)
                .is_some_and(|known| Arc::ptr_eq(known, facts))
            {
                continue;
            }
            let facts = facts.clone();
            state.edit(*inner).and(&facts);
        }
    }

    fn assume_value(&mut self, vid: Vid, truth: bool, state: &mut State, at: Span) {
        match self.terms.get(vid).clone() {
            Term::Bool(value) => {
                if value != truth {
                    state.dead = true;
                }
            }
            Term::Null => {
                if truth {
                    state.dead = true;
                }
            }
            Term::Pred(pred) => self.assume_pred(&pred, truth, state, at),
            Term::Outcome(call) => {
                self.filter_ways(call, state, |interp, value| interp.can_be(value, truth));
                if let Some([only]) = state.ways.get(&call).map(Vec::as_slice) {
                    let value = self.ways[call as usize][*only].value;
                    self.assume(value, truth, state, at);
                }
            }
            // `value, ok := f()`: which ways have this answer.
            Term::Proj(of, index) if matches!(self.terms.get(of), Term::Outcome(_)) => {
                let Term::Outcome(call) = *self.terms.get(of) else {
                    return;
                };
                let index = index as usize;
                self.filter_ways(call, state, |interp, value| match interp.terms.get(value) {
                    Term::List(parts) => parts
                        .get(index)
                        .is_none_or(|part| interp.can_be(*part, truth)),
                    _ => true,
                });
                if let Some([only]) = state.ways.get(&call).map(Vec::as_slice) {
                    let value = self.ways[call as usize][*only].value;
                    if let Term::List(parts) = self.terms.get(value)
                        && let Some(part) = parts.get(index).copied()
                    {
                        self.assume(part, truth, state, at);
                    }
                }
            }
            // `if (result.ok)`: the ways whose answer says so.
            Term::Field(of, name) if matches!(self.terms.get(of), Term::Outcome(_)) => {
                self.assume_verdict(of, &name, truth, state);
            }
            Term::Phi(parts) => {
                // Only those parts that can have this truth.
                let left: Vec<Vid> = parts
                    .iter()
                    .copied()
                    .filter(|part| self.can_be(*part, truth))
                    .collect();
                if let [only] = left.as_slice() {
                    self.assume(*only, truth, state, at);
                }
            }
            // Truth of a value: it is there, it is not empty.
            Term::Call {
                ref name, ref args, ..
            } if &**name == "strstr" || &**name == "strchr" => {
                if let [text, needle] = args.as_slice() {
                    let pred = Pred::Contains(*text, *needle);
                    self.assume_pred(&pred, truth, state, at);
                }
            }
            Term::Call {
                ref name, ref args, ..
            } if &**name == "strcmp" => {
                if let [a, b, ..] = args.as_slice() {
                    let pred = Pred::Compare(Operation::Eq, *a, *b);
                    self.assume_pred(&pred, !truth, state, at);
                }
            }
            Term::Stat { .. } => self.stat_status(vid, !truth, state, at),
            Term::Elem(coll) => {
                if let Term::Coll {
                    kind: CollKind::Chars,
                    ..
                } = self.terms.get(coll)
                {
                    // C: the character is not the terminator.
                    let _ = coll;
                }
            }
            Term::Index(base, _) if self.lang().family() == "c" => {
                self.first_char(base, vid, truth, state, at)
            }
            _ => {
                let real = self.deref(vid, state);
                if truth {
                    state.add(real, bit::NONEMPTY, at);
                    self.answered(real, state, at);
                } else if matches!(
                    self.terms.get(real),
                    Term::Source { .. } | Term::Field(..) | Term::Index(..) | Term::Param { .. }
                ) {
                    // Nothing, or empty text: no character of it can do harm.
                    state.add(
                        real,
                        bit::NO_DOTDOT
                            | bit::SEGS_CLEAN
                            | bit::NOT_ABSOLUTE
                            | bit::NOT_DOTDOT
                            | bit::NOT_DOT
                            | bit::SEGMENT,
                        at,
                    );
                    state.edit(real).narrow_chars(0, at);
                    state.edit(real).narrow_first(0, at);
                }
            }
        }
    }

    fn assume_verdict(&mut self, of: Vid, name: &str, truth: bool, state: &mut State) {
        let Term::Outcome(call) = *self.terms.get(of) else {
            return;
        };
        self.filter_ways(call, state, |interp, value| match interp.terms.get(value) {
            Term::Dict(pairs) => pairs
                .iter()
                .find(|(key, _)| **key == *name)
                .is_none_or(|(_, part)| interp.can_be(*part, truth)),
            _ => true,
        });
    }

    /// Something that nobody can see was asked about a text, and gave an answer: a row of a
    /// database by that name, perhaps. That may be a guard.
    pub(super) fn answered(&mut self, vid: Vid, state: &mut State, at: Span) {
        let mut vid = vid;
        for _ in 0..4 {
            match self.terms.get(vid).clone() {
                Term::Call { args, name, .. } if &*name != "?" => {
                    for arg in args {
                        let real = self.deref(arg, state);
                        let is_text = !matches!(self.terms.get(real), Term::Call { .. });
                        if is_text && !self.leaves(real, state).is_empty() {
                            state.add(real, bit::UNSEEN_CHECK, at);
                        }
                    }
                    return;
                }
                Term::Field(of, _) | Term::Index(of, _) | Term::Proj(of, _) | Term::Payload(of) => {
                    vid = of;
                }
                _ => return,
            }
        }
    }

    /// What holds of a field of every element: `all(|n| ok(n.label))`.
    pub(super) fn lift_fields(&self, elem: Vid, inner: &State, state: &mut State) {
        let of_element = |mut vid: Vid| {
            for _ in 0..8 {
                match self.terms.get(vid) {
                    _ if vid == elem => return true,
                    Term::Field(of, _)
                    | Term::Index(of, _)
                    | Term::Elem(of)
                    | Term::Coll { of, .. } => vid = *of,
                    _ => return false,
                }
            }
            false
        };
        let new: Vec<(Vid, Arc<crate::facts::Facts>)> = inner
            .facts
            .changed_since(&state.facts)
            .filter(|(vid, _)| *vid != elem && of_element(*vid))
            .map(|(vid, facts)| (vid, facts.clone()))
            .collect();
        for (vid, facts) in new {
            state.edit(vid).and(&facts);
        }
    }

    /// Keeps only the ways out of a call for which a test says so.
    pub(super) fn filter_ways(
        &mut self,
        call: u32,
        state: &mut State,
        keep: impl Fn(&Self, Vid) -> bool,
    ) {
        let all = self.ways[call as usize].clone();
        let before: Vec<usize> = state
            .ways
            .get(&call)
            .cloned()
            .unwrap_or_else(|| (0..all.len()).collect());
        let left: Vec<usize> = before
            .iter()
            .copied()
            .filter(|index| keep(self, all[*index].value))
            .collect();
        if left.is_empty() {
            state.dead = true;
            return;
        }
        // What held on all of the ways that are left, and is not known already.
        let stale = all[left[0]].epoch != state.epoch;
        let mut common: Vec<(Vid, Arc<crate::facts::Facts>)> = Vec::new();
        for (vid, facts) in all[left[0]].facts.changed_since(&state.facts) {
            let mut facts = facts.clone();
            let is_on_all = left[1..]
                .iter()
                .all(|index| match all[*index].facts.get(vid) {
                    Some(two) => {
                        if !Arc::ptr_eq(&facts, two) {
                            facts = Arc::new(facts.both(two));
                        }
                        true
                    }
                    None => false,
                });
            let is_known = |known: &Arc<crate::facts::Facts>| Arc::ptr_eq(known, &facts);
            if is_on_all && !state.facts.get(vid).is_some_and(is_known) {
                common.push((vid, facts));
            }
        }
        for (vid, mut facts) in common {
            if stale {
                let facts = Arc::make_mut(&mut facts);
                facts.bits &= !bit::PERISHABLE;
                facts.anchors.retain(|(key, _)| key & bit::PERISHABLE == 0);
            }
            state.edit(vid).and(&facts);
        }
        Arc::make_mut(&mut state.ways).insert(call, left);
    }

    /// As above, with a test over terms only.
    pub(super) fn keep_ways(
        &mut self,
        call: u32,
        state: &mut State,
        keep: impl Fn(&crate::term::Terms, Vid) -> bool,
    ) {
        self.filter_ways(call, state, |interp, value| keep(&interp.terms, value));
    }

    /// Whether a value can be true or false.
    pub(super) fn can_be(&self, vid: Vid, truth: bool) -> bool {
        match self.terms.get(vid) {
            Term::Bool(value) => *value == truth,
            Term::Null => !truth,
            Term::Num(n) => (*n != 0) == truth,
            Term::Variant(name, _) => matches!(&**name, "Ok" | "Some") == truth || truth,
            Term::Join { .. } | Term::Norm { .. } | Term::Fd(_) | Term::Object { .. } => truth,
            Term::Global { of, .. } => self.can_be(*of, truth),
            Term::Config { label, .. } | Term::Undefined(label) | Term::Field(_, label)
                if label.ends_with("nullopt") =>
            {
                !truth
            }
            // Errors that are made, or defined elsewhere, are there.
            Term::Config { .. } => truth,
            Term::Call { name, .. } if matches!(&**name, "errors.New" | "fmt.Errorf") => truth,
            _ => true,
        }
    }

    /// `filepath.IsLocal` and its like said yes.
    fn assume_local(&mut self, subject: Vid, state: &mut State, at: Span) {
        let subject = self.deref(subject, state);
        let bits = bit::SEGS_CLEAN | bit::NOT_ABSOLUTE | bit::NONEMPTY | bit::REL_NOT_UP;
        state.add(subject, bits, at);
        self.add_down(subject, bit::IN_LEXICAL, state, at);
        self.settle_relative(subject, state, at);
    }

    pub(super) fn assume_pred(&mut self, pred: &Pred, truth: bool, state: &mut State, at: Span) {
        match *pred {
            Pred::Not(inner) => self.assume(inner, !truth, state, at),
            Pred::And(a, b) | Pred::Or(a, b) => {
                let is_and = matches!(pred, Pred::And(..));
                if is_and == truth {
                    self.assume(a, truth, state, at);
                    self.assume(b, truth, state, at);
                } else {
                    let mark = self.terms.len();
                    let mut other = state.clone();
                    self.assume(a, truth, state, at);
                    self.assume(a, !truth, &mut other, at);
                    self.assume(b, truth, &mut other, at);
                    state.join(other, &mut self.terms, mark);
                    if is_and && !state.dead {
                        self.refute_dotdot(pred, state, at);
                    }
                }
            }
            Pred::Match {
                subject,
                regex,
                mode,
            } => self.assume_match(subject, regex, mode, truth, state, at),
            Pred::Prefix(subject, prefix) => self.assume_prefix(subject, prefix, truth, state, at),
            Pred::Suffix(..) | Pred::Unknown(_) => {}
            Pred::Contains(text, needle) => self.assume_contains(text, needle, truth, state, at),
            Pred::Compare(op, a, b) => self.assume_compare(op, a, b, truth, state, at),
            Pred::Member(a, coll) => self.assume_member(a, coll, truth, state, at),
            Pred::IsString(subject) => {
                if truth {
                    let subject = self.deref(subject, state);
                    state.add(subject, bit::TYPED, at);
                }
            }
            Pred::IsAbsolute(subject) => {
                let subject = self.deref(subject, state);
                if !truth {
                    // The plain form of a text is absolute if the text is.
                    self.add_down(subject, bit::NOT_ABSOLUTE, state, at);
                    self.spread(subject, state);
                    self.settle_relative(subject, state, at);
                }
            }
            Pred::IsLocal(subject) => {
                if truth {
                    self.assume_local(subject, state, at);
                }
            }
            Pred::Within(subject, root) => {
                if truth {
                    self.contained(subject, root, true, state, at);
                }
            }
            Pred::StatIs(stat, kind) => {
                if let Term::Stat { of, follow, fd, .. } = *self.terms.get(stat) {
                    self.object_is(of, kind, truth, follow, fd, state, at);
                }
            }
            Pred::PathIs(path, kind) => {
                let follow = kind != ObjectKind::Link;
                self.object_is(path, kind, truth, follow, false, state, at);
            }
            Pred::Class(subject, mask) => {
                let subject = self.deref(subject, state);
                if truth {
                    state.edit(subject).narrow_chars(mask, at);
                    state.add(subject, bit::NONEMPTY, at);
                } else if matches!(self.terms.get(subject), Term::Elem(_)) {
                    state.edit(subject).narrow_chars(!mask, at);
                }
                if state.own(subject).is_some_and(|facts| facts.chars == 0) {
                    state.dead = true;
                }
            }
            Pred::Quant { any, cond, coll } if any == truth => {
                self.holds_of_one(cond, coll, truth, state, at);
            }
            Pred::Quant { any, cond, coll } => {
                // `any` is false, or `all` is true: it holds of every element.
                if any != truth {
                    let elem = self.terms.make(Term::Elem(coll));
                    let mut inner = state.clone();
                    Arc::make_mut(&mut inner.facts).remove(elem);
                    self.assume(cond, !any, &mut inner, at);
                    if let (Some(facts), Term::Coll { kind, of, .. }) =
                        (inner.own(elem).cloned(), self.terms.get(coll).clone())
                    {
                        self.lift_facts(kind, of, &facts, at, state);
                    }
                    if let (Some(facts), Term::List(parts)) =
                        (inner.own(elem).cloned(), self.terms.get(coll).clone())
                    {
                        for part in parts {
                            let part = self.deref(part, state);
                            state.edit(part).and(&facts);
                        }
                    }
                    self.lift_fields(elem, &inner, state);
                    // A list of bad things, none of which occurs.
                    self.none_of(cond, coll, any, state, at);
                }
            }
            Pred::Variant(subject, ref name) => {
                self.assume_variant(subject, name, truth, state, at)
            }
            Pred::IsMissing(error) => {
                if let (true, None, Term::Proj(stat, 1)) =
                    (truth, state.failing, self.terms.get(error).clone())
                {
                    self.stat_status(stat, true, state, at);
                }
                if state.failing.is_some() {
                    state.missing = truth;
                }
            }
        }
    }

    /// `roots.some(root => inside(path, root))`: it holds of some element, whichever that is; what it
    /// says of other values is true of them.
    fn holds_of_one(&mut self, cond: Vid, coll: Vid, truth: bool, state: &mut State, at: Span) {
        let elem = self.terms.make(Term::Elem(coll));
        let mut inner = state.clone();
        self.assume(cond, truth, &mut inner, at);
        if inner.dead {
            return;
        }
        let new: Vec<(Vid, Arc<crate::facts::Facts>)> = inner
            .facts
            .changed_since(&state.facts)
            .filter(|(vid, _)| !self.is_made_of(*vid, elem, 0))
            .map(|(vid, facts)| (vid, facts.clone()))
            .collect();
        for (vid, facts) in new {
            state.edit(vid).and(&facts);
        }
    }

    /// A value that is an element, or was taken from one.
    fn is_made_of(&self, vid: Vid, elem: Vid, depth: usize) -> bool {
        if vid == elem {
            return true;
        }
        match self.terms.get(vid) {
            Term::Field(of, _)
            | Term::Index(of, _)
            | Term::Elem(of)
            | Term::Coll { of, .. }
            | Term::Norm { of, .. }
            | Term::Part { of, .. }
                if depth < 8 =>
            {
                self.is_made_of(*of, elem, depth + 1)
            }
            _ => false,
        }
    }

    /// `any(bad in name for bad in ("..", "/"))`.
    pub(super) fn none_of(&mut self, cond: Vid, coll: Vid, any: bool, state: &mut State, at: Span) {
        if !any {
            return;
        }
        let items = match self.terms.get(coll) {
            Term::List(items) => items.clone(),
            Term::Coll { of, .. } => match self.terms.get(*of) {
                Term::List(items) => items.clone(),
                _ => return,
            },
            _ => return,
        };
        let elem = self.terms.make(Term::Elem(coll));
        let text = match self.terms.get(cond) {
            Term::Pred(Pred::Member(needle, text)) if *needle == elem => *text,
            Term::Pred(Pred::Contains(text, needle)) if *needle == elem => *text,
            _ => return,
        };
        for item in items {
            self.assume_contains(text, item, false, state, at);
        }
    }
}
