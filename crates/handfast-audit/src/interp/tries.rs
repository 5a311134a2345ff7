//! Handlers, scopes and what is put off to their end.

use crate::interp::{Event, FailedCheck, Interp};
use crate::ir::{Expr, ExprKind, Handler, Span, Stmt, StmtKind};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    pub(super) fn exec_try(
        &mut self,
        body: &[Stmt],
        handlers: &[Handler],
        finally: &[Stmt],
        state: &mut State,
    ) {
        let releases = self.releases_in(finally);
        if releases {
            for held in &mut state.held {
                held.scoped = true;
            }
        }
        let mark = self.terms.len();
        let before = state.clone();
        if let Some(frame) = self.frames.last_mut() {
            frame.releases += usize::from(releases);
            if !handlers.is_empty() {
                frame.tries.push(Vec::new());
            }
        }
        self.exec_all(body, state);
        let thrown = match self.frames.last_mut() {
            Some(frame) if !handlers.is_empty() => frame.tries.pop().unwrap_or_default(),
            _ => Vec::new(),
        };
        if releases {
            for held in &mut state.held {
                held.scoped = true;
            }
        }
        if !handlers.is_empty() {
            self.run_handlers(handlers, thrown, &before, mark, state);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.releases -= usize::from(releases);
        }
        if !state.dead {
            self.exec_all(finally, state);
        } else if !finally.is_empty() {
            // It runs on the other ways too; what it does to files is seen once.
            let mut copy = before;
            self.exec_all(finally, &mut copy);
        }
    }

    pub(super) fn run_handlers(
        &mut self,
        handlers: &[Handler],
        thrown: Vec<State>,
        before: &State,
        mark: Vid,
        state: &mut State,
    ) {
        let mut caught = State {
            dead: true,
            ..State::default()
        };
        let failing = thrown.iter().rev().find_map(|copy| copy.failing);
        let vacuous: Vec<_> = thrown
            .iter()
            .filter(|copy| copy.failing.is_some())
            .cloned()
            .collect();
        let source = if vacuous.is_empty() { thrown } else { vacuous };
        for copy in source {
            caught.join(copy, &mut self.terms, mark);
        }
        if caught.dead {
            caught = before.clone();
        }
        let mut result = std::mem::take(state);
        let mut seen_missing = false;
        for handler in handlers {
            let mut inner = caught.clone();
            inner.failing = failing;
            let is_missing = handler.types.iter().any(|ty| is_missing_type(ty));
            inner.missing = is_missing;
            seen_missing |= is_missing;
            let exists = handler.types.iter().any(|ty| ty.contains("FileExists"));
            if exists || handler.types.iter().any(|ty| ty.contains("KeyError")) {
                inner.failing = None;
            }
            if let Some(name) = &handler.name {
                let error = match failing {
                    Some(stat) => self.terms.make(Term::Proj(stat, 1)),
                    None => self.terms.unknown(),
                };
                inner.env.insert(name.clone(), error);
            }
            self.exec_all(&handler.body, &mut inner);
            if !inner.dead {
                self.settle_failure(&mut inner, handler.span);
                result.join(inner, &mut self.terms, mark);
            }
        }
        let specific = handlers.iter().all(|handler| {
            !handler.types.is_empty() && handler.types.iter().all(|ty| is_missing_type(ty))
        });
        // Only "not there" is caught: every other failure goes out as it is.
        if failing.is_some() && specific && seen_missing {
            self.failure(FailedCheck::Raw, handlers[0].span);
        }
        *state = result;
    }

    pub(super) fn releases_in(&self, statements: &[Stmt]) -> bool {
        fn any(statements: &[Stmt]) -> bool {
            statements.iter().any(|statement| match &statement.kind {
                StmtKind::Expr(expr) => is_release(expr),
                StmtKind::If {
                    then, otherwise, ..
                } => any(then) || any(otherwise),
                StmtKind::Block(body) => any(body),
                _ => false,
            })
        }
        any(statements)
    }

    pub(super) fn exec_with(
        &mut self,
        items: &[(Expr, Option<Expr>)],
        body: &[Stmt],
        state: &mut State,
    ) {
        let held_before = state.held.len();
        for (value, target) in items {
            let is_name = !matches!(value.kind, ExprKind::Call { .. });
            let vid = self.eval(value, state);
            if state.dead {
                return;
            }
            if is_name && self.looks_like_lock(vid, value) {
                self.acquire(vid, true, value.span, state);
            }
            for held in state.held.iter_mut().skip(held_before) {
                held.scoped = true;
            }
            if let Some(target) = target {
                self.assign(target, vid, state, value.span);
            }
        }
        self.mark_last_acquired_scoped(items.iter().map(|(value, _)| value.span));
        self.exec_all(body, state);
        state.held.truncate(held_before.min(state.held.len()));
    }

    pub(super) fn mark_last_acquired_scoped(&mut self, spans: impl Iterator<Item = Span>) {
        let spans: Vec<Span> = spans.collect();
        for event in self.events.iter_mut().rev().take(4) {
            if let Event::Acquired { at, scoped, .. } = event
                && spans
                    .iter()
                    .any(|span| span.line == at.line && span.file == at.file)
            {
                *scoped = true;
            }
        }
    }

    pub(super) fn looks_like_lock(&self, vid: Vid, value: &Expr) -> bool {
        let real = match self.terms.get(vid) {
            Term::Global { of, .. } => *of,
            _ => vid,
        };
        if matches!(self.terms.get(real), Term::Lock { .. })
            || self.terms.ty(real).is_some_and(|ty| ty.contains("Lock"))
        {
            return true;
        }
        let name = value.dotted().unwrap_or_default().to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or("");
        last.contains("lock") || last.contains("mutex") || last.contains("semaphore")
    }

    pub(super) fn exec_defer(&mut self, body: &[Stmt], state: &mut State) {
        // `defer mu.Unlock()`: from here on every way out releases.
        if self.releases_in(body) {
            for held in &mut state.held {
                held.scoped = true;
            }
            for event in self.events.iter_mut().rev().take(6) {
                if let Event::Acquired { scoped, .. } = event {
                    *scoped = true;
                }
            }
            return;
        }
        let mut copy = state.clone();
        self.exec_all(body, &mut copy);
    }
}

pub(super) fn is_missing_type(ty: &str) -> bool {
    ty.contains("FileNotFound") || ty.contains("NoSuchFile") || ty.contains("NotFound")
}

pub(super) fn is_release(expr: &Expr) -> bool {
    let ExprKind::Call { callee, .. } = &expr.kind else {
        return match &expr.kind {
            ExprKind::Await(inner) => is_release(inner),
            _ => false,
        };
    };
    let name = callee.dotted().unwrap_or_default().to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or("");
    last.contains("unlock") || last.contains("release")
}
