//! What a comparison proves.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Operation, Span};
use crate::state::State;
use crate::term::{Pred, Term, Vid};

impl Interp<'_> {
    /// Compares two values.
    pub(super) fn assume_compare(
        &mut self,
        op: Operation,
        a: Vid,
        b: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let (op, truth) = match (op, truth) {
            (Operation::Ne, _) => (Operation::Eq, !truth),
            (other, _) => (other, truth),
        };
        // Lengths.
        for (length, bound, op) in [(a, b, op), (b, a, mirror(op))] {
            let Term::Length(of, bytes) = *self.terms.get(length) else {
                continue;
            };
            let Some(n) = self.terms.number(bound) else {
                continue;
            };
            let of = self.deref(of, state);
            let max = match (op, truth) {
                (Operation::Gt, false) | (Operation::Le, true) | (Operation::Eq, true) => Some(n),
                (Operation::Ge, false) | (Operation::Lt, true) => Some(n - 1),
                _ => None,
            };
            if let Some(max) = max.and_then(|max| u32::try_from(max).ok()) {
                state.edit(of).bound(max, at);
                if !bytes {
                    state.add(of, bit::LEN_CHARS, at);
                }
            }
            let nonempty = matches!(
                (op, truth, n),
                (Operation::Eq, false, 0)
                    | (Operation::Gt, true, 0)
                    | (Operation::Lt, false, 1)
                    | (Operation::Ge, true, 1)
                    | (Operation::Le, false, 0)
            );
            if nonempty {
                state.add(of, bit::NONEMPTY, at);
            }
            if max == Some(0) {
                // Nothing in it that could lead anywhere.
                let bits = bit::NO_DOTDOT | bit::SEGS_CLEAN | bit::NOT_DOTDOT | bit::NOT_ABSOLUTE;
                self.add_down(of, bits, state, at);
            }
            return;
        }
        if op != Operation::Eq {
            self.compare_order(op, a, b, truth, state, at);
            return;
        }
        for (one, two) in [(a, b), (b, a)] {
            if self.is_end_of_text(one, two) || self.compare_one(one, two, truth, state, at) {
                return;
            }
        }
        if !truth {
            self.not_equal_text(a, b, state, at);
            self.not_equal_text(b, a, state, at);
            return;
        }
        // Equal to the root is inside it; equal to a constant is that constant.
        for (one, two) in [(a, b), (b, a)] {
            let two_real = self.deref(two, state);
            if let Some(text) = self.terms.string(two_real) {
                let stays = !text.starts_with("..");
                let one = self.deref(one, state);
                // `relative(root, p) === ""`: the root itself.
                if stays && matches!(self.terms.get(one), Term::Relative { .. }) {
                    state.add(one, bit::REL_NOT_UP | bit::NOT_ABSOLUTE, at);
                    self.settle_relative(one, state, at);
                }
                if self.is_single_char(one) {
                    let text = self.terms.string(two_real).unwrap_or_default().to_owned();
                    state
                        .edit(one)
                        .narrow_chars(crate::facts::stands_for(&text), at);
                    if state.own(one).is_some_and(|facts| facts.chars == 0) {
                        state.dead = true;
                    }
                } else {
                    state.add(one, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                }
                if self.is_pathish(one) {
                    break;
                }
                return;
            }
        }
        self.equal_paths(a, b, state, at);
    }

    /// Comparisons with special meaning. True: it was one.
    pub(super) fn compare_one(
        &mut self,
        one: Vid,
        two: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) -> bool {
        // Go: the error is "not there", so the look failed.
        let names_missing = self
            .name_of(two)
            .is_some_and(|name| matches!(name, "ENOENT" | "NotFound" | "ErrNotExist"));
        if let (true, Term::Proj(stat, 1)) = (names_missing, self.terms.get(one).clone()) {
            if truth && state.failing.is_none() {
                self.stat_status(stat, true, state, at);
            }
            if state.failing.is_some() {
                state.missing = truth;
            }
            return true;
        }
        // `target[len(root)] == '/'` after a prefix test: the separator is there after all.
        if let Term::Index(base, index) = *self.terms.get(one)
            && let Some(root) = self.length_of(index)
            && (self.is_separator(two) || self.ends_text(two))
        {
            if truth {
                self.contained(base, root, true, state, at);
            }
            return true;
        }
        match self.terms.get(one).clone() {
            Term::Call { name, args, .. } if super::compared::COMPARED.contains(&&*name) => {
                self.compare_call(&name, &args, two, truth, state, at)
            }
            // C++: `s.find(x) == npos`.
            Term::Pred(Pred::Contains(text, needle))
                if self.name_of(two).is_some_and(|n| n == "npos")
                    || self.terms.number(two) == Some(-1) =>
            {
                self.assume_contains(text, needle, !truth, state, at);
                true
            }
            // `s.indexOf(x) === 0`, `s.rfind(x, 0) == 0`: it begins with it.
            Term::Pred(Pred::Contains(text, needle)) if self.terms.number(two) == Some(0) => {
                self.assume_prefix(text, needle, truth, state, at);
                true
            }
            // `name[strspn(name, OK)] == '\0'`, `name[0] == '\0'`
            Term::Index(..)
                if self.terms.string(two) == Some("\0") || self.terms.number(two) == Some(0) =>
            {
                self.assume(one, !truth, state, at);
                true
            }
            Term::Stat { .. } => {
                let failed = match self.terms.number(two) {
                    Some(0) => !truth,
                    Some(n) if n < 0 => truth,
                    _ => return false,
                };
                self.stat_status(one, failed, state, at);
                true
            }
            Term::Proj(of, 1) if matches!(self.terms.get(two), Term::Null) => {
                match self.terms.get(of).clone() {
                    Term::Stat { .. } => self.stat_status(of, !truth, state, at),
                    Term::Outcome(call) => self.filter_by_error(call, !truth, state, at),
                    Term::Relative { .. } => {}
                    _ => {}
                }
                true
            }
            Term::Outcome(_) | Term::Phi(_) => {
                match self.terms.get(two).clone() {
                    Term::Null => self.assume(one, !truth, state, at),
                    Term::Bool(value) => self.assume(one, value == truth, state, at),
                    Term::Num(n) => self.filter_number(one, Operation::Eq, n, truth, state),
                    _ => return false,
                }
                true
            }
            Term::Pred(_) if self.name_of(two).is_some_and(|n| n == "npos") => {
                self.assume(one, !truth, state, at);
                true
            }
            Term::Pred(_) => match self.terms.get(two).clone() {
                Term::Bool(value) => {
                    self.assume(one, value == truth, state, at);
                    true
                }
                Term::Num(n) => {
                    self.assume(one, (n != 0) == truth, state, at);
                    true
                }
                Term::Null => {
                    self.assume(one, !truth, state, at);
                    true
                }
                _ => false,
            },
            Term::StatField(stat, field) => self.compare_stat(stat, &field, two, truth, state, at),
            _ => {
                // `e.code === "ENOENT"`, `errno == ENOENT`, `e.kind() == ErrorKind::NotFound`.
                let missing = self
                    .name_of(two)
                    .is_some_and(|name| matches!(name, "ENOENT" | "NotFound" | "ErrNotExist"));
                if missing && state.failing.is_some() {
                    state.missing = truth;
                    return true;
                }
                if matches!(self.terms.get(two), Term::Null) {
                    if !truth {
                        // It is there; nothing else is known.
                        self.answered(one, state, at);
                    }
                    return true;
                }
                false
            }
        }
    }

    /// `f() < 0`, `f() == 0`: which ways are left.
    pub(super) fn filter_number(
        &mut self,
        one: Vid,
        op: Operation,
        n: i64,
        truth: bool,
        state: &mut State,
    ) {
        if let Term::Outcome(call) = *self.terms.get(one) {
            self.keep_ways(call, state, |terms, value| match terms.get(value) {
                Term::Num(m) => {
                    let holds = match op {
                        Operation::Eq => *m == n,
                        Operation::Lt => *m < n,
                        Operation::Le => *m <= n,
                        Operation::Gt => *m > n,
                        Operation::Ge => *m >= n,
                        _ => true,
                    };
                    holds == truth
                }
                // A descriptor or a pointer is not negative.
                Term::Fd(_) => {
                    let holds = match op {
                        Operation::Lt => false,
                        Operation::Ge => true,
                        Operation::Eq => n >= 0,
                        _ => return true,
                    };
                    holds == truth
                }
                _ => true,
            });
        }
    }

    pub(super) fn compare_order(
        &mut self,
        op: Operation,
        a: Vid,
        b: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        if let (Term::Stat { .. }, Some(0)) = (self.terms.get(a), self.terms.number(b)) {
            let failed = match op {
                Operation::Lt => truth,
                Operation::Ge => !truth,
                _ => return,
            };
            self.stat_status(a, failed, state, at);
            return;
        }
        // `s.indexOf(x) >= 0`, `s.find(x) < 0`: it is there, or it is not.
        if let (Term::Pred(Pred::Contains(text, needle)), Some(n)) =
            (self.terms.get(a).clone(), self.terms.number(b))
        {
            let there = match (op, n) {
                (Operation::Ge, 0) | (Operation::Gt, -1) => truth,
                (Operation::Lt, 0) | (Operation::Le, -1) => !truth,
                _ => return,
            };
            self.assume_contains(text, needle, there, state, at);
            return;
        }
        if let Some(n) = self.terms.number(b) {
            if let Term::StatField(stat, field) = self.terms.get(a).clone()
                && field.contains("nlink")
                && n <= 2
                && truth == matches!(op, Operation::Le | Operation::Lt)
                && let Term::Stat { of, .. } = *self.terms.get(stat)
            {
                state.add(of, bit::NLINK_ONE, at);
                self.fd_places.push((of, bit::NLINK_ONE, at));
                return;
            }
            self.filter_number(a, op, n, truth, state);
        }
        // Character ranges: `c >= 'a' && c <= 'z'`.
        for (subject, bound, op) in [(a, b, op), (b, a, mirror(op))] {
            if !self.is_single_char(subject) {
                continue;
            }
            let Some(c) = self
                .terms
                .string(bound)
                .and_then(|text| text.chars().next())
            else {
                continue;
            };
            let mask = crate::facts::mask(|probe| match op {
                Operation::Lt => probe < c,
                Operation::Le => probe <= c,
                Operation::Gt => probe > c,
                Operation::Ge => probe >= c,
                _ => true,
            });
            state
                .edit(subject)
                .narrow_chars(if truth { mask } else { !mask }, at);
            if state.own(subject).is_some_and(|facts| facts.chars == 0) {
                state.dead = true;
            }
        }
    }

    /// Go: the error of a call is nil, or is not.
    pub(super) fn filter_by_error(
        &mut self,
        call: u32,
        is_error: bool,
        state: &mut State,
        at: Span,
    ) {
        self.keep_ways(call, state, |terms, value| match terms.get(value) {
            Term::List(parts) => match parts.last() {
                Some(last) => {
                    matches!(terms.get(*last), Term::Null) != is_error
                        || is_open_error(terms, parts)
                }
                None => true,
            },
            Term::Null => !is_error,
            _ => true,
        });
        // `return value, value.check()`: what the check says holds where there is no error.
        if let (false, Some([only])) = (is_error, state.ways.get(&call).map(Vec::as_slice))
            && let Term::List(parts) = self.terms.get(self.ways[call as usize][*only].value)
            && let Some(last) = parts.last().copied()
            && matches!(self.terms.get(last), Term::Outcome(_))
        {
            self.assume(last, false, state, at);
        }
    }
}

/// `return value, check(value)`: a value is given whatever the check says.
fn is_open_error(terms: &crate::term::Terms, parts: &[Vid]) -> bool {
    let [first, .., last] = parts else {
        return false;
    };
    let has_value = !matches!(terms.get(*first), Term::Null | Term::Num(_) | Term::Bool(_))
        && terms.string(*first).is_none_or(|text| !text.is_empty());
    has_value && matches!(terms.get(*last), Term::Outcome(_))
}

pub(super) fn mirror(op: Operation) -> Operation {
    match op {
        Operation::Lt => Operation::Gt,
        Operation::Le => Operation::Ge,
        Operation::Gt => Operation::Lt,
        Operation::Ge => Operation::Le,
        other => other,
    }
}
