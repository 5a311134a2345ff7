//! Statements: every way through and out of them.

use crate::interp::{Event, FailedCheck, Interp};
use crate::ir::{Expr, ExprKind, Span, Stmt, StmtKind};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    pub(super) fn exec_all(&mut self, statements: &[Stmt], state: &mut State) {
        for statement in statements {
            if state.dead {
                return;
            }
            self.exec(statement, state);
        }
    }

    pub(super) fn exec(&mut self, statement: &Stmt, state: &mut State) {
        let at = statement.span;
        match &statement.kind {
            StmtKind::Expr(expr) => {
                self.loose = loose_call(expr);
                self.eval(expr, state);
                self.loose = None;
            }
            StmtKind::Assign { target, value } if self.is_returning(target) => {
                self.give_back(value, at, state);
            }
            StmtKind::Assign { target, value, .. } => {
                let vid = self.eval(value, state);
                if !state.dead {
                    self.settle_by_value(target, vid, state, at);
                    self.assign(target, vid, state, at);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.exec_if(cond, then, otherwise, state),
            StmtKind::While {
                cond,
                step,
                body,
                body_first,
            } => {
                self.exec_while(cond.as_ref(), step, body, *body_first, state);
            }
            StmtKind::ForEach {
                target,
                iter,
                body,
                is_pair,
            } => {
                self.exec_for(target, iter, body, *is_pair, state);
            }
            StmtKind::Return(Some(value)) => self.give_back(value, at, state),
            StmtKind::Return(None) => {
                let nothing = self.terms.make(Term::Null);
                self.do_return(nothing, at, state);
            }
            StmtKind::Throw(value) => {
                let raw = match value {
                    Some(value) => {
                        let vid = self.eval(value, state);
                        self.is_raw_error(vid, state)
                    }
                    None => state.failing.is_some(),
                };
                if state.failing.is_some() && !state.missing {
                    let how = if raw {
                        FailedCheck::Raw
                    } else {
                        FailedCheck::Mapped
                    };
                    self.failure(how, at);
                }
                state.failing = None;
                self.throw(state);
            }
            StmtKind::Break | StmtKind::Continue => {
                self.settle_failure(state, at);
                let copy = std::mem::take(state);
                state.dead = true;
                if let Some(looped) = self
                    .frames
                    .last_mut()
                    .and_then(|frame| frame.loops.last_mut())
                {
                    match statement.kind {
                        StmtKind::Break => looped.breaks.push(copy),
                        _ => looped.continues.push(copy),
                    }
                }
            }
            StmtKind::Try {
                body,
                handlers,
                finally,
            } => {
                self.exec_try(body, handlers, finally, state);
            }
            StmtKind::With { items, body } => self.exec_with(items, body, state),
            StmtKind::Defer(body) => self.exec_defer(body, state),
            StmtKind::Bind { name, function } => {
                let vid = self.closure(*function, state);
                self.publish(name, vid);
                state.env.insert(name.clone(), vid);
            }
            StmtKind::Block(body) => self.exec_all(body, state),
        }
    }

    /// A name that stands for what the function gives back: `match` and `if` as its last value.
    fn is_returning(&self, target: &Expr) -> bool {
        let ExprKind::Name(name) = &target.kind else {
            return false;
        };
        let frame = self.frames.last();
        frame.is_some_and(|frame| frame.returning.contains(name))
    }

    /// Leaves the function with a value. Where the value has branches, each is a way out.
    fn give_back(&mut self, value: &Expr, at: Span, state: &mut State) {
        match &value.kind {
            // Which of two records is returned is a way out of its own.
            ExprKind::Cond(cond, then, otherwise)
                if matches!(
                    (&then.kind, &otherwise.kind),
                    (ExprKind::Dict(_), ExprKind::Dict(_))
                ) =>
            {
                let cond_vid = self.eval(cond, state);
                let mut other = state.clone();
                self.assume(cond_vid, true, state, cond.span);
                self.assume(cond_vid, false, &mut other, cond.span);
                for (value, way) in [(then, state), (otherwise, &mut other)] {
                    let vid = self.eval(value, way);
                    if !way.dead {
                        self.do_return(vid, at, way);
                    }
                }
            }
            ExprKind::Block(statements, Some(last)) => {
                let result = match &last.kind {
                    ExprKind::Name(name) if name.starts_with('%') => Some(name.clone()),
                    _ => None,
                };
                if let (Some(name), Some(frame)) = (result, self.frames.last_mut()) {
                    frame.returning.push(name);
                }
                self.exec_all(statements, state);
                if !state.dead {
                    self.give_back(last, at, state);
                }
            }
            _ => {
                let vid = self.eval_returned(value, state);
                if !state.dead {
                    self.do_return(vid, at, state);
                }
            }
        }
    }

    /// The value that a function gives back. A call of the same function at its end gives nothing
    /// that the other ways out do not give.
    fn eval_returned(&mut self, value: &Expr, state: &mut State) -> Vid {
        let mut tails = Vec::new();
        tail_calls(value, &mut tails);
        let outer = std::mem::replace(&mut self.tails, tails);
        let vid = self.eval(value, state);
        self.tails = outer;
        vid
    }

    pub(super) fn failure(&mut self, how: FailedCheck, at: Span) {
        if self.muted == 0 {
            self.events.push(Event::Failure { at, how });
        }
    }

    /// A failed question that execution simply goes on after.
    pub(super) fn settle_failure(&mut self, state: &mut State, at: Span) {
        if state.failing.take().is_some() {
            let how = if state.missing {
                FailedCheck::MissingAccepted
            } else {
                FailedCheck::Swallowed
            };
            self.failure(how, at);
        }
        state.missing = false;
    }

    /// The value of a branch that follows a failed question, as in `Err(_) => Err(Invalid)`.
    pub(super) fn settle_by_value(&mut self, target: &Expr, vid: Vid, state: &mut State, at: Span) {
        let is_result = matches!(&target.kind, ExprKind::Name(name) if name.starts_with('%'));
        let is_subject = matches!(self.terms.get(vid), Term::Stat { .. });
        if state.failing.is_none() || !is_result || is_subject {
            return;
        }
        let how = if self.is_raw_error(vid, state) {
            FailedCheck::Raw
        } else if state.missing {
            FailedCheck::MissingAccepted
        } else if self.is_error_value(vid) {
            FailedCheck::Mapped
        } else {
            FailedCheck::Swallowed
        };
        self.failure(how, at);
        state.failing = None;
        state.missing = false;
    }

    pub(super) fn do_return(&mut self, vid: Vid, at: Span, state: &mut State) {
        if state.failing.is_some() && !state.missing {
            let how = if self.is_raw_error(vid, state) {
                FailedCheck::Raw
            } else if matches!(self.terms.get(vid), Term::Null) || self.is_success_value(vid) {
                // Going on as if nothing were there.
                FailedCheck::Swallowed
            } else {
                FailedCheck::Mapped
            };
            self.failure(how, at);
        } else if state.failing.is_some() {
            self.failure(FailedCheck::MissingAccepted, at);
        }
        state.failing = None;
        state.missing = false;
        if self.is_error_value(vid) {
            self.leak(state);
        }
        let mut copy = std::mem::take(state);
        state.dead = true;
        copy.failing = None;
        if let Some(frame) = self.frames.last_mut()
            && frame.returns.len() < 12
        {
            frame.returns.push((vid, copy));
        }
    }

    /// Leaves by an error: to the next handler, or out of the function.
    pub(super) fn throw(&mut self, state: &mut State) {
        let copy = state.clone();
        *state = State {
            dead: true,
            ..State::default()
        };
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if let Some(caught) = frame.tries.last_mut() {
            caught.push(copy);
            return;
        }
        frame.throws.push(copy.clone());
        self.leak(&copy);
    }

    /// A lock that is held when a function is left by an error, and that nothing releases.
    pub(super) fn leak(&mut self, state: &State) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if frame.releases > 0 || self.muted > 0 {
            return;
        }
        let file = frame.id;
        let held: Vec<Span> = state
            .held
            .iter()
            .filter(|held| !held.scoped && held.at.file == file.0)
            .map(|held| held.at)
            .collect();
        for lock in held {
            self.events.push(Event::Leaked { lock });
        }
    }

    /// Whether an error that is thrown here is caught in one of the functions being run.
    pub(super) fn is_caught(&self) -> bool {
        self.frames.iter().any(|frame| !frame.tries.is_empty())
    }

    /// A call that may fail leaves a copy of the state for the handlers around it, in this function
    /// or in one that called it.
    pub(super) fn may_throw(&mut self, state: &State) {
        if !self.is_caught() {
            return;
        }
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let out = frame.tries.last_mut().unwrap_or(&mut frame.throws);
        if out.len() < 16 {
            out.push(state.clone());
        }
    }

    pub(super) fn exec_if(
        &mut self,
        cond: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        state: &mut State,
    ) {
        let vid = self.eval(cond, state);
        if state.dead {
            return;
        }
        let mark = self.terms.len();
        let failing_before = state.failing;
        let mut other = state.clone();
        self.assume(vid, true, state, cond.span);
        self.assume(vid, false, &mut other, cond.span);
        if self.asks_platform(vid, 0) {
            self.doubt_entries(state, cond.span);
            self.doubt_entries(&mut other, cond.span);
        }
        self.exec_all(then, state);
        self.exec_all(otherwise, &mut other);
        if failing_before.is_none() {
            for way in [&mut *state, &mut other] {
                if !way.dead && way.failing.is_some() {
                    self.settle_failure(way, cond.span);
                }
            }
        }
        self.settle_branches(state, &mut other, cond.span);
        state.join(other, &mut self.terms, mark);
    }

    /// A name that has another value after each branch keeps what its branch proved of the value:
    /// `if !ok(p) { t = root } else { t = p }`.
    fn settle_branches(&mut self, one: &mut State, two: &mut State, at: Span) {
        if one.dead || two.dead || std::sync::Arc::ptr_eq(&one.facts, &two.facts) {
            return;
        }
        let names: Vec<(crate::ir::Sym, Vid, Vid)> = one
            .env
            .iter()
            .filter_map(|(name, a)| {
                let b = *two.env.get(name)?;
                (*a != b).then(|| (name.clone(), *a, b))
            })
            .take(8)
            .collect();
        for (name, a, b) in names {
            if let Some(kept) = self.keep_branch(a, one, two, at, 0) {
                one.env.insert(name.clone(), kept);
            }
            if let Some(kept) = self.keep_branch(b, two, one, at, 1) {
                two.env.insert(name.clone(), kept);
            }
        }
    }

    /// The value with what is proven of the text in it here and not on the other way.
    fn keep_branch(
        &mut self,
        vid: Vid,
        here: &mut State,
        there: &State,
        at: Span,
        side: u32,
    ) -> Option<Vid> {
        use crate::facts::{Facts, bit};
        if !matches!(
            self.terms.get(vid),
            Term::Join { .. }
                | Term::Concat(_)
                | Term::Norm { .. }
                | Term::Source { .. }
                | Term::Param { .. }
                | Term::Field(..)
                | Term::Index(..)
                | Term::Part { .. }
        ) {
            return None;
        }
        let leaves = self.leaves(vid, here);
        if leaves.is_empty() {
            return None;
        }
        let is_clean = |facts: &Facts| facts.has_no_dots() || facts.any(bit::CONTAINMENT);
        let holds = leaves.iter().all(|leaf| is_clean(&leaf.facts));
        let weak = leaves
            .iter()
            .fold(0, |all, leaf| all | leaf.facts.bits & crate::standing::WEAK);
        let beyond = self.leaves(vid, there);
        let known = beyond.iter().all(|leaf| is_clean(&leaf.facts));
        let mut bits = 0;
        if holds && !known {
            bits |= bit::SEGS_CLEAN | bit::NOT_ABSOLUTE;
            if leaves.iter().all(|leaf| leaf.facts.any(bit::CONTAINMENT)) {
                bits |= bit::IN_LEXICAL;
            }
        }
        bits |= weak;
        if bits == 0 {
            return None;
        }
        let place = leaves
            .iter()
            .find_map(|leaf| leaf.facts.anchors.last().map(|(_, at)| *at))
            .unwrap_or(at);
        let kept = self.terms.make(Term::Part {
            kind: crate::term::PartKind::Text,
            of: vid,
            at: Span {
                file: at.file,
                line: at.line,
                start: at.start,
                end: side,
                ..Span::default()
            },
        });
        here.add(kept, bits, place);
        Some(kept)
    }
}

/// The calls of which one gives the value of an expression.
fn tail_calls(expr: &Expr, out: &mut Vec<Span>) {
    match &expr.kind {
        ExprKind::Call { .. } => out.push(expr.span),
        ExprKind::Await(inner) | ExprKind::Ref(inner) => tail_calls(inner, out),
        ExprKind::Cond(_, then, otherwise) => {
            tail_calls(then, out);
            tail_calls(otherwise, out);
        }
        _ => {}
    }
}

/// The call that a statement is, if nothing waits for its result: `check(x)`, `check(x).catch(f)`.
fn loose_call(expr: &Expr) -> Option<Span> {
    let ExprKind::Call { callee, .. } = &expr.kind else {
        return None;
    };
    match &callee.kind {
        ExprKind::Field(base, name) if matches!(&**name, "catch" | "then" | "finally") => {
            loose_call(base)
        }
        _ => Some(expr.span),
    }
}
