//! What a comparison proves.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Op, Span};
use crate::state::State;
use crate::term::{ObjectKind, Pred, Term, Vid};

impl Interp<'_> {
    /// Compares two values.
    pub(super) fn assume_compare(
        &mut self,
        op: Op,
        a: Vid,
        b: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let (op, truth) = match (op, truth) {
            (Op::Ne, _) => (Op::Eq, !truth),
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
                (Op::Gt, false) | (Op::Le, true) | (Op::Eq, true) => Some(n),
                (Op::Ge, false) | (Op::Lt, true) => Some(n - 1),
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
                (Op::Eq, false, 0)
                    | (Op::Gt, true, 0)
                    | (Op::Lt, false, 1)
                    | (Op::Ge, true, 1)
                    | (Op::Le, false, 0)
            );
            if nonempty {
                state.add(of, bit::NONEMPTY, at);
            }
            return;
        }
        if op != Op::Eq {
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
            Term::Call { name, args, .. } if &*name == "%prefix" => {
                if let [text, root] = args.as_slice() {
                    let same = self.deref(two, state) == self.deref(*root, state);
                    if same {
                        self.assume_prefix(*text, *root, truth, state, at);
                    }
                }
                true
            }
            Term::Call { name, args, .. }
                if matches!(&*name, "strcmp" | "strncmp") && self.terms.number(two) == Some(0) =>
            {
                if let [a, b, ..] = args.as_slice() {
                    let pred = if &*name == "strcmp" {
                        Pred::Compare(Op::Eq, *a, *b)
                    } else {
                        self.strncmp(&args)
                    };
                    let pred = self.terms.make(Term::Pred(pred));
                    self.assume(pred, truth, state, at);
                }
                true
            }
            Term::Call { name, args, .. }
                if matches!(&*name, "strstr" | "strchr")
                    && matches!(self.terms.get(two), Term::Null) =>
            {
                if let [text, needle] = args.as_slice() {
                    self.assume_contains(*text, *needle, !truth, state, at);
                }
                true
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
            // Go: several errors at once are none if each is none.
            Term::Call { name, args, .. }
                if &*name == "errors.Join" && matches!(self.terms.get(two), Term::Null) =>
            {
                if truth {
                    for error in args {
                        let none = Pred::Compare(Op::Eq, error, two);
                        self.assume_pred(&none, true, state, at);
                    }
                }
                true
            }
            Term::Call { name, args, .. } if &*name == "strspn" => {
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
                    Term::Outcome(call) => self.filter_by_error(call, !truth, state),
                    Term::Relative { .. } => {}
                    _ => {}
                }
                true
            }
            Term::Outcome(_) | Term::Phi(_) => {
                match self.terms.get(two).clone() {
                    Term::Null => self.assume(one, !truth, state, at),
                    Term::Bool(value) => self.assume(one, value == truth, state, at),
                    Term::Num(n) => self.filter_number(one, Op::Eq, n, truth, state),
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
            Term::Call { name, args, .. } if &*name == "typeof" => {
                if truth
                    && self.terms.string(two) == Some("string")
                    && let Some(arg) = args.first()
                {
                    let arg = self.deref(*arg, state);
                    state.add(arg, bit::TYPED, at);
                }
                true
            }
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
    fn length_of(&self, vid: Vid) -> Option<Vid> {
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

    /// `f() < 0`, `f() == 0`: which ways are left.
    pub(super) fn filter_number(
        &mut self,
        one: Vid,
        op: Op,
        n: i64,
        truth: bool,
        state: &mut State,
    ) {
        if let Term::Outcome(call) = *self.terms.get(one) {
            self.keep_ways(call, state, |terms, value| match terms.get(value) {
                Term::Num(m) => {
                    let holds = match op {
                        Op::Eq => *m == n,
                        Op::Lt => *m < n,
                        Op::Le => *m <= n,
                        Op::Gt => *m > n,
                        Op::Ge => *m >= n,
                        _ => true,
                    };
                    holds == truth
                }
                // A descriptor or a pointer is not negative.
                Term::Fd(_) => {
                    let holds = match op {
                        Op::Lt => false,
                        Op::Ge => true,
                        Op::Eq => n >= 0,
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
        op: Op,
        a: Vid,
        b: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        if let (Term::Stat { .. }, Some(0)) = (self.terms.get(a), self.terms.number(b)) {
            let failed = match op {
                Op::Lt => truth,
                Op::Ge => !truth,
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
                (Op::Ge, 0) | (Op::Gt, -1) => truth,
                (Op::Lt, 0) | (Op::Le, -1) => !truth,
                _ => return,
            };
            self.assume_contains(text, needle, there, state, at);
            return;
        }
        if let Some(n) = self.terms.number(b) {
            if let Term::StatField(stat, field) = self.terms.get(a).clone()
                && field.contains("nlink")
                && n <= 2
                && truth == matches!(op, Op::Le | Op::Lt)
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
                Op::Lt => probe < c,
                Op::Le => probe <= c,
                Op::Gt => probe > c,
                Op::Ge => probe >= c,
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
    pub(super) fn filter_by_error(&mut self, call: u32, is_error: bool, state: &mut State) {
        self.keep_ways(call, state, |terms, value| match terms.get(value) {
            Term::List(parts) => match parts.last() {
                Some(last) => matches!(terms.get(*last), Term::Null) != is_error,
                None => true,
            },
            Term::Null => !is_error,
            _ => true,
        });
    }
}

pub(super) fn mirror(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        other => other,
    }
}
